"""Upstreams of 2026-07-28, behind `wf-mcp serve`, for clients of both eras (matrix A, B.5, E.3)."""

import json
import os
import signal

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.mapping import back
from tests.rawclient import Era, RawClient, RawError
from tests.rig import ERAS, FRONTS, Front, Rig, Upstream, end, free_port

pytestmark = pytest.mark.anyio

LISTEN = "subscriptions/listen"
URI = "demo://item/2"
PUBLIC = "demo://alpha/item/2"
each_client = pytest.mark.parametrize("era", ERAS)
each_leg = pytest.mark.parametrize("leg", FRONTS)


async def seen(raw: RawClient, tool: str, arguments: JsonObject | None = None) -> JsonObject:
    """The structured content of a call."""
    result = await raw.call(f"alpha.{tool}", arguments)
    content: JsonObject = result["structuredContent"]
    return content


@covers("modern.upstream", "An upstream that speaks only 2026-07-28 serves clients of both eras, over stdio and HTTP")
@each_client
@each_leg
@pytest.mark.parametrize("front", FRONTS)
async def test_clients_of_both_eras_list_call_and_read(rig: Rig, era: Era, leg: Front, front: Front) -> None:
    upstream = rig.full("alpha", "modern", leg)
    async with upstream.direct().raw("modern") as direct, rig.serve(front).raw(era) as raw:
        for kind in ("tools", "prompts"):
            assert await raw.names(kind) == [f"alpha.{name}" for name in await direct.names(kind)]
        listed = await raw.items("resources/list", "resources")
        assert [back("alpha", item) for item in listed] == await direct.items("resources/list", "resources")
        read = back("alpha", await raw.read(PUBLIC))
        assert read["contents"] == (await direct.read(URI))["contents"]
        assert (await raw.call("alpha.contents"))["structuredContent"] == (await direct.call("contents"))[
            "structuredContent"
        ]


@covers("modern.envelope", "Each request to a modern upstream says which client asks and what that client can do")
@each_client
@each_leg
async def test_each_request_says_who_asks(rig: Rig, era: Era, leg: Front) -> None:
    rig.full("alpha", "modern", leg)
    async with rig.serve().raw(era, capabilities={"elicitation": {}, "roots": {"listChanged": True}}) as raw:
        found = await seen(raw, "envelope")
    envelope, headers = found["envelope"], found["headers"]
    assert (envelope["protocolVersion"], envelope["clientInfo"]["name"]) == ("2026-07-28", "raw-client")
    declared = envelope["clientCapabilities"]
    roots = {"listChanged": True} if era == "modern" else {}  # a flag of the handshake's, which only crosses as it is
    assert (declared["elicitation"], declared["roots"]) == ({}, roots)
    expected = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "envelope"}
    assert headers == (expected if leg == "http" else {})


@covers("modern.param-headers", "Annotated arguments travel in `Mcp-Param-*`, and a stale schema is learnt again")
@each_client
async def test_annotated_arguments_travel_in_headers(rig: Rig, era: Era) -> None:
    rig.full("alpha", "modern", "http")
    async with rig.serve().raw(era) as raw:
        await raw.names()
        arguments = {"region": "eu ü", "count": 3}
        before = await seen(raw, "headered", arguments)
        assert before["arguments"] == arguments
        assert sorted(before["headers"]) == ["mcp-param-count", "mcp-param-region"]
        await raw.call("alpha.shift_header", {"to": "Area"})
        assert sorted((await seen(raw, "headered", arguments))["headers"]) == ["mcp-param-area", "mcp-param-count"]


@covers("modern.probe", "What era an upstream speaks is found out once and remembered across restarts")
async def test_the_era_is_found_out_once(rig: Rig) -> None:
    upstream = rig.full("alpha")
    for _ in range(2):
        async with rig.serve().raw() as raw:
            await seen(raw, "envelope")
    asked = [
        each["method"] for each in upstream.events("request") if each["method"] in ("initialize", "server/discover")
    ]
    assert asked == ["initialize", "server/discover", "server/discover"]
    assert list(json.loads((rig.folder / "state" / "eras.json").read_text()).values()) == ["modern"]


@covers("modern.era-setting", "`wf.era` says which era an upstream is spoken to in, without asking the other one")
@pytest.mark.parametrize(("setting", "first"), [("modern", "server/discover"), ("handshake", "initialize")])
async def test_the_era_can_be_configured(rig: Rig, setting: str, first: str) -> None:
    rig.upstream("alpha", wf={"era": setting})
    async with rig.serve().raw("modern" if setting == "handshake" else "handshake") as raw:
        assert bool(await raw.names()) == (setting == "handshake")
    asked = {each["method"] for each in rig["alpha"].events("request")}
    assert asked & {"initialize", "server/discover"} == {first}


@covers("modern.list-changed", "A handshake client is told that a modern upstream's lists changed")
@each_leg
async def test_a_handshake_client_hears_of_changed_lists(rig: Rig, leg: Front) -> None:
    upstream = rig.full("alpha", "modern", leg)
    async with rig.serve().raw() as raw:
        before = await raw.names()
        await upstream.saw("listen")
        await raw.call("alpha.change", {"kinds": ["tools", "prompts", "resources"], "name": "grown"})
        for kind in ("tools", "prompts", "resources"):
            await raw.notes.wait_for(f"notifications/{kind}/list_changed")
        assert set(await raw.names()) == {*before, "alpha.grown"}


@covers(
    "modern.subscribe", "A handshake client's subscription to a modern upstream's resource is a wider listen stream"
)
@each_leg
async def test_a_handshake_client_subscribes(rig: Rig, leg: Front) -> None:
    upstream = rig.full("alpha", "modern", leg)
    async with rig.serve().raw() as raw:
        await raw.request("resources/subscribe", {"uri": PUBLIC})
        await raw.call("alpha.touch", {"uri": URI})
        updated = await raw.notes.wait_for("notifications/resources/updated")
        assert updated["params"] == {"uri": PUBLIC, "title": "t", "_meta": {"k": None}}
        await raw.request("resources/unsubscribe", {"uri": PUBLIC})
        # One stream takes the place of another: the third is the one that the unsubscription leaves.
        await eventually(lambda: len(upstream.events("listen")) == 3 and len(upstream.events("unlisten")) == 2)
    wanted = [each["notifications"].get("resourceSubscriptions") for each in upstream.events("listen")]
    assert wanted == [None, [URI], None]


@covers("modern.subscribe-refused", "A subscription that a modern upstream does not honour is refused")
async def test_a_subscription_that_is_not_honoured_is_refused(rig: Rig) -> None:
    rig.full("alpha", "modern", "stdio", "--refuse", "resourceSubscriptions")
    async with rig.serve().raw() as raw:
        await raw.names()
        with pytest.raises(RawError, match="does not offer subscriptions") as raised:
            await raw.request("resources/subscribe", {"uri": PUBLIC})
    assert (raised.value.code, raised.value.data) == (-32602, {"uri": PUBLIC})


@covers("modern.log-level", "A handshake client's log level goes with its requests to a modern upstream")
@each_leg
async def test_a_handshake_client_s_log_level_is_asked_for(rig: Rig, leg: Front) -> None:
    rig.full("alpha", "modern", leg)
    async with rig.serve().raw() as raw:
        await raw.request("logging/setLevel", {"level": "alert"})
        assert (await seen(raw, "envelope"))["envelope"]["logLevel"] == "alert"
        await raw.call("alpha.logs")
        await raw.notes.wait_for(lambda note: (note.get("params") or {}).get("data") == "no logger")
    assert {note["params"]["level"] for note in raw.notes.of("notifications/message")} == {"alert", "emergency"}


async def cancelled_by(rig: Rig, upstream: Upstream, front: Front, era: Era) -> str:
    """How a modern upstream is told that a call is cancelled."""
    async with rig.serve(front).raw(era) as raw, anyio.create_task_group() as tasks:
        raw.ids = iter([7])
        tasks.start_soon(raw.call, "alpha.slow", {"tag": "x"})
        request = await upstream.saw("request", method="tools/call")
        assert request["params"]["name"] == "slow"
        await raw.notify("notifications/cancelled", {"requestId": 7, "reason": "enough"})
        cancelled = await upstream.saw("cancelled", tool="slow")
        tasks.cancel_scope.cancel()
    by: str = cancelled["by"]
    return by


@covers("modern.cancel", "A cancelled call ends at a modern upstream by the means of its transport")
@pytest.mark.parametrize(("leg", "means"), [("stdio", "notification"), ("http", "stream")])
@each_client
async def test_a_cancel_reaches_it(rig: Rig, era: Era, leg: Front, means: str) -> None:
    upstream = rig.full("alpha", "modern", leg)
    assert await cancelled_by(rig, upstream, "stdio", era) == means


@covers("modern.listen-again", "A lost listen stream is opened again, and then everything is assumed to have changed")
@pytest.mark.parametrize("tool", ["lose_listening", "stop_listening"])
async def test_a_lost_listen_stream_is_opened_again(rig: Rig, tool: str) -> None:
    upstream = rig.full("alpha", "modern", "http")
    async with rig.serve().raw() as raw:
        await raw.names()
        await raw.request("resources/subscribe", {"uri": PUBLIC})
        opened = len(upstream.events("listen"))
        await raw.call(f"alpha.{tool}")
        await eventually(lambda: len(upstream.events("listen")) > opened)
        updated = await raw.notes.wait_for("notifications/resources/updated")
        assert updated["params"] == {"uri": PUBLIC}
        for kind in ("tools", "prompts", "resources"):
            await raw.notes.wait_for(f"notifications/{kind}/list_changed")
        await raw.call("alpha.touch", {"uri": URI})
        await raw.notes.wait_for(lambda note: (note.get("params") or {}).get("title") == "t")


@covers("modern.server-death", "A modern upstream that dies is started again and listened to again")
async def test_after_a_new_start_it_is_listened_to_again(rig: Rig) -> None:
    upstream = rig.full("alpha")
    async with rig.serve().raw() as raw:
        await raw.request("resources/subscribe", {"uri": PUBLIC})
        (pid,) = upstream.pids
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: len(upstream.pids) == 2)
        await eventually(lambda: upstream.events("listen")[-1]["notifications"].get("resourceSubscriptions") == [URI])
        await eventually(lambda: len({each["pid"] for each in upstream.events("listen")}) == 2)
        await raw.call("alpha.touch", {"uri": URI})
        await raw.notes.wait_for(lambda note: (note.get("params") or {}).get("title") == "t")


@covers(
    "modern.http-restart", "A modern HTTP upstream that comes back is listened to again, with what was subscribed to"
)
async def test_an_http_upstream_that_comes_back_is_listened_to_again(rig: Rig) -> None:
    port = str(free_port())
    upstream = rig.full("alpha", "modern", "http", "--port", port)
    process = rig.process
    async with rig.serve().raw() as raw:
        await raw.request("resources/subscribe", {"uri": PUBLIC})
        end(process)
        assert (await raw.call("alpha.envelope"))["isError"]
        rig.spawn(upstream.argv, "again")
        await eventually(lambda: len({each["pid"] for each in upstream.events("listen")}) == 2, 30)
        await eventually(lambda: upstream.events("listen")[-1]["notifications"].get("resourceSubscriptions") == [URI])
        await raw.call("alpha.touch", {"uri": URI})
        await raw.notes.wait_for(lambda note: (note.get("params") or {}).get("title") == "t")
