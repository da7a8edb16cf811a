"""One upstream's connection, one at a time: asleep until somebody wants it, opened, watched, opened again.

The connection's task owns it. Callers wait for it and are told when it went away; nothing here knows what is sent.
"""

import logging
import random
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.backoff import FIRST, backoff
from wf_mcp.core.config import Upstream
from wf_mcp.core.errors import RelayedError, UpstreamUnavailable, WfMcpError
from wf_mcp.core.events import Event, UpstreamAsleep, UpstreamFailed, UpstreamGone, UpstreamReady, UpstreamStarting
from wf_mcp.core.failures import TERMINAL, Failure, failure_of
from wf_mcp.runtime.keepalive import ended
from wf_mcp.runtime.ports import Connector, Hello, Inbox, Link
from wf_mcp.runtime.starts import Starts

logger = logging.getLogger(__name__)

STABLE = 10.0
"""Seconds after which a connection counts as having worked: its loss is then followed by an immediate new start."""


class State(StrEnum):
    """Where a connection is in its life; `gone` is a loss that a new start follows soon, `failed` one that it follows
    after a pause, or a start that did not work, `asleep` one that is opened as soon as somebody needs it.
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
        self.failure: Failure | None = None
        self.failed_at = 0.0
        self.failures = 0
        self.next_start: float | None = None
        self._strikes = 0
        self._struck: Failure | None = None
        self._connector = connector
        self._publish = publish
        self._starts = starts
        self._link: Link | None = None
        self._open: anyio.CancelScope | None = None
        self._slept = False
        self._changed = anyio.Event()
        self._wanted = anyio.Event()
        self._hurry = anyio.Event()

    @property
    def current(self) -> Link | None:
        """The open connection."""
        return self._link

    def wake(self) -> None:
        """Open the connection, if it is asleep; does not wait for it."""
        if self.state is State.ASLEEP:
            self._move(State.STARTING, None)
            self._wanted.set()

    def retry(self) -> None:
        """Start now, where only a pause is waited for: somebody may have mended what was wrong."""
        if self.next_start is not None:
            self._move(State.STARTING, None)
            self._hurry.set()

    def sleep(self) -> None:
        """Close a connection that nobody uses; it is opened again by whoever needs it.

        Whoever asks for it from this moment on waits for another one.
        """
        if self.state is State.READY and self._open is not None:
            self._slept, self._wanted = True, anyio.Event()
            self._link = None
            self._move(State.ASLEEP, None)
            self._open.cancel()

    def worked(self) -> None:
        """A call got its answer: the connection is what it believes to be."""
        self._strikes = 0

    def strike(self, link: Link, last: Failure) -> None:
        """A call failed for the connection's own reasons; after `TERMINAL` in a row it is closed and opened anew, and
        whatever is still waiting for an answer on it fails.
        """
        if link is not self._link:
            return
        self._strikes += 1
        if self._strikes >= TERMINAL:
            why = f"{TERMINAL} calls in a row failed, the last one like this: {last.reason}"
            self._give_up(Failure(last.kind, why))

    def bar(self, link: Link, failure: Failure) -> None:
        """The upstream no longer lets us in: the connection is closed, and opened again when `failure` says."""
        if link is self._link:
            self._give_up(failure)

    def _give_up(self, failure: Failure) -> None:
        if self._open is not None:
            self._struck = failure
            self._link = None
            self._move(State.GONE, failure.reason)
            self._open.cancel()

    async def run(self, tenant: Tenant, inbox: Inbox) -> None:
        """Keep the connection open until cancelled, starting it again after a loss.

        After failures it pauses as `core/failures.py` says. Calls fail at once meanwhile; the start that follows is the
        one trial, which those that come then wait for.
        """
        try:
            while True:
                if self.state is State.ASLEEP:
                    await self._wanted.wait()
                self._slept = False
                began = time.monotonic()
                worked = await self._once(tenant, inbox)
                if self._slept:
                    self.failures = 0
                    continue
                self.failures = 0 if worked and time.monotonic() - began >= STABLE else self.failures + 1
                await self._pause(self.failures - 1 if worked else self.failures)
        finally:
            self._move(State.STOPPED, "stopped")

    async def _pause(self, failures: int) -> None:
        growing = backoff(failures, random.random())
        seconds = self.failure.pause(growing) if self.failure is not None else growing
        self.next_start = time.monotonic() + seconds
        if seconds > FIRST and self.state is State.GONE:  # it keeps being lost: nobody waits that long for it
            self._move(State.FAILED, self.reason)
        self._hurry = anyio.Event()
        with anyio.move_on_after(seconds):
            await self._hurry.wait()
        self.next_start = None

    async def _once(self, tenant: Tenant, inbox: Inbox) -> bool:
        """One connection from start to loss; true if it ever was ready."""
        self._move(State.STARTING, None)
        worked = False
        self._struck, self._strikes = None, 0
        failure = Failure("unknown", "")
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
                    failure = await ended(link, self.upstream.settings.ping)
                    tasks.cancel_scope.cancel()
            failure = self._struck or failure
        except Exception as error:  # upstream seam: one upstream's failure is its own
            failure = failure_of(error, innermost(error))
            logger.debug("upstream %s", self.upstream.id, exc_info=True)
        self._link = self._open = None
        tenant.moved_out()
        if self._slept:
            self._publish(UpstreamAsleep(self.upstream.id))
            return worked
        self.failure, self.failed_at = failure, time.time()
        self._move(State.GONE if worked else State.FAILED, failure.reason)
        self._publish((UpstreamGone if worked else UpstreamFailed)(self.upstream.id, failure.reason))
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
                raise UpstreamUnavailable(f"Upstream {self.upstream.id!r} is unavailable: {self.reason}{self._when()}")
            await self._changed.wait()
        return self._link

    def _when(self) -> str:
        """When the next start is due, for whoever has to wait for it."""
        if self.next_start is None:
            return ""
        return f" (it is tried again in {max(1, round(self.next_start - time.monotonic()))} s)"


def innermost(error: BaseException) -> str:
    """What went wrong, in one line, without the task groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, RelayedError):
        return f"it answered with error {error.code}: {error.message}"
    text = str(error) or type(error).__name__
    return text if isinstance(error, WfMcpError) else f"{type(error).__name__}: {text}"
