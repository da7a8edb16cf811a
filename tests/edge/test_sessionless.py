"""Clients without a session as the rest of the edge meets them: refusals, promises, and who can be told what."""

from typing import Any

import pytest
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from tests.edge.wire import HANDSHAKE, Face, Peer, Visitor, face, handshake, hello, over_http
from tests.inbox import JsonObject
from tests.runtime.memory import Twin

from wf_mcp.core.errors import NotServed
from wf_mcp.core.sessionless import CANNOT_ASK
from wf_mcp.edge.seams import connection_of
from wf_mcp.edge.sessionless import Introduction, SessionlessPort, SessionlessRules, introduce, introduction_of

pytestmark = pytest.mark.anyio


def without_session(name: str = "client") -> Visitor:
    """A client that has none."""
    connection = Connection.from_envelope(HANDSHAKE, None, None)
    introduce(connection, Introduction({"name": name}, HANDSHAKE))
    return Visitor(connection, Peer())


async def ruled(f: Face, visitor: Visitor, method: str, params: JsonObject | None = None, **fields: Any) -> Any:
    """One message through the rules and the lane."""
    context = visitor.context(method, params, request=over_http(), **fields)
    return await SessionlessRules()(context, lambda ctx: f.lane(ctx, f._next))


async def test_it_is_known_by_its_connection() -> None:
    stranger, visitor = handshake("s"), without_session()
    assert introduction_of(stranger.context("ping").session) is None
    assert introduction_of(visitor.context("ping").session) == Introduction({"name": "client"}, HANDSHAKE)


async def test_initialize_promises_nothing_that_needs_a_session_and_registers_nobody() -> None:
    capabilities = {"tools": {}, "resources": {"subscribe": True}, "logging": {}}
    async with face(Twin("alpha", capabilities=capabilities), kind="http") as f:
        answer = await ruled(f, without_session(), "initialize", hello({"sampling": {}}))
        assert answer["capabilities"] == {"tools": {}, "resources": {}}
        assert len(f.sink) == 0
        await ruled(f, without_session("other"), "initialize", hello({"elicitation": {}}))
        assert len(f.stage.mounts.audiences) == 1


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe", "logging/setLevel", "tasks/list"])
async def test_what_cannot_work_is_refused_with_a_reason_and_others_are_not(method: str) -> None:
    async with face(Twin("alpha"), kind="http") as f:
        with pytest.raises(MCPError, match=f"{method}: .*no session") as refused:
            await ruled(f, without_session(), method, {})
        assert refused.value.error.code == -32601
        assert await ruled(f, handshake("s"), "ping") == {"answered": "by FastMCP"}
        assert await ruled(f, without_session(), "notifications/x", request_id=None) == {"answered": "by FastMCP"}


async def test_calls_at_one_revision_share_a_session_and_the_names_are_those_of_the_host() -> None:
    twin = Twin("alpha")
    async with face(twin, kind="http", style="auto") as f:
        callers = [
            f.lane._stage.callers.of(without_session(name).context("tools/list")) for name in ("a", "openai-mcp")
        ]
        assert callers[0].audience == callers[1].audience
        assert [caller.style for caller in callers] == ["dotted", "safe"]
        assert callers[0].hello.capabilities == {}
        old = Connection.from_envelope("2025-03-26", None, None)
        introduce(old, Introduction({}, "2025-03-26"))
        other = f.lane._stage.callers.of(Visitor(old, Peer()).context("tools/list"))
        assert other.hello.protocol_version == "2025-03-26" and other.audience != callers[0].audience
        ports = [caller.port.client for caller in callers if caller.port is not None]
        assert len(set(ports)) == 2


async def test_it_hears_of_progress_and_cannot_be_asked() -> None:
    visitor = without_session()
    session = visitor.context("tools/call").session
    assert isinstance(session, ServerSession) and connection_of(session) is visitor.connection
    port = SessionlessPort("request 1", session)
    await port.tell("notifications/progress", {"progress": 1})
    await port.tell("notifications/message", {"level": "error"})
    assert visitor.own.heard == ["notifications/progress"]
    assert await port.cancel_reason() is None
    with pytest.raises(NotServed) as refused:
        await port.ask("sampling/createMessage", {})
    assert refused.value.message == f"sampling/createMessage: {CANNOT_ASK}"
