"""The old HTTP+SSE transport towards an upstream (2024-11-05 basic/transports § HTTP with SSE)."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import anyio
import httpx2
import pytest
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest
from tests.inbox import JsonObject

from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.edge import sse
from wf_mcp.edge.sse import Events, Posts, sse_streams

pytestmark = pytest.mark.anyio

URL = "http://upstream.test/sse?key=1"
ENDPOINT = "event: endpoint\ndata: /messages?id=7\n\n"
Handler = Callable[[httpx2.Request], httpx2.Response | Awaitable[httpx2.Response]]


def event(message: JsonObject) -> str:
    return f"event: message\ndata: {json.dumps(message)}\n\n"


def streamed(*parts: str | Exception) -> httpx2.Response:
    """An event stream of these parts; an exception breaks it off."""

    async def body() -> AsyncIterator[bytes]:
        for part in parts:
            if isinstance(part, Exception):
                raise part
            yield part.encode()

    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body())


def opened(answer: Handler) -> AbstractAsyncContextManager[tuple[Events, Posts]]:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer), headers={"x-key": "own"})
    return sse_streams(client, URL)


def seen_by(posted: list[httpx2.Request], *parts: str | Exception) -> Handler:
    """A server that streams these parts, accepts every POST, and keeps what it was sent."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        posted.append(request)
        return streamed(*parts) if request.method == "GET" else httpx2.Response(202)

    return answer


def request(**headers: str) -> SessionMessage:
    message = JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list")
    return SessionMessage(message, ClientMessageMetadata(headers=headers) if headers else None)


async def test_messages_come_in_order_and_an_event_may_have_any_size() -> None:
    large = {"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * 3_000_000}}
    small = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": "ü\u2028"}}
    text = ENDPOINT + ": alive\n\nevent: message\ndata:\n\nevent: other\ndata: 1\n\n" + event(large) + event(small)
    pieces = [text[start : start + 100_000] for start in range(0, len(text), 100_000)]
    async with opened(seen_by([], *pieces)) as (read, _):
        got = [item async for item in read]
        with pytest.raises(anyio.EndOfStream):
            await read.receive()
    assert [item.message.model_dump(by_alias=True, exclude_unset=True) for item in got] == [large, small]


async def test_an_event_that_is_no_message_is_told_and_skipped() -> None:
    good = {"jsonrpc": "2.0", "method": "notifications/x"}
    async with opened(seen_by([], ENDPOINT, "data: {not json\n\n", event(good))) as (read, _):
        odd, after = [item async for item in read]
    assert isinstance(odd, ValueError)
    assert isinstance(after, SessionMessage) and isinstance(after.message, JSONRPCNotification)


async def test_a_stream_that_breaks_off_has_ended() -> None:
    async with opened(seen_by([], ENDPOINT, httpx2.ReadError("reset"))) as (read, _):
        with pytest.raises(anyio.EndOfStream) as raised:
            await read.receive()
    assert isinstance(raised.value.__cause__, httpx2.ReadError)


async def test_a_message_is_posted_to_the_named_endpoint_with_its_own_headers() -> None:
    posted: list[httpx2.Request] = []
    async with opened(seen_by(posted, ENDPOINT)) as (_, write):
        await write.send(request(**{"mcp-protocol-version": "2025-06-18"}))
        await write.send(request())
        await write.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await write.send(request())
    _, first, second = posted
    assert str(first.url) == "http://upstream.test/messages?id=7"
    assert json.loads(first.content) == {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert [each.headers.get("mcp-protocol-version") for each in (first, second)] == ["2025-06-18", None]
    assert {each.headers["x-key"] for each in posted} == {"own"}


async def test_a_message_that_cannot_be_posted_ends_the_connection() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return streamed(ENDPOINT)
        raise httpx2.ConnectError("refused")

    with anyio.fail_after(5), pytest.RaisesGroup(httpx2.ConnectError):
        async with opened(answer) as (_, write):
            await write.send(request())
            await anyio.sleep_forever()


async def test_a_server_that_is_slow_to_accept_one_message_gets_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "IN_ORDER", 0.05)
    posted: list[str] = []

    async def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return streamed(ENDPOINT)
        posted.append(request.headers.get("x-number", ""))
        await anyio.sleep(3600 if len(posted) == 1 else 0)
        return httpx2.Response(202)

    with anyio.fail_after(5):
        async with opened(answer) as (_, write):
            for number in ("one", "two"):
                await write.send(request(**{"x-number": number}))
    assert posted == ["one", "two"]


@pytest.mark.parametrize(("location", "followed"), [("/other", True), ("http://elsewhere.test/other", False)])
async def test_redirects_are_followed_on_the_same_origin_only(location: str, followed: bool) -> None:
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(f"{request.method} {request.url}")
        if request.method == "GET":
            return streamed(ENDPOINT)
        moved = request.url.path == "/messages"
        return httpx2.Response(307, headers={"location": location}) if moved else httpx2.Response(202)

    async with opened(answer) as (_, write):
        await write.send(request())
    assert seen[1:] == ["POST http://upstream.test/messages?id=7"] + ["POST http://upstream.test/other"] * followed


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (("event: endpoint\ndata: http://elsewhere.test/m\n\n",), "another origin"),
        (("event: message\ndata: {}\n\n",), "did not name the endpoint"),
    ],
    ids=["elsewhere", "none"],
)
async def test_a_stream_without_a_usable_endpoint_is_refused(parts: tuple[str, ...], said: str) -> None:
    with pytest.raises(UpstreamUnavailable, match=said):
        async with opened(seen_by([], *parts)):
            raise AssertionError("it opened")


async def test_an_endpoint_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "ENDPOINT_WAIT", 0.05)

    async def silent() -> AsyncIterator[bytes]:
        await anyio.sleep_forever()
        yield b""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=silent())

    with anyio.fail_after(5), pytest.raises(UpstreamUnavailable, match="did not name the endpoint"):
        async with opened(answer):
            raise AssertionError("it opened")


@pytest.mark.parametrize("status", [401, 307])
async def test_a_refused_stream_says_its_status(status: int) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"location": "http://elsewhere.test/"} if status == 307 else {})

    with pytest.raises(httpx2.HTTPStatusError, match=str(status)):
        async with opened(answer):
            raise AssertionError("it opened")
