"""The ways to an upstream, brought to one shape: two message streams, and what can be told about a failure.

Stdio and HTTP+SSE are here; streamable HTTP has `edge/http_channel.py`.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from mcp_types import RequestId

from wf_mcp.core.config import ShutdownSettings, SseTransport, StdioTransport, Upstream
from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.core.trouble import Trouble, TroubleKind
from wf_mcp.edge.http_address import CONNECT_TIMEOUT, address
from wf_mcp.edge.sse import sse_streams
from wf_mcp.edge.stdio import StdioChannel, open_stdio
from wf_mcp.runtime.ports import ProcessView

logger = logging.getLogger(__name__)

ANY_NUMBER = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=3.0)
"""Connections: each call in flight holds one, and what they wait for must not wait for them. Idle ones go before a
server drops them (uvicorn and Node after 5 s), which it may do just as one is used again.
"""

LINE_LIMIT = 256 * 1024 * 1024
"""Bytes of one message from a stdio upstream; a longer one is skipped as noise."""


@dataclass(slots=True)
class Channel:
    """A pair of message streams; `trouble` says what the transport last saw go wrong, `failure` what went wrong with a
    request that it answered with an error itself, `post_mortem` why it ended.
    """

    read: Any
    write: Any
    trouble: Callable[[], str | None]
    post_mortem: Callable[[], Awaitable[str]]
    process: ProcessView | None = None
    failure: Callable[[RequestId], Trouble | None] = lambda _: None


@asynccontextmanager
async def open_stdio_channel(
    upstream: Upstream, stdio: StdioTransport, shutdown: ShutdownSettings, chain: Mapping[str, str]
) -> AsyncIterator[Channel]:
    """Start the upstream's process and speak to it over its pipes.

    `chain` is added to its environment: it tells a wf-mcp down there which files are being served above it.
    """
    noise = _Noise(upstream.id)
    async with open_stdio(
        stdio.command,
        stdio.args,
        {**stdio.env, **chain},
        stdio.cwd,
        line_limit=LINE_LIMIT,
        eof_grace=shutdown.eof,
        term_grace=shutdown.term,
        on_noise=noise.heard,
    ) as child:

        async def post_mortem() -> str:
            return await _exit_reason(child)

        yield Channel(child.read_stream, child.write_stream, lambda: None, post_mortem, child.process)


async def _exit_reason(child: StdioChannel) -> str:
    """How the process ended and what it last wrote to stderr."""
    with anyio.move_on_after(1.0):
        await child.process.wait()
    code = child.process.returncode
    how = "its process closed its output" if code is None else f"its process ended with {_exit(code)}"
    tail = child.process.stderr_tail()[-3:]
    return f"{how}; stderr: {' | '.join(tail)}" if tail else how


def _exit(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


class _Noise:
    """Lines on an upstream's stdout that are not messages: logged, but only so many."""

    LOUD = 20

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._count = 0

    def heard(self, text: str) -> None:
        self._count += 1
        if self._count <= self.LOUD:
            logger.warning("upstream %s wrote something to stdout that is no message: %s", self._upstream, text[:200])
        if self._count == self.LOUD:
            logger.warning("upstream %s: further such lines are not logged", self._upstream)


@asynccontextmanager
async def open_sse(sse: SseTransport) -> AsyncIterator[Channel]:
    """Connect over HTTP+SSE (2024-11-05 basic/transports)."""
    seen = _LastAnswer(sse.url)
    async with (
        seen.client(sse.headers) as client,
        _goodbye(sse_streams(client, sse.url), seen) as (read, write),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(seen.refusal)
        yield Channel(read, write, seen.trouble, seen.post_mortem)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _goodbye(transport: Any, seen: "_LastAnswer") -> AsyncIterator[tuple[Any, Any]]:
    """Enter a transport; a server that cannot be reached becomes one clear error."""
    try:
        async with transport as streams:
            yield streams
    except* httpx2.TransportError as group:
        error = _first(group)
        said = f"{seen.where} cannot be reached: {type(error).__name__}: {error or 'no answer'}"
        raise _unavailable("unreachable", said) from group
    except* httpx2.HTTPStatusError as group:
        error = _first(group)
        status = error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else None
        raise _unavailable(_kind_of(status), f"{seen.where} answered HTTP {error}", status) from group


def _unavailable(kind: TroubleKind, said: str, status: int | None = None) -> UpstreamUnavailable:
    error = UpstreamUnavailable(said)
    error.trouble = Trouble(kind, said, status=status)
    return error


def _kind_of(status: int | None) -> TroubleKind:
    return "needs_auth" if status in (401, 403) else "busy" if status in (429, 503) else "refused"


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _LastAnswer:
    """What the HTTP client of one SSE upstream last saw: errors say neither status nor address."""

    def __init__(self, url: str) -> None:
        self.where = address(url)
        self._status: int | None = None
        self._refused = anyio.Event()

    def client(self, headers: Any) -> httpx2.AsyncClient:
        """An HTTP client that remembers the last refusal."""
        return httpx2.AsyncClient(
            headers=dict(headers),
            timeout=httpx2.Timeout(CONNECT_TIMEOUT, read=None),
            limits=ANY_NUMBER,
            event_hooks={"response": [self._saw]},
        )

    async def _saw(self, response: httpx2.Response) -> None:
        if response.request.method != "POST":
            return
        self._status = response.status_code if response.status_code >= 400 else None
        if self._status is not None:
            self._refused.set()

    async def refusal(self) -> None:
        """Wait until a POST is refused and raise that: over SSE nobody else would hear of it, and the call would wait
        for ever.
        """
        await self._refused.wait()
        raise _unavailable(_kind_of(self._status), str(self.trouble()), self._status)

    def trouble(self) -> str | None:
        """The HTTP status behind the last error, in words."""
        if self._status in (401, 403):
            return f"HTTP {self._status} from {self.where}: check the headers configured for it"
        return f"HTTP {self._status} from {self.where}" if self._status is not None else None

    async def post_mortem(self) -> str:
        """Why the connection ended, as far as HTTP tells."""
        return self.trouble() or f"the connection to {self.where} ended"


__all__ = ["Channel", "open_sse", "open_stdio_channel"]
