"""A link to an upstream of the handshake revisions, 2024-11-05 to 2025-11-25 (design D2).

Knows the handshake; what is said over a link afterwards is the runtime's business.
"""

from collections.abc import Mapping
from typing import Any

from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from wf_mcp.core.envelope import Era, declared_to
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.cancellations import CANCELLED
from wf_mcp.edge.hop import Hop, NoAgreement
from wf_mcp.runtime.ports import PLAIN, Hello, Inbox, ProcessView, Sending, Withdrawn


class HandshakeLink:
    """A link over one hop that was opened with `initialize`."""

    def __init__(self, hop: Hop, inbox: Inbox) -> None:
        self._hop = hop
        self._inbox = inbox
        self._headers: dict[str, str] = {}
        self._initialized: JsonObject = {}

    @property
    def era(self) -> Era:
        """This link's era."""
        return "handshake"

    @property
    def initialized(self) -> JsonObject:
        """The upstream's `initialize` result, as it sent it."""
        return self._initialized

    @property
    def process(self) -> ProcessView | None:
        """The child process behind a stdio link."""
        return self._hop.process

    async def handshake(self, hello: Hello, limit: float) -> None:
        """Initialize, within `limit` seconds (2025-11-25 basic/lifecycle § Initialization).

        Raises `NoAgreement` where the upstream does not answer in time, refuses, or wants a version that we do not
        know.
        """
        self._hop.receiver = self
        params: JsonObject = {
            "protocolVersion": hello.protocol_version,
            "capabilities": declared_to("handshake", hello.capabilities, hello.era),
            "clientInfo": hello.client_info,
        }
        answer = await self._hop.negotiate("initialize", params, limit)
        version = answer.get("protocolVersion")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise NoAgreement(
                f"it answered initialize with the protocol version {version!r}, which wf-mcp does not speak", "refused"
            )
        self._initialized = answer
        self._headers = {MCP_PROTOCOL_VERSION_HEADER: str(version)}
        await self.notify("notifications/initialized", None)

    async def request(self, method: str, params: JsonObject | None, sending: Sending = PLAIN) -> JsonObject:
        """Send one request; see `Link.request`."""
        return await self._hop.request(method, params, sending, {**self._headers, **sending.headers})

    async def notify(self, method: str, params: JsonObject | None) -> None:
        """Send one notification; dropped when the connection is gone."""
        await self._hop.notify(method, params, self._headers)

    def follow(self, task_id: str) -> None:
        """Nothing: the tasks extension is of 2026-07-28, and tasks of 2025-11-25 tell without being asked."""

    def unfollow(self, task_id: str) -> None:
        """Nothing, likewise."""

    async def closed(self) -> str:
        """Return, with the reason, once the connection is gone."""
        return await self._hop.closed()

    async def asked(
        self, method: str, params: Mapping[str, Any] | None, withdrawn: Withdrawn | None = None
    ) -> JsonObject:
        """Answer a request of the upstream's; `ping` concerns this hop alone."""
        return {} if method == "ping" else await self._inbox.asked(method, params, withdrawn)

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Pass on a notification of the upstream's; the hop has dealt with a cancellation."""
        if method != CANCELLED:
            self._inbox.heard(method, params)
