"""One client on one pipe, served in the era that it opens with (2026-07-28 basic/lifecycle; matrix E.1).

Its first request decides, and what was read until then is read again. The SDK's loop does the same by way of another
task, through which every later message of the connection would pass as well: a tenth of a short call.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Self

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, aclose_shielded
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import INVALID_REQUEST, PROTOCOL_VERSION_META_KEY, JSONRPCRequest

from wf_mcp.edge.stdio_modern import INITIALIZE, ModernPipe

EARLY = 8
"""Messages before the first request that are kept for whoever serves the connection; more of them are dropped."""


class Replayed:
    """A read stream: first what was read from it already, then the rest as it comes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._lead: deque[Any] = deque()

    async def opening(self) -> JSONRPCRequest | None:
        """Look ahead as far as the first request; `None` where the stream ends without one."""
        try:
            async for item in self._stream:
                request = _request(item)
                if request is not None or len(self._lead) < EARLY:
                    self._lead.append(item)
                if request is not None:
                    return request
        except anyio.ClosedResourceError:
            return None
        return None

    async def receive(self) -> Any:
        """The next message."""
        return self._lead.popleft() if self._lead else await self._stream.receive()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._lead.popleft() if self._lead else await anext(self._stream)


def _request(item: Any) -> JSONRPCRequest | None:
    message = item.message if isinstance(item, SessionMessage) else None
    return message if isinstance(message, JSONRPCRequest) else None


async def serve_pipe(server: Server[Any], read: Any, write: Any, lifespan_state: Any) -> None:
    """Serve until the client closes its side; both streams are closed then.

    `initialize` opens the handshake era whatever envelope it carries, since 2026-07-28 has no such request.
    """
    async with write, Replayed(read) as replayed:
        opening = await replayed.opening()
        if opening is not None and opening.method != INITIALIZE and _has_envelope(opening.params):
            await ModernPipe(server, replayed, write, lifespan_state).run()
        else:
            await _serve_handshake(server, replayed, write, lifespan_state)


async def _serve_handshake(server: Server[Any], read: Replayed, write: Any, lifespan_state: Any) -> None:
    # `initialize` is handled before the next message is read, for clients that do not wait for its answer.
    dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
        read, write, inline_methods=frozenset({INITIALIZE})
    )
    connection = Connection.for_loop(dispatcher)
    runner = ServerRunner(server, connection, lifespan_state)

    async def on_request(
        context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method != INITIALIZE and _has_envelope(params):
            raise MCPError(
                INVALID_REQUEST,
                "this connection was opened in the handshake era; requests with the 2026-07-28 envelope are not "
                "accepted on it",
            )
        return await runner.on_request(context, method, params)

    try:
        await dispatcher.run(on_request, runner.on_notify)
    finally:
        await aclose_shielded(connection)


def _has_envelope(params: Mapping[str, Any] | None) -> bool:
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta
