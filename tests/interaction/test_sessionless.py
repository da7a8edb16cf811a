"""Handshake clients over HTTP that never give back a session id, at a real process (matrix E.1 item 4, D.5, F90)."""

import json
from typing import Any

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.rawhttp import HttpGuest, events_of, http_guest, request
from tests.rig import Rig

pytestmark = pytest.mark.anyio

INFO = {"name": "guest", "version": "1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}, "sampling": {}}, "clientInfo": INFO}


def served(rig: Rig, *args: str, path: str = "") -> str:
    """One upstream behind an HTTP front; its URL."""
    rig.upstream("alpha")
    url = rig.serve("http", *args).url
    assert url is not None
    return url + path


def hello_of(name: str) -> JsonObject:
    """An `initialize` of a client of this name."""
    return request("initialize", {**HELLO, "clientInfo": {"name": name, "version": "1"}}, 0)


async def refusal(guest: HttpGuest, method: str, params: JsonObject | None = None) -> str:
    """What a request that cannot work is told."""
    error = (await guest.ask(method, params))["error"]
    assert error["code"] == -32601
    text: str = error["message"]
    return text


@covers("sessionless.path", "At /mcp/stateless requests are served without a session, with or without an initialize")
@pytest.mark.parametrize("end", ["/stateless", "/stateless/"])
async def test_the_path(rig: Rig, end: str) -> None:
    async with http_guest(served(rig, path=end)) as guest:
        assert json.loads(await guest.call("alpha.who"))["name"] == "alpha"
        answer = await guest.post(request("initialize", HELLO, 0))
        assert answer.status_code == 200 and "mcp-session-id" not in answer.headers
        result = answer.json()["result"]
        assert result["protocolVersion"] == "2025-06-18"
        assert result["capabilities"]["tools"] == {} and "logging" not in result["capabilities"]
        assert (await guest.post({"jsonrpc": "2.0", "method": "notifications/initialized"})).status_code == 202
        names = [tool["name"] for tool in (await guest.ask("tools/list"))["result"]["tools"]]
        assert "alpha.echo" in names
        read = await guest.ask("resources/read", {"uri": "demo://alpha/x"})
        assert read["result"]["contents"][0]["uri"] == "demo://alpha/x"
        for header in ("2025-11-25", "2026-07-28", "2099-01-01"):
            assert (await guest.post(request("tools/list"), mcp_protocol_version=header)).status_code == 200
        assert (await guest.post(request("tools/list"), mcp_protocol_version="foobar")).status_code == 400
        assert (await guest.post(request("tools/list"), origin="http://evil.example")).status_code == 403


@covers("sessionless.setting", "With --stateless, /mcp too gives no handshake client a session, and ignores stale ids")
async def test_the_setting(rig: Rig) -> None:
    async with http_guest(served(rig, "--stateless")) as guest:
        assert "mcp-session-id" not in (await guest.hello()).headers
        assert json.loads(await guest.call("alpha.who"))["name"] == "alpha"
        guest.session = {"mcp-session-id": "0" * 32}
        assert json.loads(await guest.call("alpha.who"))["name"] == "alpha"
        for method in ("GET", "DELETE"):
            answer = await guest.send(method)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@covers("sessionless.hosts", "At /mcp a host of the table that never gives back its session id is served without one")
async def test_hosts_of_the_table(rig: Rig) -> None:
    url = served(rig)
    agents = {"user-agent": "openai-mcp/1.0.0"}
    async with http_guest(url, **agents) as host, http_guest(url) as other:
        assert (await host.post(request("tools/list"))).status_code == 400  # not known yet
        assert "mcp-session-id" not in (await host.post(hello_of("openai-mcp"))).headers
        assert (await host.post({"jsonrpc": "2.0", "method": "notifications/initialized"})).status_code == 202
        names = [tool["name"] for tool in (await host.ask("tools/list"))["result"]["tools"]]
        assert "alpha_echo" in names  # the form that this host needs
        assert (await host.send("GET")).status_code == 405
        assert "mcp-session-id" in (await other.post(hello_of("guest"))).headers
        assert (await other.post(request("tools/list"))).status_code == 400


@covers("sessionless.streams", "Without a session progress comes on the request's own stream, whose events have no ids")
async def test_progress(rig: Rig) -> None:
    async with http_guest(served(rig, path="/stateless")) as guest:
        params = {"name": "alpha.progress", "arguments": {"steps": 2}, "_meta": {"progressToken": "t"}}
        answer = await guest.post(request("tools/call", params, "mine"))
        assert answer.headers["content-type"] == "text/event-stream"
        first, second, last = events_of(answer.text)
        assert [first.id, second.id, last.id] == [None] * 3
        assert first.data["params"] == {"progressToken": "t", "progress": 1, "total": 2}
        assert (last.data["id"], last.data["result"]["content"][0]["text"]) == ("mine", "progressed")


@covers("sessionless.refusals", "What needs a session says so without one: subscriptions, the log level, listing tasks")
async def test_what_cannot_work(rig: Rig) -> None:
    async with http_guest(served(rig, path="/stateless")) as guest:
        assert [
            await refusal(guest, "resources/subscribe", {"uri": "demo://alpha/x"}),
            await refusal(guest, "logging/setLevel", {"level": "debug"}),
            await refusal(guest, "tasks/list"),
        ] == [
            "resources/subscribe: There is no stream for resource updates over this client connection, which has no "
            "session; use a session, or a client of 2026-07-28",
            "logging/setLevel: No log level is remembered over this client connection, which has no session; "
            "use a session, or a client of 2026-07-28",
            "tasks/list: Tasks are found by their id only over this client connection, which has no session, since "
            "others may use it too; use a session, or a client of 2026-07-28",
        ]
        answer: Any = await guest.send("GET")
        assert answer.status_code == 405


@covers("sessionless.questions", "An upstream that asks a client without a session is told that it cannot be asked")
@pytest.mark.parametrize("kind", ["elicitation", "sampling", "roots"])
async def test_questions(rig: Rig, kind: str) -> None:
    async with http_guest(served(rig, path="/stateless")) as guest:
        await guest.hello(capabilities={"elicitation": {}, "sampling": {}, "roots": {}})
        said = json.loads(await guest.call("alpha.ask", {"kind": kind}))
        assert said["error"]["message"].endswith(
            "this client connection cannot answer questions; use a stateful session or a 2026-07-28 client"
        )
        declared = rig["alpha"].events("request", method="initialize")[0]["params"]["capabilities"]
        assert declared == {}


@covers("sessionless.modern-questions", "A modern upstream's questions to a client without a session become a result")
async def test_questions_of_a_modern_upstream(rig: Rig) -> None:
    rig.full("alpha", "modern")
    url = rig.serve("http").url
    assert url is not None
    async with http_guest(f"{url}/stateless") as guest:
        result = (await guest.ask("tools/call", {"name": "alpha.elicit", "arguments": {}}))["result"]
        assert result["isError"] is True
        assert "this client connection cannot answer questions" in result["content"][0]["text"]


@covers("sessionless.leaves", "A call without a session goes on when its client leaves, since that is no cancelling")
async def test_a_client_that_leaves(rig: Rig) -> None:
    async with http_guest(served(rig, path="/stateless")) as guest:

        async def leave() -> None:
            await rig["alpha"].saw("slow", tag="left")
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(guest.call, "alpha.slow", {"seconds": 0.3, "tag": "left"})
            tasks.start_soon(leave)
        assert await guest.call("alpha.slow", {"seconds": 0.6, "tag": "stays"}) == "stays"
        assert rig["alpha"].events("notification", method="notifications/cancelled") == []


@covers(
    "sessionless.volume",
    "1,000 requests without a session, 20 at a time, use one upstream process, however often they initialize",
)
@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_thousand_requests(rig: Rig) -> None:
    async with http_guest(served(rig, path="/stateless")) as guest:
        pids: set[int] = set()

        async def client(number: int) -> None:
            for step in range(50):
                if step % 5 == 0:
                    assert (await guest.post(hello_of(f"client {number}"))).status_code == 200
                pids.add(json.loads(await guest.call("alpha.who", {}, f"{number}-{step}"))["pid"])

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(client, number)
    assert rig["alpha"].pids == [*pids]
    assert len(rig["alpha"].events("request", method="initialize")) == 1
    assert len(rig["alpha"].calls("who")) == 1000


@covers("sessionless.tokens", "Clients without a session share upstream sessions with those of their own token only")
async def test_tokens(rig: Rig) -> None:
    rig.env |= {"ALICE": "alice-0123456789abcdef", "BOB": "bob-0123456789abcdef"}
    rig.settings["auth"] = {"tokens": {"alice": "${ALICE}", "bob": "${BOB}"}}
    async with http_guest(served(rig, path="/stateless")) as guest:
        assert (await guest.post(request("tools/list"))).status_code == 401
        said: list[str] = []
        for name in ("ALICE", "BOB", "ALICE"):
            headers = {"authorization": f"Bearer {rig.env[name]}"}
            params = {"name": "alpha.remember", "arguments": {"value": name}}
            answer = await guest.post(request("tools/call", params), **headers)
            said.append(json.loads(answer.json()["result"]["content"][0]["text"]))
        assert said == [None, None, "ALICE"]
