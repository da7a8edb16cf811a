"""`Mcp-Param-*` headers of a modern HTTP call against the called tool's schema in our own catalogue (2026-07-28
basic/transports/streamable-http § Custom Headers from Tool Parameters; matrix A.2).

A middleware outside the wire lane: only inside is it known which tools its caller is offered.
"""

from collections.abc import Mapping
from typing import Any

from mcp.server.context import CallNext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import validate_mcp_param_headers

from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.kinds import TOOLS
from wf_mcp.core.names import ADMIN
from wf_mcp.edge.callers import Callers, Context, is_modern
from wf_mcp.runtime.listing import Listings

OWN = (ADMIN.partition(".")[0] + ".", ADMIN.partition(".")[0] + "_")
"""How the names of wf-mcp's own tools begin; they have no such headers."""


class ParamHeaderCheck:
    """The middleware; put it before the wire lane."""

    def __init__(self, callers: Callers, listings: Listings) -> None:
        self._callers = callers
        self._listings = listings

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        """Refuse a call whose headers and arguments disagree; raises `MCPError` (-32020)."""
        if ctx.method == "tools/call" and ctx.request is not None and is_modern(ctx):
            await self._check(ctx, dict(ctx.params or {}))
        return await call_next(ctx)

    async def _check(self, ctx: Context, params: Mapping[str, Any]) -> None:
        name, arguments = params.get("name"), params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(name, str) or name.startswith(OWN) or not isinstance(arguments, dict):
            return
        headers = ctx.request.headers if ctx.request is not None else {}
        if not arguments and not any(header.startswith("mcp-param-") for header in headers):
            return
        rejection = validate_mcp_param_headers(await self._schema(ctx, name), arguments, headers)
        if rejection is not None:
            raise MCPError(rejection.code, rejection.message)

    async def _schema(self, ctx: Context, name: str) -> Any:
        """The schema of a tool as this caller is offered it, under either form of its name; none if it is not."""
        try:
            caller = self._callers.of(ctx)
        except InvalidParams:  # the lane, which finds out too, says so
            return None
        entry = self._listings.table(caller.audience, TOOLS).find(name)
        if entry is None:
            await self._listings.listing(caller, TOOLS)
            entry = self._listings.table(caller.audience, TOOLS).find(name)
        return entry.item.get("inputSchema") if entry is not None else None
