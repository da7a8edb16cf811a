"""Opens links to upstreams: our stdio transport, or the SDK's HTTP and SSE streams, under the SDK's dispatcher (design
D2).

Knows transports and the handshake; what is said over a link afterwards is the runtime's business.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
from mcp.shared.dispatcher import CallOptions, DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, REQUEST_TIMEOUT
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from wf_mcp.core.config import HttpTransport, ShutdownSettings, SseTransport, StdioTransport, Upstream
from wf_mcp.core.envelope import Era
from wf_mcp.core.errors import NULL, LinkLost, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.cancellations import Cancellations
from wf_mcp.edge.channels import Channel, open_http, open_sse, open_stdio_channel
from wf_mcp.edge.error_watch import ErrorWatch, mcp_error
from wf_mcp.runtime.ports import PLAIN, Hello, Inbox, Link, ProcessView, Sending

logger = logging.getLogger(__name__)


CANCELLED = "notifications/cancelled"

CANCELLING = 5.0
"""Seconds for telling an upstream that a request is cancelled; one that stops reading must not hold up its caller."""


class SdkLink:
    """A link over one `JSONRPCDispatcher`."""

    def __init__(self, upstream: Upstream, channel: Channel, inbox: Inbox) -> None:
        self._upstream = upstream
        self._channel = channel
        self._inbox = inbox
        self._errors = ErrorWatch(channel.read)
        self._withdrawn = Cancellations()
        self._dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(self._errors, channel.write)
        self._headers: dict[str, str] = {}
        self._last_id = 0
        self._gone = anyio.Event()
        self._initialized: JsonObject = {}
        self._why: str | None = None

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
        return self._channel.process

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Read from the upstream until it closes the connection."""
        try:
            await self._dispatcher.run(self._on_request, self._on_notify, self._intercept, task_status=task_status)
        finally:
            self._gone.set()

    async def handshake(self, hello: Hello) -> None:
        """Initialize (2025-11-25 basic/lifecycle § Initialization).

        Raises `UpstreamUnavailable` where the upstream does not answer in time, refuses, or wants a version that we do
        not know.
        """
        params: JsonObject = {
            "protocolVersion": hello.protocol_version,
            "capabilities": hello.capabilities,
            "clientInfo": hello.client_info,
        }
        limit = self._upstream.settings.init_timeout
        opts: CallOptions = {"timeout": limit, "cancel_on_abandon": False, "request_id": self._next_id()}
        try:
            answer = await self._dispatcher.send_raw_request("initialize", params, opts)
        except MCPError as error:
            raise UpstreamUnavailable(await self._why_no_handshake(error, limit)) from error
        version = answer.get("protocolVersion")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise UpstreamUnavailable(
                f"it answered initialize with the protocol version {version!r}, which wf-mcp does not speak"
            )
        self._initialized = answer
        self._headers = {MCP_PROTOCOL_VERSION_HEADER: str(version)}
        await self.notify("notifications/initialized", None)

    async def _why_no_handshake(self, error: MCPError, limit: float) -> str:
        if error.code == REQUEST_TIMEOUT:
            return f"it did not answer initialize within {limit:g} s (setting wf.init_timeout)"
        if _is_closed(error):
            return f"it went away before it answered initialize: {await self._channel.post_mortem()}"
        said = self._channel.trouble()
        return f"it answered initialize with error {error.code}: {error.message}" + (f" ({said})" if said else "")

    async def request(self, method: str, params: JsonObject | None, sending: Sending = PLAIN) -> JsonObject:
        """Send one request; see `Link.request`."""
        timeout, cancel_reason = sending.timeout, sending.cancel_reason
        if self._gone.is_set():
            raise LinkLost(self._why or await self._channel.post_mortem(), started=False)
        request_id = self._next_id()
        # The dispatcher would give a reason of its own, so the cancellation is ours to send.
        opts: CallOptions = {
            "headers": {**self._headers, **sending.headers},
            "request_id": request_id,
            "cancel_on_abandon": False,
        }
        if timeout is not None:
            opts["timeout"] = timeout
        try:
            return await self._dispatcher.send_raw_request(method, params, opts)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(CANCELLING, shield=True):
                await self._cancel(request_id, await cancel_reason() if cancel_reason is not None else None)
            raise
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT and timeout is not None:
                await self._cancel(request_id, f"no answer within {timeout:g} s")
            raise await self._translated(error, method, timeout, self._errors.null_data(request_id)) from error

    def _next_id(self) -> int:
        """An id that no request on this link had before (2025-11-25 basic/index § Requests)."""
        self._last_id += 1
        return self._last_id

    async def _cancel(self, request_id: int, reason: str | None) -> None:
        """Tell the upstream that nobody waits any more (2025-11-25 basic/utilities/cancellation)."""
        params: JsonObject = {"requestId": request_id}
        await self.notify(CANCELLED, params if reason is None else {**params, "reason": reason})

    async def _translated(self, error: MCPError, method: str, timeout: float | None, null: bool) -> WfMcpError:
        if error.code == REQUEST_TIMEOUT and timeout is not None:
            return UpstreamTimeout(
                f"Upstream {self._upstream.id!r} did not answer {method} within {timeout:g} s; "
                "the request was cancelled there"
            )
        if _is_closed(error):
            return LinkLost(await self._channel.post_mortem(), started=True)
        if error.code == INVALID_REQUEST and error.message == "Session terminated":
            self._why = "it no longer knows our session"
            self._gone.set()
            return LinkLost(self._why, started=False)
        trouble = self._channel.trouble()
        said = f"{error.message} ({trouble})" if trouble else error.message
        return RelayedError(error.code, said, NULL if null else error.data)

    async def notify(self, method: str, params: JsonObject | None) -> None:
        """Send one notification; dropped when the connection is gone."""
        await self._dispatcher.notify(method, params, {"headers": self._headers})

    async def closed(self) -> str:
        """Return, with the reason, once the connection is gone."""
        await self._gone.wait()
        return self._why or await self._channel.post_mortem()

    async def _on_request(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method == "ping":
            return {}
        try:
            withdrawn = partial(self._withdrawn.reason, context.request_id) if context.request_id is not None else None
            return await self._inbox.asked(method, params, withdrawn)
        except WfMcpError as error:
            raise mcp_error(error.code, error.message, error.data) from error

    async def _on_notify(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> None:
        """Nothing is left for this hook: `_intercept` takes every notification in the order of arrival."""

    def _intercept(self, method: str, params: Mapping[str, Any] | None) -> bool:
        if method == CANCELLED:  # of a question of the upstream's own: the dispatcher ends it, and its asker says why
            self._withdrawn.note((params or {}).get("requestId"), (params or {}).get("reason"))
        else:
            self._inbox.heard(method, params)
        return True


class SdkConnector:
    """Opens an `SdkLink` for each kind of transport."""

    def __init__(self, shutdown: Callable[[], ShutdownSettings], chain: Mapping[str, str]) -> None:
        self._shutdown = shutdown
        self._chain = chain

    @asynccontextmanager
    async def open(self, upstream: Upstream, hello: Hello, inbox: Inbox) -> AsyncIterator[Link]:
        """Start or connect to `upstream`, complete the handshake, and close everything on the way out."""
        async with self._channel(upstream) as channel:
            link = SdkLink(upstream, channel, inbox)
            async with anyio.create_task_group() as tasks:
                await tasks.start(link.run)
                await link.handshake(hello)
                try:
                    yield link
                finally:
                    tasks.cancel_scope.cancel()

    def _channel(self, upstream: Upstream) -> AbstractAsyncContextManager[Channel]:
        match upstream.transport:
            case StdioTransport() as stdio:
                return open_stdio_channel(upstream, stdio, self._shutdown(), self._chain)
            case HttpTransport() as http:
                return open_http(http)
            case SseTransport() as sse:
                return open_sse(sse)


def _is_closed(error: MCPError) -> bool:
    return error.code == CONNECTION_CLOSED and error.message == "Connection closed"
