"""Who sends a request: from the SDK's context to the runtime's `Caller`.

On a stdio front there is one client, so all sessions are its own; over HTTP, callers share sessions when they declare
the same capabilities and speak the same revision (design D4, first part).
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.clients import Client, ModernPort, RequestPort, SessionSink
from wf_mcp.edge.seams import connection_of
from wf_mcp.runtime.ports import Caller, Hello

STATE_KEY = "wf_mcp.client"
"""Where a connection's scratch state keeps its `Client`."""

STDIO = "stdio"

ENVELOPE = frozenset(
    {PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY}
)
"""The `_meta` keys of a modern request that end at this hop (2026-07-28 basic/index § `_meta`)."""

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """What a front decides for all its clients: its `kind`, the form of names that it lists, and who wf-mcp says it
    is.
    """

    kind: Literal["stdio", "http"]
    style: Literal["dotted", "safe"]
    identity: JsonObject


class Callers:
    """Recognises the client behind each request."""

    def __init__(self, settings: FrontSettings, sink: SessionSink) -> None:
        self._settings = settings
        self._sink = sink
        self._one_hello: Hello | None = None

    def arrived(self, ctx: Context) -> Caller:
        """Register the handshake client whose `initialize` this is."""
        connection = connection_of(ctx.session)
        key = connection.session_id or STDIO
        client = self._sink.connect(key, connection)
        client.initialize = dict(ctx.params or {})
        connection.state[STATE_KEY] = client
        return self._handshake(client, ctx, connection)

    def of(self, ctx: Context) -> Caller:
        """The caller of one request, in either era."""
        if is_modern(ctx):
            return self._modern(ctx)
        connection = connection_of(ctx.session)
        client = connection.state.get(STATE_KEY)
        if client is None:  # a client that skipped `initialize`: it declared nothing
            return Caller(
                self._audience({}, LATEST_HANDSHAKE_VERSION),
                self._hello({}, None, LATEST_HANDSHAKE_VERSION),
                style=self._settings.style,
            )
        return self._handshake(cast(Client, client), ctx, connection)

    def _handshake(self, client: Client, ctx: Context, connection: Connection) -> Caller:
        params = client.initialize
        capabilities = _object(params.get("capabilities"))
        wanted = params.get("protocolVersion")
        version = str(wanted) if wanted in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
        port = RequestPort(client.key, ctx.session, connection) if ctx.request_id is not None else None
        return Caller(
            audience=self._audience(capabilities, version),
            hello=self._hello(capabilities, params.get("clientInfo"), version),
            style=self._settings.style,
            headers=_headers(ctx),
            port=port,
            standing=client.port if self._settings.kind == "stdio" else None,
        )

    def _modern(self, ctx: Context) -> Caller:
        meta = _object((ctx.params or {}).get("_meta"))
        capabilities = _object(meta.get(CLIENT_CAPABILITIES_META_KEY))
        key = f"request {ctx.request_id}" if self._settings.kind == "http" else STDIO
        return Caller(
            audience=self._audience(capabilities, LATEST_HANDSHAKE_VERSION),
            hello=self._hello(capabilities, meta.get(CLIENT_INFO_META_KEY), LATEST_HANDSHAKE_VERSION),
            era="modern",
            style=self._settings.style,
            headers=_headers(ctx),
            port=ModernPort(key, ctx.session, ctx.request_id) if ctx.request_id is not None else None,
        )

    def _audience(self, capabilities: JsonObject, version: str) -> str:
        if self._settings.kind == "stdio":
            return STDIO
        text = json.dumps([capabilities, version], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _hello(self, capabilities: JsonObject, client_info: object, version: str) -> Hello:
        """What upstreams are told: the client's own name where sessions are its alone, ours where they are shared."""
        own = (
            client_info if self._settings.kind == "stdio" and isinstance(client_info, dict) else self._settings.identity
        )
        return Hello(capabilities, own, version)


def without_envelope(params: JsonObject) -> JsonObject:
    """`params` without the fields of a 2026-07-28 envelope: they describe the client's hop to us (matrix C.3)."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or ENVELOPE.isdisjoint(meta):
        return params
    rest = {key: value for key, value in meta.items() if key not in ENVELOPE}
    bare = {key: value for key, value in params.items() if key != "_meta"}
    return {**bare, "_meta": rest} if rest else bare


def is_modern(ctx: Context) -> bool:
    """Whether a request belongs to the stateless era (2026-07-28)."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _object(value: object) -> JsonObject:
    return dict(value) if isinstance(value, dict) else {}


def _headers(ctx: Context) -> dict[str, str]:
    request = ctx.request
    return {name.lower(): value for name, value in request.headers.items()} if request is not None else {}
