"""Closes what nobody uses: sessions of clients that are gone, and, where a server is set so, its idle connections.

An open call, subscription, parked call or task is use; a connected client keeps its sessions however long it is silent,
since a server may keep state for it, unless `idle` is set.
"""

import time
from typing import Final

from wf_mcp.core.config_values import UpstreamSettings
from wf_mcp.runtime.clock import Clock
from wf_mcp.runtime.mounts import Mounts

UNATTENDED: Final = 900.0
"""Seconds after which a session that no connected client has is closed, where nothing else is set."""

PERIODS: Final = (1.0, 30.0)
"""Seconds between two looks: a quarter of the shortest time that is set, within these bounds."""


class Idling:
    """Looks at all sessions from time to time."""

    def __init__(self, mounts: Mounts, clock: Clock) -> None:
        self._mounts = mounts
        self._clock = clock

    async def run(self) -> None:
        """Close idle sessions until cancelled."""
        while True:
            shortest = min((limit(mount.upstream.settings) for mount in self._mounts), default=UNATTENDED)
            await self._clock.sleep(min(max(shortest / 4, PERIODS[0]), PERIODS[1]))
            self.look()

    def look(self) -> None:
        """End what nobody wants, and put to sleep what is wanted and has been idle for as long as is set."""
        pool, now = self._mounts.pool, time.monotonic()
        ended = False
        for mount, key, session in pool.idle():
            if now - session.requests.used >= limit(mount.upstream.settings):
                pool.end(mount, key)
                ended = True
        for mount in self._mounts:
            patience = mount.upstream.settings.idle
            if patience is None:
                continue
            for session in mount.sessions.values():
                if not session.busy() and now - session.requests.used >= patience:
                    session.sleep()
        if ended:
            self._mounts.forget_unserved()


def limit(settings: UpstreamSettings) -> float:
    """Seconds without use after which a session that no connected client has is closed."""
    return UNATTENDED if settings.idle is None else settings.idle
