"""Admin tools as ordinary FastMCP tools, and the sink that tells their caller what they caused (design D9, D12)."""

import functools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.server.dependencies import get_context
from fastmcp.tools import Tool
from mcp.server.context import CallNext
from mcp_types import ToolAnnotations
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from wf_mcp.core.events import Event
from wf_mcp.core.names import ADMIN
from wf_mcp.core.notify import notifications_for
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.callers import STATE_KEY
from wf_mcp.edge.callers import Context as RequestContext
from wf_mcp.edge.clients import Client, RawMessage, SessionSink
from wf_mcp.edge.messages import result_object
from wf_mcp.edge.seams import connection_of
from wf_mcp.plugin.types import AdminTool, Owned
from wf_mcp.runtime.bus import EventBus


class ContextSink:
    """Tells the client whose request caused an event, on that request's own stream, through FastMCP's `Context`."""

    name = "context"

    def __init__(self) -> None:
        self._methods: dict[str, None] = {}

    def offer(self, event: Event) -> None:
        """Remember what `event` means for the caller; repeats collapse."""
        self._methods.update(dict.fromkeys(method for method, _ in notifications_for(event)))

    async def deliver(self, context: Context) -> None:
        """Send what was remembered, before the request's result."""
        for method in self._methods:
            notification: Any = RawMessage(method, None)
            await context.send_notification(notification)


class OwnTools:
    """The admin tools that a FastMCP server carries, and what it lists of them: kept by protocol version, since each
    has its own shape of a tool, until the tools are others.
    """

    def __init__(self, bus: EventBus, sink: SessionSink) -> None:
        self._bus = bus
        self._sink = sink
        self._listed: dict[str, list[JsonObject]] = {}

    async def listed(self, ctx: RequestContext, call_next: CallNext) -> list[JsonObject]:
        """The tools as `tools/list` shows them in the dotted form; the same list for as long as they are the same."""
        listed = self._listed
        known = listed.get(ctx.protocol_version)
        if known is None:
            params = {key: value for key, value in (ctx.params or {}).items() if key != "cursor"}
            result = result_object(await call_next(replace(ctx, params=params or None)))
            known = listed[ctx.protocol_version] = result.get("tools", [])
        return known

    def register(self, server: FastMCP, tools: Iterable[Owned[AdminTool]]) -> Callable[[], None]:
        """Add every admin tool to `server` under its public name `wf.admin.<name>`; returns what takes them away
        again.
        """
        names = []
        for owned in tools:
            server.add_tool(self._as_fastmcp(owned.value))
            names.append(ADMIN + owned.value.name)
        self._listed = {}

        def remove() -> None:
            for name in names:
                server.local_provider.remove_tool(name)
            self._listed = {}

        return remove

    def _as_fastmcp(self, tool: AdminTool) -> Tool:
        return Tool.from_function(
            _telling(tool.function, self._bus, self._sink),
            name=ADMIN + tool.name,
            title=tool.title,
            description=tool.description,
            annotations=ToolAnnotations(
                title=tool.title,
                read_only_hint=tool.read_only,
                destructive_hint=tool.destructive,
                idempotent_hint=tool.idempotent,
                open_world_hint=False,
            ),
        )


def _telling(
    function: Callable[..., Awaitable[Any]], bus: EventBus, sink: SessionSink
) -> Callable[..., Awaitable[Any]]:
    """`function` with its caller told, once, of what it changed; modern callers hear on listen streams only."""

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        context = get_context()
        connection = connection_of(context.session)
        client = connection.state.get(STATE_KEY)
        if connection.protocol_version in MODERN_PROTOCOL_VERSIONS or not isinstance(client, Client):
            return await function(*args, **kwargs)
        caused = ContextSink()
        with sink.told_elsewhere(client.key):
            bus.add(caused)
            try:
                result = await function(*args, **kwargs)
            finally:
                bus.remove(caused)
        await caused.deliver(context)
        return result

    return run
