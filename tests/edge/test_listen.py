"""`subscriptions/listen` through the wire lane (matrix A.4): acknowledged first, stamped, ended in good order."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import SERVER_INFO_META_KEY
from tests.edge.wire import IDENTITY, Face, Visitor, envelope, face, modern
from tests.runtime.memory import Twin, resource, tool

from wf_mcp.core.envelope import SUBSCRIPTION_ID_META_KEY
from wf_mcp.core.listen import ACKNOWLEDGED, UPDATED
from wf_mcp.core.notify import TOOLS
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.http_exchanges import STOPPING_KEY

pytestmark = pytest.mark.anyio

R = "demo://alpha/r"
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def alpha() -> Twin:
    twin = Twin("alpha", tools=[tool("x")], resources=[resource("demo://r")])
    twin.capabilities = {**twin.capabilities, "resources": {"subscribe": True}}
    for method in ("resources/subscribe", "resources/unsubscribe"):
        twin.give(method, {})
    return twin


@dataclass
class Open:
    """A stream that a client has open, and what came of it in the end."""

    visitor: Visitor
    outcome: list[Any] = field(default_factory=list)
    over: anyio.Event = field(default_factory=anyio.Event)

    async def hears(self, method: str, seconds: float = 5) -> JsonObject:
        return await self.visitor.own.notes.wait_for(method, seconds)

    @property
    def notes(self) -> list[JsonObject]:
        return self.visitor.own.notes.items


@asynccontextmanager
async def listening(f: Face, wanted: JsonObject, **fields: Any) -> AsyncIterator[Open]:
    """A modern client that listens for the time of the block."""
    stream = Open(modern())

    async def listen() -> None:
        params = {"notifications": wanted, "_meta": envelope()}
        context = stream.visitor.context("subscriptions/listen", params, **fields)
        try:
            stream.outcome.append(await f.lane(context, f._next))
        except MCPError as error:
            stream.outcome.append(error)
        stream.over.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        await stream.hears(ACKNOWLEDGED)
        yield stream
        tasks.cancel_scope.cancel()


async def refused(f: Face, params: JsonObject) -> MCPError:
    with pytest.raises(MCPError) as raised:
        await f.ask(modern(), "subscriptions/listen", params)
    return raised.value


@pytest.mark.parametrize("request_id", ["7", 7, 0])
async def test_every_message_carries_the_id_of_the_request_and_the_acknowledgement_comes_first(
    request_id: str | int,
) -> None:
    stamp = {"_meta": {SUBSCRIPTION_ID_META_KEY: request_id}}
    wanted = {"toolsListChanged": True, "resourceSubscriptions": [R, "demo://nobody/x"]}
    async with face(alpha()) as f, listening(f, wanted, request_id=request_id) as stream:
        link = f.stage.twin("alpha").link
        link.say(UPDATED, {"uri": "demo://r/child", "_meta": {"vendor": 1}})
        await stream.hears(UPDATED)
        link.say(TOOLS)
        await stream.hears(TOOLS)
        assert stream.notes == [
            {
                "method": ACKNOWLEDGED,
                "params": {"notifications": {"toolsListChanged": True, "resourceSubscriptions": [R]}, **stamp},
            },
            {
                "method": UPDATED,
                "params": {"uri": f"{R}/child", "_meta": {"vendor": 1, SUBSCRIPTION_ID_META_KEY: request_id}},
            },
            {"method": TOOLS, "params": stamp},
        ]
        assert list(stream.visitor.peer.notes) == []
        assert len(f.stage.listeners) == 1
        await f.stage.listeners.stop(5)
        await stream.over.wait()
        assert stream.outcome == [
            {
                "resultType": "complete",
                "_meta": {SUBSCRIPTION_ID_META_KEY: request_id, SERVER_INFO_META_KEY: IDENTITY},
            }
        ]


async def test_a_client_that_closes_its_stream_leaves_nothing_behind() -> None:
    async with face(alpha()) as f:
        async with listening(f, {"resourceSubscriptions": [R]}) as stream:
            pass
        await f.stage.twin("alpha").asked("resources/unsubscribe")
        assert (stream.outcome, len(f.stage.listeners)) == ([], 0)


async def test_several_streams_hear_each_what_it_asked_for() -> None:
    async with (
        face(alpha()) as f,
        listening(f, {"toolsListChanged": True}, request_id="a") as tools,
        listening(f, {"resourceSubscriptions": [R]}, request_id="b") as updates,
    ):
        link = f.stage.twin("alpha").link
        link.say(TOOLS)
        link.say(UPDATED, {"uri": "demo://r"})
        await tools.hears(TOOLS)
        await updates.hears(UPDATED)
        await anyio.wait_all_tasks_blocked()
    for stream, method, request_id in ((tools, TOOLS, "a"), (updates, UPDATED, "b")):
        assert [note["method"] for note in stream.notes] == [ACKNOWLEDGED, method]
        assert {note["params"]["_meta"][SUBSCRIPTION_ID_META_KEY] for note in stream.notes} == {request_id}


async def test_what_a_call_says_does_not_travel_on_a_stream() -> None:
    twin = alpha()

    async def chatter(link: Any, params: JsonObject) -> JsonObject:
        link.say("notifications/message", {"level": "error", "data": "x"})
        link.say("notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": 1})
        return {"content": []}

    twin.answers["tools/call"] = chatter
    async with face(twin) as f, listening(f, {"toolsListChanged": True, "resourceSubscriptions": [R]}) as stream:
        await f.ask(modern(), "tools/call", {"name": "alpha.x", "_meta": {"progressToken": 1}})
        await anyio.wait_all_tasks_blocked()
        assert [note["method"] for note in stream.notes] == [ACKNOWLEDGED]


async def test_a_client_that_reads_too_slowly_is_told_so_at_the_end() -> None:
    async with face(alpha()) as f, listening(f, {"resourceSubscriptions": [R]}) as stream:
        stream.visitor.own.reads = anyio.Event()
        for number in range(1002):
            f.stage.twin("alpha").link.say(UPDATED, {"uri": f"demo://r/{number}"})
        with anyio.fail_after(5):
            await stream.over.wait()
        (error,) = stream.outcome
    assert error.code == -32603
    assert error.message.startswith("More than 1000 notifications wait for this stream, which has ended.")


async def test_a_front_that_stops_ends_the_streams_that_came_by_it() -> None:
    stopping = anyio.Event()
    async with face(alpha()) as f:
        visitor = modern()
        visitor.connection.state[STOPPING_KEY] = stopping
        stopping.set()
        params = {"notifications": {"toolsListChanged": True}, "_meta": envelope()}
        with anyio.fail_after(5):
            result = await f.lane(visitor.context("subscriptions/listen", params), f._next)
    assert result["resultType"] == "complete"
    assert visitor.own.heard == [ACKNOWLEDGED]


@pytest.mark.parametrize("params", [{}, {"notifications": 1}, {"notifications": {"toolsListChanged": "yes"}}])
async def test_a_filter_that_is_none_is_the_clients_mistake(params: JsonObject) -> None:
    async with face(alpha()) as f:
        error = await refused(f, params)
    assert error.code == -32602
    assert "notifications" in error.message


async def test_tasks_without_their_extension_are_refused_with_what_is_missing() -> None:
    async with face(alpha()) as f:
        error = await refused(f, {"notifications": {"taskIds": ["alpha:1"]}})
    assert (error.code, error.data) == (-32021, {"requiredCapabilities": TASKS})
