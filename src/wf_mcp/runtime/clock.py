"""Time, as what waits for people sees it; tests bring a clock of their own."""

import time
from typing import Protocol

import anyio


class Clock(Protocol):
    """Says what time it is, and lets time pass."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that time."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Return after that time."""
        await anyio.sleep(seconds)
