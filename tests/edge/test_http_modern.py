"""Requests of 2026-07-28 at the endpoint: statuses, headers against bodies, and stopping (matrix A.2, A.5, E.2)."""

import base64
import json

import anyio
import pytest
from inline_snapshot import snapshot
from tests.edge.asgi import ENVELOPE, POST_HEADERS, Guest, Hit, place
from tests.inbox import JsonObject, eventually

pytestmark = pytest.mark.anyio

MODERN = {**POST_HEADERS, "mcp-protocol-version": "2026-07-28"}


def verdict(hit: Hit) -> tuple[int, int | None]:
    """The status and the error's code, if it is one."""
    return hit.status, hit.json.get("error", {}).get("code")


async def raw(guest: Guest, message: object, **headers: str) -> Hit:
    """A body as it is under the headers of the era."""
    lines = MODERN | {name.replace("_", "-"): value for name, value in headers.items()}
    return await guest.hit("POST", lines, json.dumps(message).encode()).end()


async def test_what_is_no_request_of_the_era_is_refused_with_its_status() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    listing = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    half = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    async with place() as here:
        guest = here.guest()
        assert {
            "no envelope": verdict(await raw(guest, listing, mcp_method="tools/list")),
            "half an envelope": verdict(await raw(guest, {**listing, "params": half}, mcp_method="tools/list")),
            "an answer": verdict(await raw(guest, {"jsonrpc": "2.0", "id": 1, "result": {}})),
            "a batch": verdict(await raw(guest, [listing])),
            "a note at no revision": verdict(await raw(guest, note, mcp_protocol_version="2099-01-01")),
            "an unknown method": verdict(await guest.modern("no/such").end()),
            "parameters that are wrong": verdict(await guest.modern("tools/call").end()),
            "a missing capability": verdict(await guest.modern("test/fail", {"how": -32021}).end()),
            "an error of no meaning": verdict(await guest.modern("test/fail", {"how": -7}).end()),
            "too narrow an Accept": verdict(await guest.modern("test/echo", accept="application/json").end()),
            "no events for a listener": verdict(
                await guest.modern("subscriptions/listen", accept="application/json").end()
            ),
        } == snapshot(
            {
                "no envelope": (400, -32602),
                "half an envelope": (400, -32602),
                "an answer": (400, -32600),
                "a batch": (400, -32600),
                "a note at no revision": (400, -32022),
                "an unknown method": (404, -32601),
                "parameters that are wrong": (400, -32602),
                "a missing capability": (400, -32021),
                "an error of no meaning": (200, -7),
                "too narrow an Accept": (406, -32600),
                "no events for a listener": (406, -32600),
            }
        )
        told = await raw(guest, note)
        assert (told.status, told.data) == (202, b"")


async def test_an_unknown_revision_is_told_which_there_are() -> None:
    async with place() as here:
        meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        hit = await here.guest().modern("test/echo", {"_meta": meta}, mcp_protocol_version="2099-01-01").end()
        assert (hit.status, hit.json) == snapshot(
            (
                400,
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "error": {
                        "code": -32022,
                        "message": "Unsupported protocol version",
                        "data": {"supported": ["2026-07-28"], "requested": "2099-01-01"},
                    },
                },
            )
        )


CALL: JsonObject = {"name": "zählen", "arguments": {}}
ENCODED = f"=?base64?{base64.b64encode('zählen'.encode()).decode()}?="


@pytest.mark.parametrize(
    ("method", "params", "headers", "mismatch"),
    [
        ("tools/call", CALL, {"mcp_name": ENCODED}, False),
        ("tools/call", CALL, {}, True),
        ("tools/call", CALL, {"mcp_name": "zahlen"}, True),
        ("tools/call", CALL, {"mcp_name": ENCODED, "mcp_method": "tools/list"}, True),
        ("tools/call", CALL, {"mcp_name": ENCODED, "mcp_method": None}, True),
        ("tools/call", CALL, {"mcp_name": ENCODED, "mcp_protocol_version": "2025-11-25"}, True),
        ("tools/call", CALL, {"mcp_name": ENCODED, "mcp_protocol_version": None}, True),
        *((method, {"taskId": "t"}, {"mcp_name": "t"}, False) for method in ("tasks/get", "tasks/update")),
        *((method, {"taskId": "t"}, {"mcp_name": "u"}, True) for method in ("tasks/get", "tasks/cancel")),
        *((method, {"taskId": "t"}, {}, True) for method in ("tasks/update", "tasks/cancel")),
        ("tasks/get", {}, {}, False),
        ("tasks/list", {"taskId": "t"}, {}, False),
    ],
)
async def test_headers_against_the_body(
    method: str, params: JsonObject, headers: dict[str, str | None], mismatch: bool
) -> None:
    async with place() as here:
        hit = await here.guest().modern(method, params, "x", **headers).end()
        assert (verdict(hit)[1] == -32020) is mismatch
        assert hit.json["id"] == "x"
        assert not mismatch or hit.status == 400
        assert not mismatch or here.script.came == []


@pytest.mark.parametrize("name", ["mcp-method", "mcp-protocol-version"])
async def test_a_routing_header_comes_once(name: str) -> None:
    async with place() as here:
        message = {"jsonrpc": "2.0", "id": 1, "method": "test/echo", "params": {"_meta": ENVELOPE}}
        hit = Hit("POST", {**MODERN, "mcp-method": "test/echo"}, json.dumps(message).encode())
        hit.scope["headers"].append((name.encode(), hit.scope["headers"][-1][1]))
        await hit.run(here.front)
        assert verdict(hit) == (400, -32020)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2026-07-28", "2099-01-01", None])
async def test_a_live_session_makes_no_enveloped_request_a_handshake_one(version: str | None) -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        hit = await guest.modern("test/echo", mcp_protocol_version=version, **guest.session).end()
        assert verdict(hit) == ((200, None) if version == "2026-07-28" else (400, -32020))
        assert "mcp-session-id" not in hit.headers


async def test_error_data_that_is_null_arrives_as_null() -> None:
    async with place() as here:
        hit = await here.guest().modern("test/fail", {"how": -7}).end()
        assert hit.json["error"] == {"code": -7, "message": "said", "data": None}


async def test_stopping_ends_listeners_with_their_result_and_calls_after_a_while_with_an_error() -> None:
    async with place() as here:
        guest = here.guest()
        listener = guest.modern("test/until_stop")
        quick = guest.modern("test/wait", {"tag": "q"})
        slow, noisy = (guest.modern("test/wait", {"tag": tag, "notes": notes}) for tag, notes in (("s", 0), ("n", 1)))
        await listener.message()
        await here.script.waits("q", "s", "n")
        here.tasks.start_soon(here.front.drain, 0.2)
        assert (await listener.end()).messages[-1]["result"] == {"stopped": True}
        assert verdict(await guest.modern("test/echo").end()) == (503, -32603)
        here.script.go["q"].set()
        assert (await quick.end()).json["result"] == {"tag": "q"}
        stopped = {"code": -32603, "message": "wf-mcp is stopping"}
        assert ((await slow.end()).status, slow.json["error"]) == (200, stopped)
        assert (await noisy.end()).whole and noisy.messages[-1]["error"] == stopped
        await eventually(lambda: sorted(here.script.stopped) == ["n", "s"])
        with anyio.fail_after(5):
            await eventually(lambda: len(here.front.exchanges) == 0)
