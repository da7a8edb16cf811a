"""All open `subscriptions/listen` streams: what happens here, and what upstreams say, for each that asked for it
(design D9, matrix B.5).

List changes come from the bus, since wf-mcp originates them too: an upstream came, went or was configured anew.
"""

import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.events import Event, PromptsChanged, ResourcesChanged, ToolsChanged, UpstreamReady
from wf_mcp.core.listen import SubscriptionFilter
from wf_mcp.core.notify import notifications_for
from wf_mcp.runtime.listener import BACKLOG, Listener
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.resolve import Resolver
from wf_mcp.runtime.session import UpstreamSession
from wf_mcp.runtime.task_owners import TaskOwners
from wf_mcp.runtime.watching import Watching

logger = logging.getLogger(__name__)

STREAMS = 1000
"""Streams that may be open at once."""

PATIENCE = 10.0
"""Seconds in which upstreams are to take a subscription; the resources of slower ones are not acknowledged."""


class Listeners:
    """Opens streams, and is the bus's sink for them; `dropped` counts those that ended because they fell behind."""

    name = "listeners"

    def __init__(
        self,
        mounts: Mounts,
        resolver: Resolver,
        *,
        owners: TaskOwners | None = None,
        patience: float = PATIENCE,
        backlog: int = BACKLOG,
        streams: int = STREAMS,
    ) -> None:
        self._mounts = mounts
        self._watching = Watching(mounts, resolver, owners or TaskOwners())
        self._patience, self._backlog, self._streams = patience, backlog, streams
        self._numbers = itertools.count(1)
        self._open: dict[str, Listener] = {}
        self._none_left = anyio.Event()
        self._stopping = False
        self.dropped = 0
        mounts.on_open.append(self._opened)

    def __len__(self) -> int:
        return len(self._open)

    @asynccontextmanager
    async def open(self, caller: Caller, asked: SubscriptionFilter) -> AsyncIterator[Listener]:
        """A stream for the time of the block; `honoured` then has what upstreams agreed to.

        Raises `WfMcpError` where too many streams are open.
        """
        if len(self._open) >= self._streams:
            raise WfMcpError(f"{self._streams} streams are open already; close one before you listen again")
        listener = Listener(f"listener {next(self._numbers)}", caller, asked, self._backlog)
        # Registered first, so that what happens before the acknowledgement is not lost.
        self._open[listener.client] = listener
        if self._stopping:
            listener.ended.set()
        try:
            self._mounts.attend(caller, wake=False)
            followed = [task for task in asked.tasks if self._watching.follow(listener, task)]
            listener.honoured = asked.honouring(await self._watched(listener), followed)
            yield listener
        finally:
            del self._open[listener.client]
            self.dropped += listener.failure is not None
            self._watching.release(listener)
            if not self._open:
                self._none_left.set()

    async def _watched(self, listener: Listener) -> set[str]:
        """The resources that are heard of from now on; all upstreams are asked at once."""
        heard: set[str] = set()

        async def watch(uri: str) -> None:
            try:
                await self._watching.watch(listener, uri)
            except WfMcpError as error:
                logger.info("%s is not acknowledged: %s", uri, error)
            else:
                heard.add(uri)

        with anyio.move_on_after(self._patience):
            async with anyio.create_task_group() as tasks:
                for uri in listener.honoured.uris:
                    tasks.start_soon(watch, uri, name=f"subscription to {uri}")
        return heard

    def offer(self, event: Event) -> None:
        """Queue what `event` means for every stream that it concerns."""
        if isinstance(event, UpstreamReady):
            for listener in self._open.values():
                listener.again(event.mount)
        session = event.session if isinstance(event, ToolsChanged | PromptsChanged | ResourcesChanged) else ""
        for method, params in notifications_for(event):
            for listener in self._open.values():
                if listener.hears_list(method, session):
                    listener.offer(method, params or {})

    def _opened(self, mount: Mount, key: str, session: UpstreamSession) -> None:
        for listener in self._open.values():
            if mount.id in listener.sessions and mount.key(listener.caller.audience) == key:
                self._watching.moved(listener, mount, session)

    async def stop(self, seconds: float) -> None:
        """End every stream in good order, those that are opened from now on too; wait for it, but no longer than
        that.
        """
        self._stopping = True
        for listener in self._open.values():
            listener.ended.set()
        with anyio.move_on_after(seconds):
            while self._open:
                self._none_left = anyio.Event()
                await self._none_left.wait()
