"""The HTTP front's endpoint: handshake sessions of our own, and the SDK's manager for the stateless era (design D1).

An ASGI application for one path. It reads a body once, decides the era (`core/http_rules.py`), and hands handshake
messages to their session and modern requests to the SDK as they came. Authentication and the Host and Origin guard
stand around it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import JSONRPCMessage, JSONRPCRequest
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from wf_mcp.core import http_rules
from wf_mcp.core.envelope import Era
from wf_mcp.core.http_rules import Refusal
from wf_mcp.edge.http_plain import (
    DisconnectedError,
    Header,
    TooLargeError,
    has_envelope,
    modern_refusal,
    read_body,
    read_message,
    refuse,
    replay,
    reply,
)
from wf_mcp.edge.http_session import HttpSession
from wf_mcp.edge.http_sessions import HttpLimits, HttpSessions
from wf_mcp.edge.http_stream import PACE, EventStream, Outbox, Pace, pour
from wf_mcp.edge.http_wire import wire_bytes

SESSION_ID = "mcp-session-id"


class HttpFront:
    """The endpoint; it answers while `running`. `limits` is asked each time, so that a reload takes effect."""

    def __init__(self, server: Server[Any], limits: Callable[[], HttpLimits] = HttpLimits, pace: Pace = PACE) -> None:
        self._server, self._limits, self._pace = server, limits, pace
        self.sessions = HttpSessions(server, limits, pace)
        self._modern: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve requests for the time of the block; what is still open at its end is cancelled."""
        self._modern = StreamableHTTPSessionManager(
            self._server,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            # What the SDK gets to see has been read within our own limit, which a reload may change.
            max_request_body_size=2**62,
        )
        async with self.sessions.running(), self._modern.run():
            yield

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
        if _era(request, message) == "modern":
            return await self._post_modern(request, message, replay(body, receive), send)
        del body  # a call may take long, and its body may be large
        if isinstance(message, Refusal):
            return await refuse(send, message)
        return await self._post_handshake(request, message, receive, send)

    async def _post_modern(
        self, request: Request, message: JSONRPCMessage | Refusal, receive: Receive, send: Send
    ) -> None:
        """Leave it to the SDK, which goes by the header alone: what the header would make a handshake client's
        contradicts its body, and is refused here.
        """
        refused = modern_refusal(message, request.headers)
        if refused is not None:
            return await reply(send, refused[0], wire_bytes(refused[1]))
        if self._modern is None:
            raise RuntimeError("the HTTP front is not running")
        return await self._modern.handle_request(request.scope, receive, send)

    async def _post_handshake(self, request: Request, message: JSONRPCMessage, receive: Receive, send: Send) -> None:
        if not isinstance(message, JSONRPCRequest):
            session = self._session(request)
            if isinstance(session, Refusal):
                return await refuse(send, session)
            session.tell(message, request)
            return await reply(send, 202, b"")
        opening = message.method == "initialize"
        session = _unacceptable(request) or (self._new_session(request) if opening else self._session(request))
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
        if _era(request, None) == "modern":  # that era has neither
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
            return _odd_version(request) or http_rules.NO_SESSION
        return _odd_version(request) or self.sessions.find(session_id, _principal(request))

    def _new_session(self, request: Request) -> HttpSession | Refusal:
        """A session for an `initialize`, whichever one it names."""
        return _odd_version(request) or self.sessions.open(_principal(request))


def _era(request: Request, message: JSONRPCMessage | Refusal | None) -> Era:
    return http_rules.era_of(
        method=message.method if isinstance(message, JSONRPCRequest) else None,
        envelope=has_envelope(message),
        session=SESSION_ID in request.headers,
        version=request.headers.get("mcp-protocol-version"),
    )


def _odd_version(request: Request) -> Refusal | None:
    version = request.headers.get("mcp-protocol-version")
    return None if version is None or http_rules.looks_like_version(version) else http_rules.BAD_VERSION


def _unacceptable(request: Request) -> Refusal | None:
    accept = request.headers.get("accept")
    both = all(http_rules.accepts(accept, media) for media in (http_rules.JSON, http_rules.EVENTS))
    return None if both else http_rules.POST_NOT_ACCEPTABLE


def _principal(request: Request) -> str | None:
    """Whose token the request carries; None where no tokens are configured."""
    user = request.scope.get("user")
    return user.access_token.client_id if isinstance(user, AuthenticatedUser) else None
