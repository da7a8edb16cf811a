"""Handshake clients over HTTP that have no session: how the rest of the edge knows them, and what they are told
(matrix D.5).
"""

from dataclasses import dataclass
from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import CallNext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from pydantic import BaseModel

from wf_mcp.core.errors import NotServed
from wf_mcp.core.sessionless import CANNOT_ASK, REFUSED, bare_face
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.seams import connection_of, request_channel_of
from wf_mcp.runtime.ports import Withdrawn

STATE_KEY = "wf_mcp.sessionless"
"""Where a connection's scratch state keeps the `Introduction` of a client without a session."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a client without a session said of itself at `initialize`, as far as it is remembered."""

    client_info: JsonObject
    protocol_version: str


def introduction_of(session: ServerSession) -> Introduction | None:
    """How the client behind a request introduced itself; None for one that has a session."""
    found = connection_of(session).state.get(STATE_KEY)
    return found if isinstance(found, Introduction) else None


def introduce(connection: Connection, introduction: Introduction) -> None:
    """Note that a request's client has no session."""
    connection.state[STATE_KEY] = introduction


class SessionlessPort:
    """A client without a session during one of its requests: it hears of progress, and cannot be asked."""

    def __init__(self, client: str, session: ServerSession) -> None:
        self._client = client
        self._channel = request_channel_of(session)

    @property
    def client(self) -> str:
        """Which client this is: without a session, each request is a client of its own."""
        return self._client

    async def cancel_reason(self) -> str | None:
        """Such a client cannot cancel: its `notifications/cancelled` names no request of its own for certain."""
        return None

    async def ask(self, method: str, params: JsonObject, withdrawn: Withdrawn | None = None) -> JsonObject:
        """Refuse: the answer would have nowhere to arrive."""
        raise NotServed(f"{method}: {CANNOT_ASK}")

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send what belongs to the request; log messages belong to a session's log level."""
        if method == "notifications/progress":
            await self._channel.notify(method, params or None)


class SessionlessRules:
    """A middleware, outside the wire lane, that promises such a client nothing and refuses it what cannot work."""

    async def __call__(self, ctx: Any, call_next: CallNext) -> Any:
        """Answer one request; raises `MCPError` (-32601) with the reason."""
        if ctx.request_id is None or introduction_of(ctx.session) is None:
            return await call_next(ctx)
        if ctx.method in REFUSED:
            raise MCPError(METHOD_NOT_FOUND, f"{ctx.method}: {REFUSED[ctx.method]}")
        result = await call_next(ctx)
        if ctx.method != "initialize":
            return result
        if isinstance(result, BaseModel):
            result = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return bare_face(dict(result or {}))
