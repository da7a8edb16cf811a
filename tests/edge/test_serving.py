"""The fronts: where wf-mcp listens, who may come in, and how it stops (design D1, D13)."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from tests.inbox import eventually
from tests.rig import free_port

from wf_mcp.core.errors import ConfigError
from wf_mcp.edge.auth import ConfiguredTokens
from wf_mcp.edge.serving import Address, build_server, check_exposed, serve_http

pytestmark = pytest.mark.anyio

TOKEN = "token-of-alice-0123456789"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8000", "127.0.0.1", 8000),
        (":8000", "127.0.0.1", 8000),
        ("8000", "127.0.0.1", 8000),
        ("localhost:1", "localhost", 1),
        ("[::1]:8000", "::1", 8000),
        ("0.0.0.0:0", "0.0.0.0", 0),
    ],
)
def test_an_address_is_read_as_people_write_it(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", "localhost:http", "127.0.0.1:65536", "h:-1", "h:²", "::1", "::1:8000"]
)
def test_what_is_no_address_says_what_is_expected(text: str) -> None:
    with pytest.raises(ConfigError, match="expected HOST:PORT"):
        Address.parse(text)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("localhost.example.org", False),
        ("myhost", False),
    ],
)
def test_loopback_is_what_only_this_machine_can_reach(host: str, loopback: bool) -> None:
    assert Address(host, 1).loopback is loopback


@pytest.mark.parametrize(("host", "url"), [("127.0.0.1", "http://127.0.0.1:8/mcp"), ("::1", "http://[::1]:8/mcp")])
def test_the_endpoint_is_shown_as_a_client_writes_it(host: str, url: str) -> None:
    assert Address(host, 8).url == url


def test_listening_for_others_needs_a_token() -> None:
    with pytest.raises(ConfigError, match=r"can be reached from other machines, and no token.*listen on 127\.0\.0\.1"):
        check_exposed(Address("0.0.0.0", 8000), {})
    check_exposed(Address("0.0.0.0", 8000), {"alice": TOKEN})
    check_exposed(Address("127.0.0.1", 8000), {})


@asynccontextmanager
async def served(*, tokens: bool = False, allowed: tuple[str, ...] = ()) -> AsyncIterator[tuple[str, anyio.Event]]:
    """A front on a free port; its URL and what stops it."""
    address = Address("127.0.0.1", free_port())
    server = build_server("1", ConfiguredTokens(lambda: {"alice": TOKEN}) if tokens else None)
    stop = anyio.Event()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_http, server, address, allowed, stop)
            await eventually(lambda: _listens(address))
            yield address.url, stop
            stop.set()


def _listens(address: Address) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address.host, address.port)) == 0


async def status(url: str, **headers: str) -> int:
    async with httpx2.AsyncClient(timeout=10) as http:
        return (await http.post(url, json=HELLO, headers=ACCEPT | headers)).status_code


async def test_a_client_of_this_machine_comes_in() -> None:
    async with served() as (url, _):
        assert await status(url) == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"host": "evil.example"}, {403, 421}),
        ({"origin": "http://evil.example"}, {403}),
        ({"origin": "null"}, {403}),
        ({"origin": "http://127.0.0.1:1234"}, {200}),
        ({"origin": "http://localhost:1234"}, {200}),
        ({"host": "proxy.example"}, {200}),
    ],
    ids=repr,
)
async def test_host_and_origin_are_checked(headers: dict[str, str], expected: set[int]) -> None:
    async with served(allowed=("proxy.example",)) as (url, _):
        assert await status(url, **headers) in expected


@pytest.mark.parametrize(
    ("headers", "status_"), [({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403)]
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/elsewhere"])
async def test_a_foreign_host_or_origin_is_refused_everywhere_and_told_which_setting(
    headers: dict[str, str], status_: int, method: str, path: str
) -> None:
    async with served() as (url, _), httpx2.AsyncClient(timeout=10) as http:
        answer = await http.request(method, url.removesuffix("/mcp") + path, headers=headers)
        assert answer.status_code == status_ and '"allowed_hosts" under "wf"' in answer.text
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("spelling", ["/mcp", "/mcp/"])
async def test_both_spellings_are_served_without_a_redirect(spelling: str) -> None:
    async with served() as (url, _), httpx2.AsyncClient(timeout=10) as http:
        there = url.removesuffix("/mcp") + spelling
        answer = await http.post(there, json=HELLO, headers=ACCEPT)
        assert answer.status_code == 200
        session = {"mcp-session-id": answer.headers["mcp-session-id"], "accept": "text/event-stream"}
        async with http.stream("GET", there, headers=session) as stream:
            assert stream.status_code == 200
        assert (await http.delete(there, headers=session)).status_code == 200
        assert (await http.delete(url, headers=session)).status_code == 404


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"authorization": f"Bearer {TOKEN}"}, 200),
    ],
    ids=["none", "wrong", "another scheme", "good"],
)
async def test_a_configured_token_is_asked_for(headers: dict[str, str], expected: int) -> None:
    async with served(tokens=True) as (url, _):
        assert await status(url, **headers) == expected


async def test_a_good_token_does_not_excuse_a_foreign_origin() -> None:
    async with served(tokens=True) as (url, _):
        assert await status(url, authorization=f"Bearer {TOKEN}", origin="http://evil.example") == 403


async def test_an_address_in_use_is_one_clear_mistake() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = Address("127.0.0.1", taken.getsockname()[1])
        with anyio.fail_after(20), pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{address.port}"):
            await serve_http(build_server("1"), address, (), anyio.Event())


async def test_it_stops_when_it_is_told_to_although_a_client_listens() -> None:
    async with served() as (url, stop), httpx2.AsyncClient(timeout=10) as http:
        answer = await http.post(url, json=HELLO, headers=ACCEPT)
        session = {"mcp-session-id": answer.headers["mcp-session-id"], "accept": "text/event-stream"}
        async with http.stream("GET", url, headers=session) as stream:
            assert stream.status_code == 200
            stop.set()
            with anyio.fail_after(10):
                async for _ in stream.aiter_bytes():  # to its end: a stream that was cut would raise
                    pass
                await eventually(lambda: not _listens_at(url))


def _listens_at(url: str) -> bool:
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    return _listens(Address(host, int(port)))
