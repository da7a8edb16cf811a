"""Admin tools as ordinary FastMCP tools, and how their caller hears what it caused (design D9, D12)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field
from tests.edge.wire import HANDSHAKE, MODERN, Face, face, handshake, modern
from tests.endpoint import Listener
from tests.inbox import Inbox
from tests.runtime.memory import Twin, tool

from wf_mcp.core.events import PromptsChanged, ToolsChanged, UpstreamReady
from wf_mcp.edge.admin import ContextSink
from wf_mcp.edge.serving import build_server, install
from wf_mcp.plugin.types import AdminTool, Owned

pytestmark = pytest.mark.anyio

TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"


class Sum(BaseModel):
    """What came out."""

    total: int


def own(name: str, function: Callable[..., Awaitable[Any]], **fields: Any) -> Owned[AdminTool]:
    return Owned("test", AdminTool(name, function, f"The {name}", "What it does.", read_only=False, **fields))


@asynccontextmanager
async def served(*tools: Owned[AdminTool]) -> AsyncIterator[tuple[Face, Any, Callable[[], None]]]:
    async with face(Twin("alpha", tools=[tool("x")]), admin=True) as f:
        server = build_server("1")
        install(server, f.lane)
        remove = f.own_tools.register(server, tools)
        yield f, server, remove


@asynccontextmanager
async def client_of(server: Any, mode: str = "legacy") -> AsyncIterator[tuple[Client[Any], Inbox]]:
    notes = Inbox()
    async with Client(server, mode=mode, message_handler=Listener(notes), timeout=20) as client:
        yield client, notes


async def add(a: Annotated[int, Field(ge=1, description="One.")], b: int = 2) -> Sum:
    return Sum(total=a + b)


async def test_a_tool_is_listed_with_everything_that_it_says_of_itself() -> None:
    async with served(own("add", add, idempotent=True)) as (_, server, _remove), client_of(server) as (client, _):
        (listed,) = [each for each in await client.list_tools() if each.name.startswith("wf.")]
    shown = listed.model_dump(by_alias=True, exclude_none=True)
    assert (shown["name"], shown["title"], shown["description"]) == ("wf.admin.add", "The add", "What it does.")
    assert shown["annotations"] == {
        "title": "The add",
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert shown["inputSchema"]["properties"]["a"] == {"description": "One.", "minimum": 1, "type": "integer"}
    assert shown["inputSchema"]["required"] == ["a"]
    assert shown["outputSchema"]["properties"]["total"]["type"] == "integer"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("name", ["wf.admin.add", "wf_admin_add"])
async def test_a_tool_is_called_in_either_form_in_both_eras(name: str, mode: str) -> None:
    async with served(own("add", add)) as (_, server, _remove), client_of(server, mode) as (client, _):
        result = await client.call_tool(name, {"a": 3})
    assert result.structured_content == {"total": 5}


async def test_wrong_arguments_are_a_tool_error() -> None:
    async with served(own("add", add)) as (_, server, _remove), client_of(server) as (client, _):
        with pytest.raises(ToolError):
            await client.call_tool("wf.admin.add", {"a": 0})


async def test_the_caller_hears_what_it_caused_once_and_before_the_result() -> None:
    async def change() -> Sum:
        for mount in ("alpha", "beta", "alpha"):
            bus.publish(ToolsChanged(mount))
        bus.publish(PromptsChanged("alpha"))
        return Sum(total=1)

    async with served(own("change", change)) as (f, server, _remove):
        bus = f.stage.bus
        async with client_of(server) as (client, notes):
            await client.call_tool("wf.admin.change", {})
            assert [note["method"] for note in notes] == [TOOLS, PROMPTS]


async def test_other_clients_hear_it_too_each_once() -> None:
    async def change() -> Sum:
        f.stage.bus.publish(ToolsChanged("alpha"))
        return Sum(total=1)

    async with served(own("change", change)) as (f, server, _remove), client_of(server) as (client, notes):
        other = await f.arrive("another")
        await client.call_tool("wf.admin.change", {})
        await other.peer.notes.wait_for(TOOLS)
        await client.list_tools()
    assert [note["method"] for note in notes] == [TOOLS]
    assert other.peer.heard == [TOOLS]


async def test_after_its_call_a_client_hears_on_its_standing_connection_again() -> None:
    async with served(own("add", add)) as (f, server, _remove), client_of(server) as (client, notes):
        await client.call_tool("wf.admin.add", {"a": 1})
        f.stage.bus.publish(ToolsChanged("alpha"))
        await notes.wait_for(TOOLS)


async def test_a_tool_that_fails_is_an_error_and_leaves_nothing_behind() -> None:
    async def fail() -> Sum:
        raise RuntimeError("no")

    async with served(own("fail", fail)) as (f, server, _remove), client_of(server) as (client, notes):
        with pytest.raises(ToolError):
            await client.call_tool("wf.admin.fail", {})
        f.stage.bus.publish(ToolsChanged("alpha"))
        await notes.wait_for(TOOLS)


async def test_tools_that_were_taken_away_are_gone() -> None:
    async with served(own("add", add)) as (_, server, remove), client_of(server) as (client, _):
        assert [each.name for each in await client.list_tools()] == ["alpha.x", "wf.admin.add"]
        remove()
        assert [each.name for each in await client.list_tools()] == ["alpha.x"]


async def test_tools_that_are_added_later_are_listed() -> None:
    async with served(own("add", add)) as (f, server, _remove), client_of(server) as (client, _):
        await client.list_tools()
        f.own_tools.register(server, [own("more", add)])
        assert [each.name for each in await client.list_tools()] == ["alpha.x", "wf.admin.add", "wf.admin.more"]


async def test_fastmcp_is_asked_once_for_each_revision_which_has_its_own_shape_of_a_tool() -> None:
    asked: list[str] = []

    async def fastmcp(ctx: Any) -> Any:
        asked.append(ctx.protocol_version)
        return {"tools": [{"name": f"wf.admin.{ctx.protocol_version}"}]}

    async with face(Twin("alpha")) as f:
        for _ in range(2):
            for visitor, version in ((handshake(), HANDSHAKE), (modern(), MODERN)):
                context = visitor.context("tools/list", {"cursor": "c"})
                assert await f.own_tools.listed(context, fastmcp) == [{"name": f"wf.admin.{version}"}]
    assert asked == [HANDSHAKE, MODERN]


async def test_what_was_asked_for_before_a_change_is_not_kept_after_it() -> None:
    async def slow(ctx: Any) -> Any:
        f.own_tools.register(build_server("1"), [])
        return {"tools": [{"name": "wf.admin.old"}]}

    async def new(ctx: Any) -> Any:
        return {"tools": [{"name": "wf.admin.new"}]}

    async with face(Twin("alpha")) as f:
        context = handshake().context("tools/list")
        assert await f.own_tools.listed(context, slow) == [{"name": "wf.admin.old"}]
        assert await f.own_tools.listed(context, new) == [{"name": "wf.admin.new"}]


async def test_what_a_request_caused_is_told_in_its_order_and_each_once() -> None:
    told: list[str] = []

    class Context:
        async def send_notification(self, notification: Any) -> None:
            told.append(notification.method)

    sink = ContextSink()
    for event in (PromptsChanged("a"), ToolsChanged("a"), PromptsChanged("b"), UpstreamReady("a", "", "")):
        sink.offer(event)
    await sink.deliver(Context())
    assert told == [PROMPTS, TOOLS]
