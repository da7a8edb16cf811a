"""Requests on their way over one hop, and the answers to them (JSON-RPC 2.0 sections 4 and 5).

The SDK's dispatcher sends requests too, but what it makes for each one, a pair of streams, a span and a clock, takes a
fifth of the time of a call through wf-mcp. It keeps the rest: notifications, and what the other side asks.
"""

import asyncio
from typing import Any, Self

import anyio
import anyio.lowlevel
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from opentelemetry import propagate, trace

from wf_mcp.core.wire import JsonObject

Outcome = JsonObject | ErrorData | None
"""A result, an error, or nothing any more: the connection is gone."""


class InFlight:
    """Sends requests, and stands in the stream of what is read: it takes the answers to them and passes on the rest."""

    def __init__(self, read: Any, write: Any) -> None:
        self._read = read
        self._write = write
        self._waiting: dict[object, asyncio.Future[Outcome]] = {}
        self._closed = False

    @property
    def last_context(self) -> Any:
        """The sender's context of the last message, where the stream knows it."""
        return self._read.last_context

    async def send(
        self,
        request_id: int,
        method: str,
        params: JsonObject | None,
        headers: dict[str, str],
        timeout: float | None = None,
    ) -> JsonObject:
        """Send one request and return its raw result.

        Raises `MCPError` as the SDK's dispatcher does: the peer's error, `REQUEST_TIMEOUT` where no answer came in time
        after it was sent, `CONNECTION_CLOSED` where none will come.
        """
        if self._closed:
            raise _closed()
        message = _request(request_id, method, params)
        metadata = ClientMessageMetadata(headers=headers) if headers else None
        waiting = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            await anyio.lowlevel.checkpoint_if_cancelled()
            try:
                await self._write.send(SessionMessage(message, metadata))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise _closed() from None
            outcome = await waiting if timeout is None else await _in_time(waiting, method, timeout)
        finally:
            del self._waiting[request_id]
        if isinstance(outcome, ErrorData):
            raise MCPError(code=outcome.code, message=outcome.message, data=outcome.data)
        if outcome is None:
            raise _closed()
        return outcome

    def close(self) -> None:
        """Nothing will be answered any more."""
        self._closed = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(None)

    def _answers(self, item: Any) -> bool:
        """Whether `item` is an answer that somebody waits for here, who then has it."""
        message = item.message if isinstance(item, SessionMessage) else None
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return False
        waiting = self._waiting.get(coerce_request_id(message.id)) if message.id is not None else None
        if waiting is None:
            return False
        if not waiting.done():
            waiting.set_result(message.result if isinstance(message, JSONRPCResponse) else message.error)
        return True

    async def receive(self) -> Any:
        """The next message that is no answer to us; with the stream's end, everything still waiting ends."""
        try:
            while self._answers(item := await self._read.receive()):
                pass
        except BaseException:
            self.close()
            raise
        return item

    def __aiter__(self) -> Self:
        """Every message that is no answer to us, until the stream ends."""
        return self

    async def __anext__(self) -> Any:
        """The next one; ends with the stream."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Close the stream."""
        self.close()
        await self._read.aclose()

    async def __aenter__(self) -> Self:
        """The stream itself; leaving closes it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the stream."""
        await self.aclose()


async def _in_time(waiting: asyncio.Future[Outcome], method: str, timeout: float) -> Outcome:
    with anyio.move_on_after(timeout):
        return await waiting
    raise MCPError(code=REQUEST_TIMEOUT, message=f"Request {method!r} timed out")


def _request(request_id: int, method: str, params: JsonObject | None) -> JSONRPCRequest:
    """The request, with the trace context of the span that it is sent in, where there is one (SEP-414)."""
    if trace.get_current_span().get_span_context().is_valid:
        meta = (params or {}).get("_meta")
        carrier = dict(meta) if isinstance(meta, dict) else {}
        propagate.inject(carrier)
        params = {**(params or {}), "_meta": carrier}
    # Params that were never given may not be written as null.
    if not params:
        return JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method)
    return JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params)


def _closed() -> MCPError:
    return MCPError(code=CONNECTION_CLOSED, message="Connection closed")
