"""Show 2, 3 and 7 for the wire: the HTTP front of a real process, as handshake clients of all sorts use it."""

import hashlib
import json
import random
import signal
import time
from contextlib import AsyncExitStack

import anyio
import httpx2
import pytest
from tests.covers import covers
from tests.inbox import Inbox, JsonObject, eventually
from tests.procs import alive, resident
from tests.rawhttp import HttpGuest, events_of, frozen_get, http_guest, request
from tests.rawlinks import StdioLink
from tests.rig import Rig

pytestmark = pytest.mark.anyio

IDS = [1, "1", "0", "init-1", "", -5, 9007199254740993, 2, 3, 4]
MEGABYTE = 1_000_000


def served(rig: Rig, **settings: object) -> str:
    """One upstream behind an HTTP front; its URL."""
    rig.upstream("alpha")
    rig.settings |= settings
    url = rig.serve("http").url
    assert url is not None
    return url


@covers("http.ids", "Each answer gives back its own request's id, in value and JSON type, however many are under way")
async def test_ids_of_any_kind_at_once(rig: Rig) -> None:
    async with http_guest(served(rig)) as guest, anyio.create_task_group() as tasks:
        await guest.hello()

        async def call(number: int, request_id: object) -> None:
            text = await guest.call("alpha.slow", {"seconds": 0.2, "tag": f"tag {number}"}, request_id)
            assert text == f"tag {number}"

        for number, request_id in enumerate(IDS):
            tasks.start_soon(call, number, request_id)


@covers("http.equal-ids", "Clients that use equal request ids at once each get their own answers")
async def test_two_clients_with_equal_ids(rig: Rig) -> None:
    url = served(rig)
    async with AsyncExitStack() as stack:
        guests = [await stack.enter_async_context(http_guest(url)) for _ in range(2)]
        for guest in guests:
            await guest.hello()

        async def call(guest: HttpGuest, name: str, request_id: object) -> None:
            echoed = json.loads(await guest.call("alpha.echo", {"who": name}, request_id))
            assert echoed["arguments"] == {"who": name}

        chance = random.Random(7)
        for repetition in range(40):
            pairs = [(guest, request_id) for guest in guests for request_id in IDS[:5]]
            chance.shuffle(pairs)
            async with anyio.create_task_group() as tasks:
                for guest, request_id in pairs:
                    name = f"{guests.index(guest)} {request_id!r} {repetition}"
                    tasks.start_soon(call, guest, name, request_id)


@covers(
    "http.questions", "Progress, questions and results of clients with equal ids and tokens each reach their own client"
)
@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_two_clients_that_are_asked_at_once(rig: Rig, kind: str) -> None:
    (rig.upstream if kind == "stdio" else rig.http_upstream)("alpha", None)  # over HTTP one process for both clients
    url = str(rig.serve("http").url)
    steps = {"one": 3, "two": 4}
    tools: list[tuple[str, JsonObject]] = [
        ("alpha.progress", {}),
        ("alpha.ask", {"kind": "elicitation"}),
        ("alpha.ask", {"kind": "sampling"}),
    ]
    async with AsyncExitStack() as stack:
        guests = {name: await stack.enter_async_context(http_guest(url)) for name in ("one", "two")}
        for guest in guests.values():
            await guest.hello(capabilities={"elicitation": {}, "sampling": {}})

        async def act(name: str, request_id: object, tool: tuple[str, JsonObject]) -> None:
            answers = {
                "elicitation/create": {"action": "accept", "content": {"name": name, "id": request_id}},
                "sampling/createMessage": {
                    "role": "assistant",
                    "model": name,
                    "content": {"type": "text", "text": "x"},
                },
            }
            arguments = tool[1] or {"steps": steps[name]}
            params = {"name": tool[0], "arguments": arguments, "_meta": {"progressToken": "token"}}
            notes, result = await guests[name].converse(request("tools/call", params, request_id), answers)
            assert result["id"] == request_id and type(result["id"]) is type(request_id)
            text = result["result"]["content"][0]["text"]
            if tool[0] == "alpha.progress":
                number = steps[name]
                told = [{"progressToken": "token", "progress": n, "total": number} for n in range(1, number + 1)]
                assert [note["params"] for note in notes] == told
            else:
                method = {"elicitation": "elicitation/create", "sampling": "sampling/createMessage"}[tool[1]["kind"]]
                given = json.loads(text)["result"]
                assert notes == [] and {key: given[key] for key in answers[method]} == answers[method]

        chance = random.Random(3)
        for _ in range(200):
            async with anyio.create_task_group() as tasks:
                request_id = chance.choice(IDS)
                for name in guests:
                    tasks.start_soon(act, name, request_id, chance.choice(tools))


@covers("front.stdio-ids", "On a stdio front too, each answer gives back its own request's id, in value and JSON type")
async def test_ids_of_any_kind_over_stdio(rig: Rig) -> None:
    rig.upstream("alpha")
    front, inbox = rig.serve(), Inbox()
    async with StdioLink.open(front.argv, inbox.add, env=front.env, cwd=front.cwd, log=front.log, patience=10) as link:
        info = {"name": "guest", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        await link.send(request("initialize", hello, "hello"), {})
        await inbox.wait_for(lambda message: message.get("id") == "hello")
        await link.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, {})
        for number, request_id in enumerate(IDS):
            params = {"name": "alpha.slow", "arguments": {"seconds": 0.2, "tag": f"tag {number}"}}
            await link.send(request("tools/call", params, request_id), {})
        for number, request_id in enumerate(IDS):
            answer = await inbox.wait_for(lambda message, tag=f"tag {number}": tag in json.dumps(message))
            assert answer["id"] == request_id and type(answer["id"]) is type(request_id)


@covers("http.lost-session", "A session that wf-mcp does not know is 404, a missing id 400, and a new handshake works")
async def test_a_lost_session(rig: Rig) -> None:
    async with http_guest(served(rig)) as guest:
        await guest.hello()
        steady = guest.session
        for session, expected in (
            ({"mcp-session-id": "0" * 32}, 404),
            ({"mcp-session-id": "garbage id / %00"}, 404),
            ({}, 400),
        ):
            guest.session = session
            assert (await guest.post(request("tools/list"))).status_code == expected
            for method in ("GET", "DELETE", "DELETE"):
                assert (await guest.send(method)).status_code == expected
        guest.session = steady
        assert json.loads(await guest.call("alpha.who"))["name"] == "alpha"
        stale = await guest.hello(mcp_session_id="0" * 32)
        assert stale.status_code == 200 and guest.session not in ({}, steady)
        assert json.loads(await guest.call("alpha.who"))["name"] == "alpha"


@covers("http.owner", "A session answers only to the token that opened it; to others it does not exist")
async def test_a_session_belongs_to_its_token(rig: Rig) -> None:
    rig.env |= {"ALICE": "alice-0123456789abcdef", "BOB": "bob-0123456789abcdef"}
    url = served(rig, auth={"tokens": {"alice": "${ALICE}", "bob": "${BOB}"}})
    async with http_guest(url) as guest:
        alice, bob = (f"Bearer {rig.env[name]}" for name in ("ALICE", "BOB"))
        await guest.hello(authorization=alice)
        assert [(await guest.send(m, authorization=bob)).status_code for m in ("GET", "DELETE")] == [404, 404]
        assert (await guest.post(request("tools/list"), authorization=bob)).status_code == 404
        assert (await guest.post(request("tools/list"))).status_code == 401
        assert (await guest.post(request("tools/list"), authorization=alice)).status_code == 200


@covers(
    "http.never-echoed",
    "A host that never sends its session id is told so at once; one that initializes per call works",
)
async def test_a_host_that_forgets_its_session(rig: Rig) -> None:
    url = served(rig)
    async with http_guest(url) as guest:
        await guest.hello()
        guest.session = {}
        refused = await guest.post(request("tools/list"))
        assert refused.status_code == 400 and "Mcp-Session-Id" in refused.json()["error"]["message"]
    for _ in range(5):
        async with http_guest(url) as fresh:
            await fresh.hello()
            assert json.loads(await fresh.call("alpha.who"))["name"] == "alpha"


@covers("http.versions", "Versions are judged by form: any date passes once a session is open, anything else is 400")
async def test_version_headers(rig: Rig) -> None:
    async with http_guest(served(rig)) as guest:
        for wanted, agreed in (
            ("2024-11-05", "2024-11-05"),
            ("2099-01-01", "2025-11-25"),
            ("2025-06-18", "2025-06-18"),
        ):
            answer = await guest.hello(wanted, mcp_protocol_version=wanted)
            assert answer.json()["result"]["protocolVersion"] == agreed
        for version, expected in (
            *((version, 200) for version in ("2025-06-18", "2025-11-25", "2026-07-28", "2020-01-01")),
            *((version, 400) for version in ("foobar", "")),
        ):
            assert (await guest.post(request("tools/list"), mcp_protocol_version=version)).status_code == expected
        assert (await guest.post(request("tools/list"))).status_code == 200


@covers("http.formats", "Content types with a charset and Accept with qualities or wildcards are understood")
async def test_content_types(rig: Rig) -> None:
    async with http_guest(served(rig)) as guest:
        await guest.hello()
        for headers, expected in (
            ({"content_type": "application/json; charset=utf-8"}, 200),
            ({"content_type": 'application/json;charset="UTF-8"'}, 200),
            ({"accept": "application/json;q=0.9, text/event-stream;q=0.1"}, 200),
            ({"accept": "*/*"}, 200),
            ({"accept": "application/json"}, 406),
            ({"content_type": "text/plain"}, 415),
        ):
            assert (await guest.post(request("tools/list"), **headers)).status_code == expected


@covers("http.both-paths", "/mcp and /mcp/ are one endpoint, without a redirect")
async def test_both_paths(rig: Rig) -> None:
    url = served(rig)
    async with http_guest(url + "/") as slashed, http_guest(url) as bare:
        assert (await slashed.hello()).status_code == 200
        bare.session = slashed.session
        assert json.loads(await bare.call("alpha.who"))["name"] == "alpha"
        async with slashed.stream("GET") as stream:
            assert stream.response.status_code == 200
        assert (await slashed.send("DELETE")).status_code == 200


@covers("http.strangers", "A foreign Host or Origin is refused on every method, and the refusal names the setting")
async def test_strangers_and_reverse_proxies(rig: Rig) -> None:
    url = served(rig, allowed_hosts=["mcp.example.org"])
    async with http_guest(url) as guest:
        for headers, expected in (
            ({"host": "evil.example"}, 421),
            ({"origin": "http://evil.example"}, 403),
            ({"origin": "null"}, 403),
        ):
            for method in ("POST", "GET", "DELETE", "OPTIONS"):
                answer = await guest.send(method, b"{}" if method == "POST" else None, **headers)
                assert answer.status_code == expected and "allowed_hosts" in answer.text
                assert "access-control-allow-origin" not in answer.headers
        for host in ("localhost:1", "127.0.0.1", "[::1]:80", "mcp.example.org"):
            assert (await guest.hello(host=host)).status_code == 200


@covers(
    "http.plain-or-events", "An answer is plain JSON; after a second without one it is an event stream, with a primer"
)
async def test_plain_json_or_events(rig: Rig) -> None:
    async with http_guest(served(rig)) as guest:
        await guest.hello()
        quick = await guest.post(request("tools/call", {"name": "alpha.who"}))
        assert quick.headers["content-type"] == "application/json" and quick.json()["id"] == 1
        slow = await guest.post(request("tools/call", {"name": "alpha.slow", "arguments": {"seconds": 1.5}}))
        assert slow.headers["content-type"] == "text/event-stream"
        assert slow.headers["x-accel-buffering"] == "no"
        primer, answer = events_of(slow.text)
        assert primer.id and primer.data is None and primer.retry
        assert answer.data["result"]["content"][0]["text"] == "done"


@covers(
    "http.resume", "A call goes on when its connection breaks, and its answer is fetched with Last-Event-ID, by GET"
)
async def test_a_broken_connection_is_resumed(rig: Rig) -> None:
    async with http_guest(served(rig)) as guest:
        await guest.hello()
        arguments = {"seconds": 2.5, "tag": "late"}
        message = request("tools/call", {"name": "alpha.slow", "arguments": arguments}, "mine")
        async with guest.stream("POST", message) as stream:
            primer = await stream.event()
            assert primer is not None and primer.id is not None
        async with guest.stream("GET", last_event_id=primer.id) as resumed:
            answer = await resumed.event()
            assert answer is not None and answer.data["id"] == "mine"
            assert answer.data["result"]["content"][0]["text"] == "late"
            assert await resumed.event() is None
        again = await guest.send("GET", last_event_id=primer.id)
        assert [event.data for event in events_of(again.text)] == [answer.data]
        assert (await guest.send("GET", last_event_id="77-1")).status_code == 400
        assert rig["alpha"].events("notification", method="notifications/cancelled") == []


@covers("http.newest-get", "A second GET takes the place of the first, a frozen one as well; the slot is never lost")
async def test_the_newest_get_wins(rig: Rig) -> None:
    url = served(rig)
    async with http_guest(url) as guest:
        await guest.hello()
        frozen = frozen_get(url, guest.session)
        async with guest.stream("GET") as second:
            assert second.response.status_code == 200 and (await second.event()) is not None
            async with guest.stream("GET") as third:
                assert (await third.event()) is not None
                assert await second.event() is None
        frozen.close()
        async with guest.stream("GET") as fourth:
            assert (await fourth.event()) is not None


@covers("http.drops", "Clients that drop their connections in the middle of calls harm nobody else's")
async def test_abrupt_disconnects(rig: Rig) -> None:
    url = served(rig)
    chance = random.Random(13)

    async def rude() -> None:
        async with http_guest(url) as guest:
            await guest.hello()
            with anyio.move_on_after(chance.random()):
                await guest.call("alpha.slow", {"seconds": 1})

    async with http_guest(url) as steady, anyio.create_task_group() as tasks:
        await steady.hello()
        before = await steady.call("alpha.who")
        for _ in range(50):
            tasks.start_soon(rude)
        for number in range(200):
            echoed = json.loads(await steady.call("alpha.echo", {"number": number}, number))
            assert echoed["arguments"] == {"number": number}
        assert await steady.call("alpha.who") == before
    assert "Traceback" not in rig.log("http") and "different task" not in rig.log("http")


@covers("http.idle", "Sessions that nobody uses any more end after wf.session_idle, and their memory is given back")
@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_sessions_are_reclaimed(rig: Rig) -> None:
    url = served(rig, session_idle=2)
    async with http_guest(url) as busy, http_guest(url) as guest:
        await busy.hello()
        async with busy.stream("GET") as standing:
            assert await standing.event() is not None
            await come_and_go(guest, 100)
            before = resident(rig.process.pid)  # with what an allocator keeps for the next time
            await come_and_go(guest, 200)
            # A session that stayed would have some 100 kB, its upstream's connection included.
            assert resident(rig.process.pid) < before + 5 * MEGABYTE
            assert json.loads(await busy.call("alpha.who"))["name"] == "alpha"
        await eventually(lambda: sum(alive(pid) for pid in rig["alpha"].pids) <= 2)


async def come_and_go(guest: HttpGuest, number: int) -> None:
    """Sessions that are opened and ended, or left; refused requests between them; all are forgotten at the end."""
    left = []
    for turn in range(number):
        await guest.hello()
        if turn % 2:
            await guest.send("DELETE")
        else:
            left.append(guest.session)
        guest.session = {}
        await guest.send("GET")
        await guest.post(request("initialize"), accept="text/html")
    await anyio.sleep(3)  # the idle time, and half as long again
    for session in left:
        guest.session = session
        assert (await guest.send("DELETE")).status_code == 404
    guest.session = {}


@covers("http.request-size", "A request may have wf.max_request_bytes, 256 MiB unless configured; a larger one is 413")
@pytest.mark.parametrize("limit", [None, 10 * MEGABYTE])
async def test_large_requests(rig: Rig, limit: int | None) -> None:
    url = served(rig, **({} if limit is None else {"max_request_bytes": limit}))
    data = "x" * (50 * MEGABYTE if limit is None else 9 * MEGABYTE)
    async with http_guest(url) as guest:
        await guest.hello()
        seen = json.loads(await guest.call("alpha.digest", {"data": data}))
        assert seen["sha256"] == hashlib.sha256(data.encode()).hexdigest()
        if limit is not None:
            over = request("tools/call", {"name": "alpha.digest", "arguments": {"data": data + data}})
            answer = await guest.post(over)
            assert answer.status_code == 413 and "max_request_bytes" in answer.text
            assert json.loads(await guest.call("alpha.who"))["name"] == "alpha"


@covers("http.large-results", "Eight results of 12 MB at once arrive whole, and a small call does not wait for them")
async def test_large_results_at_once(rig: Rig) -> None:
    rig.upstream("beta")
    async with http_guest(served(rig)) as guest:
        await guest.hello()
        await guest.call("beta.who")
        await guest.call("alpha.who")
        waits: list[float] = []

        async def big(number: int) -> None:
            assert len(await guest.call("alpha.big", {"bytes": 12 * MEGABYTE}, number)) == 12 * MEGABYTE

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(big, number)
            for _ in range(10):
                start = time.monotonic()
                await guest.call("beta.who")
                waits.append(time.monotonic() - start)
    assert sorted(waits)[5] < 1


@covers("http.sigterm", "SIGTERM: streams end whole, a call that runs is answered, and a frozen client delays nothing")
async def test_sigterm_with_all_sorts_of_clients(rig: Rig) -> None:
    url = served(rig)
    process = rig.process
    async with http_guest(url) as guest, http_guest(url) as other:
        await guest.hello()
        await other.hello()
        frozen = frozen_get(url, other.session)
        answers: list[httpx2.Response] = []

        async def call() -> None:
            message = request("tools/call", {"name": "alpha.slow", "arguments": {"seconds": 30}})
            answers.append(await guest.post(message))

        async with guest.stream("GET") as standing, anyio.create_task_group() as tasks:
            assert await standing.event() is not None
            tasks.start_soon(call)
            await rig["alpha"].saw("slow")
            start = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert await standing.event() is None
        frozen.close()
    assert events_of(answers[0].text)[-1].data["error"]
    await eventually(lambda: process.poll() is not None)
    assert process.returncode == 0 and time.monotonic() - start < 10
    assert not any(alive(pid) for pid in rig["alpha"].pids)
    assert "Traceback" not in rig.log("http")


@covers("http.second-signal", "A second signal ends the process at once")
async def test_a_second_signal_forces_the_end(rig: Rig) -> None:
    url = served(rig)
    process = rig.process
    async with http_guest(url) as guest, anyio.create_task_group() as tasks:
        await guest.hello()
        tasks.start_soon(fails, guest)
        await rig["alpha"].saw("slow")
        process.send_signal(signal.SIGTERM)
        await eventually(lambda: "signal" in rig.log("http") or process.poll() is None)
        await anyio.sleep(0.3)  # into the grace of the first one
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(2):
            await eventually(lambda: process.poll() is not None)
        assert process.returncode == 70
        tasks.cancel_scope.cancel()


async def fails(guest: HttpGuest) -> None:
    """A call that is broken off."""
    with pytest.raises(httpx2.TransportError):
        await guest.call("alpha.slow", {"seconds": 30})


@covers("http.eras", "The body decides the era: an envelope is modern, and contradicting headers are -32020")
async def test_the_body_decides_the_era(rig: Rig) -> None:
    async with http_guest(served(rig)) as guest:
        prefix = "io.modelcontextprotocol/"
        meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
        body = request("tools/list", {"_meta": meta})
        good = await guest.post(body, mcp_protocol_version="2026-07-28", mcp_method="tools/list")
        assert good.status_code == 200 and good.json()["result"]["resultType"] == "complete"
        for headers in ({}, {"mcp_protocol_version": "2025-11-25"}):
            mismatch = await guest.post(body, mcp_method="tools/list", **headers)
            assert (mismatch.status_code, mismatch.json()["error"]["code"]) == (400, -32020)
        await guest.hello()
        within = await guest.post(request("tools/list"), mcp_protocol_version="2026-07-28")
        assert "resultType" not in within.json()["result"]
