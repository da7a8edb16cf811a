"""What one session's upstream lists: every page, kept until the upstream says that it changed.

A list is loaded in the session's own task and asked for by many; nobody waits longer than they said, and an answer
given without a list is made good by a change event once the list is there. While the upstream sleeps, and until it has
listed anew, what it listed before stands (design D5).
"""

import logging
import time
from collections.abc import Callable, Mapping

import anyio

from wf_mcp.core.envelope import bare_result
from wf_mcp.core.errors import METHOD_NOT_FOUND, LinkLost, RelayedError, WfMcpError
from wf_mcp.core.hints import Hints, hints_of, merged_hints
from wf_mcp.core.kinds import KINDS, Kind, KindName
from wf_mcp.core.merge import merged_meta
from wf_mcp.core.stored import StoredList
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.kept_list import Items, KeptList, Loaded, announced
from wf_mcp.runtime.ports import Link, Sending

logger = logging.getLogger(__name__)

PAGE_CAP = 1000
"""Pages followed in one list; more than any real server has, and an end to one that never ends."""

SHOWN = 10
"""Names in one line of the log."""


class Catalogue:
    """The lists of one session.

    `on_late` is called with a kind whose list arrived, or came back different, after somebody was answered without it.
    `page_timeout` is the seconds that each page of a list may take (setting `wf.list_timeout`).
    `completions` counts how often all lists were up to date again, `at` is when they last were, in seconds since 1970.
    """

    def __init__(
        self, label: str, on_late: Callable[[Kind], None], list_wait: float, on_items: Callable[[], None] = lambda: None
    ) -> None:
        self.page_timeout: float | None = None
        self._on_items = on_items
        self._label = label
        self._list_wait = list_wait
        self._born = time.monotonic()
        self._on_late = on_late
        self._served = 0
        self._completed = anyio.Event()
        self.completions = 0
        self.at: float | None = None
        self._shelves: dict[KindName, KeptList] = {kind.name: KeptList() for kind in KINDS}

    def seed(self, lists: Mapping[KindName, StoredList], at: float) -> None:
        """Begin with what was listed before, at `at` in seconds since 1970."""
        self.at = at
        for name, each in lists.items():
            self._shelves[name].seed(Loaded(each.items, each.meta, each.hints), max(0.0, time.time() - at))

    def rest(self) -> None:
        """The upstream sleeps from now on; what is up to date stands meanwhile."""
        for shelf in self._shelves.values():
            shelf.rest()

    @property
    def remembered(self) -> bool:
        """Whether every list is known, and one or more of them from before the upstream slept."""
        shelves = self._shelves.values()
        return any(shelf.remembered for shelf in shelves) and all(shelf.items is not None for shelf in shelves)

    def stale(self, kind: Kind) -> None:
        """Forget that `kind` is up to date; it is fetched again when next asked for."""
        shelf = self._shelves[kind.name]
        shelf.generation += 1
        shelf.remembered = False

    def adopt(self, lender: "Catalogue") -> None:
        """Begin with what another session of the same upstream lists; once this one lists, a difference is told."""
        for name, shelf in self._shelves.items():
            shelf.adopt(lender._shelves[name])

    def waking(self, kind: Kind) -> bool:
        """Whether `kind` is known from before the upstream slept only: once it is loaded, a difference is told."""
        shelf = self._shelves[kind.name]
        return shelf.remembered or shelf.unconfirmed

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
        """Whether the list as last loaded is up to date, by the word of an upstream that is awake."""
        return self._shelves[kind.name].fresh

    def want(self, kind: Kind) -> None:
        """Have an outdated `kind` fetched now; whoever then waits for it has waited since now."""
        shelf = self._shelves[kind.name]
        if self._served:
            shelf.expire()
        if not shelf.settled(shelf.generation):
            shelf.want()

    async def get(self, kind: Kind, *, from_now: bool = False) -> tuple[Items, bool]:
        """The list of `kind` and whether it is up to date.

        Waits for an outdated list, but never beyond `list_wait` seconds after it was first wanted: an upstream that
        does not answer holds up the first who ask, not everybody after them. With `from_now`, for who wants this
        upstream and no other, the seconds count from now, and what is remembered only from before it slept is waited
        for too.
        """
        shelf = self._shelves[kind.name]
        if shelf.remembered:
            return await self._remembered(shelf, wait=from_now)
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

    async def _remembered(self, shelf: KeptList, *, wait: bool) -> tuple[Items, bool]:
        """What stands from before the upstream slept, which counts as up to date unless it failed to list anew."""
        if shelf.loaded < shelf.generation:
            shelf.want()
        failed = shelf.failed
        if wait and failed < shelf.generation:
            with anyio.move_on_after(self._list_wait):
                while shelf.remembered and shelf.failed == failed:
                    await shelf.changed.wait()
        shelf.owed = shelf.owed or shelf.remembered
        return shelf.items or (), not shelf.remembered or shelf.failed < shelf.generation

    async def settled(self) -> None:
        """Return once every list is up to date or has failed."""
        for shelf in self._shelves.values():
            while not shelf.fresh and shelf.failed < shelf.generation:
                await shelf.changed.wait()

    async def completed(self, before: int) -> Mapping[KindName, StoredList]:
        """All lists, once they are up to date again after they were so `before` times."""
        while self.completions <= before:
            await self._completed.wait()
        return {name: StoredList(kept.items or (), kept.meta, kept.hints) for name, kept in self._shelves.items()}

    async def serve(self, link: Link) -> None:
        """Load lists over `link`, all of them now and each again when it is wanted, until cancelled."""
        capabilities = link.initialized.get("capabilities") or {}
        self._served += 1
        try:
            async with anyio.create_task_group() as loaders:
                for kind in KINDS:
                    shelf = self._shelves[kind.name]
                    shelf.generation += 1
                    shelf.unconfirmed = shelf.unconfirmed or shelf.remembered
                    shelf.owed = shelf.owed or shelf.items is not None
                    shelf.loading = False
                    shelf.announced = link.era == "handshake" or announced(capabilities, kind)
                    shelf.want()
                    shelf.since = self._born if shelf.items is None else shelf.since
                    name = f"list {kind.name} of {self._label}"
                    loaders.start_soon(self._keep_loading, link, kind, name=name)
        finally:
            self._served -= 1

    async def confirm(self, link: Link) -> None:
        """List once over `link`, which is another session's with the same upstream, while this one's sleeps."""
        self.rest()
        async with anyio.create_task_group() as loaders:
            for kind in KINDS:
                shelf = self._shelves[kind.name]
                shelf.generation += 1
                shelf.owed = True
                loaders.start_soon(self._load_once, link, kind, name=f"list {kind.name} of {self._label} once")

    async def _load_once(self, link: Link, kind: Kind) -> None:
        await self._load(link, kind)
        self._shelves[kind.name].announce()

    async def _keep_loading(self, link: Link, kind: Kind) -> None:
        shelf = self._shelves[kind.name]
        while True:
            await shelf.wanted.wait()
            shelf.wanted = anyio.Event()
            if shelf.loaded >= shelf.generation:  # wanted by somebody while it was on its way
                continue
            shelf.loading = True
            if not await self._load(link, kind):
                return
            shelf.loading = False
            shelf.announce()

    async def _load(self, link: Link, kind: Kind) -> bool:
        """Load one list over `link`, or note why that failed; false where the link is gone."""
        shelf = self._shelves[kind.name]
        generation = shelf.generation
        offered = kind.capability in (link.initialized.get("capabilities") or {})
        try:
            loaded = await self._fetch(link, kind) if offered else Loaded(())
        except LinkLost:
            return False
        except WfMcpError as error:
            logger.warning("upstream %s: %s failed: %s", self._label, kind.method, error)
            shelf.failed, shelf.failure = generation, str(error)
            if shelf.unconfirmed:
                shelf.unconfirmed = False
                self._on_late(kind)
        else:
            self._put(kind, loaded, generation)
        return True

    def _put(self, kind: Kind, new: Loaded, generation: int) -> None:
        kept = self._shelves[kind.name]
        late = kept.tells(new)
        if redefined := kept.redefined(new, kind.field):  # a model was shown something else under the same name
            names = ", ".join(map(repr, redefined[:SHOWN])) + (", …" if len(redefined) > SHOWN else "")
            logger.warning("upstream %s: %s now describes otherwise: %s", self._label, kind.method, names)
        if kept.put(new, generation):
            self._on_items()
        if late:
            self._on_late(kind)
        if all(shelf.fresh for shelf in self._shelves.values()):
            self.at = time.time()
            self.completions += 1
            self._completed.set()
            self._completed = anyio.Event()

    async def _fetch(self, link: Link, kind: Kind) -> Loaded:
        """Every page's entries, and the `_meta` and hints of all pages together."""
        items: list[JsonObject] = []
        pages: list[Hints | None] = []
        seen: set[str] = set()
        cursor: str | None = None
        meta: JsonObject | None = None
        for _ in range(PAGE_CAP):
            params: JsonObject = {} if cursor is None else {"cursor": cursor}
            try:
                result = await link.request(kind.method, params, Sending(timeout=self.page_timeout))
            except RelayedError as error:
                if error.code == METHOD_NOT_FOUND:
                    return Loaded(())
                raise
            pages.append(hints_of(result))
            meta = merged_meta(meta, bare_result(result).get("_meta"))
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
        return Loaded(tuple(items), meta, merged_hints(pages) if link.era == "modern" else None)

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
