"""What an upstream asks or tells a client, in the client's terms (matrix C.1 rows 6 and 7)."""

import copy
from typing import Any

import pytest

from wf_mcp.core.namespace import Namespace
from wf_mcp.runtime.questions import to_client

translate = to_client(Namespace("alpha", "alpha"))

LINK = {"type": "resource_link", "uri": "demo://a", "name": "a"}
PUBLIC = {**LINK, "uri": "demo://alpha/a"}
TEXT = {"type": "text", "text": "see demo://a"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (LINK, PUBLIC),
        ([TEXT, LINK], [TEXT, PUBLIC]),
        (
            {"type": "resource", "resource": {"uri": "demo://a"}},
            {"type": "resource", "resource": {"uri": "demo://alpha/a"}},
        ),
        (TEXT, TEXT),
        (None, None),
        ("text", "text"),
    ],
    ids=["one block", "a list", "an embedded resource", "text", "nothing", "malformed"],
)
def test_links_in_messages_for_a_model_become_public(content: Any, expected: Any) -> None:
    params = {"messages": [{"role": "user", "content": content}], "maxTokens": 5, "x-future": 1}
    before = copy.deepcopy(params)
    assert translate("sampling/createMessage", params) == {
        "messages": [{"role": "user", "content": expected}],
        "maxTokens": 5,
        "x-future": 1,
    }
    assert params == before


def test_the_uri_of_an_updated_resource_becomes_public() -> None:
    params = {"uri": "demo://a", "_meta": {"x": 1}}
    assert translate("notifications/resources/updated", params) == {"uri": "demo://alpha/a", "_meta": {"x": 1}}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("roots/list", {}),
        ("elicitation/create", {"message": "see demo://a", "requestedSchema": {"type": "object"}}),
        ("notifications/message", {"level": "info", "data": {"uri": "demo://a"}}),
        ("sampling/createMessage", {"messages": "malformed"}),
        ("sampling/createMessage", {"messages": ["malformed"]}),
        ("notifications/resources/updated", {"uri": 3}),
    ],
)
def test_everything_else_passes_as_it_is(method: str, params: dict[str, Any]) -> None:
    assert translate(method, copy.deepcopy(params)) == params
