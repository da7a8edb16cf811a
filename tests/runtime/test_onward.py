"""What a modern upstream is told of who asks (matrix D.2, D.3); errors and headers: `test_dispatch.py`."""

import pytest
from tests.runtime.memory import Twin, TwinClient, tool
from tests.runtime.stage import Stage, stage
from tests.runtime.upstreams import ABLE, DONE, client, modern, modern_client

from wf_mcp.core.envelope import Envelope
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import Caller

pytestmark = pytest.mark.anyio

INFO = {"name": "test", "version": "1"}
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ABLE_THERE = {**ABLE, "roots": {}}
UI = {"io.modelcontextprotocol/ui": {"mimeTypes": ["x"]}}


async def told(s: Stage, who: Caller, method: str = "tools/call") -> Envelope | None:
    if method == "tools/call":
        await s.call("alpha.x", who)
    else:
        await s.read("demo://alpha/r", who)
    return s.twin("alpha").of(method)[-1].envelope


async def test_a_handshake_client_declares_what_that_era_has_and_the_tasks_that_are_driven_for_it() -> None:
    """`roots.listChanged` and client-hosted tasks do not exist in 2026-07-28."""
    declared: JsonObject = {**ABLE, "tasks": {"requests": {}}, "extensions": UI, "x": 1}
    async with stage(modern(DONE)) as s:
        called = await told(s, client(TwinClient(), declared))
        read = await told(s, client(TwinClient(), declared), "resources/read")
    extensions = {"extensions": {**UI, **TASKS["extensions"]}}
    assert called == Envelope({**ABLE_THERE, **extensions, "x": 1}, INFO, "debug")
    assert read == Envelope({**ABLE_THERE, "extensions": UI, "x": 1}, INFO, "debug")


async def test_a_client_that_cannot_be_asked_declares_nothing_that_it_could_be_asked_for() -> None:
    async with stage(modern(DONE)) as s:
        assert await told(s, client(None, {**ABLE, "x": {}})) == Envelope({"x": {}, **TASKS}, INFO, "debug")


async def test_a_handshake_clients_log_level_rides_on_each_request() -> None:
    who = client(TwinClient())
    async with stage(modern(DONE, capabilities={"tools": {}, "resources": {}, "logging": {}})) as s:
        s.twin("alpha").give("logging/setLevel", {})
        await s.ready(who)
        await s.standing.set_level(who, {"level": "warning"})
        assert await told(s, who) == Envelope({**ABLE_THERE, **TASKS}, INFO, "warning")


async def test_a_modern_client_declares_for_itself_with_each_request() -> None:
    async with stage(modern(DONE)) as s:
        assert await told(s, modern_client()) == Envelope(ABLE, INFO, None)
        assert await told(s, modern_client(log_level="info")) == Envelope(ABLE, INFO, "info")


async def test_what_a_client_declared_stays_its_own() -> None:
    declared: JsonObject = {"roots": {"listChanged": True}, "extensions": {}}
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await told(s, client(TwinClient(), declared))
    assert declared == {"roots": {"listChanged": True}, "extensions": {}}
