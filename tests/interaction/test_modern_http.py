"""Requests of 2026-07-28 over HTTP to a real process: headers, statuses, streams and cancellation (matrix A.2, E)."""

import base64
import json
import signal
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.rawhttp import http_guest, request
from tests.rawmodern import headers_of, modern, modern_guest
from tests.rig import Rig

pytestmark = pytest.mark.anyio

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
    },
}
ROUTED: JsonObject = {"name": "routed", "inputSchema": SCHEMA}


def served(rig: Rig, *tools: JsonObject) -> str:
    """One upstream behind an HTTP front; its URL."""
    rig.upstream("alpha", {"tools": list(tools)} if tools else None)
    url = rig.serve("http").url
    assert url is not None
    return url


def verdict(answer: Any) -> tuple[int, Any]:
    """The status and the error's code, or what came instead."""
    said = answer.json()
    return answer.status_code, said["error"]["code"] if "error" in said else "result"


@covers(
    "modern-http.headers", "A modern request whose headers and body disagree is 400 with -32020, in whatever header"
)
async def test_headers_that_contradict_the_body(rig: Rig) -> None:
    async with modern_guest(served(rig)) as guest:
        call = modern("tools/call", {"name": "alpha.echo", "arguments": {}})
        encoded = f"=?base64?{base64.b64encode(b'alpha.echo').decode()}?="
        assert {
            name: verdict(await guest.post(call, **headers))
            for name, headers in {
                "all right": {},
                "name in base64": {"mcp_name": encoded},
                "no version": {"mcp_protocol_version": None},
                "handshake version": {"mcp_protocol_version": "2025-11-25"},
                "no method": {"mcp_method": None},
                "other method": {"mcp_method": "tools/list"},
                "no name": {"mcp_name": None},
                "other name": {"mcp_name": "alpha.who"},
                "the other form of the name": {"mcp_name": "alpha_echo"},
            }.items()
        } == {
            "all right": (200, "result"),
            "name in base64": (200, "result"),
            "no version": (400, -32020),
            "handshake version": (400, -32020),
            "no method": (400, -32020),
            "other method": (400, -32020),
            "no name": (400, -32020),
            "other name": (400, -32020),
            "the other form of the name": (400, -32020),
        }
        twice = [*headers_of(call).items(), ("mcp-name", "alpha.echo")]
        answer = await guest.http.post(guest.url, content=json.dumps(call).encode(), headers=twice)
        assert verdict(answer) == (400, -32020)


@covers("modern-http.task-names", "Mcp-Name of tasks/get, tasks/update and tasks/cancel is checked against the task id")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_the_name_of_a_task(rig: Rig, method: str) -> None:
    async with modern_guest(served(rig)) as guest:
        message = modern(method, {"taskId": "alpha:1"})
        assert verdict(await guest.post(message)) == (400, -32020)
        assert verdict(await guest.post(message, mcp_name="alpha:2")) == (400, -32020)
        assert verdict(await guest.post(message, mcp_name="alpha:1"))[1] != -32020


@covers(
    "modern-http.param-headers",
    "Mcp-Param-* headers are checked against the tool's own schema, under either form of its name",
)
@pytest.mark.parametrize("name", ["alpha.routed", "alpha_routed"])
async def test_headers_of_arguments(rig: Rig, name: str) -> None:
    async with modern_guest(served(rig, ROUTED)) as guest:

        async def sent(arguments: JsonObject, **headers: str) -> tuple[int, Any]:
            return verdict(
                await guest.post(modern("tools/call", {"name": name, "arguments": arguments}, name), **headers)
            )

        right = {"mcp_param_region": "eu", "mcp_param_count": "7"}
        assert {
            "missing, before anything was listed": await sent({"region": "eu"}),
            "right": await sent({"region": "eu", "count": 7}, **right),
            "equal numbers": await sent({"region": "eu", "count": 7}, **right | {"mcp_param_count": "7.0"}),
            "none needed": await sent({"region": None, "other": 1}),
            "other value": await sent({"region": "eu", "count": 7}, **right | {"mcp_param_region": "us"}),
            "without its argument": await sent({"region": "eu"}, **right),
        } == {
            "missing, before anything was listed": (400, -32020),
            "right": (200, "result"),
            "equal numbers": (200, "result"),
            "none needed": (200, "result"),
            "other value": (400, -32020),
            "without its argument": (400, -32020),
        }
        listed = (await guest.ask("tools/list"))["result"]["tools"]
        assert next(tool["inputSchema"] for tool in listed if tool["name"] == "alpha.routed") == SCHEMA
        assert verdict(
            await guest.post(modern("tools/call", {"name": "no.such", "arguments": {"x": 1}}), mcp_param_x="1")
        ) == (400, -32602)


@covers("modern-http.statuses", "Unknown methods are 404, other mistakes of a modern request 400, results 200")
async def test_statuses(rig: Rig) -> None:
    url = served(rig)
    async with modern_guest(url) as guest, http_guest(url) as raw:
        told = {
            "unknown method": await guest.post(modern("no/such")),
            "a handshake method": await guest.post(modern("ping")),
            "no envelope": await guest.post(request("tools/list", {})),
            "half an envelope": await guest.post(
                request("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}})
            ),
            "unknown version": await guest.post(
                modern("tools/list", protocolVersion="2099-01-01"), mcp_protocol_version="2099-01-01"
            ),
            "no such tool": await guest.post(modern("tools/call", {"name": "no.such"})),
            "a batch": await raw.post([modern("tools/list")], mcp_protocol_version="2026-07-28"),
        }
        assert {name: verdict(answer) for name, answer in told.items()} == {
            "unknown method": (404, -32601),
            "a handshake method": (404, -32601),
            "no envelope": (400, -32602),
            "half an envelope": (400, -32602),
            "unknown version": (400, -32022),
            "no such tool": (400, -32602),
            "a batch": (400, -32600),
        }
        assert told["unknown version"].json()["error"]["data"] == {
            "supported": ["2026-07-28"],
            "requested": "2099-01-01",
        }
        answer: JsonObject = {"jsonrpc": "2.0", "id": 1, "result": {}}
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        version = {"mcp_protocol_version": "2026-07-28"}
        assert (await raw.post(answer, **version)).status_code == 400
        assert (await raw.post(note, **version)).status_code == 202
        assert (await guest.post(modern("tools/list"), accept="application/json")).status_code == 406
        for method in ("GET", "DELETE"):
            assert (await raw.send(method, **version)).status_code == 405


@covers(
    "modern-http.one-endpoint", "An enveloped request is modern even under a live session's id, and opens no session"
)
async def test_both_eras_at_one_endpoint(rig: Rig) -> None:
    url = served(rig)
    async with http_guest(url) as old, modern_guest(url) as new:
        await old.hello()
        answer = await new.post(
            modern("tools/list", request_id="x"), **{"mcp-session-id": old.session["mcp-session-id"]}
        )
        assert answer.status_code == 200 and "mcp-session-id" not in answer.headers
        assert (answer.json()["id"], answer.json()["result"]["resultType"]) == ("x", "complete")
        mixed = await old.post(modern("tools/list"), mcp_protocol_version="2025-11-25", mcp_method="tools/list")
        assert verdict(mixed) == (400, -32020)
        assert json.loads(await old.call("alpha.who"))["name"] == "alpha"


@covers(
    "modern-http.streams",
    "A modern answer is plain JSON until progress or a log message that was asked for precedes it; events have no ids",
)
async def test_plain_answers_and_streams(rig: Rig) -> None:
    async with modern_guest(served(rig)) as guest:
        plain = await guest.post(modern("tools/call", {"name": "alpha.who"}))
        assert plain.headers["content-type"] == "application/json"
        params = {"name": "alpha.progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "t"}}
        async with guest.stream(modern("tools/call", params, "mine")) as stream:
            head = stream.response.headers
            assert (head["content-type"], head["x-accel-buffering"]) == ("text/event-stream", "no")
            events = [await stream.event() for _ in range(4)]
            assert await stream.event() is None
        found = [event for event in events if event is not None]
        assert [event.id for event in found] == [None] * 4
        assert [event.data["params"] for event in found[:3]] == [
            {"progressToken": "t", "progress": step, "total": 3} for step in (1, 2, 3)
        ]
        assert found[3].data["id"] == "mine"


@covers("modern-http.cancel", "A modern client that closes its response has its call cancelled at the upstream")
async def test_leaving_cancels(rig: Rig) -> None:
    async with modern_guest(served(rig)) as guest:

        async def leave() -> None:
            await rig["alpha"].saw("slow")
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(guest.post, modern("tools/call", {"name": "alpha.slow", "arguments": {"seconds": 30}}))
            tasks.start_soon(leave)
        await rig["alpha"].saw("notification", method="notifications/cancelled")
        assert json.loads(await guest.call("alpha.who"))["name"] == "alpha"


@covers("modern-http.nulls", "Nulls in a modern call's arguments and in its result arrive as nulls")
async def test_nulls(rig: Rig) -> None:
    whole: JsonObject = {"content": [], "structuredContent": {"none": None, "list": [None]}, "x-own": None}
    rig.upstream("alpha", {"tools": [{"name": "nulls", "inputSchema": {}}], "results": {"tool:nulls": whole}})
    url = rig.serve("http").url
    assert url is not None
    async with modern_guest(url) as guest:
        said = json.loads(await guest.call("alpha.echo", {"nothing": None}))
        assert said["arguments"] == {"nothing": None}
        result = (await guest.ask("tools/call", {"name": "alpha.nulls"}))["result"]
        assert {key: result[key] for key in whole} == whole


@covers("modern-http.stop", "When wf-mcp stops, modern calls get a moment for their result, and then an error")
async def test_stopping(rig: Rig) -> None:
    url = served(rig)
    answers: dict[str, Any] = {}
    async with modern_guest(url) as guest:

        async def call(tag: str, seconds: float) -> None:
            arguments = {"seconds": seconds, "tag": tag}
            answers[tag] = await guest.ask("tools/call", {"name": "alpha.slow", "arguments": arguments})

        async def stop() -> None:
            for tag in ("quick", "slow"):
                await rig["alpha"].saw("slow", tag=tag)
            rig.process.send_signal(signal.SIGTERM)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "quick", 1)
            tasks.start_soon(call, "slow", 30)
            tasks.start_soon(stop)
    assert answers["quick"]["result"]["content"][0]["text"] == "quick"
    assert answers["slow"]["error"] == {"code": -32603, "message": "wf-mcp is stopping"}
    assert rig.process.wait(10) == 0


@covers("modern-http.listen", "A listen stream over HTTP hears of changes, and ends with its result when wf-mcp stops")
async def test_listening_until_the_end(rig: Rig) -> None:
    async with modern_guest(served(rig)) as guest:
        assert "alpha.grow" in str(await guest.ask("tools/list"))
        message = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "mine")
        assert (await guest.post(message, accept="application/json")).status_code == 406
        async with guest.stream(message) as stream:
            acknowledged = await stream.event()
            assert acknowledged is not None
            assert acknowledged.data["method"] == "notifications/subscriptions/acknowledged"
            await guest.call("alpha.grow", {"name": "grown"})
            changed = await stream.event()
            assert changed is not None and changed.data["method"] == "notifications/tools/list_changed"
            rig.process.send_signal(signal.SIGTERM)
            last = await stream.event()
            assert last is not None and last.id is None and last.data["id"] == "mine"
            assert last.data["result"]["resultType"] == "complete"
            assert await stream.event() is None
    assert rig.process.wait(10) == 0


@covers("modern-http.white-space", "White space around a header's value is no part of it (RFC 9110 § 5.5)")
async def test_white_space_around_headers(rig: Rig) -> None:
    url = urlsplit(served(rig))
    body = json.dumps(modern("tools/list", {})).encode()
    head = (
        f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nConnection: close\r\n"
        f"MCP-Protocol-Version: \t 2026-07-28 \t \r\nMcp-Method:tools/list  \r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with anyio.fail_after(20):
        async with await anyio.connect_tcp(str(url.hostname), int(url.port or 0)) as stream:
            await stream.send(head.encode() + body)
            answer = b""
            with suppress(anyio.EndOfStream):
                while True:
                    answer += await stream.receive()
    assert answer.startswith(b"HTTP/1.1 200 ") and b"alpha.who" in answer
