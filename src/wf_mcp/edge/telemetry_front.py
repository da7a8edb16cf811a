"""The front's part of telemetry: a middleware outside everything else, so that what is refused is seen too."""

from collections.abc import Mapping
from typing import Any, Final

from fastmcp.telemetry import suppress_fastmcp_telemetry
from mcp.server.context import CallNext, ServerRequestContext
from mcp_types import CallToolResult
from mcp_types.methods import SPEC_CLIENT_METHODS

from wf_mcp.core.telemetry import OTHER, REQUEST_ID, TRANSPORT, VERSION, Attribute
from wf_mcp.edge.telemetry import OTelTelemetry, Watched
from wf_mcp.runtime.skills import Skills

KNOWN: Final = frozenset({*SPEC_CLIENT_METHODS, *Skills.METHODS, "tasks/update"})
"""Methods that clients may call; all others are one to a metric."""


class FrontSpans:
    """One span and one duration for each client's request; FastMCP makes no second one of it."""

    def __init__(self, telemetry: OTelTelemetry, transport: str) -> None:
        self._telemetry = telemetry
        self._transport = transport

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Watch one request; notifications pass."""
        if ctx.request_id is None:
            return await call_next(ctx)
        with self._watched(ctx) as watched:
            if not self._telemetry.tracing:
                return noted(watched, await call_next(ctx))
            with suppress_fastmcp_telemetry():
                return noted(watched, await call_next(ctx))

    def _watched(self, ctx: ServerRequestContext[Any, Any]) -> Watched:
        said: dict[str, Attribute] = {TRANSPORT: self._transport, REQUEST_ID: str(ctx.request_id)}
        if ctx.protocol_version:
            said[VERSION] = ctx.protocol_version
        method = ctx.method if ctx.method in KNOWN else OTHER
        headers: Mapping[str, str] = ctx.request.headers if ctx.request is not None else {}
        return self._telemetry.served(method, ctx.params, headers, said)


def noted(watched: Watched, result: Any) -> Any:
    """`result` as it is, an error in it noted."""
    match result:
        case dict():
            watched.answered(result)
        case CallToolResult(is_error=True):
            watched.answered({"isError": True})
        case _:
            pass
    return result
