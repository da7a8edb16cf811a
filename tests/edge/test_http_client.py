"""HTTP towards one upstream: what the environment and the URL say; the rest is seen through `test_http_channel.py`."""

import pytest
from tests.edge.http_stub import Reply, Request, stub
from yarl import URL

from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.edge.http_client import http_client, proxy_for

pytestmark = pytest.mark.anyio

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://x.test/mcp", "http://one.test:1"),
        ("https://x.test/mcp", "https://two.test:2"),
        ("http://internal.test/mcp", None),
        ("http://127.0.0.1:1/mcp", None),
    ],
)
def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch, url: str, proxy: str | None) -> None:
    monkeypatch.setenv("ALL_PROXY", "one.test:1")
    monkeypatch.setenv("HTTPS_PROXY", "https://two.test:2")
    monkeypatch.setenv("NO_PROXY", "internal.test,127.0.0.1")
    assert proxy_for(URL(url)) == proxy


async def test_a_proxy_of_another_kind_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://one.test:1")
    with pytest.raises(UpstreamUnavailable, match=r"a socks5 proxy for x\.test"):
        async with http_client("http://x.test/mcp", {}):
            raise AssertionError("it opened")


async def test_a_proxy_gets_the_whole_url(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.plain(200)

    async with stub(answer) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        async with http_client("http://x.test/mcp?a=%2F", {}) as client:
            (await client.send("GET", {})).close()
    assert [call.path for call in proxy.requests] == ["http://x.test/mcp?a=%2F"]


@pytest.mark.parametrize(
    ("own", "sent"), [({}, "Basic bWU6cyBlYw=="), ({"authorization": "Bearer t"}, "Bearer t")], ids=["url", "header"]
)
async def test_credentials_in_a_url_are_a_header_unless_there_is_one(own: dict[str, str], sent: str) -> None:
    async def answer(call: Request, reply: Reply) -> None:
        await reply.plain(200, set_cookie="lb=1; Path=/")

    async with stub(answer) as server:
        url = server.url.replace("127.0.0.1", "me:s%20ec@127.0.0.1") + "?a=%2F+b"
        async with http_client(url, own) as client:
            for _ in range(2):
                (await client.send("GET", {})).close()
            assert "me" not in client.where
    assert [call.headers["authorization"] for call in server.requests] == [sent, sent]
    assert [call.headers.get("cookie") for call in server.requests] == [None, "lb=1"]
    assert server.requests[0].path == "/mcp?a=%2F+b"
