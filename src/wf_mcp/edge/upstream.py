"""Opens links to upstreams: our stdio transport, or one of the HTTP transports, in the era that the upstream speaks
(design D2, D8).
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from wf_mcp.core.config import HttpTransport, ShutdownSettings, SseTransport, StdioTransport, Upstream
from wf_mcp.edge.channels import Channel, open_sse, open_stdio_channel
from wf_mcp.edge.era import Search
from wf_mcp.edge.era_memory import EraMemory
from wf_mcp.edge.hop import Hop
from wf_mcp.edge.modern_link import ModernLink
from wf_mcp.runtime.ports import Hello, Inbox, Link
from wf_mcp.runtime.telemetry import UNWATCHED, Telemetry


class SdkConnector:
    """Opens a link for each kind of transport and in either era; `memory` keeps what was found out."""

    def __init__(
        self,
        shutdown: Callable[[], ShutdownSettings],
        chain: Mapping[str, str],
        memory: EraMemory | None = None,
        telemetry: Telemetry = UNWATCHED,
    ) -> None:
        self._telemetry = telemetry
        self._shutdown = shutdown
        self._chain = chain
        self._memory = memory or EraMemory()

    @asynccontextmanager
    async def open(self, upstream: Upstream, hello: Hello, inbox: Inbox) -> AsyncIterator[Link]:
        """Start or connect to `upstream`, agree on an era, and close everything on the way out."""
        with self._telemetry.apart():  # a link outlives the request that it was opened for
            async with self._opened(upstream, hello, inbox) as link:
                yield link

    @asynccontextmanager
    async def _opened(self, upstream: Upstream, hello: Hello, inbox: Inbox) -> AsyncIterator[Link]:
        search = Search(upstream, hello, self._memory)
        while True:
            async with self._channel(upstream) as channel, anyio.create_task_group() as tasks:
                hop = Hop(upstream, channel, inbox, self._telemetry)
                await tasks.start(hop.run)
                link = await search.on(hop, inbox)
                if link is not None:
                    try:
                        if isinstance(link, ModernLink):
                            tasks.start_soon(link.listening.run, name=f"changes of {upstream.id}")
                            await link.listening.first()
                        yield link
                    finally:
                        tasks.cancel_scope.cancel()
                    return
                tasks.cancel_scope.cancel()

    def _channel(self, upstream: Upstream) -> AbstractAsyncContextManager[Channel]:
        match upstream.transport:
            case StdioTransport() as stdio:
                return open_stdio_channel(upstream, stdio, self._shutdown(), self._chain)
            case HttpTransport() as http:
                from wf_mcp.edge.http_channel import open_http  # its library takes long to import, and not all need it

                return open_http(http)
            case SseTransport() as sse:
                return open_sse(sse)
