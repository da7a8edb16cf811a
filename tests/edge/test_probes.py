"""`/healthz` and `/readyz`: who gets an answer, without a token, and what it says."""

from typing import Any

import httpx2
import pytest
from tests.edge.test_serving import TOKEN

from wf_mcp.edge.auth import ConfiguredTokens
from wf_mcp.edge.http_front import HttpFront
from wf_mcp.edge.seams import low_level_server
from wf_mcp.edge.serving import build_server, http_app

pytestmark = pytest.mark.anyio

STATES = {"ready": 2, "failed": 1}


async def asked(path: str, method: str = "GET", stopping: bool = False, **headers: str) -> httpx2.Response:
    """The answer of a front that asks everybody else for a token."""
    server = build_server("1", ConfiguredTokens(lambda: {"alice": TOKEN}))
    front = HttpFront(low_level_server(server))
    front.sessions.stopping = stopping
    app: Any = http_app(server, front, ("proxy.example",), lambda: STATES)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8000") as http:
        return await http.request(method, path, headers=headers)


@pytest.mark.parametrize("stopping", [False, True])
async def test_a_process_that_serves_is_alive(stopping: bool) -> None:
    answer = await asked("/healthz", stopping=stopping)
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("stopping", "status", "word"), [(False, 200, "ready"), (True, 503, "stopping")])
async def test_a_front_is_ready_until_it_stops_and_counts_upstreams(stopping: bool, status: int, word: str) -> None:
    answer = await asked("/readyz", stopping=stopping)
    assert (answer.status_code, answer.json()) == (status, {"status": word, "upstreams": STATES})


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "10.1.2.3:8000"}, 200),
        ({"host": "10.1.2.3"}, 200),
        ({"host": "[fd00::1]:8000"}, 200),
        ({"host": "[fd00::1]"}, 200),
        ({"host": "localhost:8000"}, 200),
        ({"host": "proxy.example"}, 200),
        ({"host": "evil.example:8000"}, 421),
        ({"host": "10.1.2.3.evil.example"}, 421),
        ({"host": "10.1.2.3:8000", "origin": "http://evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"authorization": "Bearer wrong"}, 200),
    ],
    ids=str,
)
async def test_whoever_names_the_front_by_an_address_needs_no_setting(
    path: str, headers: dict[str, str], status: int
) -> None:
    assert (await asked(path, **headers)).status_code == status


@pytest.mark.parametrize("path", ["/mcp", "/mcp/stateless", "/elsewhere", "/healthz/", "/readyz/x"])
async def test_an_address_opens_nothing_else(path: str) -> None:
    assert (await asked(path, host="10.1.2.3:8000")).status_code == 421


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("POST", 405), ("DELETE", 405), ("OPTIONS", 405)])
@pytest.mark.parametrize("host", ["10.1.2.3", "proxy.example"])
async def test_they_are_asked_and_never_told(method: str, status: int, host: str) -> None:
    answer = await asked("/readyz", method, host=host)
    assert (answer.status_code, answer.content == b"") == (status, method == "HEAD")
    assert answer.headers.get("allow") == (None if status == 200 else "GET, HEAD")
