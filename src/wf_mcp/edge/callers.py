"""Who sends a request: from the SDK's context to the runtime's `Caller`.

On a stdio front there is one client, so all sessions are its own. Over HTTP a handshake client owns its sessions for as
long as its own lasts; others share with whoever has the same token, or with those who declare the same (design D4).
"""

import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from wf_mcp.core.config_values import NamesStyle
from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.hosts import Choice, Style, choose_names
from wf_mcp.core.levels import LEVELS
from wf_mcp.core.reports import ClientStatus
from wf_mcp.core.sessionless import CANNOT_ASK
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.clients import Client, ModernPort, RequestPort, SessionSink
from wf_mcp.edge.error_watch import STATE_KEY as ERRORS_KEY
from wf_mcp.edge.error_watch import ErrorWatch
from wf_mcp.edge.seams import connection_of
from wf_mcp.edge.sessionless import SessionlessPort, introduction_of
from wf_mcp.runtime.audience import Audience, alone
from wf_mcp.runtime.ports import Caller, Hello

STATE_KEY = "wf_mcp.client"
"""Where a connection's scratch state keeps its `Client`."""

CALLER_KEY = "wf_mcp.caller"
"""Where it keeps what its client's callers have in common, from one `initialize` to the next."""

STDIO = "stdio"

NAMES = "names"
"""The query parameter by which a client of the HTTP front asks for a form of names: `/mcp?names=safe`."""

MODERN_SEEN = 50
"""Clients of 2026-07-28 that the status remembers; they have no connection that would end."""

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """What a front decides for all its clients: its `kind`, its setting for the form of names, and who wf-mcp says it
    is.
    """

    kind: Literal["stdio", "http"]
    style: NamesStyle
    identity: JsonObject


class Callers:
    """Recognises the client behind each request; `left` is told when a handshake client has gone."""

    def __init__(self, settings: FrontSettings, sink: SessionSink, left: Callable[[Audience], None]) -> None:
        self._settings = settings
        self._sink = sink
        self._left = left
        self._errors: ErrorWatch | None = None
        self._requests = itertools.count(1)
        self._modern_seen: dict[tuple[object, object, Choice], ClientStatus] = {}

    def watch(self, stream: Any) -> ErrorWatch:
        """The one client's messages on a stdio front, with its errors watched."""
        self._errors = ErrorWatch(stream)
        return self._errors

    def arrived(self, ctx: Context) -> Caller:
        """Register the handshake client whose `initialize` this is; one without a session is gone again at once."""
        if introduction_of(ctx.session) is not None:
            return self._undeclared(ctx)
        connection = connection_of(ctx.session)
        client = connection.state.get(STATE_KEY)
        if not isinstance(client, Client):
            key = STDIO if connection.session_id is None else f"client {_digest(connection.session_id)}"
            client = connection.state[STATE_KEY] = self._sink.connect(key, connection)
        client.initialize = dict(ctx.params or {})
        if self._errors is not None:
            connection.state[ERRORS_KEY] = self._errors
        client.names = self._names(ctx, _object(client.initialize.get("clientInfo")))
        connection.state.pop(CALLER_KEY, None)
        caller = self._handshake(client, ctx, connection)
        client.audience = caller.audience
        connection.exit_stack.callback(self._left, caller.audience)
        return caller

    def vet(self, ctx: Context) -> None:
        """Raise `InvalidParams` where the client's URL asks for a form of names that there is not."""
        _asked(ctx)

    def client_of(self, ctx: Context) -> Client | None:
        """The connected handshake client that sent a message."""
        client = connection_of(ctx.session).state.get(STATE_KEY)
        return client if isinstance(client, Client) else None

    def of(self, ctx: Context) -> Caller:
        """The caller of one request, in either era."""
        if is_modern(ctx):
            return self._modern(ctx)
        client = self.client_of(ctx)
        if client is None:
            return self._undeclared(ctx)
        return self._handshake(client, ctx, connection_of(ctx.session))

    def _undeclared(self, ctx: Context) -> Caller:
        """A client that has no session, or skipped `initialize`: whatever it can do, nobody may count on it."""
        introduction = introduction_of(ctx.session)
        info = introduction.client_info if introduction is not None else {}
        told = introduction is not None and ctx.request_id is not None
        return Caller(
            audience=self._sessionless({}, ctx.protocol_version, ctx),
            hello=self._hello({}, None, ctx.protocol_version),
            style=self._names(ctx, info).style,
            headers=_headers(ctx),
            port=SessionlessPort(f"request {next(self._requests)}", ctx.session) if told else None,
            principal=_principal(ctx),
            unasked=CANNOT_ASK if introduction is not None else None,
        )

    def _handshake(self, client: Client, ctx: Context, connection: Connection) -> Caller:
        principal = _principal(ctx)
        known = connection.state.get(CALLER_KEY)
        if not isinstance(known, Caller) or known.principal != principal:
            known = connection.state[CALLER_KEY] = self._introduced(client, ctx, principal)
        return Caller(  # not `replace`, which takes several times as long
            audience=known.audience,
            hello=known.hello,
            style=known.style,
            headers=_headers(ctx),
            port=RequestPort(client, ctx.session, ctx.request_id, connection) if ctx.request_id is not None else None,
            standing=client.port,
            principal=principal,
        )

    def _introduced(self, client: Client, ctx: Context, principal: str | None) -> Caller:
        """What is the same in all requests of a client that said hello."""
        params = client.initialize
        capabilities = _object(params.get("capabilities"))
        wanted = params.get("protocolVersion")
        version = str(wanted) if wanted in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
        shared = self._sessionless(capabilities, version, ctx)
        return Caller(
            audience=alone(STDIO) if self._alone else replace(shared, client=client.key, owned=True),
            hello=self._hello(capabilities, params.get("clientInfo"), version),
            style=client.names.style,
            standing=client.port,
            principal=principal,
        )

    def _modern(self, ctx: Context) -> Caller:
        meta = _object((ctx.params or {}).get("_meta"))
        capabilities = _object(meta.get(CLIENT_CAPABILITIES_META_KEY))
        # Clients number their requests for themselves, so that ids of two of them may be equal.
        key = STDIO if self._alone else f"request {next(self._requests)}"
        info = _object(meta.get(CLIENT_INFO_META_KEY))
        names = self._names(ctx, info)
        self._saw(info, names)
        wanted = meta.get(LOG_LEVEL_META_KEY)
        level = wanted if isinstance(wanted, str) and wanted in LEVELS else None
        return Caller(
            audience=alone(STDIO) if self._alone else self._sessionless(capabilities, LATEST_HANDSHAKE_VERSION, ctx),
            hello=replace(self._hello(capabilities, info or None, LATEST_HANDSHAKE_VERSION), era="modern"),
            era="modern",
            style=names.style,
            headers=_headers(ctx),
            port=ModernPort(key, ctx.session, ctx.request_id, level) if ctx.request_id is not None else None,
            principal=_principal(ctx),
            log_level=level,
        )

    def statuses(self) -> list[ClientStatus]:
        """Who is connected, and which clients of 2026-07-28 were here last, with the form of names of each."""
        connected = [
            _status(_object(client.initialize.get("clientInfo")), "handshake", client.names) for client in self._sink
        ]
        return [*connected, *self._modern_seen.values()]

    def _names(self, ctx: Context, client_info: JsonObject) -> Choice:
        return choose_names(self._settings.style, _asked(ctx), is_modern(ctx), client_info)

    def _saw(self, client_info: JsonObject, names: Choice) -> None:
        status = _status(client_info, "modern", names)
        key = (status.name, status.version, names)
        self._modern_seen.pop(key, None)  # the latest ones stand last
        self._modern_seen[key] = status
        if len(self._modern_seen) > MODERN_SEEN:
            del self._modern_seen[next(iter(self._modern_seen))]

    @property
    def _alone(self) -> bool:
        """Whether this front has one client, so that every session is its own."""
        return self._settings.kind == "stdio"

    def _sessionless(self, capabilities: JsonObject, version: str, ctx: Context) -> Audience:
        """Whom a caller without a session shares with: its principal, else everybody who declares the same."""
        declared = _digest(json.dumps([capabilities, version], sort_keys=True))
        shared = f"shared {declared}"
        principal = _principal(ctx)
        own = f"principal {principal} {declared}" if principal is not None else shared
        return Audience(own, own, shared)

    def _hello(self, capabilities: JsonObject, client_info: object, version: str) -> Hello:
        return Hello(capabilities, client_info if isinstance(client_info, dict) else self._settings.identity, version)


def is_modern(ctx: Context) -> bool:
    """Whether a request belongs to the stateless era (2026-07-28)."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _object(value: object) -> JsonObject:
    return dict(value) if isinstance(value, dict) else {}


def _status(client_info: JsonObject, era: Literal["handshake", "modern"], names: Choice) -> ClientStatus:
    name, version = client_info.get("name"), client_info.get("version")
    return ClientStatus(
        name=name if isinstance(name, str) else None,
        version=version if isinstance(version, str) else None,
        era=era,
        style=names.style,
        why=names.why,
    )


def _asked(ctx: Context) -> Style | None:
    """The form of names that the client's URL asks for; raises `InvalidParams` for one that there is not."""
    wanted = ctx.request.query_params.get(NAMES) if ctx.request is not None else None
    match wanted:
        case None | "dotted" | "safe":
            return wanted
        case _:
            raise InvalidParams(f"the URL says {NAMES}={wanted}: expected dotted or safe")


def _headers(ctx: Context) -> dict[str, str]:
    request = ctx.request
    return {name.lower(): value for name, value in request.headers.items()} if request is not None else {}


def _digest(text: str) -> str:
    """A short name for `text`; session ids are secrets, so that only digests of them serve as keys."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _principal(ctx: Context) -> str | None:
    """Who the bearer token belongs to, where the front asks for one."""
    user = ctx.request.scope.get("user") if ctx.request is not None else None
    return user.access_token.client_id if isinstance(user, AuthenticatedUser) else None
