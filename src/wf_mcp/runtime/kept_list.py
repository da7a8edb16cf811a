"""One kind's list of one upstream as it was loaded last: whether it is up to date, and how long it may be reused."""

import time
from dataclasses import dataclass, field

import anyio

from wf_mcp.core.hints import Hints
from wf_mcp.core.kinds import Kind
from wf_mcp.core.wire import JsonObject

Items = tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one kind's pages held together; hints are of modern upstreams only."""

    items: Items
    meta: JsonObject | None = None
    hints: Hints | None = None


@dataclass(slots=True)
class KeptList:
    """One kind's list: `items` as last loaded, and up to which `generation` it was loaded, or tried.

    `hints` are a modern upstream's, which hold since `arrived`; `announced` says that it tells of changes. `owed` says
    that somebody was answered without the list. `remembered` items are those from before the upstream slept: they stand
    until it lists anew. `unconfirmed` ones were shown, and not loaded yet by this session: only a difference is news.
    """

    items: Items | None = None
    meta: JsonObject | None = None
    hints: Hints | None = None
    arrived: float = 0.0
    announced: bool = True
    generation: int = 0
    loaded: int = -1
    failed: int = -1
    failure: str | None = None
    owed: bool = False
    remembered: bool = False
    unconfirmed: bool = False
    loading: bool = False
    since: float = 0.0
    wanted: anyio.Event = field(default_factory=anyio.Event)
    changed: anyio.Event = field(default_factory=anyio.Event)

    def hints_now(self) -> Hints | None:
        """The hints as they hold now: a list is as good as new as long as its upstream would have told of a change."""
        if self.hints is None or self.announced:
            return self.hints
        return self.hints.after(1000 * (time.monotonic() - self.arrived))

    def expire(self) -> None:
        """Forget that the list is up to date once its time is over (2026-07-28 server/utilities/caching)."""
        left = self.hints_now()
        if left is not None and left.ttl == 0 and not self.announced and self.loaded >= self.generation:
            self.generation += 1

    @property
    def fresh(self) -> bool:
        """Whether it is what the upstream lists now, as far as it said."""
        return self.loaded >= self.generation and not self.remembered

    def seed(self, loaded: Loaded, age: float) -> None:
        """Take what was listed `age` seconds ago, before the upstream slept."""
        self.items, self.meta, self.hints = loaded.items, loaded.meta, loaded.hints
        self.arrived = time.monotonic() - age
        self.loaded = self.generation
        self.rest()

    def rest(self) -> None:
        """The upstream sleeps from now on, so that nobody tells of changes."""
        if self.items is not None and self.loaded >= self.generation:
            self.remembered, self.announced = True, False

    def settled(self, generation: int) -> bool:
        """Whether it was loaded, or tried, that far."""
        return self.loaded >= generation or self.failed >= generation

    def want(self) -> None:
        """Have it loaded; whoever waits has waited since now, unless it is being loaded already."""
        if not self.wanted.is_set():
            self.wanted.set()
            if not self.loading:
                self.since = time.monotonic()

    def tells(self, new: Loaded) -> bool:
        """Whether clients have to hear of `new`: they were answered otherwise, and no upstream tells them.

        An upstream that tells of no changes leaves it to whoever finds one.
        """
        found = not self.announced and self.items is not None
        return (self.owed or found) and new.items != (self.items or ())

    def redefined(self, new: Loaded, field: str) -> list[str]:
        """The names of what was here already and is described otherwise now."""
        if self.items is None or self.items == new.items:
            return []
        known = {item[field]: item for item in self.items}
        return [item[field] for item in new.items if known.get(item[field], item) != item]

    def adopt(self, other: "KeptList") -> None:
        """Take another list's items as those that were shown, to be loaded anew."""
        if other.items is not None:
            self.items, self.meta, self.hints, self.arrived = other.items, other.meta, other.hints, other.arrived
            self.unconfirmed = self.owed = True

    def put(self, new: Loaded, generation: int) -> bool:
        """Keep what was loaded; true if the items are others now, which are otherwise the very same objects."""
        changed = self.items != new.items
        if changed:
            self.items = new.items
        self.meta, self.hints, self.arrived = new.meta, new.hints, time.monotonic()
        # What was outdated before it came confirms nothing: the next load still has to be compared.
        self.unconfirmed = self.owed = self.unconfirmed and generation < self.generation
        self.loaded, self.failure, self.remembered = generation, None, False
        return changed

    def announce(self) -> None:
        """Let those who wait look again."""
        self.changed.set()
        self.changed = anyio.Event()


def announced(capabilities: JsonObject, kind: Kind) -> bool:
    """Whether an upstream that can be listened to declared that it tells of changes of `kind`."""
    declared = capabilities.get(kind.capability)
    return isinstance(declared, dict) and declared.get("listChanged") is True
