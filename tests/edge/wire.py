"""The SDK's side of a request, real but for the wire: what the edge is given, made by hand; the lane over twins."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY
from tests.inbox import Inbox
from tests.runtime.memory import Twin
from tests.runtime.stage import Stage, stage

from wf_mcp.core.config_values import Fallback
from wf_mcp.core.seal import KEY_SIZE, Sealer
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.admin import OwnTools
from wf_mcp.edge.callers import Callers, FrontSettings
from wf_mcp.edge.clients import SessionSink
from wf_mcp.edge.fallbacks import Fallbacks
from wf_mcp.edge.front import Backstage, WireLane
from wf_mcp.edge.lists import Lists
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.extended_tasks import ExtendedTasks, TaskOwners
from wf_mcp.runtime.skills import Skills
from wf_mcp.runtime.standing import give_up

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
IDENTITY = {"name": "wf-mcp", "version": "1"}
OWN_TOOL = {"name": "wf.admin.status", "inputSchema": {"type": "object"}}


class Peer:
    """The other end of a connection, as the SDK's `Outbound`: keeps what it hears, and answers questions."""

    can_send_request = True

    def __init__(self, answer: JsonObject | MCPError | None = None) -> None:
        self.answer: JsonObject | MCPError = {} if answer is None else answer
        self.notes = Inbox()
        self.asked: list[tuple[str, Any]] = []
        self.reads = anyio.Event()
        self.reads.set()
        self.thinking = anyio.Event()
        self.thinking.set()

    async def send_raw_request(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> JsonObject:
        self.asked.append((method, params))
        await self.thinking.wait()
        if isinstance(self.answer, MCPError):
            raise self.answer
        return self.answer

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        await self.reads.wait()
        self.notes.add({"method": method, "params": params})

    @property
    def heard(self) -> list[str]:
        """The methods of what it heard."""
        return [note["method"] for note in self.notes]


@dataclass
class Visitor:
    """One client: its connection, what comes on the standalone stream, and what comes on its requests' own."""

    connection: Connection
    peer: Peer
    own: Peer = field(default_factory=Peer)

    def context(self, method: str, params: JsonObject | None = None, **fields: Any) -> ServerRequestContext[Any, Any]:
        """The context of one request."""
        return ServerRequestContext(
            session=ServerSession(self.own, self.connection),
            lifespan_context=None,
            protocol_version=self.connection.protocol_version,
            method=method,
            params=params,
            **{"request_id": 1, **fields},
        )


def handshake(session_id: str | None = None, *, initialized: bool = True) -> Visitor:
    """A client with a standing connection."""
    peer = Peer()
    connection = Connection.for_loop(peer, session_id=session_id)
    if initialized:
        connection.initialized.set()
    return Visitor(connection, peer)


def modern() -> Visitor:
    """A client that says with each request who it is."""
    peer = Peer()
    return Visitor(Connection.from_envelope(MODERN, None, None, outbound=peer), peer)


def hello(capabilities: JsonObject | None = None, version: str = HANDSHAKE, name: str = "client") -> JsonObject:
    """The parameters of `initialize`."""
    info = {"name": name, "version": "1", "x-future": 1}
    return {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": info}


def envelope(capabilities: JsonObject | None = None, name: str = "client") -> JsonObject:
    """The `_meta` of a modern request."""
    return {CLIENT_CAPABILITIES_META_KEY: capabilities or {}, CLIENT_INFO_META_KEY: {"name": name, "version": "1"}}


def over_http(principal: str | None = None, query: Mapping[str, str] | None = None, **headers: str) -> Any:
    """What the SDK passes on of the HTTP request; `principal` is whose token it carried."""
    user = AuthenticatedUser(AccessToken(token="t", client_id=principal, scopes=[])) if principal else None
    return SimpleNamespace(headers=headers, scope={"user": user}, query_params=dict(query or {}))


@dataclass
class Face:
    """The lane over a stage of twins, and what went on to FastMCP behind it."""

    stage: Stage
    sink: SessionSink
    lane: WireLane
    own_tools: OwnTools
    onward: list[Any] = field(default_factory=list)

    async def ask(self, visitor: Visitor, method: str, params: JsonObject | None = None, **fields: Any) -> Any:
        """One request through the lane; a modern one gets its envelope."""
        if visitor.connection.protocol_version == MODERN:
            params = {**(params or {}), "_meta": {**envelope(), **(params or {}).get("_meta", {})}}
        with anyio.fail_after(10):
            return await self.lane(visitor.context(method, params, **fields), self._next)

    async def arrive(self, session_id: str | None = None, capabilities: JsonObject | None = None) -> Visitor:
        """A handshake client that has said hello."""
        visitor = handshake(session_id)
        await self.ask(visitor, "initialize", hello(capabilities))
        return visitor

    async def _next(self, context: Any) -> Any:
        self.onward.append((context.method, context.params))
        match context.method:
            case "initialize" | "server/discover":
                return {
                    "protocolVersion": HANDSHAKE,
                    "capabilities": {"own": {}},
                    "serverInfo": {},
                    "instructions": "own",
                }
            case "tools/list":
                return {"tools": [OWN_TOOL]}
            case _:
                return {"answered": "by FastMCP"}


@asynccontextmanager
async def face(
    *twins: Twin,
    kind: Literal["stdio", "http"] = "stdio",
    style: Literal["dotted", "safe"] = "dotted",
    admin: bool = False,
    fallback: Fallback = "off",
    **options: Any,
) -> AsyncIterator[Face]:
    """The lane in front of `twins`; `options` as for `stage`."""
    async with stage(*twins, **options) as s, anyio.create_task_group() as tasks:
        sink = SessionSink(s.mounts.concerns)
        sink.run_in(tasks)
        s.bus.add(sink)

        def left(audience: Audience) -> None:
            for session, uris in s.mounts.release(audience):
                s.mounts.spawn(partial(give_up, session, uris))

        def mask(text: str) -> str:
            return text.replace("s3cr3t", "***")

        own = OwnTools(s.bus, sink)
        owners = TaskOwners()
        s.dispatch.on_task = owners.made
        backstage = Backstage(
            callers=Callers(FrontSettings(kind, style, IDENTITY), sink, left),
            mounts=s.mounts,
            lists=Lists(s.listings, lambda: s.operator.config.page_size, Sealer(b"k" * KEY_SIZE)),
            dispatch=s.dispatch,
            standing=s.standing,
            tasks=s.tasks,
            extended_tasks=ExtendedTasks(s.mounts, s.dispatch, owners),
            skills=Skills(s.mounts, s.resolver),
            listeners=s.listeners,
            identity=IDENTITY,
            admin=lambda: admin,
            own_tools=own,
            fallbacks=Fallbacks(lambda: fallback, s.dispatch, mask),
            mask=mask,
        )
        yield Face(s, sink, WireLane(backstage), own)
        tasks.cancel_scope.cancel()
