"""Handshake requests without a session at the endpoint: where they are served, and how (matrix E.1 item 4)."""

import json
from typing import Any

import pytest
from tests.edge.asgi import POST_HEADERS, Guest, Hit, Place, place
from tests.inbox import JsonObject, eventually

from wf_mcp.edge.http_sessionless import REMEMBERED
from wf_mcp.edge.http_sessions import HttpLimits

pytestmark = pytest.mark.anyio

PATH = "/mcp/stateless"
ECHO = {"jsonrpc": "2.0", "id": "x", "method": "test/echo"}


def post(guest: Guest, message: JsonObject, path: str = PATH, address: str = "10.0.0.1", **headers: str) -> Hit:
    """A POST from an address; `headers` with `_` for `-`."""
    lines = POST_HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
    return guest.hit("POST", lines, json.dumps(message).encode(), path=path, address=address)


def hello(name: str = "guest", version: str = "2025-11-25") -> JsonObject:
    """An `initialize`."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


async def done(here: Place, message: JsonObject = ECHO, path: str = PATH, user: str | None = None, **more: Any) -> Hit:
    """One POST to its end."""
    return await post(here.guest(user), message, path, **more).end()


@pytest.mark.parametrize("path", [PATH, f"{PATH}/"])
async def test_the_path_gives_no_sessions(path: str) -> None:
    async with place() as here:
        first = await done(here, hello(version="2025-06-18"), path)
        assert (first.status, first.json["result"]["protocolVersion"]) == (200, "2025-06-18")
        assert "mcp-session-id" not in first.headers
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await done(here, note, path)).status == 202
        assert (await done(here, {"jsonrpc": "2.0", "id": 1, "result": {}}, path)).status == 202
        assert (await done(here, ECHO, path)).json == {
            "jsonrpc": "2.0",
            "id": "x",
            "result": {"echo": {}, "null": None},
        }
        assert (await done(here, ECHO, path, mcp_session_id="0" * 32)).status == 200
        assert len(here.front.sessions) == 0 and len(here.front.exchanges) == 0


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_is_neither_get_nor_delete(method: str) -> None:
    async with place() as here, place(stateless=True) as everywhere:
        hits = [
            await here.guest().hit(method, {"accept": "text/event-stream"}, path=PATH).end(),
            await everywhere.guest().hit(method, {"mcp-session-id": "0" * 32}).end(),
        ]
        assert [(hit.status, hit.headers["allow"]) for hit in hits] == [(405, "POST")] * 2


@pytest.mark.parametrize(
    ("said", "header", "served"),
    [
        (None, None, "2025-03-26"),
        ("2025-06-18", None, "2025-06-18"),
        ("2025-06-18", "2024-11-05", "2024-11-05"),
        ("2025-06-18", "2026-07-28", "2025-11-25"),
        (None, "2099-01-01", "2025-11-25"),
        ("2099-01-01", None, "2025-11-25"),
    ],
)
async def test_the_revision_is_what_the_header_or_the_introduction_says(
    said: str | None, header: str | None, served: str
) -> None:
    async with place() as here:
        if said is not None:
            await done(here, hello(version=said))
        assert (await done(here, **({} if header is None else {"mcp_protocol_version": header}))).status == 200
        assert [context.protocol_version for context in here.script.contexts] == [served]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"mcp_protocol_version": "foobar"}, 400), ({"accept": "application/json"}, 406), ({"accept": "*/*"}, 200)],
)
async def test_formats_are_judged_as_elsewhere(headers: dict[str, str], status: int) -> None:
    async with place() as here:
        assert (await done(here, **headers)).status == status


async def test_a_modern_request_is_served_at_the_path_too() -> None:
    async with place() as here:
        hit = here.guest().modern("test/echo")
        hit.scope["path"] = PATH
        assert (await hit.end()).status == 200
        assert here.script.contexts[0].protocol_version == "2026-07-28"


async def test_errors_are_answers_and_not_statuses() -> None:
    async with place() as here:
        hit = await done(here, {"jsonrpc": "2.0", "id": 1, "method": "no/such"})
        assert (hit.status, hit.json["error"]["code"]) == (200, -32601)


async def test_everywhere_where_it_is_set() -> None:
    async with place(stateless=True) as here:
        assert "mcp-session-id" not in (await done(here, hello(), "/mcp")).headers
        assert (await done(here, path="/mcp")).status == 200
        assert (await done(here, path="/mcp", mcp_session_id="0" * 32)).status == 200
        assert (await done(here, path="/mcp", mcp_protocol_version="2026-07-28")).status == 200
        stranger = await done(here, path="/mcp", address="10.0.0.2", mcp_protocol_version="2026-07-28")
        assert (stranger.status, stranger.json["error"]["code"]) == (400, -32602)


async def test_at_the_common_path_only_hosts_of_the_table_known_by_token_address_and_agent() -> None:
    async with place() as here:
        host, agent = hello("openai-mcp"), {"user_agent": "openai-mcp/1"}
        assert (await done(here, path="/mcp", **agent)).status == 400
        assert "mcp-session-id" not in (await done(here, host, "/mcp", **agent)).headers
        assert "mcp-session-id" in (await done(here, host, "/mcp", mcp_session_id="0" * 32, **agent)).headers
        assert "mcp-session-id" in (await done(here, hello("other"), "/mcp", address="10.0.0.2")).headers
        assert [
            (await done(here, path="/mcp", **agent)).status,
            (await done(here, path="/mcp", mcp_protocol_version="2026-07-28", **agent)).status,
            (await done(here, path="/mcp", user_agent="other")).status,
            (await done(here, path="/mcp", address="10.0.0.2", **agent)).status,
            (await done(here, path="/mcp", user="alice", **agent)).status,
            (await done(here, path="/mcp", mcp_session_id="0" * 32, **agent)).status,
        ] == [200, 200, 400, 400, 400, 404]
        get = Hit("GET", {"accept": "text/event-stream", "user-agent": "openai-mcp/1"}, address="10.0.0.1")
        await get.run(here.front)
        assert get.status == 405


async def test_who_was_at_the_path_is_nobody_special_at_the_common_one() -> None:
    async with place() as here:
        await done(here, hello())
        modern = await done(here, path="/mcp", mcp_protocol_version="2026-07-28")
        assert (modern.status, modern.json["error"]["code"]) == (400, -32602)
        get = Hit("GET", {"mcp-protocol-version": "2026-07-28"}, address="10.0.0.1")
        await get.run(here.front)
        assert get.status == 405


async def test_introductions_are_bounded_and_the_newest_stay() -> None:
    async with place() as here:
        for number in range(REMEMBERED + 1):
            await done(here, hello("opencode"), "/mcp", user_agent=f"agent {number}")
        statuses = [(await done(here, path="/mcp", user_agent=f"agent {each}")).status for each in (0, 1, REMEMBERED)]
        assert statuses == [400, 200, 200]


@pytest.mark.parametrize("idle", [60.0, 0.1])
async def test_a_client_that_leaves_has_not_cancelled_but_its_call_is_bounded(idle: float) -> None:
    async with place(HttpLimits(session_idle=idle)) as here:
        message = {"jsonrpc": "2.0", "id": 1, "method": "test/wait", "params": {"tag": "t"}}
        hit = post(here.guest(), message)
        await here.script.waits("t")
        hit.gone.set()
        await hit.end()
        assert here.script.stopped == [] and len(here.front.exchanges) == 1
        if idle > 1:
            here.script.go["t"].set()
        await eventually(lambda: len(here.front.exchanges) == 0)
        assert here.script.stopped == ([] if idle > 1 else ["t"])


async def test_cancelling_by_a_request_id_reaches_nobody_elses_request() -> None:
    async with place() as here:
        message = {"jsonrpc": "2.0", "id": 1, "method": "test/wait", "params": {"tag": "t"}}
        hit = post(here.guest(), message)
        await here.script.waits("t")
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert (await done(here, note)).status == 202
        here.script.go["t"].set()
        assert (await hit.end()).json["result"] == {"tag": "t"}


async def test_nothing_begins_once_the_front_stops() -> None:
    async with place() as here:
        await here.front.drain(0)
        assert (await done(here)).status == 503
