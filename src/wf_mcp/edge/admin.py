"""Admin tools as ordinary FastMCP tools, and the sink that tells their caller what they caused (design D9, D12)."""

import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.server.dependencies import get_context
from fastmcp.tools import Tool
from mcp_types import ToolAnnotations
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from wf_mcp.core.events import Event
from wf_mcp.core.names import ADMIN
from wf_mcp.core.notify import notifications_for
from wf_mcp.edge.callers import STATE_KEY
from wf_mcp.edge.clients import Client, RawMessage, SessionSink
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


def register(
    server: FastMCP, tools: Iterable[Owned[AdminTool]], bus: EventBus, sink: SessionSink
) -> Callable[[], None]:
    """Add every admin tool to `server` under its public name `wf.admin.<name>`; returns what takes them away again."""
    names = []
    for owned in tools:
        tool = owned.value
        names.append(ADMIN + tool.name)
        server.add_tool(
            Tool.from_function(
                _telling(tool.function, bus, sink),
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
        )

    def remove() -> None:
        for name in names:
            server.local_provider.remove_tool(name)

    return remove


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
