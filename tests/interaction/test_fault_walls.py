"""What becomes of calls, lists and the connection when an upstream fails, by the class of its failure."""

import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from tests.covers import covers
from tests.edge.http_stub import Reply, Request, Stub, stub
from tests.inbox import JsonObject
from tests.rawclient import RawClient, RawError
from tests.rig import FRONTS, Front, Rig

from wf_mcp.core.merge import PARTIAL

pytestmark = pytest.mark.anyio

CAPABILITIES: JsonObject = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True},
    "logging": {},
}
LISTS: dict[str, JsonObject] = {
    "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
    "resources/list": {"resources": [{"uri": "demo://r", "name": "r"}]},
    "resources/templates/list": {"resourceTemplates": []},
}


@dataclass
class Brittle:
    """A handshake server over HTTP with one tool; what goes wrong is set from outside."""

    status: int | None = None
    resets: bool = False
    grown: bool = False
    known: set[str] = field(default_factory=set)
    acted: int = 0
    opened: int = 0

    def forget(self) -> None:
        """Know no session any more, as after a restart."""
        self.known.clear()

    async def __call__(self, request: Request, reply: Reply) -> None:
        if self.status is not None:
            return await reply.plain(self.status, b"", www_authenticate="Bearer")
        if request.method != "POST":
            return await reply.plain(405 if request.method == "GET" else 200)
        message = request.message
        if message["method"] == "initialize":
            self.opened += 1
            session = f"session-{self.opened}"
            self.known.add(session)
            server = {"name": "brittle", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": server}
            return await reply.json({"jsonrpc": "2.0", "id": message["id"], "result": result}, mcp_session_id=session)
        if request.headers.get("mcp-session-id") not in self.known:
            return await reply.plain(404)
        if "id" not in message:
            return await reply.plain(202)
        if message["method"] == "tools/call" and self.resets:
            await reply.stream.aclose()
            return None
        return await reply.json({"jsonrpc": "2.0", "id": message["id"], "result": self._result(message["method"])})

    def _result(self, method: str) -> JsonObject:
        if method == "tools/call":
            self.acted += 1
            return {"content": [{"type": "text", "text": str(self.acted)}]}
        if method == "tools/list" and self.grown:
            return {"tools": [*LISTS[method]["tools"], {"name": "more", "inputSchema": {"type": "object"}}]}
        return LISTS.get(method, {})


@asynccontextmanager
async def brittle(rig: Rig) -> AsyncIterator[tuple[Brittle, Stub]]:
    """Such a server, mounted."""
    server = Brittle()
    async with stub(server) as running:
        rig.entries["brittle"] = {"type": "http", "url": running.url}
        yield server, running


async def failure(raw: RawClient) -> JsonObject:
    """What the status says of the brittle server's last failure."""
    result = (await raw.call("wf.admin.status"))["structuredContent"]
    sessions = next(up["sessions"] for up in result["upstreams"] if up["id"] == "brittle")
    found: JsonObject = sessions[0]["last_failure"]
    return found


@covers("walls.login", "A server that wants a login is named as missing, says what to do, and is not tried again")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("status", [401, 403])
async def test_a_server_that_wants_a_login(rig: Rig, front: Front, status: int) -> None:
    rig.upstream("good")
    async with brittle(rig) as (server, running):
        server.status = status
        if front == "http":
            rig.with_token()
        async with rig.serve(front).raw() as raw:
            listed = await raw.request("tools/list")
            assert listed["_meta"][PARTIAL] == ["brittle"]
            assert "good.echo" in {tool["name"] for tool in listed["tools"]}
            before = len(running.requests)
            for _ in range(20):
                with pytest.raises(RawError, match=f"HTTP {status}.*tried again in"):
                    await raw.request("resources/read", {"uri": "demo://brittle/r"})
                assert await raw.text("good.echo", {"text": "still here"})
            assert len(running.requests) == before
            found = await failure(raw)
    assert (found["kind"], f"HTTP {status}" in found["reason"]) == ("needs_auth", True)
    assert "token" in found["advice"]
    assert 890 < found["next_start_seconds"] <= 900


@covers(
    "walls.lost-session",
    "A lost HTTP session is opened once more, with its log level and subscriptions; lists that differ are announced",
)
async def test_a_lost_session_is_opened_again(rig: Rig) -> None:
    async with brittle(rig) as (server, running), rig.serve().raw() as raw:
        await raw.request("logging/setLevel", {"level": "error"})
        await raw.request("resources/subscribe", {"uri": "demo://brittle/r"})
        assert await raw.text("brittle.act") == "1"
        assert "brittle.more" not in await raw.names()
        server.forget()
        server.grown = True
        assert await raw.text("brittle.act") == "2"  # refused once, sent once more, executed once
        assert (server.opened, server.acted) == (2, 2)
        assert len(running.of("tools/call")) == 3
        for method in ("logging/setLevel", "resources/subscribe"):
            sessions = [request.headers["mcp-session-id"] for request in running.of(method)]
            assert sessions == ["session-1", "session-2"]
        await raw.notes.wait_for("notifications/tools/list_changed")
        assert "brittle.more" in await raw.names()


@covers("walls.resets", "Three calls in a row that break off open the connection anew; none of them is sent again")
async def test_three_broken_calls_open_the_connection_anew(rig: Rig) -> None:
    async with brittle(rig) as (server, running), rig.serve().raw() as raw:
        assert await raw.text("brittle.act") == "1"
        server.resets = True
        for _ in range(3):
            said = await raw.call("brittle.act")
            assert said["isError"] is True and "it is not sent again" in str(said)
        server.resets = False
        assert await raw.text("brittle.act") == "2"
        assert (server.opened, server.acted, len(running.of("tools/call"))) == (2, 2, 5)
        assert (await failure(raw))["reason"].startswith("3 calls in a row failed")


@covers("walls.slow-calls", "Slow calls hold up no fast one, and calls to others not at all")
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_slow_calls_hold_up_no_fast_one(rig: Rig, kind: str) -> None:
    (rig.upstream if kind == "stdio" else rig.http_upstream)("alpha")
    rig.upstream("beta")
    async with rig.serve().raw() as raw, anyio.create_task_group() as tasks:
        await raw.text("alpha.who")
        for number in range(20):
            tasks.start_soon(raw.call, "alpha.slow", {"seconds": 60, "tag": str(number)})
        await rig["alpha"].saw("slow", tag="19")
        began = time.monotonic()
        for name in ("alpha", "beta"):
            assert await raw.text(f"{name}.who")
        assert time.monotonic() - began < 20
        tasks.cancel_scope.cancel()


@covers("walls.stuffed", "An upstream that stops reading holds up nobody else, and can be removed")
async def test_an_upstream_that_stops_reading(rig: Rig) -> None:
    rig.upstream("stuck", {"tools": [{"name": "eat", "inputSchema": {"type": "object"}}]})
    rig.upstream("good")
    async with rig.serve().raw() as raw, anyio.create_task_group() as tasks:
        await raw.names()
        (pid,) = rig["stuck"].pids
        os.kill(pid, signal.SIGSTOP)
        for _ in range(20):  # far more than a pipe holds
            tasks.start_soon(raw.call, "stuck.eat", {"text": "x" * 200_000})
        for _ in range(20):
            await raw.notify("notifications/roots/list_changed")
            assert await raw.text("good.echo", {"text": "still here"})
        del rig.entries["stuck"]
        rig.write()
        report = await raw.call("wf.admin.reload_config", seconds=30)
        assert report["structuredContent"]["removed"] == ["stuck"]
        assert await raw.text("good.echo", {"text": "still here"})
        tasks.cancel_scope.cancel()


@covers("walls.login-lost", "A server that wants a login again in the middle is left alone from the first call on")
async def test_a_token_that_is_no_longer_good(rig: Rig) -> None:
    rig.upstream("good")
    async with brittle(rig) as (server, running), rig.serve().raw() as raw:
        assert await raw.text("brittle.act") == "1"
        server.status = 401
        for _ in range(10):
            said = await raw.call("brittle.act")
            assert said["isError"] is True and "HTTP 401" in str(said)
            assert await raw.text("good.echo", {"text": "still here"})
        assert len(running.of("tools/call")) == 2
        found = await failure(raw)
    assert (found["kind"], found["next_start_seconds"] > 890) == ("needs_auth", True)


@covers("walls.half-line", "Half a JSON line and an exit: that call fails, is not sent again, and the next one works")
async def test_half_a_line_and_an_exit(rig: Rig) -> None:
    rig.upstream("half", None, "--half-line", str(rig.folder / "half-said"))
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        said = await raw.call("half.who")
        assert said["isError"] is True and "it is not sent again" in str(said)
        assert await raw.text("good.echo", {"text": "still here"})
        assert (await raw.json("half.who"))["name"] == "half"
        assert (len(rig["half"].calls("who")), len(rig["half"].pids)) == (2, 2)


@covers(
    "walls.silent-list",
    "An upstream that is silent on tools/list holds up a list for list_wait; then it is named as missing, and announced"
    " when it comes",
)
@pytest.mark.parametrize("front", FRONTS)
async def test_an_upstream_that_is_silent_on_its_list(rig: Rig, front: Front) -> None:
    rig.settings["list_wait"] = 2
    listed = rig.folder / "listed"
    rig.upstream("mute", None, "--list-when", str(listed))
    rig.upstream("good")
    async with rig.serve(front).raw() as raw:
        began = time.monotonic()
        page = await raw.request("tools/list")
        assert time.monotonic() - began < 3
        assert page["_meta"][PARTIAL] == ["mute"]
        names = {tool["name"] for tool in page["tools"]}
        assert "good.echo" in names and "mute.echo" not in names
        listed.touch()
        await raw.notes.wait_for("notifications/tools/list_changed", 15)
        page = await raw.request("tools/list")
        assert "mute.echo" in {tool["name"] for tool in page["tools"]}
        assert PARTIAL not in page.get("_meta", {})


@covers("walls.list-timeout", "A list that takes longer than list_timeout is left out, and nobody waits for it longer")
async def test_a_list_that_is_never_answered(rig: Rig) -> None:
    rig.settings["list_wait"] = 60
    rig.upstream("mute", {"silent": ["tools/list"], "prompts": [{"name": "p"}]}, wf={"list_timeout": 1.5})
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        began = time.monotonic()
        page = await raw.request("tools/list")
        assert time.monotonic() - began < 20
        assert page["_meta"][PARTIAL] == ["mute"]
        assert await raw.names("prompts") == ["mute.p"]
        assert "tools/list failed" in rig.log()
