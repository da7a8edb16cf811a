"""A link to a front of this very process: what a client on stdio would see, without a process in between."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from fastmcp import FastMCP
from mcp.shared.message import SessionMessage

from wf_mcp.core.config import StdioTransport, Upstream, UpstreamSettings
from wf_mcp.core.errors import NotServed
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.channels import Channel
from wf_mcp.edge.handshake_link import HandshakeLink
from wf_mcp.edge.hop import Hop
from wf_mcp.edge.modern_link import ModernLink
from wf_mcp.edge.seams import low_level_server
from wf_mcp.runtime.ports import Hello, Link, Withdrawn


class Deaf:
    """An inbox of nobody's: questions are refused, and notifications go unheard."""

    async def asked(
        self, method: str, params: Mapping[str, Any] | None, withdrawn: Withdrawn | None = None
    ) -> JsonObject:
        """Refuse."""
        raise NotServed(f"{method}: nobody is here to be asked")

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Let it pass."""


@asynccontextmanager
async def open_front(server: FastMCP, hello: Hello, patience: float) -> AsyncIterator[Link]:
    """Run the front for the time of the block, and connect to it as a client of `hello.era`.

    Raises `UpstreamUnavailable` where it does not answer within `patience` seconds.
    """
    low: Any = low_level_server(server)
    itself = Upstream("wf-mcp", "wf-mcp", StdioTransport("wf-mcp"), UpstreamSettings(init_timeout=patience), "")
    inward_send, inward = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outward, outward_read = anyio.create_memory_object_stream[SessionMessage](0)
    async with inward_send, inward, outward, outward_read, anyio.create_task_group() as tasks:
        tasks.start_soon(low.run, inward, outward, low.create_initialization_options(), name="front")
        hop = Hop(itself, Channel(outward_read, inward_send, lambda: None, _ended), Deaf())
        await tasks.start(hop.run)
        try:
            yield await _opened(hop, hello, patience)
        finally:
            tasks.cancel_scope.cancel()


async def _opened(hop: Hop, hello: Hello, patience: float) -> Link:
    if hello.era == "handshake":
        handshake = HandshakeLink(hop, Deaf())
        await handshake.handshake(hello, patience)
        return handshake
    modern = ModernLink(hop, Deaf(), hello, http=False)
    await modern.discover(patience)
    return modern


async def _ended() -> str:
    return "the front ended"
