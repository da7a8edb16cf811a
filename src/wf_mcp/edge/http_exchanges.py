"""All requests of the HTTP front that are served by themselves: begun, and ended in good order when the front stops."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCResponse

from wf_mcp.edge.http_exchange import Exchange

STOPPING_KEY = "wf_mcp.stopping"
"""Where a connection's scratch state keeps the event that is set when the front begins to stop.

Whoever answers a request that has no end of its own, as `subscriptions/listen`, then ends it with its result.
"""

ENDING = 1.0
"""Seconds that requests get to end once they were answered for."""


def stopping_of(connection: Connection) -> anyio.Event | None:
    """The event that says that the front which serves this request stops; None where no front says so."""
    event = connection.state.get(STOPPING_KEY)
    return event if isinstance(event, anyio.Event) else None


class HttpExchanges:
    """The exchanges under way; they live while this is `running`."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._open: dict[Exchange, None] = {}
        self._tasks: TaskGroup | None = None
        self._state: Any = None
        self._stopping = anyio.Event()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def stopping(self) -> bool:
        """Whether nothing new is to begin."""
        return self._tasks is None or self._stopping.is_set()

    @asynccontextmanager
    async def running(self, lifespan_state: Any) -> AsyncIterator[None]:
        """Serve for the time of the block; what is left at its end is cancelled."""
        self._state = lifespan_state
        async with anyio.create_task_group() as self._tasks:
            try:
                yield
            finally:
                self._tasks.cancel_scope.cancel()

    def begin(self, exchange: Exchange, connection: Connection) -> None:
        """Let the server answer `exchange`, as a request on `connection`, which is its alone."""
        if self._tasks is None:
            raise RuntimeError("the HTTP front is not running")
        connection.state[STOPPING_KEY] = self._stopping
        self._open[exchange] = None
        self._tasks.start_soon(self._serve, exchange, connection, name=f"HTTP request {exchange.message.method}")

    async def drain(self, grace: float) -> None:
        """Stop: nothing new begins, requests get `grace` seconds for their result, and then an error."""
        self._stopping.set()
        with anyio.move_on_after(grace):
            await self._settle()
        for exchange in tuple(self._open):
            error = ErrorData(code=INTERNAL_ERROR, message="wf-mcp is stopping")
            exchange.answer(JSONRPCError(jsonrpc="2.0", id=exchange.request_id, error=error))
            exchange.scope.cancel()
        with anyio.move_on_after(ENDING):
            await self._settle()

    async def _settle(self) -> None:
        while self._open:
            await next(iter(self._open)).ended.wait()

    async def _serve(self, exchange: Exchange, connection: Connection) -> None:
        message = exchange.message
        try:
            with exchange.scope:
                try:
                    result = await serve_one(
                        self._server,
                        exchange,
                        message.method,
                        message.params,
                        connection=connection,
                        lifespan_state=self._state,
                    )
                    exchange.answer(JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result))
                except Exception as error:  # a defect costs this request only
                    exchange.answer(JSONRPCError(jsonrpc="2.0", id=message.id, error=modern_error_data(error)))
        finally:
            del self._open[exchange]
            exchange.end()
