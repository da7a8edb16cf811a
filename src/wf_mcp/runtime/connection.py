"""One upstream's connection, one at a time: asleep until somebody wants it, opened, watched, opened again.

The connection's task owns it. Callers wait for it and are told when it went away; nothing here knows what is sent.
"""

import logging
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.backoff import backoff
from wf_mcp.core.config import Upstream
from wf_mcp.core.errors import RelayedError, UpstreamUnavailable, WfMcpError
from wf_mcp.core.events import Event, UpstreamAsleep, UpstreamFailed, UpstreamGone, UpstreamReady, UpstreamStarting
from wf_mcp.runtime.keepalive import ended
from wf_mcp.runtime.ports import Connector, Hello, Inbox, Link
from wf_mcp.runtime.starts import Starts

logger = logging.getLogger(__name__)

STABLE = 10.0
"""Seconds after which a connection counts as having worked: its loss is then followed by an immediate new start."""


class State(StrEnum):
    """Where a connection is in its life; `gone` is a loss that a new start follows, `failed` a start that did not work,
    `asleep` one that is opened as soon as somebody needs it.
    """

    ASLEEP = "asleep"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    GONE = "gone"
    STOPPED = "stopped"


class Tenant(Protocol):
    """What lives on a connection."""

    async def moved_in(self, link: Link, tasks: TaskGroup) -> None:
        """A connection was opened; nobody else has it yet. What runs in `tasks` ends with it."""
        ...

    def settled_in(self, link: Link, tasks: TaskGroup) -> None:
        """The connection is ready, and callers use it."""
        ...

    def moved_out(self) -> None:
        """The connection is gone."""
        ...


class Connection:
    """The connection of one session with `upstream`; with `asleep`, it waits for `wake` before it is first opened."""

    def __init__(
        self,
        upstream: Upstream,
        hello: Hello,
        connector: Connector,
        publish: Callable[[Event], None],
        starts: Starts,
        *,
        asleep: bool = False,
    ) -> None:
        self.upstream = upstream
        self.hello = hello
        self.state = State.ASLEEP if asleep else State.STARTING
        self.reason: str | None = None
        self.started = time.monotonic()
        self.last_link: Link | None = None
        self._connector = connector
        self._publish = publish
        self._starts = starts
        self._link: Link | None = None
        self._open: anyio.CancelScope | None = None
        self._slept = False
        self._changed = anyio.Event()
        self._wanted = anyio.Event()

    @property
    def current(self) -> Link | None:
        """The open connection."""
        return self._link

    def wake(self) -> None:
        """Open the connection, if it is asleep; does not wait for it."""
        if self.state is State.ASLEEP:
            self._move(State.STARTING, None)
            self._wanted.set()

    def sleep(self) -> None:
        """Close a connection that nobody uses; it is opened again by whoever needs it.

        Whoever asks for it from this moment on waits for another one.
        """
        if self.state is State.READY and self._open is not None:
            self._slept, self._wanted = True, anyio.Event()
            self._link = None
            self._move(State.ASLEEP, None)
            self._open.cancel()

    async def run(self, tenant: Tenant, inbox: Inbox) -> None:
        """Keep the connection open until cancelled, starting it again after a loss, with growing pauses after
        failures.
        """
        failures = 0
        try:
            while True:
                if self.state is State.ASLEEP:
                    await self._wanted.wait()
                self._slept = False
                began = time.monotonic()
                worked = await self._once(tenant, inbox)
                if self._slept:
                    failures = 0
                    continue
                failures = 0 if worked and time.monotonic() - began >= STABLE else failures + 1
                await anyio.sleep(backoff(failures - 1 if worked else failures))
        finally:
            self._move(State.STOPPED, "stopped")

    async def _once(self, tenant: Tenant, inbox: Inbox) -> bool:
        """One connection from start to loss; true if it ever was ready."""
        self._move(State.STARTING, None)
        worked = False
        reason = ""
        try:
            async with self._starts.turn() as turn:
                self._publish(UpstreamStarting(self.upstream.id))
                async with (
                    self._connector.open(self.upstream, self.hello, inbox) as link,
                    anyio.create_task_group() as tasks,
                ):
                    await tenant.moved_in(link, tasks)
                    turn.over()
                    worked = True
                    self._ready(link, tasks)
                    tenant.settled_in(link, tasks)
                    reason = await ended(link, self.upstream.settings.ping)
                    tasks.cancel_scope.cancel()
        except Exception as error:  # upstream seam: one upstream's failure is its own
            reason = innermost(error)
            logger.debug("upstream %s", self.upstream.id, exc_info=True)
        self._link = self._open = None
        tenant.moved_out()
        if self._slept:
            self._publish(UpstreamAsleep(self.upstream.id))
            return worked
        self._move(State.GONE if worked else State.FAILED, reason)
        self._publish((UpstreamGone if worked else UpstreamFailed)(self.upstream.id, reason))
        return worked

    def _ready(self, link: Link, tasks: TaskGroup) -> None:
        self._link = self.last_link = link
        self._open = tasks.cancel_scope
        self.started = time.monotonic()
        self._move(State.READY, None)
        server = link.initialized.get("serverInfo") or {}
        self._publish(UpstreamReady(self.upstream.id, str(server.get("name", "")), str(server.get("version", ""))))

    def _move(self, state: State, reason: str | None) -> None:
        self.state, self.reason = state, reason
        self._changed.set()
        self._changed = anyio.Event()

    async def settled(self, deadline: float) -> bool:
        """Wait until the connection is ready, asleep or has failed, at most until `deadline` by `time.monotonic()`;
        true if it has.
        """
        with anyio.move_on_after(max(0.0, deadline - time.monotonic())):
            while self.state in (State.STARTING, State.GONE):
                await self._changed.wait()
        return self.state not in (State.STARTING, State.GONE)

    async def link(self, *, instead_of: Link | None = None) -> Link:
        """The open connection, after waiting for a start that is under way, or beginning one; another one than
        `instead_of`.

        Raises `UpstreamUnavailable`, with the reason, where there is none to wait for.
        """
        while self._link is None or self._link is instead_of:
            self.wake()
            if self.state in (State.FAILED, State.STOPPED):
                raise UpstreamUnavailable(f"Upstream {self.upstream.id!r} is unavailable: {self.reason}")
            await self._changed.wait()
        return self._link


def innermost(error: BaseException) -> str:
    """What went wrong, in one line, without the task groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, RelayedError):
        return f"it answered with error {error.code}: {error.message}"
    text = str(error) or type(error).__name__
    return text if isinstance(error, WfMcpError) else f"{type(error).__name__}: {text}"
