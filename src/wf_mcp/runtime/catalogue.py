"""What one session's upstream lists: every page, kept until the upstream says that it changed.

A list is loaded in the session's own task and asked for by many; nobody waits longer than they said, and an answer
given without a list is made good by a change event once the list is there.
"""

import logging
import time
from collections.abc import Callable

import anyio

from wf_mcp.core.envelope import bare_result
from wf_mcp.core.errors import METHOD_NOT_FOUND, LinkLost, RelayedError, WfMcpError
from wf_mcp.core.hints import Hints, hints_of, merged_hints
from wf_mcp.core.kinds import KINDS, Kind, KindName
from wf_mcp.core.merge import merged_meta
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.kept_list import Items, KeptList, Loaded, announced
from wf_mcp.runtime.ports import Link, Sending

logger = logging.getLogger(__name__)

PAGE_CAP = 1000
"""Pages followed in one list; more than any real server has, and an end to one that never ends."""

SHOWN = 10
"""Names in one line of the log."""

PAGE_TIMEOUT = 60.0
"""Seconds allowed for one page."""


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
        self._shelves: dict[KindName, KeptList] = {kind.name: KeptList() for kind in KINDS}

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
                shelf.announced = link.era == "handshake" or announced(capabilities, kind)
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
                loaded = await self._fetch(link, kind) if offered else Loaded(())
            except LinkLost:
                return
            except WfMcpError as error:
                logger.warning("upstream %s: %s failed: %s", self._label, kind.method, error)
                shelf.failed, shelf.failure = generation, str(error)
            else:
                self._put(kind, loaded, generation)
            shelf.loading = False
            shelf.announce()

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
                result = await link.request(kind.method, params, Sending(timeout=PAGE_TIMEOUT))
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
