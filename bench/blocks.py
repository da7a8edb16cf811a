"""Paired measuring: the sides take turns in short blocks, so that whatever else the machine does meets all of them."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bench.client import Client
from bench.messages import check_echo


@dataclass(frozen=True, slots=True)
class Block:
    """One side's turn: the seconds of each call, and of the whole."""

    calls: list[float]
    wall: float

    @property
    def p50(self) -> float:
        """The median call."""
        return statistics.median(self.calls)

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.calls) / self.wall


@dataclass(slots=True)
class Side:
    """One of those that are compared: a client, and the name that the tool has there."""

    name: str
    client: Client
    tool: str = "echo"
    share: float = 1.0
    blocks: list[Block] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Over all its calls, in seconds."""
        calls = sorted(call for block in self.blocks for call in block.calls)
        return calls[min(len(calls) - 1, int(share * len(calls)))]

    @property
    def count(self) -> int:
        """Calls made."""
        return sum(len(block.calls) for block in self.blocks)

    @property
    def rate(self) -> float:
        """Calls per second in the median block."""
        return statistics.median(block.rate for block in self.blocks)

    def slower(self, base: "Side") -> float:
        """How many times as long as at `base` the median call takes: the median over the pairs of blocks."""
        return statistics.median(ours.p50 / its.p50 for ours, its in zip(self.blocks, base.blocks, strict=True))

    def kept(self, base: "Side") -> float:
        """The share of `base`'s calls per second, the median over the pairs of blocks."""
        return statistics.median(ours.rate / its.rate for ours, its in zip(self.blocks, base.blocks, strict=True))


async def calling(side: Side, message: str, concurrency: int, calls: int) -> Block:
    """`calls` echoes of `message`, so many at a time."""
    left = calls
    seconds: list[float] = []

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            begin = time.perf_counter()
            answer = await side.client.call(side.tool, message)
            seconds.append(time.perf_counter() - begin)
            check_echo(answer, message)

    begin = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(min(concurrency, calls)):
            tasks.create_task(worker())
    return Block(seconds, time.perf_counter() - begin)


async def listing(side: Side, calls: int) -> Block:
    """The whole list of tools, one time after the other."""
    seconds = []
    for _ in range(calls):
        begin = time.perf_counter()
        await side.client.tools()
        seconds.append(time.perf_counter() - begin)
    return Block(seconds, sum(seconds))


async def paired(sides: list[Side], rounds: int, turn: Callable[[Side], Awaitable[Block]]) -> None:
    """Let the sides take turns, another one first in each round; the first turn of each warms up and is forgotten."""
    for side in sides:
        side.blocks.clear()
        await turn(side)
    for number in range(rounds):
        start = number % len(sides)
        for side in sides[start:] + sides[:start]:
            side.blocks.append(await turn(side))
