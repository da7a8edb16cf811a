"""Handshake requests over HTTP that belong to no session: for clients that never give back a session id (matrix E.1
item 4, F90).

Each request is served by itself, with or without an `initialize` before it. All such clients of one principal share
the sessions with upstreams, so that a call starts no process.
"""

from collections.abc import Callable

import anyio
from mcp.server.connection import Connection
from mcp_types import JSONRPCMessage, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from starlette.requests import Request
from starlette.types import Receive, Send

from wf_mcp.core import http_rules
from wf_mcp.core.hosts import host_of
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.http_exchange import Exchange
from wf_mcp.edge.http_exchanges import HttpExchanges
from wf_mcp.edge.http_plain import odd_version, principal_of, refuse, reply, unacceptable
from wf_mcp.edge.http_sessions import HttpLimits
from wf_mcp.edge.http_stream import Pace
from wf_mcp.edge.sessionless import Introduction, introduce

ASSUMED = "2025-03-26"
"""The revision of a request that names none (2025-11-25 basic/transports § Protocol Version Header)."""

REMEMBERED = 1000
"""Introductions kept; the newest stay."""

Visitor = tuple[str | None, str | None, str | None]


class Introductions:
    """Who introduced themselves lately, known again by token, address and `User-Agent`: they give back nothing else."""

    def __init__(self) -> None:
        self._made: dict[Visitor, Introduction] = {}

    def make(self, request: Request, params: JsonObject) -> Introduction:
        """Remember an `initialize`."""
        visitor = _visitor(request)
        self._made.pop(visitor, None)
        self._made[visitor] = made = Introduction(_client_info(params), str(params.get("protocolVersion")))
        if len(self._made) > REMEMBERED:
            del self._made[next(iter(self._made))]
        return made

    def find(self, request: Request) -> Introduction | None:
        """The introduction of whoever sends this, if it is remembered."""
        return self._made.get(_visitor(request))


class HttpSessionless:
    """Serves what such clients post; `limits` says how long a call may go on that nobody reads any more."""

    def __init__(self, exchanges: HttpExchanges, limits: Callable[[], HttpLimits], pace: Pace) -> None:
        self._exchanges, self._limits, self._pace = exchanges, limits, pace
        self._introductions = Introductions()

    def knows(self, request: Request) -> bool:
        """Whether this comes from somebody who was here without a session before."""
        return self._introductions.find(request) is not None

    def expects(self, request: Request, message: JSONRPCMessage | None) -> bool:
        """Whether a request without a session id comes from a host that is known to give none back."""
        if isinstance(message, JSONRPCRequest) and message.method == "initialize":
            return _gives_none_back(_client_info(message.params or {}))
        found = self._introductions.find(request)
        return found is not None and _gives_none_back(found.client_info)

    async def post(self, request: Request, message: JSONRPCMessage, receive: Receive, send: Send) -> None:
        """Answer one POST."""
        refused = odd_version(request)
        if isinstance(message, JSONRPCRequest):
            refused = refused or unacceptable(request) or (http_rules.STOPPING if self._exchanges.stopping else None)
        if refused is not None:
            return await refuse(send, refused)
        if not isinstance(message, JSONRPCRequest):  # nothing is kept that it could be about
            return await reply(send, 202, b"")
        return await self._answer(request, message, receive, send)

    async def _answer(self, request: Request, message: JSONRPCRequest, receive: Receive, send: Send) -> None:
        introduction = self._introduction(request, message)
        named = None if message.method == "initialize" else request.headers.get("mcp-protocol-version")
        version = _version(named, introduction)
        connection = Connection.from_envelope(version, None, None)
        introduce(connection, introduction)
        exchange = Exchange(message, request, self._pace)
        self._exchanges.begin(exchange, connection)
        try:
            await exchange.respond(receive, send, {})
        finally:
            # A client that leaves has not cancelled (2025-11-25 basic/transports § Sending Messages item 6).
            exchange.scope.deadline = anyio.current_time() + self._limits().session_idle

    def _introduction(self, request: Request, message: JSONRPCRequest) -> Introduction:
        if message.method == "initialize":
            return self._introductions.make(request, message.params or {})
        return self._introductions.find(request) or Introduction({}, ASSUMED)


def _gives_none_back(client_info: JsonObject) -> bool:
    host = host_of(client_info)
    return host is not None and host.echoes_session is False


def _client_info(params: JsonObject) -> JsonObject:
    info = params.get("clientInfo")
    return info if isinstance(info, dict) else {}


def _version(named: str | None, introduction: Introduction) -> str:
    """The revision at which a request is served that names one; one that is no handshake's is none that was agreed."""
    wanted = introduction.protocol_version if named is None else named
    return wanted if wanted in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION


def _visitor(request: Request) -> Visitor:
    address = request.client.host if request.client is not None else None
    return principal_of(request), address, request.headers.get("user-agent")
