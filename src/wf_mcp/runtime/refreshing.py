"""Lists anew, behind everybody's back, what was only remembered when it was first asked for (design D5).

Upstreams over HTTP cost nothing while they wait, and tell of changes: they are connected after every start. A process
is started for that only when its lists are old, and put to sleep again where nobody came to need it.
"""

import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import anyio

from wf_mcp.core.config import StdioTransport
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.session import UpstreamSession

PATIENCE: Final = 120.0
"""Seconds for the lists of one upstream; one that takes longer goes on without anybody waiting for it."""


class Refreshing:
    """Refreshes sessions that were opened asleep, at most `at_once()` at the same time, in tasks of `spawn`'s.

    Half of the places for starts are left to those that somebody waits for. `every()` is the age in seconds from which
    on a process is started for new lists; `None` for never.
    """

    def __init__(
        self,
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
        every: Callable[[], float | None],
        starts: Callable[[], int],
    ) -> None:
        self._spawn = spawn
        self._every = every
        self._starts = starts
        self._under_way = 0
        self._one_less = anyio.Event()

    def opened(self, session: UpstreamSession) -> None:
        """A session was opened asleep: list anew if that is due."""
        if self.due(session):
            self._spawn(partial(self._refresh, session))

    def due(self, session: UpstreamSession) -> bool:
        """Whether the lists of a session are too old to be relied on."""
        if not isinstance(session.upstream.transport, StdioTransport):
            return True
        every, at = self._every(), session.catalogue.at
        return every is not None and at is not None and time.time() - at >= every

    async def _refresh(self, session: UpstreamSession) -> None:
        while self._under_way >= max(1, self._starts() // 2):
            await self._one_less.wait()
        self._under_way += 1
        try:
            await self._list_anew(session)
        finally:
            self._under_way -= 1
            self._one_less.set()
            self._one_less = anyio.Event()

    async def _list_anew(self, session: UpstreamSession) -> None:
        session.connection.wake()
        with anyio.move_on_after(PATIENCE):
            await session.connection.settled(time.monotonic() + PATIENCE)
            if session.state is not State.READY:
                return
            await session.catalogue.settled()
            await session.keep()
        process = isinstance(session.upstream.transport, StdioTransport)
        if process and not session.needed and not session.busy() and not session.catalogue.remembered:
            session.sleep()
