"""What an upstream asks or tells a client, in the client's terms, and the answers in the upstream's (matrix C.1 rows 6
and 7, C.2, C.3).
"""

import copy
from typing import Any

import pytest

from wf_mcp.core.ids import RELATED_TASK
from wf_mcp.core.namespace import Namespace
from wf_mcp.runtime.questions import Translation

ALPHA = Namespace("alpha", "alpha")
ALONE = Translation(ALPHA)
AMONG_OTHERS = Translation(ALPHA, lambda: True)

LINK = {"type": "resource_link", "uri": "demo://a", "name": "a"}
PUBLIC = {**LINK, "uri": "demo://alpha/a"}
TEXT = {"type": "text", "text": "see demo://a"}
EMBEDDED = {"type": "resource", "resource": {"uri": "demo://a"}}
EMBEDDED_PUBLIC = {"type": "resource", "resource": {"uri": "demo://alpha/a"}}

CONTENTS = pytest.mark.parametrize(
    ("local", "public"),
    [
        (LINK, PUBLIC),
        ([TEXT, LINK], [TEXT, PUBLIC]),
        (EMBEDDED, EMBEDDED_PUBLIC),
        (
            {"type": "tool_result", "toolUseId": "1", "content": [LINK, TEXT]},
            {"type": "tool_result", "toolUseId": "1", "content": [PUBLIC, TEXT]},
        ),
        (TEXT, TEXT),
        (None, None),
        ("text", "text"),
    ],
    ids=["one block", "a list", "an embedded resource", "a tool's result", "text", "nothing", "malformed"],
)


@CONTENTS
def test_links_in_messages_for_a_model_become_public(local: Any, public: Any) -> None:
    params = {"messages": [{"role": "user", "content": local}], "maxTokens": 5, "x-future": 1}
    before = copy.deepcopy(params)
    assert ALONE.to_client("sampling/createMessage", params) == {
        "messages": [{"role": "user", "content": public}],
        "maxTokens": 5,
        "x-future": 1,
    }
    assert params == before


@CONTENTS
def test_links_in_a_models_answer_become_the_upstreams_own(local: Any, public: Any) -> None:
    answer = {"role": "assistant", "model": "m", "content": public, "x-future": None}
    before = copy.deepcopy(answer)
    assert ALONE.from_client("sampling/createMessage", answer) == {**answer, "content": local}
    assert answer == before


def test_an_address_in_an_answer_that_is_not_of_this_upstream_stays() -> None:
    answer = {"content": {**LINK, "uri": "demo://beta/a"}}
    assert ALONE.from_client("sampling/createMessage", answer) == answer


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("roots/list", {"roots": [{"uri": "demo://alpha/a"}]}),
        ("elicitation/create", {"action": "accept", "content": {"uri": "demo://alpha/a"}}),
        ("sampling/createMessage", {"role": "assistant"}),
    ],
)
def test_other_answers_are_the_clients_own(method: str, answer: dict[str, Any]) -> None:
    assert ALONE.from_client(method, answer) is answer


def test_the_uri_of_an_updated_resource_becomes_public() -> None:
    params = {"uri": "demo://a", "_meta": {"x": 1}}
    assert ALONE.to_client("notifications/resources/updated", params) == {"uri": "demo://alpha/a", "_meta": {"x": 1}}


@pytest.mark.parametrize(
    ("method", "key"),
    [
        ("elicitation/create", "elicitationId"),
        ("notifications/elicitation/complete", "elicitationId"),
        ("notifications/tasks/status", "taskId"),
    ],
)
def test_ids_that_are_unique_at_their_upstream_only_carry_its_label(method: str, key: str) -> None:
    assert ALONE.to_client(method, {key: "id:1", "x": None}) == {key: "alpha:id:1", "x": None}
    assert ALONE.to_client(method, {key: 7}) == {key: 7}
    assert Translation(Namespace("alpha", "")).to_client(method, {key: "id:1"}) == {key: "id:1"}


@pytest.mark.parametrize("method", ["elicitation/create", "notifications/progress", "x-vendor/any"])
def test_whatever_belongs_to_a_task_names_it_as_the_client_knows_it(method: str) -> None:
    params = {"_meta": {RELATED_TASK: {"taskId": "t"}, "x": 1}}
    assert ALONE.to_client(method, params) == {"_meta": {RELATED_TASK: {"taskId": "alpha:t"}, "x": 1}}


ASKED = {"message": "Your name?", "requestedSchema": {"type": "object"}}


def test_the_user_is_told_who_asks_where_it_could_be_several() -> None:
    assert AMONG_OTHERS.to_client("elicitation/create", ASKED) == {**ASKED, "message": "[alpha] Your name?"}


@pytest.mark.parametrize(
    "translation",
    [
        ALONE,
        Translation(ALPHA, lambda: True, attribution=False),
        Translation(Namespace("alpha", ""), lambda: True),
    ],
    ids=["the only upstream", "switched off", "a bare mount"],
)
def test_elsewhere_a_question_reads_as_it_was_written(translation: Translation) -> None:
    assert translation.to_client("elicitation/create", ASKED) == ASKED


@pytest.mark.parametrize("message", [None, 3, ["x"]], ids=repr)
def test_a_malformed_question_passes_as_it_is(message: object) -> None:
    assert AMONG_OTHERS.to_client("elicitation/create", {"message": message}) == {"message": message}


@pytest.mark.parametrize("wanted", ["thisServer", "allServers"])
def test_one_upstream_is_not_shown_what_others_said_to_the_host(wanted: str) -> None:
    params = {"messages": [], "includeContext": wanted}
    assert AMONG_OTHERS.to_client("sampling/createMessage", params) == {"messages": [], "includeContext": "none"}
    assert ALONE.to_client("sampling/createMessage", params) == params
    told = Translation(ALPHA, lambda: True, include_context=True)
    assert told.to_client("sampling/createMessage", params) == params
    assert AMONG_OTHERS.to_client("sampling/createMessage", {"messages": []}) == {"messages": []}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("roots/list", {}),
        ("elicitation/create", {"message": "see demo://a", "requestedSchema": {"type": "object"}}),
        ("notifications/message", {"level": "info", "data": {"uri": "demo://a"}}),
        ("sampling/createMessage", {"messages": "malformed"}),
        ("sampling/createMessage", {"messages": ["malformed"]}),
        ("sampling/createMessage", {"messages": [{"role": "user"}]}),
        ("notifications/resources/updated", {"uri": 3}),
        ("notifications/tasks/status", {"_meta": {RELATED_TASK: "malformed"}}),
    ],
)
def test_everything_else_passes_as_it_is(method: str, params: dict[str, Any]) -> None:
    assert ALONE.to_client(method, copy.deepcopy(params)) == params


def test_a_task_of_the_extension_is_told_with_everything_in_it_in_the_clients_terms() -> None:
    translation = Translation(Namespace("alpha", "alpha"))
    link = {"type": "resource_link", "uri": "demo://r", "name": "r"}
    told = translation.to_client(
        "notifications/tasks",
        {
            "taskId": "1",
            "status": "completed",
            "vendor": None,
            "result": {"content": [link], "structuredContent": {"uri": "demo://r"}},
            "error": {"code": 1, "message": "x", "data": {"uri": "demo://r"}},
            "inputRequests": {"k": {"method": "elicitation/create", "params": {"elicitationId": "e", "message": "m"}}},
        },
    )
    assert told == {
        "taskId": "alpha:1",
        "status": "completed",
        "vendor": None,
        "result": {"content": [{**link, "uri": "demo://alpha/r"}], "structuredContent": {"uri": "demo://r"}},
        "error": {"code": 1, "message": "x", "data": {"uri": "demo://alpha/r"}},
        "inputRequests": {
            "k": {"method": "elicitation/create", "params": {"elicitationId": "alpha:e", "message": "m"}}
        },
    }
    assert translation.to_client("notifications/tasks", {"taskId": 1}) == {"taskId": 1}
