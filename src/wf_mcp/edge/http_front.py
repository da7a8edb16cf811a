"""The HTTP front's endpoint: one path for both eras, and one for handshake clients without sessions (design D1).

An ASGI application. It reads a body once, decides the era (`core/http_rules.py`), and hands the message to its session,
or has it served by itself. Authentication and the Host and Origin guard stand around it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp_types import JSONRPCMessage, JSONRPCRequest
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from wf_mcp.core import http_rules
from wf_mcp.core.envelope import Era
from wf_mcp.core.http_rules import Refusal
from wf_mcp.edge.http_exchanges import HttpExchanges
from wf_mcp.edge.http_modern import HttpModern
from wf_mcp.edge.http_plain import (
    DisconnectedError,
    Header,
    TooLargeError,
    has_envelope,
    odd_version,
    principal_of,
    read_body,
    read_message,
    refuse,
    reply,
    unacceptable,
)
from wf_mcp.edge.http_session import HttpSession
from wf_mcp.edge.http_sessionless import HttpSessionless
from wf_mcp.edge.http_sessions import HttpLimits, HttpSessions
from wf_mcp.edge.http_stream import PACE, EventStream, Outbox, Pace, pour

SESSION_ID = "mcp-session-id"

STATELESS = "/stateless"
"""How the path ends at which handshake clients are served without sessions."""


class HttpFront:
    """The endpoint; it answers while `running`. `limits` is asked each time, so that a reload takes effect.

    With `stateless`, no handshake client gets a session, wherever it comes.
    """

    def __init__(
        self,
        server: Server[Any],
        limits: Callable[[], HttpLimits] = HttpLimits,
        pace: Pace = PACE,
        *,
        stateless: bool = False,
    ) -> None:
        self._limits, self._pace, self._stateless = limits, pace, stateless
        self.sessions = HttpSessions(server, limits, pace)
        self.exchanges = HttpExchanges(server)
        self._modern = HttpModern(self.exchanges, pace)
        self._sessionless = HttpSessionless(self.exchanges, limits, pace)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve requests for the time of the block; what is still open at its end is cancelled."""
        async with self.sessions.running(), self.exchanges.running(self.sessions.lifespan_state):
            yield

    async def drain(self, grace: float) -> None:
        """Stop: nothing new begins, streams end, and calls get `grace` seconds for their result, then an error."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.sessions.drain, grace, name="end of sessions")
            tasks.start_soon(self.exchanges.drain, grace, name="end of requests")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        request = Request(scope)
        match request.method:
            case "POST":
                await self._post(request, receive, send)
            case "GET" | "DELETE":
                await self._get_or_delete(request, receive, send)
            case _:
                await refuse(send, http_rules.NOT_ALLOWED)

    async def _post(self, request: Request, receive: Receive, send: Send) -> None:
        limit = self._limits().max_request_bytes
        if not http_rules.is_json(request.headers.get("content-type")):
            return await refuse(send, http_rules.NOT_JSON)
        if http_rules.declared_too_large(request.headers.get("content-length"), limit):
            return await refuse(send, http_rules.TOO_LARGE)
        try:
            body = await read_body(receive, limit)
        except TooLargeError:
            return await refuse(send, http_rules.TOO_LARGE)
        except DisconnectedError:
            return None
        message = read_message(body)
        del body  # a call may take long, and its body may be large
        if self._era(request, message) == "modern":
            return await self._modern.post(request, message, receive, send)
        if isinstance(message, Refusal):
            return await refuse(send, message)
        if self._without_session(request, message):
            return await self._sessionless.post(request, message, receive, send)
        return await self._post_handshake(request, message, receive, send)

    async def _post_handshake(self, request: Request, message: JSONRPCMessage, receive: Receive, send: Send) -> None:
        if not isinstance(message, JSONRPCRequest):
            session = self._session(request)
            if isinstance(session, Refusal):
                return await refuse(send, session)
            session.tell(message, request)
            return await reply(send, 202, b"")
        opening = message.method == "initialize"
        session = unacceptable(request) or (self._new_session(request) if opening else self._session(request))
        if not opening and self.sessions.stopping:
            session = http_rules.STOPPING
        if isinstance(session, Refusal):
            return await refuse(send, session)
        stream, outbox = session.ask(message, request)
        headers: tuple[Header, ...] = ()
        # Nothing can precede the answer to `initialize`, and only after it is it known whether there is a session.
        with anyio.move_on_after(None if opening else self._pace.patience):
            await stream.decided.wait()
        if opening and session.accepted:
            headers = ((SESSION_ID.encode(), session.id.encode()),)
        elif opening:
            self.sessions.end(session)
        return await self._respond(session, stream, outbox, receive, send, *headers)

    async def _respond(
        self,
        session: HttpSession,
        stream: EventStream,
        outbox: Outbox,
        receive: Receive,
        send: Send,
        *headers: Header,
    ) -> None:
        """Send a request's answer, plain if nothing has preceded it, else with everything that does."""
        if stream.plain is not None:
            stream.detach(outbox)
            return await reply(send, 200, stream.plain, *headers)
        stream.start()
        return await self._pour(session, outbox, receive, send, *headers)

    async def _pour(self, session: HttpSession, outbox: Outbox, receive: Receive, send: Send, *headers: Header) -> None:
        """Send events until the stream ends; a client that leaves ends nothing else (matrix E.3)."""
        try:
            await pour(outbox, receive, send, headers=list(headers))
        finally:
            session.leave(outbox)

    async def _get_or_delete(self, request: Request, receive: Receive, send: Send) -> None:
        if self._era(request, None) == "modern" or self._without_session(request, None):  # they have neither
            return await refuse(send, http_rules.NOT_ALLOWED, allow="POST")
        session = self._session(request)
        if isinstance(session, Refusal):
            return await refuse(send, session)
        if request.method == "DELETE":
            self.sessions.end(session)
            return await reply(send, 200, b"")
        if self.sessions.stopping:
            return await refuse(send, http_rules.STOPPING)
        if not http_rules.accepts(request.headers.get("accept"), http_rules.EVENTS):
            return await refuse(send, http_rules.GET_NOT_ACCEPTABLE)
        last = request.headers.get("last-event-id")
        outbox = session.resume(last) if last else session.listen()
        if outbox is None:
            return await refuse(send, http_rules.UNKNOWN_EVENT)
        return await self._pour(session, outbox, receive, send)

    def _session(self, request: Request) -> HttpSession | Refusal:
        """The session that a request names, if it may."""
        session_id = request.headers.get(SESSION_ID)
        if session_id is None:
            return odd_version(request) or http_rules.NO_SESSION
        return odd_version(request) or self.sessions.find(session_id, principal_of(request))

    def _new_session(self, request: Request) -> HttpSession | Refusal:
        """A session for an `initialize`, whichever one it names."""
        return odd_version(request) or self.sessions.open(principal_of(request))

    def _without_session(self, request: Request, message: JSONRPCMessage | None) -> bool:
        """Whether a handshake client's request is served by itself: asked for, configured, or its host needs it."""
        if self._stateless or _asks_for_none(request):
            return True
        return SESSION_ID not in request.headers and self._sessionless.expects(request, message)

    def _known(self, request: Request) -> bool:
        """Whether a request without a session is known to be a handshake client's: its header may be a newer one's."""
        visitors = self._sessionless
        return (
            _asks_for_none(request) or visitors.expects(request, None) or (self._stateless and visitors.knows(request))
        )

    def _era(self, request: Request, message: JSONRPCMessage | Refusal | None) -> Era:
        return http_rules.era_of(
            method=message.method if isinstance(message, JSONRPCRequest) else None,
            envelope=has_envelope(message),
            session=SESSION_ID in request.headers or self._known(request),
            version=request.headers.get("mcp-protocol-version"),
        )


def _asks_for_none(request: Request) -> bool:
    """Whether the path says that its client is one of the handshake era without a session."""
    path: str = request.scope["path"]
    return path.rstrip("/").endswith(STATELESS)
