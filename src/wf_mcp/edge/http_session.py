"""One handshake session over HTTP: the SDK's dispatcher on one side, POSTs and GETs on the other.

Every request gets an id of our own for the way inwards, so that whatever ids a client uses on any number of POSTs
never meet, and each answer gives back its own, in value and in type. Messages are parsed once and not rebuilt.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_connection
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from starlette.requests import Request

from wf_mcp.core.http_rules import primes
from wf_mcp.edge.error_watch import STATE_KEY as ERRORS_KEY
from wf_mcp.edge.error_watch import ErrorWatch
from wf_mcp.edge.event_store import EventStore, read_event_id
from wf_mcp.edge.http_stream import PACE, EventStream, Outbox, Pace
from wf_mcp.edge.http_wire import Inbound, Outward
from wf_mcp.edge.messages import message_bytes

logger = logging.getLogger(__name__)

STANDALONE = 0
"""The key of the stream that belongs to no request."""


@dataclass(slots=True)
class Exchange:
    """One request of the client until it is answered; `request_id` is the client's own."""

    stream: EventStream
    request_id: RequestId


class HttpSession:
    """One client's session; `principal` is who opened it, `idle` the seconds without use after which it ends."""

    def __init__(self, session_id: str, principal: str | None, idle: float, pace: Pace = PACE) -> None:
        self.id = session_id
        self.principal = principal
        self.store = EventStore()
        self.closed = False
        self.ended = anyio.Event()
        self._idle, self._pace = idle, pace
        self._used = anyio.current_time()
        self._inbound = Inbound()
        errors = ErrorWatch(self._inbound)
        self._dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
            errors, Outward(self._deliver), inline_methods=frozenset({"initialize"})
        )
        self._connection = Connection.for_loop(self._dispatcher, session_id=session_id)
        self._connection.state[ERRORS_KEY] = errors
        self._standalone = EventStream(STANDALONE, self.store, self._primes, pace)
        self._standalone.decided.set()
        self._exchanges: dict[int, Exchange] = {}
        self._keys: dict[tuple[type, RequestId], int] = {}
        self._last_key = STANDALONE
        self._settled = anyio.Event()

    @property
    def accepted(self) -> bool:
        """Whether the client's `initialize` has succeeded."""
        return self._connection.client_params is not None

    @property
    def busy(self) -> bool:
        """Whether somebody reads a stream or waits for an answer."""
        return self._standalone.outbox is not None or any(
            exchange.stream.outbox is not None for exchange in self._exchanges.values()
        )

    async def run(self, server: Server[Any], lifespan_state: Any) -> None:
        """Serve until the session is closed or has been idle for too long; a defect costs this session only."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._expire, name=f"idle time of session {self.id}")
                await serve_connection(
                    server, self._dispatcher, connection=self._connection, lifespan_state=lifespan_state
                )
                tasks.cancel_scope.cancel()
        except Exception:
            logger.exception("an HTTP session broke off")
        finally:
            self._end()

    def close(self) -> None:
        """End the session: its calls are cancelled and answered with an error, its streams end."""
        self.closed = True
        self._inbound.end()

    def listen(self) -> Outbox:
        """A reader for what belongs to no request; the newest reader is the one that gets it."""
        self.touch()
        outbox = self._standalone.attach()
        self._standalone.prime()
        return outbox

    def hang_up(self) -> None:
        """End the response that reads the standalone stream."""
        self._standalone.close()

    def leave(self, outbox: Outbox) -> None:
        """This reader is gone; whatever it read goes on."""
        self._standalone.detach(outbox)
        exchange = self._exchanges.get(outbox.key)
        if exchange is not None:
            exchange.stream.detach(outbox)
        elif outbox.whole and outbox.key != STANDALONE:
            self.store.settle(outbox.key)
        self.touch()

    def resume(self, event_id: str) -> Outbox | None:
        """A reader for the stream of this event, from there on; None when nothing can be said of what followed it."""
        read = read_event_id(event_id)
        if read is None:
            return None
        self.touch()
        key, number = read
        exchange = self._exchanges.get(key)
        stream = self._standalone if key == STANDALONE else exchange.stream if exchange else None
        if stream is not None:
            return stream.resume(number) if number <= stream.last else None
        missed = self.store.since(key, number)
        if not missed:
            return None
        outbox = Outbox(key, self._pace, missed)
        outbox.finish()
        return outbox

    def touch(self) -> None:
        """The session is in use."""
        self._used = anyio.current_time()

    def ask(self, message: JSONRPCRequest, request: Request) -> tuple[EventStream, Outbox]:
        """Hand on one request; its stream, and the reader for it."""
        self.touch()
        self._last_key = key = self._last_key + 1
        stream = EventStream(key, self.store, self._primes, self._pace)
        outbox = stream.attach()
        self._exchanges[key] = Exchange(stream, message.id)
        self._keys[type(message.id), message.id] = key
        polling = self._primes()
        metadata = ServerMessageMetadata(
            request_context=request,
            close_sse_stream=_called(stream.suspend) if polling else None,
            close_standalone_sse_stream=_called(self.hang_up) if polling else None,
            on_request_unanswered=_called(partial(self._cancelled, key)),
        )
        self._put(message.model_copy(update={"id": key}), metadata)
        return stream, outbox

    def tell(self, message: JSONRPCMessage, request: Request) -> None:
        """Hand on a notification or an answer. One that cancels names the request by the client's id for it."""
        self.touch()
        if isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            params = message.params or {}
            wanted = params.get("requestId")
            if wanted is not None:
                key = self._keys.get((type(wanted), wanted)) if isinstance(wanted, int | str) else None
                if key is None:  # answered already, or never asked: to be ignored (basic/utilities/cancellation)
                    return
                message = message.model_copy(update={"params": {**params, "requestId": key}})
        self._put(message, ServerMessageMetadata(request_context=request))

    async def settle(self) -> None:
        """Wait until every request is answered."""
        while self._exchanges:
            self._settled = anyio.Event()
            await self._settled.wait()

    def _put(self, message: JSONRPCMessage, metadata: ServerMessageMetadata) -> None:
        try:
            self._inbound.put(SessionMessage(message, metadata))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):  # it ended in this very moment
            self._end()

    def _primes(self) -> bool:
        return self.accepted and primes(self._connection.protocol_version)

    def _deliver(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._answer(message)
            return
        related = item.metadata.related_request_id if isinstance(item.metadata, ServerMessageMetadata) else None
        if related is None:
            self._standalone.put(message_bytes(message))
        elif isinstance(related, int) and (exchange := self._exchanges.get(related)) is not None:
            exchange.stream.put(message_bytes(message))
        # A message that belongs to an answered request has no stream any more: nothing follows a result.

    def _cancelled(self, key: int) -> None:
        """A request that its client cancelled has ended: it gets no answer, and nothing can be resumed."""
        if key in self._exchanges:
            self._forget(key).stream.abandon()

    def _forget(self, key: int) -> Exchange:
        exchange = self._exchanges.pop(key)
        identity = type(exchange.request_id), exchange.request_id
        if self._keys.get(identity) == key:
            del self._keys[identity]
        self.touch()
        if not self._exchanges:
            self._settled.set()
        return exchange

    def _answer(self, message: JSONRPCResponse | JSONRPCError) -> None:
        if not isinstance(message.id, int) or message.id not in self._exchanges:
            return
        exchange = self._forget(message.id)
        exchange.stream.put(message_bytes(message.model_copy(update={"id": exchange.request_id})), final=True)

    def _fail(self, key: int, code: int, why: str) -> None:
        self._answer(JSONRPCError(jsonrpc="2.0", id=key, error=ErrorData(code=code, message=why)))

    def _end(self) -> None:
        for key in list(self._exchanges):
            self._fail(key, CONNECTION_CLOSED, "The session has ended")
        self._standalone.close()
        self.ended.set()

    async def _expire(self) -> None:
        """End the session after `idle` seconds in which nothing came, nobody waited and nobody listened."""
        while True:
            left = self._idle if self.busy else self._used + self._idle - anyio.current_time()
            if left <= 0:
                self.close()
                return
            await anyio.sleep(left)


def _called(function: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def call() -> None:
        function()

    return call
