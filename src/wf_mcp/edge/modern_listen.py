"""The one `subscriptions/listen` of a modern link: what it asks for, how it changes, and how it comes back (2026-07-28
basic/patterns/subscriptions, matrix A.4, B.5).
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.backoff import backoff
from wf_mcp.core.envelope import SUBSCRIPTION_ID_META_KEY
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

logger = logging.getLogger(__name__)

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
UPDATED: Final = "notifications/resources/updated"
URIS: Final = "resourceSubscriptions"

STABLE = 10.0
"""Seconds after which a stream counts as having worked: its loss is then followed by an immediate new one."""

FIRST = 5.0
"""Seconds that opening a link waits for the first stream; what it misses later is announced with it."""

LIST_TYPES: Final[Mapping[str, tuple[str, str]]] = {
    "tools": ("toolsListChanged", "notifications/tools/list_changed"),
    "prompts": ("promptsListChanged", "notifications/prompts/list_changed"),
    "resources": ("resourcesListChanged", "notifications/resources/list_changed"),
}
"""Capability with `listChanged` → the filter's field and the notification that it asks for."""

Send = Callable[[int, JsonObject], Awaitable[JsonObject]]
"""Sends the listen request under an id with its filter; returns when the stream ends."""

Heard = Callable[[str, JsonObject], None]


@dataclass(eq=False)
class _Stream:
    """One listen request, from its sending to its end; `settled` once it is acknowledged or has ended."""

    id: int
    filter: JsonObject
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    settled: anyio.Event = field(default_factory=anyio.Event)
    honoured: JsonObject | None = None
    error: WfMcpError | None = None
    alive: bool = True
    since: float = field(default_factory=time.monotonic)

    def honours(self, uri: str) -> bool:
        """Whether the acknowledgement names `uri`."""
        uris = (self.honoured or {}).get(URIS)
        return isinstance(uris, list) and uri in uris

    @property
    def working(self) -> bool:
        """Whether it was acknowledged and is still open."""
        return self.alive and self.honoured is not None


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
        self._types = tuple(kind for kind in LIST_TYPES if _flag(capabilities, kind, "listChanged"))
        self._subscribes = _flag(capabilities, "resources", "subscribe")
        self._send = send
        self._next_id = next_id
        self._heard = heard
        self._limit = limit
        self._uris: dict[str, None] = {}
        self._tasks: dict[str, None] = {}
        self._streams: dict[str, _Stream] = {}
        self._current: _Stream | None = None
        self._latest: _Stream | None = None
        self._over: WfMcpError | None = None
        self._missed = False
        self._failures = 0
        self._news = anyio.Event()

    # -- what is wanted --------------------------------------------------------------------------

    async def subscribe(self, uri: str, timeout: float | None = None) -> None:
        """Hear of changes of `uri`; returns once the upstream has agreed to tell.

        Raises `RelayedError` where it does not, `LinkLost` when the connection went away.
        """
        if not self._subscribes:
            raise RelayedError(METHOD_NOT_FOUND, "Method not found: this server has no resource subscriptions")
        if uri in self._uris:
            return await self._agreed(uri, timeout)
        self._uris[uri] = None
        self._pulse()
        try:
            await self._agreed(uri, timeout)
        except BaseException:
            self.unsubscribe(uri)
            raise

    def unsubscribe(self, uri: str) -> None:
        """Hear of changes of `uri` no longer."""
        if self._uris.pop(uri, self) is None:
            self._pulse()

    def follow(self, task_id: str) -> None:
        """Hear of a task's `notifications/tasks` (ext-tasks); its request has to declare the extension."""
        self._tasks[task_id] = None
        self._pulse()

    def unfollow(self, task_id: str) -> None:
        """Hear of a task no longer."""
        if self._tasks.pop(task_id, self) is None:
            self._pulse()

    async def first(self) -> None:
        """Wait until the first stream is acknowledged or refused, but not for long.

        What changes before a later acknowledgement is announced with it, since nobody was listening.
        """
        with anyio.move_on_after(FIRST):
            while self._filter() and self._current is None and self._over is None and not self._failures:
                await self._news.wait()
        self._missed = bool(self._filter()) and self._current is None

    def _filter(self) -> JsonObject:
        wanted: JsonObject = {LIST_TYPES[kind][0]: True for kind in self._types}
        if self._uris:
            wanted[URIS] = list(self._uris)
        if self._tasks:
            wanted["taskIds"] = list(self._tasks)
        return wanted

    async def _agreed(self, uri: str, timeout: float | None) -> None:
        with anyio.move_on_after(timeout):
            while True:
                if self._over is not None:
                    raise self._over
                stream = self._latest
                if stream is None or uri not in stream.filter.get(URIS, ()):
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
        wanted, current = self._filter(), self._current
        if current is not None and not current.working:
            self._lost(current)
        elif (current.filter if current is not None else {}) == wanted:
            await self._news.wait()
        elif not wanted:
            self._replace(None)
        else:
            await anyio.sleep(backoff(self._failures - 1))
            await self._open(tasks)

    def _lost(self, stream: _Stream) -> None:
        logger.debug("upstream %s: the listen stream was lost: %s", self._upstream_id, stream.error)
        self._current, self._missed = None, True
        self._failures = 0 if time.monotonic() - stream.since >= STABLE else self._failures + 1
        if isinstance(stream.error, LinkLost):
            self._over = stream.error

    async def _open(self, tasks: TaskGroup) -> None:
        stream = self._latest = _Stream(self._next_id(), self._filter())
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

    def _failed(self, stream: _Stream) -> None:
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

    def _replace(self, stream: _Stream | None) -> None:
        """Let `stream`, which was acknowledged, take the place of the present one."""
        old, self._current = self._current, stream
        if old is not None:
            old.scope.cancel()
        if stream is not None and self._missed:
            self._missed = False
            self._assume_changed(stream)
        self._pulse()

    def _assume_changed(self, stream: _Stream) -> None:
        """Nobody listened for a while: everything may have changed (matrix E.3)."""
        honoured = stream.honoured or {}
        for asked, method in LIST_TYPES.values():
            if honoured.get(asked):
                self._heard(method, {})
        for uri in self._uris:
            if stream.honours(uri):
                self._heard(UPDATED, {"uri": uri})

    async def _hold(self, stream: _Stream) -> None:
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
        else:
            self._heard(method, params)

    def torn_down(self, request_id: object) -> None:
        """The upstream cancelled one of its streams (basic/patterns/cancellation)."""
        stream = self._streams.get(str(request_id))
        if stream is not None:
            stream.scope.cancel()

    def _pulse(self) -> None:
        self._news.set()
        self._news = anyio.Event()


def subscription_of(params: Mapping[str, Any] | None) -> tuple[object, JsonObject]:
    """The subscription id of a notification, and the notification's params without it."""
    body = dict(params or {})
    meta = body.get("_meta")
    if not isinstance(meta, dict) or SUBSCRIPTION_ID_META_KEY not in meta:
        return None, body
    rest = {key: value for key, value in meta.items() if key != SUBSCRIPTION_ID_META_KEY}
    del body["_meta"]
    return meta[SUBSCRIPTION_ID_META_KEY], {**body, "_meta": rest} if rest else body


def _flag(capabilities: JsonObject, kind: str, name: str) -> bool:
    declared = capabilities.get(kind)
    return isinstance(declared, dict) and declared.get(name) is True
