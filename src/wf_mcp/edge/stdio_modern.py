"""A pipe in the era of 2026-07-28: every request says for itself who asks (2026-07-28 basic/index § `_meta`)."""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.connection import Connection, NotifyOnlyOutbound
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, aclose_shielded, modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions, DispatchContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION, UnsupportedProtocolVersionErrorData
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

INITIALIZE: Final = "initialize"

PIPE: Final = TransportContext(kind="jsonrpc", can_send_request=False)


class Unasked:
    """One message's way back to its sender, who can be told something and never asked (basic/patterns/mrtr)."""

    can_send_request = False
    transport = PIPE

    def __init__(self, inner: DispatchContext[TransportContext]) -> None:
        self._inner = inner
        self.request_id = inner.request_id
        self.message_metadata = inner.message_metadata
        self.cancel_requested = inner.cancel_requested

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refuse: this era has no requests from servers."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Send one notification that belongs to the message."""
        await self._inner.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the message wants it."""
        await self._inner.progress(progress, total, message)


class ModernPipe:
    """Serves the one client of a pipe."""

    def __init__(self, server: Server[Any], read: Any, write: Any, lifespan_state: Any) -> None:
        self._server = server
        self._state = lifespan_state
        self._dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(read, write)
        self._outbound = NotifyOnlyOutbound(self._dispatcher)

    async def run(self) -> None:
        """Serve until the client closes its side."""
        await self._dispatcher.run(self._on_request, self._on_notify)

    async def _on_request(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method == INITIALIZE:
            raise _too_late(params)
        route = classify_inbound_request({"method": method, "params": params})
        if isinstance(route, InboundLadderRejection):
            raise MCPError(route.code, route.message, route.data)
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities, outbound=self._outbound
        )
        try:
            return await serve_one(
                self._server, Unasked(context), method, params, connection=connection, lifespan_state=self._state
            )
        except (MCPError, ValidationError):  # which the dispatcher knows how to answer
            raise
        except Exception as error:  # a defect costs this request only
            said = modern_error_data(error)
            raise MCPError(said.code, said.message, said.data) from error

    async def _on_notify(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> None:
        connection = Connection.from_envelope(LATEST_MODERN_VERSION, None, None, outbound=self._outbound)
        runner = ServerRunner(self._server, connection, self._state)
        try:
            await runner.on_notify(Unasked(context), method, params)
        finally:
            await aclose_shielded(connection)


def _too_late(params: Mapping[str, Any] | None) -> MCPError:
    """Why a pipe that was opened in this era takes no handshake; what it speaks instead is in the data."""
    requested = (params or {}).get("protocolVersion")
    supported = list(MODERN_PROTOCOL_VERSIONS)
    data: dict[str, Any] = {"supported": supported}
    if isinstance(requested, str):
        data = UnsupportedProtocolVersionErrorData(supported=supported, requested=requested).model_dump(mode="json")
    return MCPError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "this connection was opened in the 2026-07-28 era; the initialize handshake is not accepted on it",
        data,
    )
