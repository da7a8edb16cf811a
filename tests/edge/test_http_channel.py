"""Streamable HTTP towards an upstream, against servers that speak raw HTTP (design D2; matrix E)."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from tests.edge.http_stub import Handler, Reply, Request, Stub, babbling, deaf, stub
from tests.inbox import JsonObject
from tests.rig import free_port

from wf_mcp.core.config import HttpTransport
from wf_mcp.core.trouble import Trouble
from wf_mcp.edge import http_channel, http_client, http_events, http_listen
from wf_mcp.edge.channels import Channel
from wf_mcp.edge.http_channel import open_http

pytestmark = pytest.mark.anyio

MODERN = {"mcp-protocol-version": "2026-07-28"}
HELLO: JsonObject = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


def request(method: str, request_id: int = 1, params: JsonObject | None = None, **headers: str) -> SessionMessage:
    given = {} if params is None else {"params": params}
    message = JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, **given)
    own = {key.replace("_", "-"): value for key, value in headers.items()}
    return SessionMessage(message, ClientMessageMetadata(headers=own) if own else None)


def notification(method: str, params: JsonObject | None = None, **headers: str) -> SessionMessage:
    given = {} if params is None else {"params": params}
    message = JSONRPCNotification(jsonrpc="2.0", method=method, **given)
    own = {key.replace("_", "-"): value for key, value in headers.items()}
    return SessionMessage(message, ClientMessageMetadata(headers=own) if own else None)


@asynccontextmanager
async def connected(handler: Handler, **headers: str) -> AsyncIterator[tuple[Stub, Channel]]:
    """A channel to a stub."""
    with anyio.fail_after(20):
        async with stub(handler) as server, open_http(HttpTransport(server.url, headers)) as channel:
            yield server, channel


async def polite(call: Request, reply: Reply) -> None:
    """Opens a session, accepts, answers."""
    if call.method == "POST" and {"id", "method"} <= call.message.keys():
        session = {"mcp_session_id": "s-1"} if call.message["method"] == "initialize" else {}
        await reply.result(call, **session)
    else:
        await reply.plain(202 if call.method == "POST" else 405)


async def outcome(channel: Channel) -> JsonObject:
    """The next message, as it came."""
    item = await channel.read.receive()
    assert isinstance(item, SessionMessage)
    return item.message.model_dump(by_alias=True, exclude_unset=True)


async def ask(channel: Channel, method: str = "x", request_id: int = 1, **headers: str) -> JsonObject:
    """One request and what comes first."""
    await channel.write.send(request(method, request_id, **headers))
    return await outcome(channel)


async def opened(channel: Channel) -> None:
    """A handshake, its notification accepted."""
    await ask(channel, "initialize")
    await channel.write.send(notification("notifications/initialized", mcp_protocol_version="2025-11-25"))


# -- messages and headers ------------------------------------------------------------------------


async def test_a_session_and_the_version_agreed_on_go_with_everything_after_the_handshake() -> None:
    async with connected(polite, **{"x-key": "k"}) as (server, channel):
        await opened(channel)
        await ask(channel, "tools/list", 2, authorization="Bearer t", x_key="own")
        await channel.write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id="q", result={})))
        await channel.write.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await channel.write.send(request("x"))
        await server.until(lambda: bool(server.of("GET")))
    names = ("mcp-session-id", "mcp-protocol-version", "x-key", "authorization", "accept", "content-type")
    seen = {
        call.message.get("method", "answer") if call.method == "POST" else call.method: [
            call.headers.get(name) for name in names
        ]
        for call in server.requests
    }
    both = "application/json, text/event-stream"
    assert seen == {
        "initialize": [None, None, "k", None, both, "application/json"],
        "notifications/initialized": ["s-1", "2025-11-25", "k", None, both, "application/json"],
        "GET": ["s-1", "2025-11-25", "k", None, "text/event-stream", None],
        "tools/list": ["s-1", "2025-11-25", "own", "Bearer t", both, "application/json"],
        "answer": ["s-1", "2025-11-25", "k", None, both, "application/json"],
        "DELETE": ["s-1", "2025-11-25", "k", None, both, None],
    }


async def test_a_modern_request_names_no_session_and_there_is_none_to_end() -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.result(call, mcp_session_id="minted")

    async with connected(answer) as (server, channel):
        for number in (1, 2):
            await ask(channel, "server/discover", number, mcp_protocol_version="2026-07-28", mcp_method="x")
    assert [call.headers.get("mcp-session-id") for call in server.requests] == [None, None]
    assert server.requests[0].headers["mcp-method"] == "x"
    assert {call.method for call in server.requests} == {"POST"}


async def test_a_message_of_any_size_passes_both_ways_on_a_connection_that_is_kept() -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.json({"jsonrpc": "2.0", "id": call.message["id"], "result": call.message["params"]})

    text = "ü\u2028\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16") * 500_000
    async with connected(answer) as (server, channel):
        for number in (1, 2):
            await channel.write.send(request("x", number, {"text": text, "null": None}))
            assert await outcome(channel) == {"jsonrpc": "2.0", "id": number, "result": {"text": text, "null": None}}
    assert [call.connection for call in server.requests] == [1, 1]


async def test_what_is_said_on_a_request_s_stream_comes_first_and_the_connection_is_kept() -> None:
    async def answer(call: Request, reply: Reply) -> None:
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
        done = {"jsonrpc": "2.0", "id": "another id", "result": {"connection": call.connection}}
        body = f": hello\r\n\r\ndata: {json.dumps(note)}\r\n\r\nevent: other\ndata: 1\n\ndata: {json.dumps(done)}\n\n"
        await reply.plain(200, body.encode(), content_type="text/event-stream; charset=utf-8")

    async with connected(answer) as (_, channel):
        for number in (1, 2):
            assert (await ask(channel, request_id=number))["method"] == "notifications/progress"
            assert await outcome(channel) == {"jsonrpc": "2.0", "id": number, "result": {"connection": 1}}


async def test_requests_wait_for_nobody_and_notifications_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_channel, "IN_ORDER", 0.1)

    async def answer(call: Request, reply: Reply) -> None:
        if call.message["method"] in ("slow", "notifications/slow"):
            await anyio.sleep_forever()
        await polite(call, reply)

    async with connected(answer) as (server, channel):
        await channel.write.send(request("slow", 1))
        assert (await ask(channel, request_id=2))["id"] == 2
        for method in ("notifications/slow", "notifications/one", "notifications/two"):
            await channel.write.send(notification(method))
    told = [call.message["method"] for call in server.requests if "id" not in call.message]
    assert told == ["notifications/slow", "notifications/one", "notifications/two"]


# -- trouble -------------------------------------------------------------------------------------


async def troubled(channel: Channel, request_id: int = 1, **headers: str) -> tuple[int, str, Trouble]:
    """A request that comes to nothing: the error's code and message, and the trouble."""
    error = (await ask(channel, request_id=request_id, **headers))["error"]
    trouble = channel.failure(request_id)
    assert trouble is not None and channel.failure(request_id) is None
    return error["code"], error["message"], trouble


async def test_one_request_that_finds_no_connection_costs_itself_alone() -> None:
    port = free_port()
    with anyio.fail_after(20):
        async with open_http(HttpTransport(f"http://127.0.0.1:{port}/mcp?key=s3cr3t")) as channel:
            where = f"http://127.0.0.1:{port}/mcp"
            _, message, trouble = await troubled(channel)
            assert (message, trouble) == (
                f"{where} cannot be reached: Connection refused",
                Trouble("unreachable", message, started=False),
            )
            await channel.write.send(notification("notifications/x"))
            async with stub(polite, port):
                assert "result" in await ask(channel, request_id=2)


async def test_a_host_that_does_not_exist_is_unreachable() -> None:
    with anyio.fail_after(20):
        async with open_http(HttpTransport("http://no-such-host.invalid/mcp")) as channel:
            _, message, trouble = await troubled(channel)
    assert (trouble.kind, trouble.started) == ("unreachable", False)
    assert message.startswith("http://no-such-host.invalid/mcp cannot be reached: ")


async def test_a_server_that_speaks_no_tls_is_told_apart() -> None:
    with anyio.fail_after(20):
        async with (
            babbling(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port,
            open_http(HttpTransport(f"https://127.0.0.1:{port}/mcp")) as channel,
        ):
            _, message, trouble = await troubled(channel)
    assert (trouble.kind, trouble.started) == ("tls", False)
    assert message.startswith(f"https://127.0.0.1:{port}/mcp cannot be reached: ")


async def test_a_connection_that_is_not_made_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "CONNECT_TIMEOUT", 0.1)
    with deaf() as port, anyio.fail_after(20):
        async with open_http(HttpTransport(f"https://127.0.0.1:{port}/mcp")) as channel:
            _, _, trouble = await troubled(channel)
    assert (trouble.kind, trouble.started) == ("timed_out", False)


async def test_a_server_that_takes_none_of_a_large_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "CONNECT_TIMEOUT", 0.2)
    with deaf() as port, anyio.fail_after(20):
        async with open_http(HttpTransport(f"http://127.0.0.1:{port}/mcp")) as channel:
            await channel.write.send(request("x", 1, {"text": "x" * 30_000_000}))
            assert "error" in await outcome(channel)
            trouble = channel.failure(1)
    assert trouble is not None and (trouble.kind, trouble.started) == ("timed_out", True)


CUT = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"


@pytest.mark.parametrize(
    "sent",
    [b"", b"HTTP/1.1 200 OK\r\n", CUT, b"what?\r\n\r\n"],
    ids=["nothing", "half a head", "half a body", "no HTTP"],
)
async def test_what_was_sent_and_got_no_answer_may_have_been_acted_on_and_is_not_sent_again(sent: bytes) -> None:
    async def answer(call: Request, reply: Reply) -> None:
        if call.message["method"] == "x" and call.message["id"] == 2:
            if sent:
                await reply.raw(sent)
            await reply.close()
        else:
            await polite(call, reply)

    async with connected(answer) as (server, channel):
        await ask(channel, request_id=1)  # the next one goes over a connection that was kept
        _, message, trouble = await troubled(channel, 2)
        assert (trouble.kind, trouble.started) == ("reset", True)
        assert message.startswith(f"the connection to {server.url} broke off: ")
        assert "result" in await ask(channel, request_id=3)
    assert [call.message["id"] for call in server.requests] == [1, 2, 3]


async def test_one_failed_request_leaves_the_others_alone() -> None:
    waiting = anyio.Event()

    async def answer(call: Request, reply: Reply) -> None:
        if call.message["id"] == 13:
            await reply.close()
            waiting.set()
        else:
            await waiting.wait()
            await reply.result(call)

    async with connected(answer) as (server, channel):
        for number in [*range(1, 13), *range(14, 30)]:
            await channel.write.send(request("x", number))
        await server.until(lambda: len(server.requests) == 28)
        await channel.write.send(request("x", 13))
        answers = [await outcome(channel) for _ in range(29)]
    assert sorted(each["id"] for each in answers) == list(range(1, 30))
    assert [each["id"] for each in answers if "error" in each] == [13]


async def test_a_kept_connection_that_was_closed_meanwhile_is_replaced_unnoticed() -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.result(call)
        await reply.close()

    async with connected(answer) as (server, channel):
        for number in range(1, 6):
            assert (await ask(channel, request_id=number))["result"] == {"connection": number}
            await server.until(lambda number=number: server.gone == number)  # type: ignore[misc]


async def test_idle_connections_are_not_kept_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "IDLE", 0.1)
    async with connected(polite) as (server, channel):
        await ask(channel)
        await server.until(lambda: server.gone == 1)


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (
            401,
            {"www_authenticate": 'Bearer resource_metadata="x"'},
            ("needs_auth", 401, None, 'Bearer resource_metadata="x"'),
        ),
        (403, {}, ("needs_auth", 403, None, None)),
        (404, {}, ("refused", 404, None, None)),
        (429, {"retry_after": "7"}, ("busy", 429, 7.0, None)),
        (503, {"retry_after": "120"}, ("busy", 503, 120.0, None)),
        (500, {}, ("refused", 500, None, None)),
    ],
)
async def test_a_refusal_keeps_its_status_and_what_it_says(
    status: int, headers: dict[str, str], expected: tuple[str, int, float | None, str | None]
) -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.plain(status, b"no", **headers)

    async with connected(answer) as (server, channel):
        code, message, trouble = await troubled(channel)
        assert channel.trouble() == trouble.message
        assert await channel.post_mortem() == trouble.message
    assert (trouble.kind, trouble.status, trouble.retry_after, trouble.challenge) == expected
    assert not trouble.started
    assert code == (-32601 if status == 404 else -32603)
    assert f"(HTTP {status} from {server.url}" in message


async def test_an_error_that_the_upstream_wrote_is_its_own_and_a_status_about_the_way_is_kept_beside_it() -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.error(call, call.message["id"], -32099, "mine")

    async with connected(answer) as (_, channel):
        for status in (400, 401, 404, 503):
            error = (await ask(channel, request_id=status))["error"]
            assert error == {"code": -32099, "message": "mine"}
            trouble = channel.failure(status)
            assert (trouble.status if trouble else None) == (status if status in (401, 503) else None)


@pytest.mark.parametrize(
    ("status", "kind", "body", "code", "said"),
    [
        (202, "", b"", -32600, "server answered a request with 202"),
        (204, "", b"", -32600, "server answered a request with 204"),
        (200, "text/html", b"<html>", -32600, "Unexpected content type: text/html"),
        (200, "application/json", b"{", -32700, "Failed to parse JSON response"),
        (200, "application/json", b'{"jsonrpc":"2.0","method":"x"}', -32600, "a message that is no answer"),
        (200, "text/event-stream", b"data: {\n\n", -32700, "Failed to parse SSE message"),
    ],
    ids=["accepted", "nothing", "html", "half", "no answer", "half an event"],
)
async def test_what_is_no_answer_becomes_an_error(status: int, kind: str, body: bytes, code: int, said: str) -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.plain(status, body, content_type=kind or "text/plain")

    async with connected(answer) as (_, channel):
        await channel.write.send(request("x"))
        while "error" not in (got := await outcome(channel)):
            assert got["method"] == "x"
    assert got["error"]["code"] == code and said in got["error"]["message"]


async def test_a_message_that_is_not_accepted_is_told_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(call: Request, reply: Reply) -> None:
        if "id" not in call.message:
            await reply.plain(400, b"no")
        else:
            await reply.result(call)

    async with connected(answer) as (server, channel):
        await channel.write.send(notification("notifications/x"))
        assert channel.trouble() == f"HTTP 400 from {server.url}"
        assert "result" in await ask(channel)
        assert channel.trouble() is None
    assert "a message was not accepted: HTTP 400" in caplog.text


# -- redirects -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "location", "followed"),
    [
        (307, "/other/", True),
        (308, "http://127.0.0.1:{port}/other/", True),
        (301, "/other/", False),
        (307, "http://localhost:{port}/other/", False),
        (307, "http://me:secret@127.0.0.1:{port}/other/", False),
    ],
    ids=["307", "308", "301", "another host", "credentials"],
)
async def test_a_redirect_is_followed_where_it_keeps_method_and_origin(
    status: int, location: str, followed: bool
) -> None:
    async def answer(call: Request, reply: Reply) -> None:
        if call.path == "/mcp":
            await reply.plain(status, b"moved", location=location.format(port=server.port) + "?q=1")
        else:
            await reply.result(call)

    async with connected(answer, **{"x-key": "k"}) as (server, channel):
        got = await ask(channel)
    if followed:
        assert got["result"] and server.requests[1].headers["x-key"] == "k"
        assert server.requests[0].body == server.requests[1].body
    else:
        said = location.format(port=server.port).replace("me:secret@", "")
        assert f"{said} not followed" in got["error"]["message"]
        assert "q=1" not in got["error"]["message"] and len(server.requests) == 1


async def test_redirects_in_a_circle_end() -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.plain(307, location="/mcp")

    async with connected(answer) as (server, channel):
        assert "not followed" in (await ask(channel))["error"]["message"]
    assert len(server.requests) == http_client.MAX_REDIRECTS + 1


# -- sessions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "lost"),
    [
        (404, None, True),
        (404, (-32001, "Session not found"), True),
        (404, (-32601, "Method not found"), False),
        (400, (-32000, "Bad Request: No valid session ID provided"), True),
        (400, (-32602, "Invalid params"), False),
        (400, None, False),
    ],
)
async def test_a_session_that_is_not_known_any_more_ends_the_channel(
    status: int, error: tuple[int, str] | None, lost: bool
) -> None:
    async def answer(call: Request, reply: Reply) -> None:
        if call.method != "POST" or call.message.get("method") != "x":
            await polite(call, reply)
        elif error is None:
            await reply.plain(status)
        else:
            await reply.error(call, status, *error)

    async with connected(answer) as (server, channel):
        await opened(channel)
        assert "error" in await ask(channel)
        trouble = channel.failure(1)
        assert (trouble is not None and trouble.kind == "session_lost") is lost
        if lost:
            assert trouble is not None and not trouble.started
            with pytest.raises(anyio.EndOfStream):
                await channel.read.receive()
            assert await channel.post_mortem() == "it no longer knows our session"
        else:
            await channel.write.send(request("y", 2))
            assert "result" in await outcome(channel)
    assert bool(server.of("DELETE")) is not lost


async def test_requests_under_way_get_their_own_answers_when_the_session_is_lost() -> None:
    lost = anyio.Event()

    async def answer(call: Request, reply: Reply) -> None:
        match call.message.get("method"):
            case "slow":
                await lost.wait()
                await reply.result(call)
            case "x":
                await reply.plain(404)
                lost.set()
            case _:
                await polite(call, reply)

    async with connected(answer) as (_, channel):
        await ask(channel, "initialize")
        await channel.write.send(request("slow", 2))
        await channel.write.send(request("x", 3))
        got = [await outcome(channel), await outcome(channel)]
        with pytest.raises(anyio.EndOfStream):
            await channel.read.receive()
    assert {each["id"]: "result" in each for each in got} == {2: True, 3: False}


async def test_a_channel_that_is_left_ends_its_session_even_when_cancelled() -> None:
    with anyio.fail_after(20):
        async with stub(polite) as server:
            with anyio.CancelScope() as scope:
                async with open_http(HttpTransport(server.url, {"x-key": "k"})) as channel:
                    await opened(channel)
                    scope.cancel()
                    await anyio.sleep_forever()
            (goodbye,) = server.of("DELETE")
            assert (goodbye.headers["mcp-session-id"], goodbye.headers["x-key"]) == ("s-1", "k")
            async with open_http(HttpTransport(server.url)):
                pass
            assert len(server.of("DELETE")) == 1


# -- cancelling ----------------------------------------------------------------------------------


async def slow(call: Request, reply: Reply) -> None:
    """Begins a stream and says nothing on it."""
    if call.method == "POST" and call.message.get("method") == "slow":
        await reply.events()
        await reply.until_gone()
    await polite(call, reply)


async def test_cancelling_a_modern_request_closes_its_stream_and_sends_nothing() -> None:
    async with connected(slow) as (server, channel):
        await channel.write.send(request("slow", 1, **MODERN))
        await channel.write.send(request("slow", 2, **MODERN))
        await server.until(lambda: len(server.requests) == 2)
        await channel.write.send(notification("notifications/cancelled", {"requestId": 1}, **MODERN))
        await server.until(lambda: server.gone == 1)
        await channel.write.send(notification("notifications/cancelled", {"requestId": 1}, **MODERN))
        assert "result" in await ask(channel, request_id=3, **MODERN)
    assert [call.message["id"] for call in server.requests] == [1, 2, 3]


async def test_cancelling_a_handshake_request_says_so_and_then_closes_its_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_channel, "LINGER", 0.05)
    async with connected(slow) as (server, channel):
        await opened(channel)
        await channel.write.send(request("slow", 2))
        await server.until(lambda: bool(server.of("slow")))
        await channel.write.send(notification("notifications/cancelled", {"requestId": 2, "reason": "r"}))
        (told,) = server.of("notifications/cancelled")
        assert told.message["params"] == {"requestId": 2, "reason": "r"}
        ended = server.gone
        await server.until(lambda: server.gone > ended)
        assert "result" in await ask(channel, request_id=3)


# -- streams that break off ----------------------------------------------------------------------


def breaking(*resumed: Any) -> Handler:
    """A call's stream that breaks off after an event with an id; each GET that resumes it gets the next of these."""
    left = list(resumed)

    async def answer(call: Request, reply: Reply) -> None:
        if call.method == "POST" and call.message["method"] == "x":
            await reply.events()
            await reply.event(id="e-1", retry=10)
            await reply.event({"jsonrpc": "2.0", "method": "notifications/progress"}, id="e-2")
            await reply.close()
        elif call.method == "GET" and "last-event-id" in call.headers:
            await left.pop(0)(reply)
        else:
            await polite(call, reply)

    return answer


async def more(reply: Reply) -> None:
    """Goes on a little."""
    await reply.events()
    await reply.event({"jsonrpc": "2.0", "method": "notifications/progress"}, id="e-3")
    await reply.close()


async def rest(reply: Reply) -> None:
    """Brings the answer."""
    await reply.events()
    await reply.event({"jsonrpc": "2.0", "id": 7, "result": {}}, id="e-4")


async def refused(reply: Reply) -> None:
    """Has nothing."""
    await reply.plain(400, b"no")


async def test_a_stream_that_breaks_off_is_resumed_from_its_last_event_until_the_answer() -> None:
    async with connected(breaking(refused, more, refused, rest)) as (server, channel):
        await opened(channel)
        await channel.write.send(request("x", 7))
        got = [await outcome(channel) for _ in range(3)]
    assert [each.get("method", "answer") for each in got] == ["notifications/progress"] * 2 + ["answer"]
    asked = [call for call in server.of("GET") if "last-event-id" in call.headers]
    assert [call.headers["last-event-id"] for call in asked] == ["e-2", "e-2", "e-3", "e-3"]
    assert {call.headers["mcp-session-id"] for call in asked} == {"s-1"}
    assert len(server.of("x")) == 1


async def test_a_stream_that_cannot_be_resumed_may_have_been_acted_on() -> None:
    async with connected(breaking(refused, refused)) as (server, channel):
        await opened(channel)
        await channel.write.send(request("x", 7))
        await outcome(channel)
        assert (await outcome(channel))["error"]["message"] == (
            f"the response stream of {server.url} ended without an answer"
        )
        trouble = channel.failure(7)
    assert trouble is not None and (trouble.kind, trouble.started) == ("reset", True)


async def test_a_modern_stream_is_not_resumed() -> None:
    async with connected(breaking()) as (server, channel):
        await channel.write.send(request("x", 7, **MODERN))
        await outcome(channel)
        assert "error" in await outcome(channel)
        trouble = channel.failure(7)
    assert trouble is not None and (trouble.kind, trouble.started) == ("reset", True)
    assert server.of("GET") == []


# -- the GET stream ------------------------------------------------------------------------------


async def test_the_upstream_s_own_stream_is_opened_again_from_where_it_broke_off() -> None:
    async def answer(call: Request, reply: Reply) -> None:
        if call.method != "GET":
            await polite(call, reply)
            return
        number = len(server.of("GET"))
        await reply.events()
        await reply.event({"jsonrpc": "2.0", "method": f"n{number}"}, id=f"e-{number}", retry=10)
        if number < 3:
            await reply.close()
        else:
            await anyio.sleep_forever()

    async with connected(answer) as (server, channel):
        await opened(channel)
        assert [(await outcome(channel))["method"] for _ in range(3)] == ["n1", "n2", "n3"]
    assert [call.headers.get("last-event-id") for call in server.of("GET")] == [None, "e-1", "e-2"]


async def test_a_stream_that_is_not_to_be_had_now_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_listen, "backoff", lambda failures: 0.0)
    monkeypatch.setattr(http_events, "RETRY", 0.01)

    async def answer(call: Request, reply: Reply) -> None:
        number = len(server.of("GET"))
        if call.method != "GET":
            await polite(call, reply)
        elif number < 3:
            await reply.plain((503, 429)[number - 1])
        else:
            await reply.events()
            await reply.event({"jsonrpc": "2.0", "method": "hello"})
            await reply.until_gone()

    async with connected(answer) as (server, channel):
        await opened(channel)
        assert (await outcome(channel))["method"] == "hello"


async def test_a_server_without_such_a_stream_or_without_a_session_is_not_asked_again() -> None:
    async with connected(polite) as (server, channel):
        await opened(channel)
        await ask(channel, request_id=2)
        await server.until(lambda: bool(server.of("GET")))

    async def sessionless(call: Request, reply: Reply) -> None:
        await (reply.result(call) if "id" in call.message else reply.plain(202))

    async with connected(sessionless) as (other, channel):
        await opened(channel)
        await ask(channel, request_id=2)
    assert (len(server.of("GET")), len(other.of("GET"))) == (1, 0)


async def test_a_server_that_comes_back_without_the_session_is_noticed_by_its_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[int] = []
    monkeypatch.setattr(http_listen, "backoff", lambda failures: pauses.append(failures) or 0.01)

    async def first(call: Request, reply: Reply) -> None:
        if call.method != "GET":
            await polite(call, reply)
        else:
            await reply.events()
            await reply.event({"jsonrpc": "2.0", "method": "hello"}, retry=10)
            await anyio.sleep_forever()

    async def later(call: Request, reply: Reply) -> None:
        await reply.plain(404)

    port = free_port()
    with anyio.fail_after(20):
        async with (
            anyio.create_task_group() as tasks,
            open_http(HttpTransport(f"http://127.0.0.1:{port}/mcp")) as channel,
        ):
            async with stub(first, port):
                await opened(channel)
                assert (await outcome(channel))["method"] == "hello"
            while max(pauses, default=0) < 2:
                await anyio.sleep(0.01)
            async with stub(later, port):
                with pytest.raises(anyio.EndOfStream):
                    await channel.read.receive()
            assert await channel.post_mortem() == "it no longer knows our session"
            tasks.cancel_scope.cancel()
    assert pauses[:3] == snapshot([0, 1, 2])
