"""The one `subscriptions/listen` of a modern link: what it asks for, how it changes, and how it comes back (2026-07-28
basic/patterns/subscriptions, matrix A.4, B.5).
"""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.backoff import backoff
from wf_mcp.core.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    LinkLost,
    RelayedError,
    UpstreamTimeout,
    WfMcpError,
)
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.listen_filter import LIST_TYPES, URIS, Wanted
from wf_mcp.edge.listen_stream import ListenStream

logger = logging.getLogger(__name__)

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
UPDATED: Final = "notifications/resources/updated"

STABLE = 10.0
"""Seconds after which a stream counts as having worked: its loss is then followed by an immediate new one."""

FIRST = 5.0
"""Seconds that opening a link waits for the first stream; what it misses later is announced with it."""

Send = Callable[[int, JsonObject], Awaitable[JsonObject]]
"""Sends the listen request under an id with its filter; returns when the stream ends."""

Heard = Callable[[str, JsonObject], None]


class Listening:
    """Keeps one stream open with the filter that is wanted; a new one is acknowledged before the old one is closed."""

    def __init__(
        self,
        upstream_id: str,
        capabilities: JsonObject,
        send: Send,
        next_id: Callable[[], int],
        heard: Heard,
        limit: float,
    ) -> None:
        self._upstream_id = upstream_id
        self._wanted = Wanted(capabilities)
        self._send = send
        self._next_id = next_id
        self._heard = heard
        self._limit = limit
        self._streams: dict[str, ListenStream] = {}
        self._current: ListenStream | None = None
        self._latest: ListenStream | None = None
        self._over: WfMcpError | None = None
        self._missed = False
        self._failures = 0
        self._news = anyio.Event()

    # -- what is wanted --------------------------------------------------------------------------

    async def subscribe(self, uri: str, timeout: float | None = None) -> None:
        """Hear of changes of `uri`; returns once the upstream has agreed to tell.

        Raises `RelayedError` where it does not, `LinkLost` when the connection went away.
        """
        if not self._wanted.subscribes:
            raise RelayedError(METHOD_NOT_FOUND, "Method not found: this server has no resource subscriptions")
        if uri in self._wanted.uris:
            return await self._agreed(uri, timeout)
        before = self._latest  # one that failed says nothing about a new wish
        failed = before if before is not None and before.settled.is_set() and not before.working else None
        self._wanted.uris[uri] = None
        self._pulse()
        try:
            await self._agreed(uri, timeout, failed)
        except BaseException:
            self.unsubscribe(uri)
            raise

    def unsubscribe(self, uri: str) -> None:
        """Hear of changes of `uri` no longer."""
        if self._wanted.uris.pop(uri, self) is None:
            self._pulse()

    def follow(self, task_id: str) -> None:
        """Hear of a task's `notifications/tasks` (ext-tasks); its request has to declare the extension."""
        self._wanted.tasks[task_id] = None
        self._pulse()

    def unfollow(self, task_id: str) -> None:
        """Hear of a task no longer."""
        if self._wanted.tasks.pop(task_id, self) is None:
            self._pulse()

    async def first(self) -> None:
        """Wait until the first stream is acknowledged or refused, but not for long.

        What changes before a later acknowledgement is announced with it, since nobody was listening.
        """
        with anyio.move_on_after(FIRST):
            while self._wanted.filter() and self._current is None and self._over is None and not self._failures:
                await self._news.wait()
        self._missed = bool(self._wanted.filter()) and self._current is None

    async def _agreed(self, uri: str, timeout: float | None, failed: ListenStream | None = None) -> None:
        with anyio.move_on_after(timeout):
            while True:
                if self._over is not None:
                    raise self._over
                stream = self._latest
                if stream is None or stream is failed or uri not in stream.filter.get(URIS, ()):
                    await self._news.wait()
                    continue
                await stream.settled.wait()
                if stream.honoured is None and stream.error is not None:
                    raise stream.error
                if not stream.honours(uri):
                    raise RelayedError(
                        INVALID_PARAMS, "The server does not offer subscriptions to this resource", {"uri": uri}
                    )
                return
        raise UpstreamTimeout(
            f"Upstream {self._upstream_id!r} did not acknowledge subscriptions/listen within {timeout:g} s"
        )

    # -- the streams -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep a stream open until the connection is gone or the upstream turns out not to know the method."""
        try:
            async with anyio.create_task_group() as tasks:
                while self._over is None:
                    await self._step(tasks)
                tasks.cancel_scope.cancel()
        finally:
            self._over = self._over or LinkLost("the connection is being closed", started=False)
            self._pulse()

    async def _step(self, tasks: TaskGroup) -> None:
        """One change of the streams, or waiting for a reason to make one."""
        wanted, current = self._wanted.filter(), self._current
        if current is not None and not current.working:
            self._lost(current)
        elif (current.filter if current is not None else {}) == wanted:
            await self._news.wait()
        elif not wanted:
            self._replace(None)
        else:
            await anyio.sleep(backoff(self._failures - 1))
            await self._open(tasks)

    def _lost(self, stream: ListenStream) -> None:
        logger.debug("upstream %s: the listen stream was lost: %s", self._upstream_id, stream.error)
        self._current, self._missed = None, True
        self._failures = 0 if time.monotonic() - stream.since >= STABLE else self._failures + 1
        if isinstance(stream.error, LinkLost):
            self._over = stream.error

    async def _open(self, tasks: TaskGroup) -> None:
        stream = self._latest = ListenStream(self._next_id(), self._wanted.filter())
        self._streams[str(stream.id)] = stream
        tasks.start_soon(self._hold, stream, name=f"listen {stream.id} to {self._upstream_id}")
        self._pulse()
        with anyio.move_on_after(self._limit):
            await stream.settled.wait()
        if stream.working:
            if self._current is not None and self._current.working:
                self._failures = 0
            self._replace(stream)
        elif stream.honoured is None:
            self._failed(stream)
        else:  # acknowledged, and lost at once
            self._current = stream

    def _failed(self, stream: ListenStream) -> None:
        if stream.error is None:
            stream.error = UpstreamTimeout(
                f"Upstream {self._upstream_id!r} did not acknowledge subscriptions/listen within {self._limit:g} s"
            )
        error = stream.error
        if isinstance(error, LinkLost) or error.code == METHOD_NOT_FOUND:
            self._over = error
        if not self._failures:
            logger.warning("upstream %s tells no changes: %s", self._upstream_id, error)
        self._failures += 1
        stream.settled.set()
        stream.scope.cancel()
        self._pulse()

    def _replace(self, stream: ListenStream | None) -> None:
        """Let `stream`, which was acknowledged, take the place of the present one."""
        old, self._current = self._current, stream
        if old is not None:
            old.scope.cancel()
        if stream is not None and self._missed:
            self._missed = False
            self._assume_changed(stream)
        self._pulse()

    def _assume_changed(self, stream: ListenStream) -> None:
        """Nobody listened for a while: everything may have changed (matrix E.3)."""
        honoured = stream.honoured or {}
        for asked, method in LIST_TYPES.values():
            if honoured.get(asked):
                self._heard(method, {})
        for uri in self._wanted.uris:
            if stream.honours(uri):
                self._heard(UPDATED, {"uri": uri})

    async def _hold(self, stream: ListenStream) -> None:
        """Send the request and wait for the end of its stream."""
        try:
            with stream.scope:
                await self._send(stream.id, {"notifications": stream.filter})
            stream.error = stream.error or RelayedError(INTERNAL_ERROR, "The server ended the subscription")
        except WfMcpError as error:
            stream.error = error
        finally:
            stream.alive = False
            del self._streams[str(stream.id)]
            stream.settled.set()
            self._pulse()

    # -- what arrives ----------------------------------------------------------------------------

    def take(self, subscription: object, method: str, params: JsonObject) -> None:
        """A notification of one of the streams, without its subscription id."""
        stream = self._streams.get(str(subscription))
        if stream is None:
            logger.debug("upstream %s: %s on a listen stream that is closed", self._upstream_id, method)
        elif method == ACKNOWLEDGED:
            honoured = params.get("notifications")
            stream.honoured = honoured if isinstance(honoured, dict) else {}
            stream.settled.set()
        elif method != UPDATED or stream.filter == self._wanted.filter() or self._wanted.names(params.get("uri")):
            # A stream with an older filter is still open for a moment, and may tell of what nobody wants any more.
            self._heard(method, params)

    def torn_down(self, request_id: object) -> None:
        """The upstream cancelled one of its streams (basic/patterns/cancellation)."""
        stream = self._streams.get(str(request_id))
        if stream is not None:
            stream.scope.cancel()

    def _pulse(self) -> None:
        self._news.set()
        self._news = anyio.Event()
