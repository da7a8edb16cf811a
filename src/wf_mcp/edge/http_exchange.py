"""One HTTP request that is served by itself, in no session (2026-07-28 basic/transports/streamable-http § Receiving
Messages).

Its answer is plain JSON as long as nothing precedes it, and ends an event stream otherwise. Events have no ids, since
nothing can be resumed.
"""

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from starlette.requests import Request
from starlette.types import Receive, Send

from wf_mcp.edge.http_plain import reply
from wf_mcp.edge.http_stream import Outbox, Pace, pour
from wf_mcp.edge.messages import message_bytes

PROGRESS = "notifications/progress"

OK = 200

BURST = 64
"""Messages after which others get their turn."""


class Exchange:
    """One request until it is answered; also the SDK's `DispatchContext` for its handler, who can tell the client
    something on its response, and can ask it nothing.

    `scope` is the handler's, `ended` set once that is over.
    """

    can_send_request = False

    def __init__(self, message: JSONRPCRequest, request: Request, pace: Pace) -> None:
        self.message = message
        self.request_id = message.id
        self.transport = TransportContext(kind="streamable-http", can_send_request=False, headers=request.headers)
        self.message_metadata: MessageMetadata = ServerMessageMetadata(request_context=request, can_send_request=False)
        self.cancel_requested = anyio.Event()
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        self.decided = anyio.Event()
        self.plain: bytes | None = None
        self.code: int | None = None
        self.outbox = Outbox(pace=pace)
        self._progress_token = progress_token_from_params(message.params)
        self._pace = pace
        self._answered = False
        self._read = True
        self._sent = 0

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refuse: the answer would have nowhere to arrive."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Send one notification on the response; one that comes after the answer is dropped."""
        if self._answered:
            return
        given: dict[str, Any] = {} if params is None else {"params": dict(params)}
        self.decided.set()
        self._event(message_bytes(JSONRPCNotification(jsonrpc="2.0", method=method, **given)))
        self._sent += 1
        if self._sent % BURST == 0:
            await anyio.lowlevel.checkpoint()

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the request wants it."""
        if self._progress_token is None:
            return
        said = {"progressToken": self._progress_token, "progress": progress, "total": total, "message": message}
        await self.notify(PROGRESS, {key: value for key, value in said.items() if value is not None})

    def answer(self, message: JSONRPCResponse | JSONRPCError) -> None:
        """Give the answer, nulls included; only the first one counts."""
        data = message_bytes(message)
        if self._answered:
            return
        self._answered = True
        if self.decided.is_set():
            self._event(data)
            self.outbox.finish()
            return
        self.plain = data
        self.code = message.error.code if isinstance(message, JSONRPCError) else None
        self.decided.set()

    def end(self) -> None:
        """The handler is over: a response that still waits gets no more."""
        self._answered = True
        self.decided.set()
        self.outbox.finish()
        self.ended.set()

    async def respond(self, receive: Receive, send: Send, statuses: Mapping[int, int]) -> bool:
        """Send the response; true once the client has all of it, false when it has left or takes too little.

        `statuses` has the HTTP status of a plain error by its code. A stream begins with what precedes the answer, or
        after a silence, with a comment.
        """
        try:
            if not await self._decision(receive):
                return False
            if self.plain is not None:
                await reply(send, statuses.get(self.code, OK) if self.code is not None else OK, self.plain)
                return True
            self.decided.set()
            return await pour(self.outbox, receive, send, headers=[])
        finally:
            self._read = False

    async def _decision(self, receive: Receive) -> bool:
        """Wait until it is known how to answer, or for a while; false when the client leaves first."""
        gone = False

        async def watch(scope: anyio.CancelScope) -> None:
            nonlocal gone
            while (await receive())["type"] != "http.disconnect":
                pass
            gone = True
            scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, tasks.cancel_scope, name="the client of a request")
            with anyio.move_on_after(self._pace.comment):
                await self.decided.wait()
            tasks.cancel_scope.cancel()
        return not gone

    def _event(self, data: bytes) -> None:
        if self._read:  # nothing is kept for a client that has left
            self.outbox.offer(b"".join((b"event: message\ndata: ", data, b"\n\n")))
