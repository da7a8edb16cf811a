"""One hop to an upstream, the same in both eras: requests over a channel, how they are cancelled, and what becomes of
errors and losses (design D2, D5).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import anyio
from mcp.shared.dispatcher import CallOptions, DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from wf_mcp.core.config import Upstream
from wf_mcp.core.errors import NULL, LinkLost, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.core.trouble import Trouble
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.cancellations import CANCELLED, Cancellations
from wf_mcp.edge.channels import Channel
from wf_mcp.edge.error_watch import ErrorWatch, mcp_error
from wf_mcp.edge.in_flight import InFlight
from wf_mcp.runtime.attribution import said_in
from wf_mcp.runtime.ports import Inbox, ProcessView, Sending, loss
from wf_mcp.runtime.telemetry import UNWATCHED, Telemetry

CANCELLING = 5.0
"""Seconds for telling an upstream that a request is cancelled; one that stops reading must not hold up its caller."""

How = Literal["refused", "silent", "lost"]


class NoAgreement(UpstreamUnavailable):
    """An upstream did not open in the era that was tried; `how` tells an answer that it gave from none, `answer` is the
    JSON-RPC error where there was one.
    """

    def __init__(self, message: str, how: How, answer: MCPError | None = None) -> None:
        super().__init__(message)
        self.how: How = how
        self.answer = answer

    @property
    def answered(self) -> int | None:
        """The code of the error that it answered with."""
        return self.answer.code if self.answer is not None else None


class Hop:
    """One dispatcher over one channel; `receiver` takes what the upstream says by itself, `telemetry` watches."""

    def __init__(self, upstream: Upstream, channel: Channel, receiver: Inbox, telemetry: Telemetry = UNWATCHED) -> None:
        self.upstream = upstream
        self._telemetry = telemetry
        self.receiver = receiver
        self._channel = channel
        self._errors = ErrorWatch(channel.read)
        self._withdrawn = Cancellations()
        self._in_flight = InFlight(self._errors, channel.write)
        self._dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(self._in_flight, channel.write)
        self._last_id = 0
        self._gone = anyio.Event()
        self._why: str | None = None

    @property
    def process(self) -> ProcessView | None:
        """The child process behind a stdio hop."""
        return self._channel.process

    @property
    def alive(self) -> bool:
        """Whether the connection is still there, as far as is known."""
        return self._why is None and not self._gone.is_set()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Read from the upstream until it closes the connection."""
        try:
            await self._dispatcher.run(self._on_request, self._on_notify, self._intercept, task_status=task_status)
        finally:
            self._in_flight.close()
            self._gone.set()

    async def closed(self) -> str:
        """Return, with the reason, once the connection is gone."""
        await self._gone.wait()
        return self._why or await self._channel.post_mortem()

    def next_id(self) -> int:
        """An id that no request on this hop had before (2025-11-25 basic/index § Requests)."""
        self._last_id += 1
        return self._last_id

    async def negotiate(
        self, method: str, params: JsonObject, limit: float, headers: Mapping[str, str] | None = None
    ) -> JsonObject:
        """Send the request that opens an era.

        `initialize` is never cancelled (2025-11-25 basic/utilities/cancellation); what carries the headers of the
        modern era ends with its HTTP stream.

        Raises `NoAgreement` where the upstream answers with an error, not in time, or not at all, and
        `UpstreamUnavailable` where it cannot be reached.
        """
        request_id = self.next_id()
        opts: CallOptions = {"timeout": limit, "cancel_on_abandon": bool(headers), "request_id": request_id}
        if headers:
            opts["headers"] = dict(headers)
        with self._telemetry.sent(self.upstream, method, params):
            try:
                return await self._dispatcher.send_raw_request(method, params, opts)
            except MCPError as error:
                raise await self._no_agreement(error, method, limit, self._channel.failure(request_id)) from error

    async def _no_agreement(
        self, error: MCPError, method: str, limit: float, trouble: Trouble | None
    ) -> UpstreamUnavailable:
        refused: UpstreamUnavailable
        if trouble is not None and trouble.kind in ("unreachable", "tls", "timed_out"):
            refused = UpstreamUnavailable(trouble.message)  # no era would make a difference
        elif trouble is not None and trouble.kind == "reset":
            refused = NoAgreement(f"it went away before it answered {method}: {trouble.message}", "lost")
        elif trouble is None and _is_timeout(error, method):
            refused = NoAgreement(f"it did not answer {method} within {limit:g} s (setting wf.init_timeout)", "silent")
            trouble = Trouble("unanswered", refused.message, started=True)
        elif trouble is None and _is_closed(error):
            reason = await self._channel.post_mortem()
            refused = NoAgreement(f"it went away before it answered {method}: {reason}", "lost")
            trouble = Trouble(loss(self.process), refused.message, started=True)
        else:
            said = self._channel.trouble()
            said = f" ({said})" if said and said not in error.message else ""
            refused = NoAgreement(
                f"it answered {method} with error {error.code}: {error.message}{said}", "refused", error
            )
        refused.trouble = trouble
        return refused

    async def request(
        self,
        method: str,
        params: JsonObject | None,
        sending: Sending,
        headers: Mapping[str, str],
        request_id: int | None = None,
    ) -> JsonObject:
        """Send one request and return its raw result; see `Link.request` for what is raised."""
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
        with self._telemetry.sent(self.upstream, method, params, version) as watched:
            return watched.answered(await self._request(method, params, sending, headers, request_id))

    async def _request(
        self,
        method: str,
        params: JsonObject | None,
        sending: Sending,
        headers: Mapping[str, str],
        request_id: int | None,
    ) -> JsonObject:
        timeout, cancel_reason = sending.timeout, sending.cancel_reason
        if not self.alive:
            raise LinkLost(self._why or await self._channel.post_mortem(), started=False)
        request_id = self.next_id() if request_id is None else request_id
        try:
            return await self._in_flight.send(request_id, method, params, dict(headers), timeout)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(CANCELLING, shield=True):
                await self._cancel(request_id, await cancel_reason() if cancel_reason is not None else None, headers)
            raise
        except MCPError as error:
            null = self._errors.null_data(request_id)
            trouble = self._channel.failure(request_id)
            if trouble is not None:
                raise self._troubled(trouble, error, method, null) from error
            if timeout is not None and _is_timeout(error, method):
                await self._cancel(request_id, f"no answer within {timeout:g} s", headers)
                raise UpstreamTimeout(
                    f"Upstream {self.upstream.id!r} did not answer {_described(method, params)} within {timeout:g} s; "
                    "the request was cancelled there"
                ) from error
            raise await self._translated(error, null) from error

    async def notify(self, method: str, params: JsonObject | None, headers: Mapping[str, str]) -> None:
        """Send one notification; dropped when the connection is gone."""
        await self._dispatcher.notify(method, params, {"headers": dict(headers)})

    async def _cancel(self, request_id: int, reason: str | None, headers: Mapping[str, str]) -> None:
        """Tell the upstream that nobody waits any more (basic/utilities/cancellation, basic/patterns/cancellation).

        Over modern HTTP the transport closes the response stream instead of sending this.
        """
        params: JsonObject = {"requestId": request_id}
        await self.notify(CANCELLED, params if reason is None else {**params, "reason": reason}, headers)

    async def _translated(self, error: MCPError, null: bool) -> WfMcpError:
        if _is_closed(error):
            return LinkLost(await self._channel.post_mortem(), started=True)
        return RelayedError(error.code, error.message, NULL if null else error.data)

    def _troubled(self, trouble: Trouble, error: MCPError, method: str, null: bool) -> WfMcpError:
        """What becomes of a request that came to no answer of the upstream's; the connection is lost with the session
        alone.
        """
        failed: WfMcpError
        match trouble.kind:
            case "session_lost":
                self._why = trouble.message
                failed = LinkLost(trouble.message, started=trouble.started)
            case "refused" | "busy" | "needs_auth":
                failed = RelayedError(error.code, error.message, error.data)
            case _ if trouble.started:
                failed = UpstreamUnavailable(
                    f"Upstream {self.upstream.id!r} gave no answer to {method}: {trouble.message}. "
                    "It may have acted on the request; it is not sent again."
                )
            case _:
                failed = UpstreamUnavailable(f"Upstream {self.upstream.id!r} is unavailable: {trouble.message}")
        failed.trouble = trouble
        return failed

    async def _on_request(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        try:
            withdrawn = partial(self._withdrawn.reason, context.request_id) if context.request_id is not None else None
            with self._telemetry.asked(self.upstream, method, params):
                return await self.receiver.asked(method, params, withdrawn)
        except WfMcpError as error:
            raise mcp_error(error.code, error.message, error.data) from error

    async def _on_notify(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> None:
        """Nothing is left for this hook: `_intercept` takes every notification in the order of arrival."""

    def _intercept(self, method: str, params: Mapping[str, Any] | None) -> bool:
        if method == CANCELLED:  # of a question of the upstream's own: the dispatcher ends it, and its asker says why
            self._withdrawn.note((params or {}).get("requestId"), (params or {}).get("reason"))
        with said_in(self._errors.last_context):
            self.receiver.heard(method, params)
        return True


def _described(method: str, params: JsonObject | None) -> str:
    """A request in words: its method, and the name or URI that it is about."""
    about = (params or {}).get("name") or (params or {}).get("uri")
    return f"{method} of {about!r}" if isinstance(about, str) else method


def _is_timeout(error: MCPError, method: str) -> bool:
    """Whether the dispatcher gave up; servers use the same code, which is none of the specification's."""
    return error.code == REQUEST_TIMEOUT and error.message == f"Request {method!r} timed out"


def _is_closed(error: MCPError) -> bool:
    return error.code == CONNECTION_CLOSED and error.message == "Connection closed"
