"""Says in the log which calls have been under way for long; by default no call has a limit (design D5)."""

import logging
import time
from typing import Final

from wf_mcp.runtime.clock import Clock
from wf_mcp.runtime.mounts import Mounts

logger = logging.getLogger(__name__)

EVERY: Final = 30.0
"""Seconds between two lines about one call, the first after as long."""


class Ages:
    """Looks at the calls of all sessions from time to time."""

    def __init__(self, mounts: Mounts, clock: Clock) -> None:
        self._mounts = mounts
        self._clock = clock

    async def run(self) -> None:
        """Log old calls until cancelled."""
        while True:
            await self._clock.sleep(EVERY)
            self.look()

    def look(self) -> None:
        """One line for each call that is `EVERY` seconds old or older."""
        now = time.monotonic()
        for mount in self._mounts:
            for session in mount.sessions.values():
                for call in session.inbox.calls:
                    if now - call.began >= EVERY:
                        logger.warning(
                            "upstream %s: %s has been under way for %.0f s", mount.id, call.what, now - call.began
                        )
