"""One upstream, one set of declared capabilities, one connection at a time: opened, watched, opened again.

The session's task owns the connection. Callers wait for it, use it, and are told when it went away; a request that
reached an upstream which then died is never sent again (design D5).
"""

import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.backoff import backoff
from wf_mcp.core.config import Upstream
from wf_mcp.core.envelope import Era
from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.core.events import Event, UpstreamFailed, UpstreamGone, UpstreamReady, UpstreamStarting
from wf_mcp.core.kinds import KINDS, Kind
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime import attribution
from wf_mcp.runtime.asking import Asking
from wf_mcp.runtime.catalogue import Catalogue
from wf_mcp.runtime.inbox import SessionInbox
from wf_mcp.runtime.keepalive import ended
from wf_mcp.runtime.ports import NOBODY, Asker, ClientPort, Connector, Hello, Link, Sending, Withdrawn
from wf_mcp.runtime.questions import Translation

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
    """One connection to one upstream, kept under `key` for the callers that share it."""

    def __init__(
        self,
        upstream: Upstream,
        hello: Hello,
        connector: Connector,
        publish: Callable[[Event], None],
        *,
        key: str = "",
        list_wait: float = 5.0,
        owner: ClientPort | None = None,
        translation: Translation | None = None,
        asking: Asking | None = None,
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
        self.inbox = SessionInbox(
            upstream.id,
            key,
            self.catalogue,
            publish,
            translation or Translation(Namespace(upstream.id, upstream.label)),
            asking or Asking(),
            owner,
            self._spawn,
        )
        self._connector = connector
        self._publish = publish
        self._link: Link | None = None
        self._tasks: TaskGroup | None = None
        self._early: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._changed = anyio.Event()

    @property
    def initialized(self) -> JsonObject | None:
        """The upstream's `initialize` result, of the present or the last connection; `None` before the first."""
        return self.last_link.initialized if self.last_link is not None else None

    @property
    def era(self) -> Era:
        """The upstream's era, of the present or the last connection; handshake before the first."""
        return self.last_link.era if self.last_link is not None else "handshake"

    def offers(self, capability: str) -> bool:
        """Whether the upstream declared a capability."""
        return capability in ((self.initialized or {}).get("capabilities") or {})

    def adopt(self, upstream: Upstream, translation: Translation) -> None:
        """Go on under changed settings that need no new connection."""
        self.upstream, self.inbox.translation = upstream, translation

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
                self._take_early(tasks)
                await self._remind(link)
                self._ready(link)
                tasks.start_soon(self.catalogue.serve, link, name=f"catalogue of {self.upstream.id}")
                reason = await ended(link, self.upstream.settings.ping)
                tasks.cancel_scope.cancel()
        except Exception as error:  # upstream seam: one upstream's failure is its own
            reason = _innermost(error)
            logger.debug("upstream %s", self.upstream.id, exc_info=True)
        worked = self._link is not None
        self._link = self._tasks = None
        self._early.clear()
        self.inbox.abandon()
        self._move(State.GONE if worked else State.FAILED, reason)
        self._publish((UpstreamGone if worked else UpstreamFailed)(self.upstream.id, reason))
        return worked

    def _ready(self, link: Link) -> None:
        self._link = self.last_link = link
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

    async def request(self, method: str, params: JsonObject, asker: Asker = NOBODY) -> JsonObject:
        """Relay one request and return the upstream's raw result.

        Raises `RelayedError`, `UpstreamTimeout` or `UpstreamUnavailable`. Sent a second time only if the first
        certainly did not arrive.
        """
        self.calls += 1
        try:
            link = await self.link()
            try:
                return await self._send(link, method, params, asker)
            except LinkLost as lost:
                if lost.started:
                    raise
                # This task may know of the loss before the session's own does: the same link would refuse again.
                return await self._send(await self.link(instead_of=link), method, params, asker)
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

    async def _send(self, link: Link, method: str, params: JsonObject, asker: Asker) -> JsonObject:
        port = asker.port
        sending = Sending(
            timeout=self.upstream.settings.timeout,
            headers=asker.headers,
            cancel_reason=port.cancel_reason if port is not None else None,
            envelope=asker.envelope,
        )
        with self.inbox.calls.opened(port, params, self._spawn) as (call, params_here):
            try:
                with attribution.sending(call):
                    result = await link.request(method, params_here, sending)
            finally:
                await call.settled()
            if "task" in params and isinstance(result.get("task"), dict):
                self.inbox.goes_on(call)
            return result

    async def notify(self, method: str, params: JsonObject) -> None:
        """Send the upstream a notification, if it is connected."""
        if self._link is not None:
            await self._link.notify(method, params)

    async def _remind(self, link: Link) -> None:
        """After a new start, ask again for what clients wanted of the connection before."""
        for uri in self.inbox.wishes.subscriptions:
            await self._again(link, "resources/subscribe", {"uri": uri})
        for task in self.inbox.wishes.tasks:
            link.follow(task)
        await self._level_again(link)

    async def level_again(self) -> None:
        """Ask for the log level that suits everybody now; without a connection, the next one is asked."""
        if self._link is not None:
            with suppress(LinkLost):
                await self._level_again(self._link)

    async def _level_again(self, link: Link) -> None:
        level = self.inbox.wishes.level
        if level is not None and "logging" in (link.initialized.get("capabilities") or {}):
            await self._again(link, "logging/setLevel", {"level": level})

    async def _again(self, link: Link, method: str, params: JsonObject) -> None:
        try:
            await link.request(method, params, Sending(timeout=self.upstream.settings.init_timeout))
        except (RelayedError, UpstreamTimeout) as error:
            logger.warning("upstream %s did not take %s again: %s", self.upstream.id, method, error)

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._tasks is None:  # an upstream may speak before its handshake is done
            self._early.append(work)
        else:
            self._tasks.start_soon(work, name=f"notifications of {self.upstream.id}")

    def _take_early(self, tasks: TaskGroup) -> None:
        """Let `tasks` deliver what is heard from now on, and what was heard already."""
        self._tasks = tasks
        early, self._early = self._early, []
        for work in early:
            self._spawn(work)

    async def asked(
        self, method: str, params: Mapping[str, Any] | None, withdrawn: Withdrawn | None = None
    ) -> JsonObject:
        """Ask the client that the question is for; raises `WfMcpError` where nobody can be asked."""
        return await self.inbox.asked(method, params, self.notify, withdrawn)

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Take a notification of the upstream's."""
        self.inbox.heard(method, params)

    def _late(self, kind: Kind) -> None:
        self.inbox.late(kind)

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
