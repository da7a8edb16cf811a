"""Reported faults of other proxies: clients that stall, leak, are asked or wait long (tests/field_cases.py)."""

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
import pytest
from tests import servers
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.procs import alive
from tests.rawclient import Era, RawClient, RawError
from tests.rawhttp import HttpGuest, frozen_get, http_guest
from tests.rig import ERAS, FRONTS, Front, Rig, free_port

pytestmark = pytest.mark.anyio
CANCELLED = "notifications/cancelled"


@asynccontextmanager
async def guests(url: str | None, number: int) -> AsyncIterator[list[HttpGuest]]:
    """Clients that have said hello."""
    async with AsyncExitStack() as stack:
        found = [await stack.enter_async_context(http_guest(str(url))) for _ in range(number)]
        for guest in found:
            await guest.hello()
        yield found


@covers("field.ten-clients", "Ten clients that call one upstream at once wait as long as one, each for its own answer")
@pytest.mark.parametrize("isolation", ["client", "shared"])
async def test_ten_clients_at_once(rig: Rig, isolation: str) -> None:
    rig.upstream("alpha", wf={"isolation": isolation})
    async with guests(rig.serve("http").url, 10) as ten:
        for guest in ten:
            await guest.call("alpha.who")
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for number, guest in enumerate(ten):
                    tasks.start_soon(slow, guest, f"tag {number}")


async def slow(guest: HttpGuest, tag: str) -> None:
    assert await guest.call("alpha.slow", {"seconds": 1, "tag": tag}) == tag


@covers("field.stalled-client", "A client that stops reading in the middle of its answers delays no other client")
async def test_a_client_that_stops_reading(rig: Rig) -> None:
    rig.upstream("alpha", wf={"isolation": "shared"})
    rig.upstream("beta")
    url = rig.serve("http").url
    async with guests(url, 2) as (stalled, steady):
        await steady.call("beta.who")
        await steady.call("alpha.who")
        frozen = frozen_get(str(url), stalled.session)
        message = {"name": "alpha.big", "arguments": {"bytes": 40_000_000}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message}
        async with stalled.stream("POST", body):  # its answer is never read
            await eventually(lambda: rig["alpha"].calls("big"))
            await steady.call("alpha.who")
            waits = []
            for _ in range(20):
                start = time.monotonic()
                await steady.call("beta.who")
                waits.append(time.monotonic() - start)
            async with http_guest(str(url)) as fresh:
                start = time.monotonic()
                await fresh.hello()
                assert time.monotonic() - start < 7  # two upstreams are started for it, on a busy machine
        frozen.close()
    assert sorted(waits)[10] < 0.5


@covers("field.own-headers", "No header of a client's reaches an upstream by itself, in whatever request")
async def test_headers_of_a_client_stay_here(rig: Rig) -> None:
    rig.http_upstream("plain")
    rig.http_upstream("keyed", headers={"X-Own": "own"})
    rig.with_token()
    secret = {"cookie": "s=1", "x-api-key": "K-of-the-client"}
    async with rig.serve("http").raw(headers=secret) as raw:
        await raw.names()
        for name in ("plain", "keyed"):
            await raw.text(f"{name}.who")
            await raw.read(f"demo://{name}/x")
            await rig[name].saw("http", verb="GET")
        await raw.link.delete()
        for name in ("plain", "keyed"):
            await rig[name].saw("http", verb="DELETE")
    for name in ("plain", "keyed"):
        seen = [event["headers"] for event in rig[name].events("http")]
        assert not [value for headers in seen for value in headers.values() if value in (rig.token, *secret.values())]
        assert not any({"authorization", "cookie", "x-api-key"} & headers.keys() for headers in seen)
        assert all(headers.get("x-own") == ("own" if name == "keyed" else None) for headers in seen)


@covers("field.late-answers", "Progress and results that come after a cancel reach nobody, and harm nothing")
@pytest.mark.parametrize("front", FRONTS)
async def test_answers_after_a_cancel(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        pid = (await raw.json("alpha.who"))["pid"]
        for number in range(50):
            raw.ids = iter([f"call {number}", f"ping {number}"])
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(abandoned, raw)
                await eventually(lambda number=number: len(rig["alpha"].calls("deaf")) > number)
                await raw.notify(CANCELLED, {"requestId": f"call {number}"})
                await eventually(lambda number=number: len(rig["alpha"].events("late")) > number)
                await raw.request("ping")
                tasks.cancel_scope.cancel()
        raw.ids = iter(range(1000, 2000))
        assert raw.notes.of("notifications/progress") == []
        assert (await raw.json("alpha.who"))["pid"] == pid
        assert (await raw.json("alpha.echo", {"a": 1}))["arguments"] == {"a": 1}
    assert len(rig["alpha"].events("notification", method=CANCELLED)) == 50
    assert "Traceback" not in rig.log(front)


async def abandoned(raw: RawClient) -> None:
    """A call that is cancelled: over HTTP its POST is answered with an error, over stdio not at all."""
    with suppress(RawError):
        params = {"name": "alpha.deaf", "_meta": {"progressToken": "p"}}
        await raw.request("tools/call", params)


LONG = bool(os.environ.get("WF_MCP_LONG"))
"""`make long` waits as long as the field reports say; CI waits longer than any limit of a library, and goes on."""

SILENCE, THOUGHT = (130, 40) if LONG else (12, 6)


@covers(
    "field.long-calls", "With everything at its default, a call that says nothing is waited for (`make long`: 130 s)"
)
@pytest.mark.slow
@pytest.mark.timeout(200)
async def test_a_long_call(rig: Rig) -> None:
    port = free_port()
    rig.upstream("stdio")
    rig.http_upstream("http")
    rig.http_upstream("events", None, "--events")
    rig.server("sse", servers.sdk_server("sse", str(port)), f"http://127.0.0.1:{port}/sse", "sse")
    http = rig.serve("http")
    waits = {name: ("slow", {"seconds": SILENCE, "tag": "waited"}) for name in ("stdio", "http", "events")}
    waits["sse"] = ("wait", {"seconds": SILENCE})
    async with (
        rig.serve("stdio").raw() as one,
        http.raw() as other,
        anyio.create_task_group() as tasks,
    ):
        for raw in (one, other):
            for name, (tool, arguments) in waits.items():
                tasks.start_soon(waited, raw, f"{name}.{tool}", arguments)
            # Meanwhile two users take their time to answer what they are asked, and that is no problem either.
            for kind, method in (("elicitation", "elicitation/create"), ("sampling", "sampling/createMessage")):
                raw.replies[method] = thoughtful
                tasks.start_soon(asked, raw, kind)


async def waited(raw: RawClient, name: str, arguments: JsonObject) -> None:
    answer = await raw.call(name, arguments, seconds=160)
    assert [block["text"] for block in answer["content"]] == ["waited"]


LATE_ANSWER: JsonObject = {"action": "accept", "content": {"name": "in the end"}}


async def thoughtful(question: JsonObject) -> JsonObject:
    """A user who thinks."""
    await anyio.sleep(THOUGHT)
    return LATE_ANSWER


async def asked(raw: RawClient, kind: str) -> None:
    name, start = {"elicitation": "stdio.ask", "sampling": "http.ask"}[kind], time.monotonic()
    answer = await raw.call(name, {"kind": kind}, seconds=80)
    assert json.loads(answer["content"][0]["text"]) == {"result": LATE_ANSWER}
    assert time.monotonic() - start > THOUGHT - 1


@covers("field.timeout", "A call beyond its upstream's `timeout` ends with both names and the limit, and is cancelled")
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_a_call_that_takes_too_long(rig: Rig, kind: str) -> None:
    (rig.upstream if kind == "stdio" else rig.http_upstream)("alpha", None, wf={"timeout": 1})
    rig.upstream("beta")
    async with rig.serve().raw() as raw:
        await raw.text("alpha.who")
        start = time.monotonic()
        result = await raw.call("alpha.slow", {"seconds": 30})
        assert 1 <= time.monotonic() - start < 3
        assert result["isError"]
        said = result["content"][0]["text"]
        assert "'alpha'" in said and "tools/call of 'slow'" in said and "1 s" in said
        await rig["alpha"].saw("dropped")
        assert await raw.text("beta.slow", {"seconds": 2, "tag": "in peace"}) == "in peace"
        assert (await raw.json("alpha.who"))["name"] == "alpha"


@covers("field.outcomes", "Whatever a client answers to a question reaches the upstream as it is, refusals included")
@pytest.mark.parametrize("front", FRONTS)
async def test_every_outcome_of_a_question(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        for answer in ({"action": "decline"}, {"action": "cancel", "x": None}, {"action": "accept", "content": {}}):
            raw.answers["elicitation/create"] = answer
            assert await raw.json("alpha.ask", {"kind": "elicitation"}) == {"result": answer}
        del raw.answers["sampling/createMessage"]
        refused = {"error": {"code": -32601, "message": "Method not found"}}
        assert await raw.json("alpha.ask", {"kind": "sampling"}) == refused


@covers("field.own-roots", "Each of two clients is asked for its own roots")
async def test_roots_of_two_clients(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.http_upstream("beta")
    front = rig.serve("http")
    async with front.raw() as one, front.raw() as two:
        for raw, uri in ((one, "file:///p/a"), (two, "file:///p/b")):
            raw.answers["roots/list"] = {"roots": [{"uri": uri}]}
        for _ in range(3):
            for raw in (one, two):
                for name in ("alpha", "beta"):
                    answer = await raw.json(f"{name}.ask", {"kind": "roots"})
                    assert answer == {"result": raw.answers["roots/list"]}


@covers("field.instructions", "Instructions of every upstream stand under its label; a late one delays nobody")
@pytest.mark.parametrize("era", ERAS)
async def test_instructions_of_several(rig: Rig, era: Era) -> None:
    rig.settings["list_wait"] = 1
    rig.upstream("alpha", {"instructions": "A says this."})
    rig.upstream("beta", {"instructions": "B says that."})
    rig.upstream("late", {"instructions": "Nobody waits."}, "--silent")
    start = time.monotonic()
    async with rig.serve().raw(era) as raw:
        assert time.monotonic() - start < 6
        said = raw.hello["instructions"]
    assert said.index("alpha") < said.index("A says this.") < said.index("beta") < said.index("B says that.")


@covers("field.processes", "Clients that share an upstream share its process; those of one client go when it goes")
async def test_processes_of_many_clients(rig: Rig) -> None:
    rig.upstream("shared", wf={"isolation": "shared"})
    rig.upstream("own")
    async with guests(rig.serve("http").url, 8) as many:
        for guest in many:
            assert {"shared.who", "own.who"} <= await listed(guest)
            for name in ("shared", "own"):
                assert json.loads(await guest.call(f"{name}.who"))["name"] == name
        assert (len(rig["shared"].pids), len(rig["own"].pids)) == (1, 9)  # one of the nine lists for all
        for guest in many[:4]:
            await guest.send("DELETE")
        await eventually(lambda: sum(alive(pid) for pid in rig["own"].pids) == 5)
        assert alive(*rig["shared"].pids)


async def listed(guest: HttpGuest) -> set[str]:
    answer: JsonObject = await guest.ask("tools/list")
    return {tool["name"] for tool in answer["result"]["tools"]}


@covers("field.sse-payload", "Results of 12 MB come whole from an upstream over the old HTTP+SSE transport")
async def test_a_large_result_over_sse(rig: Rig) -> None:
    port = free_port()
    rig.server("old", servers.sdk_server("sse", str(port)), f"http://127.0.0.1:{port}/sse", "sse")
    async with rig.serve().raw() as raw:
        for length in (1_000_000, 12_000_000):
            result = await raw.call("old.large", {"length": length}, seconds=60)
            assert [len(block["text"]) for block in result["content"]] == [length]


@covers("field.sse-headers", "Toward an SSE upstream too: its own headers, those it is to be forwarded, and no others")
async def test_headers_of_a_client_at_an_sse_upstream(rig: Rig) -> None:
    port, file = free_port(), rig.folder / "headers.jsonl"
    argv = servers.sdk_server("sse", str(port))
    rig.server("old", argv, f"http://127.0.0.1:{port}/sse", "sse", WF_TEST_HEADERS=str(file))
    rig.entries["old"] |= {"headers": {"X-Own": "own"}, "wf": {"forward_headers": ["x-wanted"]}}
    rig.with_token()
    sent = {"cookie": "s=1", "x-api-key": "K-of-the-client", "x-wanted": "W"}
    async with rig.serve("http").raw(headers=sent) as raw:
        assert "old.add" in await raw.names()
        assert (await raw.call("old.add", {"a": 1, "b": 2}))["structuredContent"] == {"result": 3}
        await raw.read("sdk://old/greeting")
    seen = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert {each["verb"] for each in seen} == {"GET", "POST"}
    headers = [each["headers"] for each in seen]
    assert all(each["x-own"] == "own" for each in headers)
    assert not any({"authorization", "cookie", "x-api-key"} & each.keys() for each in headers)
    assert sum(each.get("x-wanted") == "W" for each in headers) == 2  # the call and the read
