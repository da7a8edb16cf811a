"""The public lists: every mount's shelf, merged in config order, and the tables made of them.

A warm list costs a look at each mount, and a call one look in a table; nothing is rebuilt while no upstream changed.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from wf_mcp.core.hints import NO_CACHE, Hints, merged_hints
from wf_mcp.core.kinds import KINDS, PROMPTS, RESOURCES, TEMPLATES, TOOLS, Kind, KindName
from wf_mcp.core.merge import merged_meta
from wf_mcp.core.routing import Entry, NameTable, WebTable, name_table, web_table
from wf_mcp.core.uris import is_web
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.memo import Memo
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.shelves import Shelf, Shelves


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """One kind's merged list; `missing` names the upstreams that are not, or not freshly, in it, `meta` is the `_meta`
    and `hints` are the cache hints of the upstreams' own lists together.
    """

    entries: tuple[Entry, ...]
    missing: tuple[str, ...]
    state: str
    meta: JsonObject | None = None
    hints: Hints = NO_CACHE


class Listings:
    """Public lists and the tables made of them, by audience."""

    def __init__(self, mounts: Mounts, shelves: Shelves) -> None:
        self._mounts = mounts
        self._shelves = shelves
        self._tables: Memo[tuple[Audience, Kind], NameTable] = Memo(
            lambda: mounts.changes, lambda key: shelves.present(*key), _name_table
        )
        self._webs = Memo(lambda: mounts.changes, self._web_shelves, _web_table)
        self._merged: Memo[tuple[Audience, Kind], tuple[tuple[Entry, ...], str]] = Memo(
            lambda: mounts.changes, lambda key: shelves.present(*key), _merge
        )
        mounts.on_release.append(self._forget)

    def when_released(self, forget: Callable[[Audience], None]) -> None:
        """Have `forget` told of every audience that is no more."""
        self._mounts.on_release.append(forget)

    def _forget(self, audience: Audience) -> None:
        for memo in (self._tables, self._merged):
            memo.forget(lambda key: key[0] == audience)
        self._webs.forget(lambda key: key == audience)

    async def listing(self, caller: Caller, kind: Kind) -> Listing:
        """The merged list of `kind` for `caller`, waiting for upstreams as far as each one's deadlines allow."""
        missing: list[str] = []
        hints: list[Hints | None] = []
        meta: JsonObject | None = None
        attended = self._mounts.attend(caller)
        for _, session in attended:  # all of them at once, so that many silent ones cost no more time than one
            if session is not None:
                session.catalogue.want(kind)
        for mount, session in attended:
            if session is None:
                missing.append(mount.called)
            elif not await session.settled() or session.initialized is None:
                session.owe_everything()
                missing.append(mount.called)
            elif not (await session.catalogue.get(kind))[1]:
                missing.append(mount.called)
            elif session.offers(kind.capability):
                hints.append(session.catalogue.hints(kind))
            if session is not None:
                meta = merged_meta(meta, session.catalogue.meta(kind))
        entries, state = self._merged.get((self.viewpoint(caller.audience), kind))
        together = NO_CACHE if missing else merged_hints(hints)
        return Listing(entries, tuple(missing), state, meta, together)

    def table(self, audience: Audience, kind: Kind) -> NameTable:
        """The names of `kind` that `audience` may use, from what is known now."""
        return self._tables.get((self.viewpoint(audience), kind))

    def web(self, audience: Audience) -> WebTable:
        """Who owns which web address, from what is known now."""
        return self._webs.get(self.viewpoint(audience))

    def viewpoint(self, audience: Audience) -> Audience:
        """As whom `audience` sees the lists; who has the same one sees the same."""
        return self._mounts.viewpoint(audience)

    def modern(self, audience: Audience) -> frozenset[str]:
        """The mounts whose upstream speaks 2026-07-28 to `audience`, by id."""
        sessions = ((mount.id, mount.lister(audience)) for mount in self._mounts)
        return frozenset(each for each, session in sessions if session is not None and session.era == "modern")

    def web_conflicts(self) -> list[str]:
        """Web addresses that several upstreams offer, and who answers."""
        audiences = self._mounts.audiences
        return list(dict.fromkeys(conflict for each in audiences for conflict in self.web(each).conflicts))

    def name_clashes(self) -> list[str]:
        """Names that mean two things, and names that carry a hash so that they do not."""
        told = [
            clash
            for audience in self._mounts.audiences
            for clashes in (
                self._shelves.hashes(audience),
                self.table(audience, TOOLS).clashes,
                self.table(audience, PROMPTS).clashes,
            )
            for clash in clashes
        ]
        return list(dict.fromkeys(told))

    def snapshot(self, audiences: Sequence[Audience]) -> dict[KindName, tuple[str, ...]]:
        """The state of every audience's lists, by kind; where two snapshots differ, clients must look again."""
        return {kind.name: tuple(self._merged.get((audience, kind))[1] for audience in audiences) for kind in KINDS}

    def _web_shelves(self, audience: Audience) -> tuple[Shelf, ...]:
        resources = self._shelves.present(audience, RESOURCES)
        return (*resources, *self._shelves.present(audience, TEMPLATES))


def _name_table(shelves: tuple[Shelf, ...]) -> NameTable:
    return name_table(entry for shelf in shelves for entry in shelf.entries)


def _web_table(shelves: tuple[Shelf, ...]) -> WebTable:
    """The table of one audience's resources and templates; only templates have expressions."""
    pairs = [(entry.dotted, entry.mount_id) for shelf in shelves for entry in shelf.entries if is_web(entry.dotted)]
    plain = [pair for pair in pairs if "{" not in pair[0]]
    return web_table(plain, [pair for pair in pairs if "{" in pair[0]])


def _merge(shelves: tuple[Shelf, ...]) -> tuple[tuple[Entry, ...], str]:
    entries = _merged(entry for shelf in shelves for entry in shelf.entries)
    return entries, _digest([[entry.safe, entry.item] for entry in entries])


def _merged(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """`entries` in order; of a web address that several mounts offer, only the owner's stands in the list."""
    seen: dict[str, str] = {}
    return tuple(
        entry
        for entry in entries
        if not is_web(entry.dotted) or seen.setdefault(entry.dotted, entry.mount_id) == entry.mount_id
    )


def _digest(items: list[list[str | JsonObject]]) -> str:
    return hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()[:16]
