"""A clock that tests move."""

import anyio


class VirtualClock:
    """Stands still until it is moved; also the `Clock` of what is tested."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self._now = now
        self._moved = anyio.Event()

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        until = self._now + seconds
        while self._now < until:
            await self._moved.wait()

    async def advance(self, seconds: float) -> None:
        """Let that much time pass; returns when everybody who woke is done or waits again."""
        await anyio.wait_all_tasks_blocked()
        self._now += seconds
        self._moved.set()
        self._moved = anyio.Event()
        await anyio.wait_all_tasks_blocked()
