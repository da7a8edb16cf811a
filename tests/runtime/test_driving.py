"""Tasks brought to their end for a client that cannot have them (matrix D.3 § tasks)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, TwinLink, text, tool
from tests.runtime.stage import caller, config, stage, upstream
from tests.runtime.upstreams import FORM, ROOTS, client, follow, modern, modern_client

from wf_mcp.core.errors import RelayedError, UpstreamTimeout, UpstreamUnavailable
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime import driving

pytestmark = pytest.mark.anyio

CREATED: JsonObject = {"resultType": "task", "taskId": "t", "status": "working", "pollIntervalMs": 50}
ACCEPT: JsonObject = {"action": "accept"}


def now(status: str, **fields: Any) -> JsonObject:
    """What `tasks/get` says of the task."""
    return {"resultType": "complete", "taskId": "t", "status": status, "pollIntervalMs": 50, **fields}


DONE = now("completed", result={"resultType": "complete", **text("done"), "structuredContent": {"a": 1}})


def tasked(*looks: JsonObject | RelayedError | Callable[[JsonObject], Any]) -> Twin:
    """A modern upstream that answers every call with a task, which is as `looks` say, one after the other."""
    twin = modern(CREATED)
    follow(twin, "tasks/get", *looks)
    for method in ("tasks/update", "tasks/cancel"):
        twin.give(method, {"resultType": "complete"})
    return twin


async def test_the_result_of_a_task_is_the_result_of_the_call() -> None:
    async with stage(tasked(now("working"), DONE)) as s:
        result = await s.call("alpha.x", client(TwinClient()))
        looks = [request.params for request in s.twin("alpha").of("tasks/get")]
        assert s.twin("alpha").of("tasks/cancel") == []
    assert result == {**text("done"), "structuredContent": {"a": 1}}
    assert looks == [{"taskId": "t"}] * 2


async def test_links_in_the_result_of_a_task_become_public() -> None:
    link = {"type": "resource_link", "uri": "demo://r", "name": "r"}
    async with stage(tasked(now("completed", result={"content": [link]}))) as s:
        result = await s.call("alpha.x", client(TwinClient()))
    assert result == {"content": [{**link, "uri": "demo://alpha/r"}]}


async def test_each_question_of_a_task_is_asked_once_and_its_answer_sent() -> None:
    """TASKS § Task Inputs: keys are stable over a task's life, and may show until the answer has arrived."""
    first, both = {"who": FORM}, {"who": FORM, "where": ROOTS}
    looks = [now("input_required", inputRequests=each) for each in (first, first, both)]
    port = TwinClient(elicitation_create=ACCEPT, roots_list={"roots": []})
    async with stage(tasked(*looks, DONE)) as s:
        assert (await s.call("alpha.x", client(port)))["content"] == text("done")["content"]
        updates = [request.params for request in s.twin("alpha").of("tasks/update")]
    assert updates == [
        {"taskId": "t", "inputResponses": {"who": ACCEPT}},
        {"taskId": "t", "inputResponses": {"where": {"roots": []}}},
    ]
    assert [method for method, _ in port.questions] == ["elicitation/create", "roots/list"]


async def test_a_task_that_needs_what_the_client_lacks_is_cancelled_and_the_result_says_so() -> None:
    async with stage(tasked(now("input_required", inputRequests={"who": FORM}))) as s:
        result = await s.call("alpha.x", client(TwinClient(), {}))
        assert [request.params for request in s.twin("alpha").of("tasks/cancel")] == [{"taskId": "t"}]
    said = "Upstream 'alpha' needs what this client did not declare: elicitation.form"
    assert result == {**text(said), "isError": True}


@pytest.mark.parametrize(
    ("ended", "code", "message", "data"),
    [
        (
            now("failed", error={"code": -32001, "message": "no", "data": {"uri": "demo://r"}}),
            -32001,
            "no",
            {"uri": "demo://alpha/r"},
        ),
        (
            now("failed", statusMessage="the disk is full"),
            -32603,
            "The task behind alpha.x at upstream 'alpha' ended as failed: the disk is full",
            None,
        ),
        (now("cancelled"), -32603, "The task behind alpha.x at upstream 'alpha' ended as cancelled", None),
        (now("completed"), -32603, "The task behind alpha.x at upstream 'alpha' ended as completed", None),
    ],
)
async def test_a_task_that_fails_is_an_error_of_the_call(
    ended: JsonObject, code: int, message: str, data: object
) -> None:
    async with stage(tasked(ended)) as s:
        with pytest.raises(RelayedError) as raised:
            await s.call("alpha.x", client(TwinClient()))
    assert (raised.value.code, raised.value.message, raised.value.data) == (code, message, data)


async def test_progress_goes_on_while_a_task_works_for_a_client_that_gave_a_token() -> None:
    looks = [now("working", statusMessage=said) for said in ("one", "one", "two")]
    port = TwinClient()
    async with stage(tasked(*looks, DONE)) as s:
        await s.call("alpha.x", client(port), _meta={"progressToken": "mine"})
        await s.call("alpha.x", client(other := TwinClient()))
    heard = [body for method, body in port.heard if method == "notifications/progress"]
    assert heard == [
        {"progressToken": "mine", "progress": 1, "message": "one"},
        {"progressToken": "mine", "progress": 2, "message": "two"},
        {"progressToken": "mine", "progress": 3},
    ]
    assert other.heard == []


async def test_a_call_that_is_cancelled_cancels_its_task() -> None:
    twin, taken = tasked(now("working")), anyio.Event()

    async def take(link: TwinLink, params: JsonObject) -> JsonObject:
        await anyio.lowlevel.checkpoint()
        taken.set()
        return {}

    twin.answers["tasks/cancel"] = take
    async with stage(twin) as s:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(s.call, "alpha.x", client(TwinClient()))
            await s.twin("alpha").asked("tasks/get")
            tasks.cancel_scope.cancel()
        assert [request.params for request in s.twin("alpha").of("tasks/cancel")] == [{"taskId": "t"}]
        assert taken.is_set()


async def test_a_task_that_is_lost_with_its_upstream_is_told_at_once() -> None:
    async def die(link: TwinLink, params: JsonObject) -> JsonObject:
        link.lose("it crashed")
        await anyio.sleep_forever()
        raise AssertionError

    twin = tasked(now("working"))
    twin.answers["tasks/get"] = die
    async with stage(twin) as s:
        await s.ready()
        s.twin("alpha").slow_start()
        began = anyio.current_time()
        with pytest.raises(UpstreamUnavailable, match="it crashed"):
            await s.call("alpha.x", client(TwinClient()))
        assert anyio.current_time() - began < driving.CANCELLING
        assert twin.of("tasks/cancel") == []


async def test_a_task_that_takes_longer_than_the_upstream_may_is_cancelled_and_named() -> None:
    async with stage(tasked(now("working")), config_of=config(upstream("alpha", timeout=0.2))) as s:
        with pytest.raises(UpstreamTimeout, match=r"'alpha' did not finish the task behind alpha\.x within 0\.2 s"):
            await s.call("alpha.x", client(TwinClient()))
        assert len(s.twin("alpha").of("tasks/cancel")) == 1


async def test_an_upstream_that_does_not_take_the_cancellation_hides_nothing() -> None:
    twin = tasked(RelayedError(-32602, "Unknown task"))
    twin.fail("tasks/cancel", RelayedError(-32602, "Unknown task"))
    async with stage(twin) as s:
        with pytest.raises(RelayedError, match="Unknown task"):
            await s.call("alpha.x", client(TwinClient()))


# -- 2025-11-25 ------------------------------------------------------------------------------

ABLE: JsonObject = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}


def task_only(*looks: JsonObject, **options: Any) -> Twin:
    """A handshake upstream whose tool runs as a task only."""
    tools = [tool("other"), tool("x", execution={"taskSupport": "required"})]
    twin = Twin("alpha", tools=tools, capabilities=ABLE, **options)
    twin.give("tools/call", {"task": {"taskId": "t", "status": "working", "pollInterval": 50}})
    follow(twin, "tasks/get", *looks)
    twin.give("tasks/result", text("done"))
    twin.give("tasks/cancel", {})
    return twin


def look(status: str) -> JsonObject:
    return {"taskId": "t", "status": status, "pollInterval": 50}


async def test_a_tool_that_runs_as_a_task_only_is_driven_for_a_modern_client() -> None:
    async with stage(task_only(look("working"), look("completed"))) as s:
        assert await s.call("alpha.x", modern_client(), arguments={"a": 1}) == text("done")
        twin = s.twin("alpha")
        assert twin.of("tools/call")[0].params == {"name": "x", "arguments": {"a": 1}, "task": {}}
        assert [request.params for request in twin.of("tasks/result")] == [{"taskId": "t"}]


async def test_its_result_is_awaited_from_the_start() -> None:
    """2025-11-25 basic/utilities/tasks § Result Retrieval: it blocks until the end, and some servers work only then."""
    async with stage(task_only()) as s:
        assert await s.call("alpha.x", modern_client()) == text("done")
        assert s.twin("alpha").of("tasks/get") == []


async def test_a_client_that_asked_for_progress_hears_that_it_goes_on() -> None:
    twin = task_only(look("working"), look("working"))
    ready = twin.hold("tasks/result")
    told = TwinClient("c")
    async with stage(twin) as s, anyio.create_task_group() as tasks:
        who = replace(modern_client(), port=told)
        tasks.start_soon(partial(s.call, "alpha.x", who, _meta={"progressToken": "mine"}))
        await twin.asked("tasks/get", 2)
        ready.set()
    assert told.heard == [("notifications/progress", {"progressToken": "mine", "progress": 1})]


async def test_a_look_that_fails_costs_the_call_nothing() -> None:
    twin = task_only()
    twin.fail("tasks/get", RelayedError(-32603, "not now"))
    ready = twin.hold("tasks/result")
    results: list[JsonObject] = []
    async with stage(twin) as s, anyio.create_task_group() as tasks:

        async def call() -> None:
            who = replace(modern_client(), port=TwinClient("c"))
            results.append(await s.call("alpha.x", who, _meta={"progressToken": "mine"}))

        tasks.start_soon(call)
        await twin.asked("tasks/get")
        ready.set()
    assert results == [text("done")]


async def test_an_answer_that_is_no_task_is_the_result() -> None:
    twin = task_only()
    twin.give("tools/call", text("at once"))
    async with stage(twin) as s:
        assert await s.call("alpha.x", modern_client()) == text("at once")


async def test_other_tools_and_handshake_clients_are_served_as_ever() -> None:
    async with stage(task_only()) as s:
        s.twin("alpha").give("tools/call", text("plain"))
        await s.call("alpha.other", modern_client())
        await s.call("alpha.x", caller())
        assert [request.params for request in s.twin("alpha").of("tools/call")] == [{"name": "other"}, {"name": "x"}]


async def test_the_cancellation_of_a_task_is_not_awaited_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "CANCELLING", 0.01)
    twin = task_only()
    twin.hold("tasks/result")

    async def silent(link: TwinLink, params: JsonObject) -> JsonObject:
        await anyio.sleep_forever()
        raise AssertionError

    twin.answers["tasks/cancel"] = silent
    async with stage(twin) as s, anyio.create_task_group() as tasks:
        tasks.start_soon(s.call, "alpha.x", modern_client())
        await twin.asked("tasks/result")
        tasks.cancel_scope.cancel()
    assert len(twin.of("tasks/cancel")) == 1
