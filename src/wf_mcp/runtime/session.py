"""One upstream, one set of declared capabilities, one connection at a time: opened, watched, opened again.

The session's task owns the connection. Callers wait for it, use it, and are told when it went away; a request that
reached an upstream which then died is never sent again (design D5).
"""

import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from enum import StrEnum
from typing import Any

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.backoff import backoff
from wf_mcp.core.config import Upstream
from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamUnavailable, WfMcpError
from wf_mcp.core.events import Event, UpstreamFailed, UpstreamGone, UpstreamReady, UpstreamStarting
from wf_mcp.core.kinds import KINDS, KINDS_OF_CHANGE, Kind
from wf_mcp.core.notify import event_of_change
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.calls import PROGRESS, Calls, Delivery
from wf_mcp.runtime.catalogue import Catalogue
from wf_mcp.runtime.ports import ClientPort, Connector, Hello, Link

logger = logging.getLogger(__name__)

STABLE = 10.0
"""Seconds after which a connection counts as having worked: its loss is then followed by an immediate new start."""


class State(StrEnum):
    """Where a session is in its life; `gone` is a loss that a new start follows, `failed` a start that did not work."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    GONE = "gone"
    STOPPED = "stopped"


class UpstreamSession:
    """The connection of one audience to one upstream; also the inbox for what that upstream says by itself."""

    def __init__(
        self,
        upstream: Upstream,
        hello: Hello,
        connector: Connector,
        publish: Callable[[Event], None],
        *,
        list_wait: float = 5.0,
        standing: ClientPort | None = None,
        translate: Callable[[str, JsonObject], JsonObject] = lambda method, params: params,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.upstream = upstream
        self.hello = hello
        self.state = State.STARTING
        self.reason: str | None = None
        self.calls = 0
        self.errors = 0
        self.started = time.monotonic()
        self.last_link: Link | None = None
        self.deadline = self.started + list_wait
        self.catalogue = Catalogue(upstream.label or upstream.id, self._late, list_wait, on_change)
        self._connector = connector
        self._publish = publish
        self._standing = standing
        self._unasked = Delivery(standing, self._spawn) if standing is not None else None
        self._translate = translate
        self._link: Link | None = None
        self._tasks: TaskGroup | None = None
        self._changed = anyio.Event()
        self._open = Calls()

    @property
    def initialized(self) -> JsonObject | None:
        """The upstream's `initialize` result, of the present or the last connection; `None` before the first."""
        return self.last_link.initialized if self.last_link is not None else None

    def adopt(self, upstream: Upstream, translate: Callable[[str, JsonObject], JsonObject]) -> None:
        """Go on under changed settings that need no new connection."""
        self.upstream, self._translate = upstream, translate

    async def run(self) -> None:
        """Keep the connection open until cancelled, starting it again after a loss, with growing pauses after
        failures.
        """
        failures = 0
        try:
            while True:
                began = time.monotonic()
                worked = await self._once()
                failures = 0 if worked and time.monotonic() - began >= STABLE else failures + 1
                await anyio.sleep(backoff(failures - 1 if worked else failures))
        finally:
            self._move(State.STOPPED, "stopped")

    async def _once(self) -> bool:
        """One connection from start to loss; true if it ever was ready."""
        self._move(State.STARTING, None)
        self._publish(UpstreamStarting(self.upstream.id))
        try:
            async with (
                self._connector.open(self.upstream, self.hello, self) as link,
                anyio.create_task_group() as tasks,
            ):
                self._ready(link, tasks)
                tasks.start_soon(self.catalogue.serve, link, name=f"catalogue of {self.upstream.id}")
                reason = await link.closed()
                tasks.cancel_scope.cancel()
        except Exception as error:  # upstream seam: one upstream's failure is its own
            reason = _innermost(error)
            logger.debug("upstream %s", self.upstream.id, exc_info=True)
        worked = self._link is not None
        self._link = self._tasks = None
        self._open.abandon()
        self._move(State.GONE if worked else State.FAILED, reason)
        self._publish((UpstreamGone if worked else UpstreamFailed)(self.upstream.id, reason))
        return worked

    def _ready(self, link: Link, tasks: TaskGroup) -> None:
        self._link = self.last_link = link
        self._tasks = tasks
        self.started = time.monotonic()
        self._move(State.READY, None)
        server = link.initialized.get("serverInfo") or {}
        self._publish(UpstreamReady(self.upstream.id, str(server.get("name", "")), str(server.get("version", ""))))

    def _move(self, state: State, reason: str | None) -> None:
        self.state, self.reason = state, reason
        self._changed.set()
        self._changed = anyio.Event()

    async def settled(self) -> bool:
        """Wait until the session is ready or has failed, at most until `deadline`; true if it has."""
        with anyio.move_on_after(max(0.0, self.deadline - time.monotonic())):
            while self.state in (State.STARTING, State.GONE):
                await self._changed.wait()
        return self.state not in (State.STARTING, State.GONE)

    async def link(self, *, instead_of: Link | None = None) -> Link:
        """The open connection, after waiting for a start that is under way; another one than `instead_of`.

        Raises `UpstreamUnavailable`, with the reason, where there is none to wait for.
        """
        while self._link is None or self._link is instead_of:
            if self.state in (State.FAILED, State.STOPPED):
                raise UpstreamUnavailable(f"Upstream {self.upstream.id!r} is unavailable: {self.reason}")
            await self._changed.wait()
        return self._link

    async def request(
        self,
        method: str,
        params: JsonObject,
        *,
        port: ClientPort | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Relay one request and return the upstream's raw result.

        Raises `RelayedError`, `UpstreamTimeout` or `UpstreamUnavailable`. Sent a second time only if the first
        certainly did not arrive.
        """
        self.calls += 1
        try:
            link = await self.link()
            try:
                return await self._send(link, method, params, port, headers)
            except LinkLost as lost:
                if lost.started:
                    raise
                # This task may know of the loss before the session's own does: the same link would refuse again.
                return await self._send(await self.link(instead_of=link), method, params, port, headers)
        except LinkLost as lost:
            self.errors += 1
            raise self._lost(method, lost) from lost
        except WfMcpError:
            self.errors += 1
            raise

    def _lost(self, method: str, lost: LinkLost) -> UpstreamUnavailable:
        if not lost.started:
            return UpstreamUnavailable(f"Upstream {self.upstream.id!r} is unavailable: {lost}")
        return UpstreamUnavailable(
            f"Upstream {self.upstream.id!r} was lost while it answered {method}: {lost}. "
            "It may have acted on the request; it is not sent again."
        )

    async def _send(
        self, link: Link, method: str, params: JsonObject, port: ClientPort | None, headers: Mapping[str, str] | None
    ) -> JsonObject:
        with self._open.opened(port, params, self._spawn) as (call, params_here):
            try:
                return await link.request(method, params_here, timeout=self.upstream.settings.timeout, headers=headers)
            finally:
                await call.settled()

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._tasks is None:
            raise RuntimeError("a notification was heard without a connection")
        self._tasks.start_soon(work, name=f"notifications of {self.upstream.id}")

    async def asked(self, method: str, params: Mapping[str, Any] | None) -> JsonObject:
        """Ask the client whose call this belongs to; raises `WfMcpError` where nobody can be asked."""
        port = self._open.to_ask(self._standing)
        return await port.ask(method, self._translate(method, dict(params or {})))

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Take a notification of the upstream's: stale lists are marked before anybody is told."""
        body = dict(params or {})
        stale = KINDS_OF_CHANGE.get(method)
        if stale is not None:
            for kind in stale:
                self.catalogue.stale(kind)
            event = event_of_change(method, self.upstream.id)
            if event is not None:
                self._publish(event)
        elif method == PROGRESS:
            self._open.progress(body)
        else:
            call = self._open.sole()
            listener = call or self._unasked
            if listener is not None:
                listener.tell(method, self._translate(method, body))
            else:
                logger.debug("upstream %s: %s belongs to no call in flight; dropped", self.upstream.id, method)

    def _late(self, kind: Kind) -> None:
        method = next(method for method, kinds in KINDS_OF_CHANGE.items() if kind in kinds)
        event = event_of_change(method, self.upstream.id)
        if event is not None:
            self._publish(event)

    def owe_everything(self) -> None:
        """Remember that a client was answered without this upstream, so that its arrival is announced."""
        for kind in KINDS:
            self.catalogue.owe(kind)


def _innermost(error: BaseException) -> str:
    """What went wrong, in one line, without the task groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, RelayedError):
        return f"it answered with error {error.code}: {error.message}"
    text = str(error) or type(error).__name__
    return text if isinstance(error, WfMcpError) else f"{type(error).__name__}: {text}"
