"""HTTP towards one upstream: connections, redirects, proxies, certificates, and what is known of a failure.

It is known for certain whether anything of a message was sent, since a tool call must never run twice: a connection
that turns out to be closed before that is replaced by a new one, one that breaks off later is not (design D5).
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from ssl import SSLContext
from urllib.request import getproxies, proxy_bypass

import aiohttp
import anyio
import httpx2
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict
from yarl import URL

from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.edge.http_address import CONNECT_TIMEOUT, address
from wf_mcp.edge.http_trouble import HttpFailure, before_connected, trouble_of

IDLE = 3.0
"""Seconds that an idle connection is kept. Servers drop theirs (uvicorn and Node after 5 s), which they may do just as
one is used again. There may be any number: each call in flight holds one, and what they wait for must not wait for
them.
"""

MAX_REDIRECTS = 20
MAX_HEADER = 64 * 1024
CLOSING = 2.0
"""Seconds for closing connections in good order."""

_TRIES = 3
"""Connections that are tried where one after the other turns out to be closed before anything was sent."""
_PIECE = 256 * 1024


class Body(aiohttp.Payload):
    """The JSON body of a POST; `begun` says whether anything of it was sent."""

    _autoclose = True

    def __init__(self, data: bytes) -> None:
        super().__init__(data, content_type="application/json")
        self._size = len(data)
        self.begun = False

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The body as text."""
        return bytes(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Send the headers, which wait for this, and the body, each piece of it within `CONNECT_TIMEOUT`."""
        transport = writer.transport
        if transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("closed before anything was sent")
        self.begun = True
        if self._size is not None and self._size <= _PIECE:
            await writer.write(self._value)
            return
        whole = memoryview(self._value)
        for start in range(0, len(whole), _PIECE):
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await writer.write(whole[start : start + _PIECE])


class HttpClient:
    """Sends to one URL. Cookies live as long as this, as load balancers want it."""

    def __init__(self, session: aiohttp.ClientSession, url: URL, where: str) -> None:
        self._session = session
        self._url = url
        self.where = where

    async def send(self, method: str, headers: Mapping[str, str], body: Body | None = None) -> aiohttp.ClientResponse:
        """The answer, its own body unread, after redirects that keep method and origin, and so every header.

        Raises `HttpFailure` where there is none.
        """
        url = self._url
        for _ in range(MAX_REDIRECTS):
            response = await self._sent(method, url, headers, body)
            following = redirect_of(response)
            if following is None or not _keeps(method, response.status) or not _within_origin(url, following):
                return response
            with reading(self.where, started=False):
                await response.read()
            if body is not None:
                body.begun = False  # whoever redirects has not acted
            url = following
        return await self._sent(method, url, headers, body)

    async def _sent(
        self, method: str, url: URL, headers: Mapping[str, str], body: Body | None
    ) -> aiohttp.ClientResponse:
        left = _TRIES
        while True:
            left -= 1
            try:
                return await self._session.request(method, url, headers=headers, data=body, allow_redirects=False)
            except (aiohttp.ClientError, OSError, ValueError) as error:
                started = body is not None and body.begun
                stale = isinstance(error, aiohttp.ClientConnectionError) and not before_connected(error)
                if started or not stale or not left:
                    raise HttpFailure(trouble_of(error, self.where, started=started)) from error


@contextmanager
def reading(where: str, *, started: bool = True) -> Iterator[None]:
    """For the time of the block, an answer that breaks off is an `HttpFailure`."""
    try:
        yield
    except (aiohttp.ClientError, OSError) as error:
        raise HttpFailure(trouble_of(error, where, started=started)) from error


@asynccontextmanager
async def http_client(url: str, headers: Mapping[str, str]) -> AsyncIterator[HttpClient]:
    """A client for the time of the block; `headers` go with every request.

    Raises `UpstreamUnavailable` where the environment names a proxy that cannot be used.
    """
    target, own = _target(url, headers)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0, keepalive_timeout=IDLE, ssl=_certificates() if target.scheme == "https" else True
        ),
        headers=own,
        cookie_jar=aiohttp.CookieJar(unsafe=True, quote_cookie=False),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
        proxy=proxy_for(target),
        read_bufsize=256 * 1024,
        max_line_size=MAX_HEADER,
        max_field_size=MAX_HEADER,
    )
    try:
        yield HttpClient(session, target, address(url))
    finally:
        with anyio.move_on_after(CLOSING, shield=True):
            await session.close()


def _target(url: str, headers: Mapping[str, str]) -> tuple[URL, CIMultiDict[str]]:
    """The URL as it was written, and the headers; credentials in a URL become the header that they mean."""
    target = URL(url, encoded=url.isascii() and url.isprintable() and " " not in url)
    own = CIMultiDict(headers)
    if target.user is not None:
        pair = f"{target.user}:{target.password or ''}".encode()
        own.setdefault("Authorization", f"Basic {base64.b64encode(pair).decode()}")
        target = target.with_user(None)
    return target, own


@cache
def _certificates() -> SSLContext:
    """The system's certificates, or those that the environment names; read once."""
    return httpx2.create_ssl_context()


def proxy_for(url: URL) -> str | None:
    """The proxy that the environment names for `url` (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`)."""
    proxies = getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")
    if not found or proxy_bypass(url.host or ""):
        return None
    found = found if "://" in found else f"http://{found}"
    if (scheme := found.partition("://")[0].lower()) not in ("http", "https"):
        raise UpstreamUnavailable(
            f"the environment names a {scheme} proxy for {url.host}; wf-mcp can use http and https proxies "
            f"(NO_PROXY={url.host} goes without)"
        )
    return found


def redirect_of(response: aiohttp.ClientResponse) -> URL | None:
    """Where an answer redirects to; `None` where it does not."""
    if response.status not in (301, 302, 303, 307, 308):
        return None
    location = response.headers.get("location")
    if not location:
        return None
    try:
        return response.url.join(URL(location))
    except ValueError:
        return None


def _keeps(method: str, status: int) -> bool:
    """Whether a redirect keeps the method: else the message would be dropped on the way."""
    return method in ("GET", "DELETE") or status in (307, 308)


def _within_origin(url: URL, following: URL) -> bool:
    """Whether everything that was configured for `url` is meant for `following`, too; https in place of http is."""
    if following.user is not None:
        return False
    upgrade = url.scheme == "http" and following.scheme == "https" and url.host == following.host
    return url.origin() == following.origin() or (upgrade and url.is_default_port() and following.is_default_port())
