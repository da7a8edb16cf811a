"""One parked call: its questions, what it is told, and its end (matrix D.4)."""

from typing import Any

import anyio
import pytest
from tests.runtime.memory import TwinClient
from tests.runtime.upstreams import ABLE

from wf_mcp.core.errors import InvalidParams, NotServed, RelayedError, UpstreamUnavailable, WfMcpError
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.parked import ParkedCall

pytestmark = pytest.mark.anyio

FORM: JsonObject = {"message": "Who?", "requestedSchema": {}}
ACCEPT: JsonObject = {"action": "accept", "content": {"name": "Ann"}}


class Asker:
    """An upstream that asks through a call, and what it was answered."""

    def __init__(self, call: ParkedCall, tasks: Any) -> None:
        self.call, self._tasks = call, tasks
        self.answers: list[JsonObject | WfMcpError] = []

    def asks(self, method: str, params: JsonObject | None = None) -> anyio.CancelScope:
        scope = anyio.CancelScope()

        async def put() -> None:
            with scope:
                try:
                    self.answers.append(await self.call.ask(method, params or {}))
                except WfMcpError as error:
                    self.answers.append(error)

        self._tasks.start_soon(put)
        return scope


def call_of(capabilities: JsonObject | None = None) -> ParkedCall:
    return ParkedCall("c", ABLE if capabilities is None else capabilities)


def progress(value: Any, token: Any = "upstream's") -> JsonObject:
    return {"progressToken": token, "progress": value}


def with_token(token: Any) -> JsonObject:
    return {"_meta": {"progressToken": token}}


async def test_questions_raised_together_are_shown_together_and_answered_one_by_one() -> None:
    call = call_of()
    async with anyio.create_task_group() as tasks:
        asker = Asker(call, tasks)
        asker.asks("elicitation/create", FORM)
        asker.asks("roots/list")
        assert await call.event() is None
        assert not call.waits
        assert call.questions() == {
            "question-1": {"method": "elicitation/create", "params": FORM},
            "question-2": {"method": "roots/list"},
        }
        assert call.waits
        call.take({"question-1": ACCEPT, "question-9": {}})
        assert (await call.event(), list(call.questions()), call.round) == (None, ["question-2"], 1)
        for nothing in (None, [], {}, {"question-2": {"roots": 3}}, {"question-1": ACCEPT}):
            call.take(nothing)
        assert (list(call.questions()), call.round) == (["question-2"], 1)
        call.take({"question-2": {"roots": []}})
        call.finish({"content": []})
        assert await call.event() == {"content": []}
    assert asker.answers == [ACCEPT, {"roots": []}]
    assert not call.waits


async def test_a_question_that_is_withdrawn_is_not_shown() -> None:
    call = call_of()
    async with anyio.create_task_group() as tasks:
        scope = Asker(call, tasks).asks("roots/list")
        assert await call.event() is None
        call.questions()
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert call.questions() == {}
        tasks.start_soon(call.event)
        await anyio.wait_all_tasks_blocked()
        call.finish({})


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "kind", "said"),
    [
        ({}, "elicitation/create", FORM, NotServed, "the client did not declare elicitation.form"),
        ({"elicitation": {}}, "roots/list", {}, NotServed, "the client did not declare roots"),
        ({"elicitation": {}}, "elicitation/create", {"mode": "url"}, InvalidParams, "did not declare elicitation.url"),
        ({"sampling": {}}, "sampling/createMessage", {"tools": []}, InvalidParams, "did not declare sampling.tools"),
        (ABLE, "tasks/get", {"taskId": "t"}, NotServed, "a client of 2026-07-28 cannot be asked that"),
    ],
)
async def test_what_the_client_did_not_declare_is_not_asked(
    capabilities: JsonObject, method: str, params: JsonObject, kind: type[WfMcpError], said: str
) -> None:
    call = call_of(capabilities)
    with pytest.raises(kind, match=said):
        await call.ask(method, params)
    assert call.questions() == {}


async def test_progress_rises_from_request_to_request_and_the_last_is_kept_meanwhile() -> None:
    call, first, retry, bare = call_of(), TwinClient(), TwinClient(), TwinClient()
    log = {"level": "info", "data": "x"}
    with call.attached(first, with_token("one")):
        await call.tell("notifications/progress", progress(1))
        await call.tell("notifications/message", log)
        await call.tell("notifications/elicitation/complete", {"elicitationId": "e"})
        await call.tell("notifications/progress", progress(1))
    for value in (2, 3):
        await call.tell("notifications/progress", progress(value))
    await call.tell("notifications/message", log)
    with call.attached(bare, {}):
        await call.tell("notifications/progress", progress(2.5))
    with call.attached(retry, with_token(2)):
        await call.catch_up()
        await call.catch_up()
        await call.tell("notifications/progress", progress(3))
        await call.tell("notifications/progress", progress(4))
    assert first.heard == [("notifications/progress", progress(1, "one")), ("notifications/message", log)]
    assert bare.heard == []
    assert retry.heard == [("notifications/progress", progress(3, 2)), ("notifications/progress", progress(4, 2))]


async def test_when_nobody_answers_the_upstream_is_told_before_its_request_is_cancelled() -> None:
    call = call_of()
    async with anyio.create_task_group() as tasks:
        asker = Asker(call, tasks)
        for method in ("elicitation/create", "sampling/createMessage", "roots/list"):
            asker.asks(method, FORM)
        await call.event()
        assert not call.scope.cancel_called
        await call.give_up("nobody answered")
        assert len(asker.answers) == 3
    assert call.scope.cancel_called
    assert await call.cancel_reason() == "nobody answered"
    with pytest.raises(RelayedError, match="the call that this belongs to is over"):
        await call.ask("roots/list", {})
    cancel, *errors = asker.answers
    assert cancel == {"action": "cancel"}
    assert [(each.code, each.message) for each in errors if isinstance(each, RelayedError)] == [
        (-32603, "sampling/createMessage: nobody answered"),
        (-32603, "roots/list: nobody answered"),
    ]


async def test_what_was_asked_before_the_result_is_answered_before_it() -> None:
    call = call_of()
    async with anyio.create_task_group() as tasks:
        asker = Asker(call, tasks)
        asker.asks("roots/list")
        await anyio.wait_all_tasks_blocked()
        call.finish({"content": []})
        assert await call.event() is None
        assert (call.questions(), call.waits) == ({"question-1": {"method": "roots/list"}}, True)
        call.take({"question-1": {"roots": []}})
        assert await call.event() == {"content": []}
    assert asker.answers == [{"roots": []}]


async def test_a_call_that_is_over_asks_nothing_more() -> None:
    call = call_of()
    call.finish(UpstreamUnavailable("it is gone"))
    call.finish({"content": []})
    with pytest.raises(RelayedError, match="the call that this belongs to is over"):
        await call.ask("roots/list", {})
    with pytest.raises(UpstreamUnavailable, match="it is gone"):
        await call.event()
