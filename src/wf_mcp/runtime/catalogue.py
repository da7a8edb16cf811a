"""What one session's upstream lists: every page, kept until the upstream says that it changed.

A list is loaded in the session's own task and asked for by many; nobody waits longer than they said, and an answer
given without a list is made good by a change event once the list is there.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from wf_mcp.core.errors import METHOD_NOT_FOUND, LinkLost, RelayedError, WfMcpError
from wf_mcp.core.hints import Hints, hints_of, merged_hints
from wf_mcp.core.kinds import KINDS, Kind, KindName
from wf_mcp.core.merge import merged_meta
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import Link, Sending

logger = logging.getLogger(__name__)

Items = tuple[JsonObject, ...]

PAGE_CAP = 1000
"""Pages followed in one list; more than any real server has, and an end to one that never ends."""

PAGE_TIMEOUT = 60.0
"""Seconds allowed for one page."""


@dataclass(slots=True)
class _Shelf:
    """One kind's list: `items` as last loaded, and up to which `generation` it was loaded, or tried.

    `hints` are a modern upstream's, which hold since `arrived`; `announced` says that it tells of changes.
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

    def settled(self, generation: int) -> bool:
        return self.loaded >= generation or self.failed >= generation

    def want(self) -> None:
        if not self.wanted.is_set():
            self.wanted.set()
            if not self.loading:
                self.since = time.monotonic()

    def announce(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What one kind's pages held together; hints are of modern upstreams only."""

    items: Items
    meta: JsonObject | None = None
    hints: Hints | None = None


class Catalogue:
    """The lists of one session.

    `on_late` is called with a kind whose list arrived, or came back different, after somebody was answered without it.
    """

    def __init__(
        self, label: str, on_late: Callable[[Kind], None], list_wait: float, on_items: Callable[[], None] = lambda: None
    ) -> None:
        self._on_items = on_items
        self._label = label
        self._list_wait = list_wait
        self._born = time.monotonic()
        self._on_late = on_late
        self._shelves: dict[KindName, _Shelf] = {kind.name: _Shelf() for kind in KINDS}

    def stale(self, kind: Kind) -> None:
        """Forget that `kind` is up to date; it is fetched again when next asked for."""
        self._shelves[kind.name].generation += 1

    def owe(self, kind: Kind) -> None:
        """Remember that somebody was answered without `kind`, so that its arrival is announced."""
        self._shelves[kind.name].owed = True

    def peek(self, kind: Kind) -> Items | None:
        """The list as last loaded, stale or not; `None` if it never was."""
        return self._shelves[kind.name].items

    def meta(self, kind: Kind) -> JsonObject | None:
        """The `_meta` that came with the list; `None` if none did."""
        return self._shelves[kind.name].meta

    def hints(self, kind: Kind) -> Hints | None:
        """How long, from now on, the list may be reused by the upstream's own word; `None` if it gave none."""
        return self._shelves[kind.name].hints_now()

    def failure(self, kind: Kind) -> str | None:
        """Why `kind` could not be listed, if the last attempt failed."""
        return self._shelves[kind.name].failure

    def fresh(self, kind: Kind) -> bool:
        """Whether the list as last loaded is up to date."""
        shelf = self._shelves[kind.name]
        return shelf.loaded >= shelf.generation

    def want(self, kind: Kind) -> None:
        """Have an outdated `kind` fetched now; whoever then waits for it has waited since now."""
        shelf = self._shelves[kind.name]
        shelf.expire()
        if not shelf.settled(shelf.generation):
            shelf.want()

    async def get(self, kind: Kind, *, from_now: bool = False) -> tuple[Items, bool]:
        """The list of `kind` and whether it is up to date.

        Waits for an outdated list, but never beyond `list_wait` seconds after it was first wanted: an upstream that
        does not answer holds up the first who ask, not everybody after them. With `from_now`, for who wants this
        upstream and no other, the seconds count from now.
        """
        shelf = self._shelves[kind.name]
        want = shelf.generation
        if shelf.loaded < want:
            retry = shelf.failed >= want
            shelf.want()
            if not retry:
                spent = 0.0 if from_now else time.monotonic() - shelf.since
                with anyio.move_on_after(max(0.0, self._list_wait - spent)):
                    while not shelf.settled(want):
                        await shelf.changed.wait()
        fresh = shelf.loaded >= want
        if not fresh:
            shelf.owed = True
        return shelf.items or (), fresh

    async def serve(self, link: Link) -> None:
        """Load lists over `link`, all of them now and each again when it is wanted, until cancelled."""
        capabilities = link.initialized.get("capabilities") or {}
        async with anyio.create_task_group() as loaders:
            for kind in KINDS:
                shelf = self._shelves[kind.name]
                shelf.generation += 1
                shelf.owed = shelf.owed or shelf.items is not None
                shelf.loading = False
                shelf.announced = link.era == "handshake" or _announced(capabilities, kind)
                shelf.want()
                shelf.since = self._born if shelf.items is None else shelf.since
                loaders.start_soon(
                    self._load, link, kind, kind.capability in capabilities, name=f"list {kind.name} of {self._label}"
                )

    async def _load(self, link: Link, kind: Kind, offered: bool) -> None:
        shelf = self._shelves[kind.name]
        while True:
            await shelf.wanted.wait()
            shelf.wanted = anyio.Event()
            generation = shelf.generation
            if shelf.loaded >= generation:  # wanted by somebody while it was on its way
                continue
            shelf.loading = True
            try:
                loaded = await self._fetch(link, kind) if offered else _Loaded(())
            except LinkLost:
                return
            except WfMcpError as error:
                logger.warning("upstream %s: %s failed: %s", self._label, kind.method, error)
                shelf.failed, shelf.failure = generation, str(error)
            else:
                self._put(kind, loaded, generation)
            shelf.loading = False
            shelf.announce()

    def _put(self, kind: Kind, new: "_Loaded", generation: int) -> None:
        shelf = self._shelves[kind.name]
        # An upstream that tells of no changes leaves it to whoever finds one.
        found = not shelf.announced and shelf.items is not None
        late = (shelf.owed or found) and new.items != (shelf.items or ())
        if shelf.items != new.items:
            shelf.items = new.items
            self._on_items()
        shelf.meta, shelf.hints, shelf.arrived = new.meta, new.hints, time.monotonic()
        shelf.loaded, shelf.failure, shelf.owed = generation, None, False
        if late:
            self._on_late(kind)

    async def _fetch(self, link: Link, kind: Kind) -> "_Loaded":
        """Every page's entries, and the `_meta` and hints of all pages together."""
        items: list[JsonObject] = []
        pages: list[Hints | None] = []
        seen: set[str] = set()
        cursor: str | None = None
        meta: JsonObject | None = None
        for _ in range(PAGE_CAP):
            params: JsonObject = {} if cursor is None else {"cursor": cursor}
            try:
                result = await link.request(kind.method, params, Sending(timeout=PAGE_TIMEOUT))
            except RelayedError as error:
                if error.code == METHOD_NOT_FOUND:
                    return _Loaded(())
                raise
            pages.append(hints_of(result))
            meta = merged_meta(meta, result.get("_meta"))
            items.extend(self._valid(result.get(kind.key), kind))
            following = result.get("nextCursor")
            if not isinstance(following, str):
                break
            if following in seen:
                logger.warning(
                    "upstream %s: %s repeated the cursor %r; the list ends there", self._label, kind.method, following
                )
                break
            seen.add(following)
            cursor = following
        else:
            logger.warning(
                "upstream %s: %s has more than %d pages; the rest is left out", self._label, kind.method, PAGE_CAP
            )
        return _Loaded(tuple(items), meta, merged_hints(pages) if link.era == "modern" else None)

    def _valid(self, entries: object, kind: Kind) -> list[JsonObject]:
        """The entries that can be offered; a malformed one costs itself, not the list."""
        if not isinstance(entries, list):
            logger.warning("upstream %s: %s answered without a list of %s", self._label, kind.method, kind.key)
            return []
        good = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get(kind.field), str)]
        if len(good) < len(entries):
            logger.warning(
                "upstream %s: %d entries of %s have no %s and are left out",
                self._label,
                len(entries) - len(good),
                kind.method,
                kind.field,
            )
        return good


def _announced(capabilities: JsonObject, kind: Kind) -> bool:
    """Whether an upstream that can be listened to declared that it tells of changes of `kind`."""
    declared = capabilities.get(kind.capability)
    return isinstance(declared, dict) and declared.get("listChanged") is True
