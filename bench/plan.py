"""How much is measured: the dimensions, and how often."""

from dataclasses import dataclass, field
from typing import Final

from bench.messages import ERAS, Era
from bench.targets import FRONTS, Front

SMALL, MIDDLE, LARGE = 100, 100_000, 2**20
"""Bytes of payload."""

MANY: Final = 32
"""Calls at a time, where throughput is compared."""

TOOLS: Final = 50
"""Tools of each upstream in the lists, beside `echo`."""

AREAS: Final = ("calls", "mounts", "lists", "start", "memory")


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of the benchmark."""

    rounds: int = 8
    fronts: tuple[Front, ...] = FRONTS
    eras: tuple[Era, ...] = ERAS
    payloads: tuple[int, ...] = (SMALL, MIDDLE, LARGE)
    concurrency: tuple[int, ...] = (1, 8, MANY)
    crossing: bool = True
    peers: bool = True
    mounts: tuple[int, ...] = (20, 100, 500)
    lists: tuple[int, ...] = (10, 100)
    starts: int = 3
    clients: int = 500
    upstreams: tuple[tuple[Front, int], ...] = (("stdio", 20), ("http", 100))
    blocks: dict[int, tuple[int, int, int]] = field(
        default_factory=lambda: {SMALL: (100, 160, 320), MIDDLE: (30, 48, 64), LARGE: (8, 16, 32)}
    )

    def calls(self, payload: int, concurrency: int) -> int:
        """How many calls one block has."""
        alone, some, many = self.blocks[payload]
        return alone if concurrency == 1 else some if concurrency < MANY else many


FULL: Final = Plan()

QUICK: Final = Plan(
    rounds=5,
    payloads=(SMALL, LARGE),
    concurrency=(1, MANY),
    mounts=(500,),
    lists=(10,),
    starts=2,
    clients=50,
    upstreams=(("stdio", 10), ("http", 50)),
)

TINY: Final = Plan(
    rounds=1,
    fronts=("stdio",),
    eras=("handshake",),
    payloads=(SMALL,),
    concurrency=(1,),
    crossing=False,
    blocks={SMALL: (3, 3, 3)},
)
"""For the test of the benchmark itself: it says nothing about speed."""
