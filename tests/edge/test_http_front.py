"""The endpoint: which request is served by whom, and with which status it is refused (matrix E.1, E.2, E.3)."""

import json
from typing import Any

import pytest
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from tests.edge.asgi import POST_HEADERS, Guest, Hit, Place, place
from tests.inbox import JsonObject, eventually

from wf_mcp.edge.http_sessions import HttpLimits

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 1, "method": "test/echo"}
ENVELOPE = {PROTOCOL_VERSION_META_KEY: "2026-07-28", CLIENT_CAPABILITIES_META_KEY: {}}


async def guest_of(here: Place, version: str = "2025-11-25", user: str | None = None) -> Guest:
    guest = here.guest(user)
    await guest.hello(version)
    return guest


async def status(hit: Hit) -> int:
    return (await hit.end()).status


def every_way(guest: Guest, headers: dict[str, str]) -> list[Hit]:
    """A request, a notification, an answer, a GET and a DELETE under these headers."""
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    guest.session = {}
    return [
        *(guest.hit("POST", {**POST_HEADERS, **headers}, json.dumps(body).encode()) for body in (LIST, note, answer)),
        guest.hit("GET", {"accept": "text/event-stream", **headers}),
        guest.hit("DELETE", headers),
    ]


# -- sessions --------------------------------------------------------------------------------------------------------


async def test_session_ids_are_visible_ascii_and_differ() -> None:
    async with place() as here:
        ids = {(await guest_of(here)).session["mcp-session-id"] for _ in range(20)}
    assert len(ids) == 20
    assert all(len(each) >= 32 and all("!" <= character <= "~" for character in each) for each in ids)


@pytest.mark.parametrize("which", ["made up", "ended", "foreign", "empty"])
async def test_unknown_ended_and_foreign_sessions_are_all_alike_not_found(which: str) -> None:
    async with place() as here:
        guest, owner = here.guest("bob"), await guest_of(here, user="alice")
        if which == "ended":
            await owner.hit("DELETE", owner.session).end()
        session = {"made up": "0" * 32, "empty": ""}.get(which, owner.session["mcp-session-id"])
        hits = [await hit.end() for hit in every_way(guest, {"mcp-session-id": session})]
        assert [hit.status for hit in hits] == [404] * 5
        assert len({bytes(hit.data) for hit in hits}) == 1
        if which == "foreign":
            assert (await owner.ask(1, "test/echo").end()).status == 200


async def test_without_a_session_id_only_initialize_is_served() -> None:
    async with place() as here:
        assert [await status(hit) for hit in every_way(here.guest(), {})] == [400] * 5
        assert len(here.front.sessions) == 0


async def test_initialize_with_a_stale_id_gives_a_fresh_session() -> None:
    async with place() as here:
        guest = await guest_of(here)
        first = guest.session["mcp-session-id"]
        for stale in ("0" * 32, first):
            guest.session = {}
            assert (await guest.hello(mcp_session_id=stale)).status == 200
            assert guest.session["mcp-session-id"] not in (stale, first)
        assert (await guest.ask(1, "test/echo").end()).status == 200


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 3, "capabilities": {}, "clientInfo": {}}], ids=str)
async def test_a_refused_initialize_leaves_no_session(params: JsonObject) -> None:
    async with place() as here:
        hit = await here.guest().ask("x", "initialize", params).end()
        assert (hit.status, hit.json["id"], hit.json["error"]["code"]) == (200, "x", -32602)
        assert "mcp-session-id" not in hit.headers
        await eventually(lambda: len(here.front.sessions) == 0)


async def test_there_is_a_cap_on_sessions() -> None:
    async with place(HttpLimits(max_sessions=2)) as here:
        guest, _ = await guest_of(here), await guest_of(here)
        assert (await here.guest().hello()).status == 503
        assert (await guest.ask(1, "test/echo").end()).status == 200
        await guest.hit("DELETE", guest.session).end()
        assert (await here.guest().hello()).status == 200


async def test_a_session_belongs_to_whoever_opened_it_with_or_without_a_token() -> None:
    async with place() as here:
        anybody = await guest_of(here)
        anybody.user = "alice"
        assert (await anybody.ask(1, "test/echo").end()).status == 404


# -- formats ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        *((version, 200) for version in (None, "2025-06-18", "2025-11-25", "2026-07-28", "2020-01-01")),
        *((version, 400) for version in ("foobar", "", "2025-11-25 ")),
    ],
)
async def test_a_version_header_is_judged_by_its_form(version: str | None, expected: int) -> None:
    async with place() as here:
        guest = await guest_of(here, "2025-06-18")
        headers = {} if version is None else {"mcp_protocol_version": version}
        assert (await guest.ask(1, "test/echo", **headers).end()).status == expected
        assert here.script.contexts == [] or here.script.contexts[0].protocol_version == "2025-06-18"


@pytest.mark.parametrize(
    ("wanted", "agreed"), [("2024-11-05", "2024-11-05"), ("2099-01-01", "2025-11-25"), ("garbage", "2025-11-25")]
)
async def test_any_version_may_be_proposed(wanted: str, agreed: str) -> None:
    async with place() as here:
        hit = await here.guest().hello(wanted, mcp_protocol_version="2099-01-01")
        assert hit.json["result"]["protocolVersion"] == agreed
        assert (await here.guest().hello(mcp_protocol_version="garbage")).status == 400


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"content-type": 'Application/JSON;Charset="UTF-8"'}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": ""}, 415),
        ({"accept": "*/*"}, 200),
        ({"accept": "text/event-stream;q=0.5, application/json;q=0.9"}, 200),
        ({"accept": "application/json"}, 406),
        ({"accept": "text/html"}, 406),
    ],
    ids=repr,
)
async def test_content_type_and_accept(headers: dict[str, str], expected: int) -> None:
    async with place() as here:
        guest = await guest_of(here)
        body = json.dumps(LIST).encode()
        assert await status(guest.hit("POST", {**POST_HEADERS, **guest.session, **headers}, body)) == expected


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b'"x"', -32600),
        (b"{}", -32600),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"notifications/x"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping","params":{"x":"\\ud800\xff"}}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
    ],
)
async def test_what_is_not_one_message_is_refused(body: bytes, code: int) -> None:
    async with place() as here:
        guest = await guest_of(here)
        hit = await guest.post(body).end()
        assert (hit.status, hit.json["id"], hit.json["error"]["code"]) == (400, None, code)


async def test_params_named_id_do_not_make_a_notification_a_request() -> None:
    async with place() as here:
        guest = await guest_of(here)
        assert (await guest.tell("notifications/x", {"id": 1})).status == 202


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_over_the_limit_is_refused(declared: bool) -> None:
    async with place(HttpLimits(max_request_bytes=1000)) as here:
        guest = await guest_of(here)
        for size, expected in ((800, 200), (1001, 413)):
            hit = guest.ask(1, "test/echo", {"x": "y" * size}, **({"content_length": str(size)} if declared else {}))
            assert await status(hit) == expected


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
async def test_other_methods_are_told_which_are_served(method: str) -> None:
    async with place() as here:
        hit = await here.guest().hit(method, {"origin": "http://evil.example"}).end()
        assert (hit.status, hit.headers["allow"]) == (405, "GET, POST, DELETE")
        assert not [name for name in hit.headers if name.startswith("access-control")]


async def test_a_get_needs_to_accept_events() -> None:
    async with place() as here:
        guest = await guest_of(here)
        assert await status(guest.hit("GET", {**guest.session, "accept": "application/json"})) == 406


async def test_an_unknown_method_is_an_error_of_the_protocol() -> None:
    async with place() as here:
        guest = await guest_of(here)
        hit = await guest.ask("x", "no/such").end()
        assert (hit.status, hit.json["error"]["code"], hit.json["id"]) == (200, -32601, "x")


# -- the stateless era -----------------------------------------------------------------------------------------------


def modern(guest: Guest, method: str = "ping", headers: dict[str, str] | None = None, **meta: Any) -> Hit:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": {**ENVELOPE, **meta}}}
    lines = {"mcp-protocol-version": "2026-07-28", "mcp-method": method} if headers is None else headers
    return guest.hit("POST", {**POST_HEADERS, **lines}, json.dumps(body).encode())


async def test_a_modern_request_opens_no_session() -> None:
    async with place() as here:
        hit = await modern(here.guest(), "test/echo").end()
        assert (hit.status, hit.json["result"]["echo"]) == (200, {"_meta": ENVELOPE})
        assert here.script.contexts[0].protocol_version == "2026-07-28"
        assert "mcp-session-id" not in hit.headers and len(here.front.sessions) == 0


@pytest.mark.parametrize("header", [None, "2025-11-25", "2024-11-05", "foobar"])
async def test_a_header_that_contradicts_a_modern_body_is_a_mismatch(header: str | None) -> None:
    async with place() as here:
        lines = {"mcp-method": "ping"} | ({} if header is None else {"mcp-protocol-version": header})
        hit = await modern(here.guest(), headers=lines).end()
        assert (hit.status, hit.json["error"]["code"], hit.json["id"]) == (400, -32020, 1)


async def test_a_modern_body_ignores_a_session_id() -> None:
    async with place() as here:
        lines = {"mcp-protocol-version": "2026-07-28", "mcp-method": "test/echo", "mcp-session-id": "0" * 32}
        assert (await modern(here.guest(), "test/echo", lines).end()).status == 200


async def test_a_body_of_no_revision_is_told_which_are_served() -> None:
    async with place() as here:
        lines = {"mcp-protocol-version": "2099-01-01", "mcp-method": "ping"}
        hit = await modern(here.guest(), headers=lines, **{PROTOCOL_VERSION_META_KEY: "2099-01-01"}).end()
        assert (hit.status, hit.json["error"]["code"]) == (400, -32022)


async def test_a_modern_header_without_the_envelope_is_told_what_is_missing() -> None:
    async with place() as here:
        lines = {**POST_HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": "ping"}
        hit = await here.guest().hit("POST", lines, json.dumps({**LIST, "method": "ping"}).encode()).end()
        assert (hit.status, hit.json["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_the_modern_era_has_neither_get_nor_delete(method: str) -> None:
    async with place() as here:
        hit = await here.guest().hit(method, {"mcp-protocol-version": "2026-07-28"}).end()
        assert (hit.status, hit.headers["allow"]) == (405, "POST")


async def test_a_modern_client_that_leaves_cancels_its_request() -> None:
    async with place() as here:
        body = {"jsonrpc": "2.0", "id": 1, "method": "test/wait", "params": {"tag": "t", "_meta": ENVELOPE}}
        lines = {**POST_HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": "test/wait"}
        hit = here.guest().hit("POST", lines, json.dumps(body).encode())
        await here.script.waits("t")
        hit.gone.set()
        await eventually(lambda: here.script.stopped == ["t"])


# -- stopping --------------------------------------------------------------------------------------------------------


async def test_stopping_ends_streams_waits_for_calls_and_answers_those_that_take_too_long() -> None:
    async with place() as here:
        guest = await guest_of(here)
        standing = guest.listen()
        await standing.streams()
        quick, slow = guest.ask(1, "test/wait", {"tag": "q"}), guest.ask(2, "test/wait", {"tag": "s", "notes": 1})
        await here.script.waits("q", "s")
        here.tasks.start_soon(here.front.sessions.drain, 0.2)
        assert (await standing.end()).whole
        assert await status(guest.ask(3, "test/echo")) == 503
        assert (await here.guest().hello()).status == 503
        here.script.go["q"].set()
        assert (await quick.end()).json["result"] == {"tag": "q"}
        assert (await slow.end()).whole and slow.messages[-1]["error"]["code"] == -32000
        await eventually(lambda: len(here.front.sessions) == 0)


# -- bodies ----------------------------------------------------------------------------------------------------------


async def test_a_client_that_leaves_within_its_body_gets_nothing() -> None:
    hit = Hit("POST", POST_HEADERS, b"")
    hit.gone.set()

    async def receive() -> JsonObject:
        return {"type": "http.disconnect"}

    hit.receive = receive
    async with place() as here:
        await hit.run(here.front)
    assert hit.status == 0
