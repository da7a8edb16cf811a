"""How many upstreams start at once: a hundred that do all become slow, and some of them too slow (design D5)."""

import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

AT_ONCE: Final = 8
"""Starts under way at the same time, where nothing else is configured."""

SLOW: Final = 10.0
"""Seconds after which a start no longer counts: one that downloads its program first must not hold up the others."""


class Turn:
    """One start under way; `over` once the upstream has answered."""

    def __init__(self, over: Callable[["Turn"], None]) -> None:
        self.began = time.monotonic()
        self._over = over

    def over(self) -> None:
        """Let the next one start; may be said twice."""
        self._over(self)


class Starts:
    """Lets at most `limit` starts be under way, in the order in which they were asked for."""

    def __init__(self, limit: Callable[[], int] = lambda: AT_ONCE) -> None:
        self._limit = limit
        self._turns: dict[Turn, None] = {}
        self._queue: deque[object] = deque()
        self._changed = anyio.Event()

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._queue)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Wait for a turn; it is over at the end of the block at the latest."""
        await self._wait()
        turn = Turn(self._end)
        self._turns[turn] = None
        try:
            yield turn
        finally:
            turn.over()

    async def _wait(self) -> None:
        ticket = object()
        self._queue.append(ticket)
        try:
            while self._queue[0] is not ticket or len(self._young()) >= self._limit():
                with anyio.move_on_after(self._until_one_is_slow()):
                    await self._changed.wait()
        finally:
            self._queue.remove(ticket)
            self._announce()

    def _young(self) -> list[Turn]:
        now = time.monotonic()
        return [turn for turn in self._turns if now - turn.began < SLOW]

    def _until_one_is_slow(self) -> float | None:
        ages = [turn.began + SLOW - time.monotonic() for turn in self._young()]
        return max(0.001, min(ages)) if ages else None

    def _end(self, turn: Turn) -> None:
        if self._turns.pop(turn, turn) is not turn:
            self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
