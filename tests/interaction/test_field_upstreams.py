"""Reported faults of other proxies: upstreams that end, restart, forget, redirect or refuse (tests/field_cases.py)."""

import sys

import anyio
import pytest
from tests import servers
from tests.covers import covers
from tests.cuttable import cuttable
from tests.inbox import JsonObject, eventually
from tests.procs import gone
from tests.rawclient import RawClient, RawError
from tests.rig import FRONTS, Rig, Upstream, end, free_port, wait_port

pytestmark = pytest.mark.anyio


async def status(raw: RawClient, name: str) -> JsonObject:
    result = (await raw.call("wf.admin.status"))["structuredContent"]
    (found,) = [upstream for upstream in result["upstreams"] if upstream["id"] == name]
    return found


async def tries(raw: RawClient, name: str, times: int, arguments: JsonObject | None = None) -> list[bool]:
    """Which of some calls in a row succeed."""
    worked = []
    for _ in range(times):
        try:
            worked.append(not (await raw.call(name, arguments)).get("isError"))
        except RawError:
            worked.append(False)
    return worked


def port_of(url: str | None) -> int:
    assert url is not None
    return int(url.split(":")[2].split("/")[0])


@covers("field.exits", "An upstream that ends by itself with status 0 is started again, once for each end")
async def test_an_upstream_that_ends_by_itself(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        for deaths in (1, 2):
            pid = (await raw.json("alpha.who"))["pid"]
            assert (await raw.call("alpha.die", {"code": 0}))["isError"]
            await gone(pid)
            worked = await tries(raw, "alpha.who", 3)
            assert worked[1:] == [True, True]
            assert len(set(rig["alpha"].pids)) == deaths + 1


@covers("field.crash-recovers", "An upstream that crashed at every start works once a reload corrects its command")
async def test_a_crash_loop_ends_with_a_reload(rig: Rig) -> None:
    rig.entries["broken"] = {"command": "sh", "args": ["-c", "echo boom >&2; exit 3"]}
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        assert (await raw.json("good.who"))["name"] == "good"

        async def failed() -> bool:
            return "exit code 3; stderr: boom" in ((await status(raw, "broken"))["reason"] or "")

        await eventually(failed)
        rig.entries["broken"] = {"command": sys.executable, "args": servers.plain("--name", "mended")[1:]}
        rig.write()
        await raw.call("wf.admin.reload_config")
        assert (await raw.json("broken.who"))["name"] == "mended"


@covers("field.http-restart", "After an HTTP upstream restarts, a new session is opened; at most one call fails")
@pytest.mark.parametrize("front", FRONTS)
async def test_an_http_upstream_that_restarts(rig: Rig, front) -> None:
    port = free_port()
    alpha = rig.http_upstream("alpha", None, "--strict", "--port", str(port))
    process = rig.process
    async with rig.serve(front).raw() as raw:
        assert await tries(raw, "alpha.who", 2) == [True, True]
        end(process)
        wait_port(str(alpha.url), rig.spawn(alpha.argv, "again"))
        assert (await tries(raw, "alpha.who", 3))[1:] == [True, True]
        assert "alpha.who" in await raw.names()
    hellos = [event["headers"] for event in alpha.events("http", verb="POST", method="initialize")]
    assert not any("mcp-session-id" in headers for headers in hellos)
    assert len(of_clients(alpha)) == 2


def of_clients(alpha: Upstream) -> list[JsonObject]:
    """The handshakes in a client's name; over HTTP wf-mcp opens one of its own for the lists."""
    hellos = [event["params"] for event in alpha.events("request", method="initialize")]
    return [hello for hello in hellos if hello["clientInfo"]["name"] != "wf-mcp"]


@covers(
    "field.http-session", "All calls of one client are made in one session of an HTTP upstream, after one handshake"
)
async def test_calls_share_a_session(rig: Rig) -> None:
    rig.http_upstream("alpha", None, "--strict")
    rig.upstream("beta")
    async with rig.serve("http").raw() as raw:
        for number in range(5):
            assert await raw.json("beta.remember", {"value": number + 1}) == (number or None)
            await raw.text("alpha.who")
    calls = [event["headers"] for event in rig["alpha"].events("http", verb="POST", method="tools/call")]
    assert len(calls) == 5 and len({headers["mcp-session-id"] for headers in calls}) == 1
    assert len(of_clients(rig["alpha"])) == 1


@covers("field.cut", "After an upstream's connections are cut, the next call or the one after it works")
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_connections_that_are_cut(rig: Rig, kind: str) -> None:
    port = free_port()
    path = "sse" if kind == "sse" else "mcp"
    rig.server("sdk", servers.sdk_server(kind, str(port)), f"http://127.0.0.1:{port}/{path}", kind)
    async with cuttable(port) as link:
        rig.entries["sdk"]["url"] = f"http://127.0.0.1:{link.port}/{path}"
        async with rig.serve().raw() as raw:
            sum_of = {"a": 1, "b": 2}
            assert (await raw.call("sdk.add", sum_of))["structuredContent"] == {"result": 3}
            for _ in range(2):
                assert await eventually(link.cut) > 0
                with anyio.fail_after(10):
                    assert (await tries(raw, "sdk.add", 2, sum_of))[1]


@covers(
    "field.swallowed", "With `ping`, a connection that is swallowed without being closed is noticed, and opened again"
)
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_connection_that_is_swallowed(rig: Rig, kind: str) -> None:
    port = free_port()
    path = "sse" if kind == "sse" else "mcp"
    rig.server("sdk", servers.sdk_server(kind, str(port)), f"http://127.0.0.1:{port}/{path}", kind)
    async with cuttable(port) as link:
        # Handshake, since the revision of 2026-07-28 has no ping and no connection that it would be for.
        rig.entries["sdk"] |= {"url": f"http://127.0.0.1:{link.port}/{path}", "wf": {"ping": 1, "era": "handshake"}}
        async with rig.serve().raw() as raw:
            sum_of = {"a": 1, "b": 2}
            assert (await raw.call("sdk.add", sum_of))["structuredContent"] == {"result": 3}
            assert link.swallow() > 0
            with anyio.fail_after(10):
                assert (await tries(raw, "sdk.add", 2, sum_of))[1]


@covers("field.cut-in-flight", "A call in flight when its upstream's connections are cut ends soon, and says so")
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_call_in_flight_that_is_cut_off(rig: Rig, kind: str) -> None:
    port = free_port()
    path = "sse" if kind == "sse" else "mcp"
    rig.server("sdk", servers.sdk_server(kind, str(port)), f"http://127.0.0.1:{port}/{path}", kind)
    async with cuttable(port) as link:
        rig.entries["sdk"]["url"] = f"http://127.0.0.1:{link.port}/{path}"
        async with rig.serve().raw() as raw:
            assert (await raw.call("sdk.add", {"a": 1, "b": 2}))["structuredContent"] == {"result": 3}
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cut_off, raw)
                await eventually(lambda: "called wait" in (rig.folder / "server-0.log").read_text())
                await eventually(link.cut)
            assert (await tries(raw, "sdk.add", 2, {"a": 1, "b": 2}))[1]


async def cut_off(raw: RawClient) -> None:
    """A call that does not get its answer."""
    try:
        result = await raw.call("sdk.wait", {"seconds": 60}, seconds=15)
    except RawError as error:
        assert error.message
    else:
        assert result["isError"] and "sdk" in result["content"][0]["text"]


@covers(
    "field.sse-refused", "A call whose POST an SSE upstream refuses ends at once with the status, and the next works"
)
async def test_an_sse_upstream_that_refuses_a_message(rig: Rig) -> None:
    port = free_port()
    rig.server("old", servers.sdk_server("sse", str(port)), f"http://127.0.0.1:{port}/sse", "sse")
    async with rig.serve().raw() as raw:
        assert await tries(raw, "old.add", 1, {"a": 1, "b": 2}) == [True]
        with pytest.raises(RawError, match="HTTP 413"):
            params = {"name": "old.review", "arguments": {"code": "x" * 5_000_000}}
            await raw.request("prompts/get", params, seconds=10)
        assert await tries(raw, "old.add", 2, {"a": 1, "b": 2}) == [True, True]


@covers("field.plain-capabilities", "An upstream of 2024-11-05 that refuses newer capabilities serves whoever has none")
async def test_an_upstream_that_refuses_capabilities(rig: Rig) -> None:
    rig.upstream("old", {"plain_capabilities": True})
    async with rig.serve().raw(capabilities={"roots": {"listChanged": True}, "sampling": {}}) as raw:
        assert (await raw.json("old.who"))["name"] == "old"
    async with rig.serve().raw(capabilities={"elicitation": {"url": {}}}) as raw:
        assert not [name for name in await raw.names() if name.startswith("old.")]
        assert "elicitation" in (await status(raw, "old"))["reason"]


@covers("field.refused", "An upstream that answers 401 is left alone from then on; each call says why, at once")
async def test_a_token_that_expired(rig: Rig) -> None:
    rig.http_upstream("alpha", None, "--refuse-after", "3", headers={"Authorization": "Bearer old"})
    rig.upstream("beta")
    async with rig.serve().raw() as raw:
        assert await tries(raw, "alpha.who", 3) == [True, True, True]
        for _ in range(5):
            said = await raw.call("alpha.who", seconds=2)
            assert said["isError"] is True
            assert "HTTP 401" in str(said) and "check the headers configured" in str(said)
        assert (await raw.json("beta.who"))["name"] == "beta"
    assert len(rig["alpha"].events("http", verb="POST", method="tools/call")) == 4
    assert len(rig["alpha"].events("http", verb="POST", method="initialize")) <= 2


@covers("field.content-types", "An HTTP upstream may name a charset in its content types, and accept with 204")
@pytest.mark.parametrize("events", [(), ("--events",)], ids=["json", "events"])
async def test_content_types_of_an_upstream(rig: Rig, events: tuple[str, ...]) -> None:
    rig.http_upstream("alpha", None, "--odd-types", *events)
    async with rig.serve().raw() as raw:
        assert (await raw.json("alpha.echo", {"a": "ü"}))["arguments"] == {"a": "ü"}
        await raw.text("alpha.grow")
        await raw.notes.wait_for("notifications/tools/list_changed")


@covers("field.redirects", "An HTTP upstream's 307 or 308 to another spelling is followed with everything in it")
@pytest.mark.parametrize("code", [307, 308])
async def test_an_upstream_that_redirects(rig: Rig, code: int) -> None:
    rig.http_upstream("alpha", None, "--redirect", str(code), headers={"X-Key": "k"})
    async with rig.serve().raw() as raw:
        assert (await raw.json("alpha.echo", {"a": 1}))["arguments"] == {"a": 1}
    calls = rig["alpha"].events("http", verb="POST", method="tools/call")
    assert [call["path"] for call in calls] == ["/mcp", "/mcp/"]
    assert all(call["headers"]["x-key"] == "k" for call in calls)


@covers("field.redirect-refused", "A redirect that cannot be followed is the upstream's reason, after a bounded number")
@pytest.mark.parametrize("flags", [("301",), ("307", "--loop")], ids=["301", "loop"])
async def test_a_redirect_that_leads_nowhere(rig: Rig, flags: tuple[str, ...]) -> None:
    rig.http_upstream("alpha", None, "--redirect", *flags)
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        assert (await raw.json("good.who"))["name"] == "good"

        async def failed() -> str:
            found = await status(raw, "alpha")
            return str(found["reason"]) if found["state"] == "failed" else ""

        reason = await eventually(failed)
        assert "redirect" in reason.lower()
    assert len(rig["alpha"].events("http", verb="POST")) <= 60
