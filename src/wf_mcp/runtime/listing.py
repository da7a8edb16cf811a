"""The public lists: every upstream's components through the plug-ins' transforms, under their public names, merged in
config order.

What is computed is kept for as long as the upstream's own list is the same object, so a warm list costs a look at each
mount and a call one look in a table.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wf_mcp.core.kinds import KINDS, PROMPTS, RESOURCES, TEMPLATES, TOOLS, Kind, KindName
from wf_mcp.core.names import safe_label_clashes, safe_names
from wf_mcp.core.routing import Entry, NameTable, WebTable, name_table, web_table
from wf_mcp.core.uris import is_web
from wf_mcp.core.views import Component, Prompt, Resource, ResourceTemplate, Tool
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.chain import apply_components
from wf_mcp.plugin.types import OnFailure
from wf_mcp.runtime.catalogue import Items
from wf_mcp.runtime.mounts import Mount, Mounts
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.session import UpstreamSession

VIEWS: dict[KindName, Callable[[JsonObject], Component]] = {
    "tools": Tool,
    "prompts": Prompt,
    "resources": Resource,
    "templates": ResourceTemplate,
}


@dataclass(frozen=True, slots=True, eq=False)
class Shelf:
    """One mount's components of one kind as clients see them; `hidden` holds what a plug-in took away, by upstream
    name.
    """

    items: Items
    entries: tuple[Entry, ...]
    hidden: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """One kind's merged list; `missing` names the upstreams that are not, or not freshly, in it."""

    entries: tuple[Entry, ...]
    missing: tuple[str, ...]
    state: str


class Listings:
    """Public lists and the tables made of them, by audience."""

    def __init__(self, mounts: Mounts, on_failure: OnFailure, budget: Callable[[], int]) -> None:
        self._mounts = mounts
        self._on_failure = on_failure
        self._budget = budget
        self._shelves: dict[tuple[str, str, KindName], tuple[UpstreamSession, Shelf]] = {}
        self._tables: dict[tuple[str, KindName], tuple[tuple[Shelf, ...], NameTable]] = {}
        self._webs: dict[str, tuple[tuple[Shelf, ...], WebTable]] = {}
        self._version = -1
        self.hashed_labels: frozenset[str] = frozenset()
        self._merged: dict[tuple[str, KindName], tuple[tuple[Shelf, ...], tuple[Entry, ...], str]] = {}

    async def listing(self, caller: Caller, kind: Kind) -> Listing:
        """The merged list of `kind` for `caller`, waiting for upstreams as far as each one's deadlines allow."""
        missing: list[str] = []
        attended = self._mounts.attend(caller)
        for mount, session in attended:
            if session is None:
                missing.append(mount.called)
            elif not await session.settled() or session.initialized is None:
                session.owe_everything()
                missing.append(mount.called)
            elif not (await session.catalogue.get(kind))[1]:
                missing.append(mount.called)
        shelves = self._present(caller, kind)
        entries, state = self._merge(caller.audience, kind, shelves)
        return Listing(entries, tuple(missing), state)

    def table(self, caller: Caller, kind: Kind) -> NameTable:
        """The names of `kind` that `caller` may use, from what is known now."""
        shelves = self._present(caller, kind)
        key = (caller.audience, kind.name)
        kept = self._tables.get(key)
        if kept is None or not _same(kept[0], shelves):
            kept = (shelves, name_table(entry for shelf in shelves for entry in shelf.entries))
            self._tables[key] = kept
        return kept[1]

    def web(self, caller: Caller) -> WebTable:
        """Who owns which web address, from what is known now."""
        resources, templates = self._present(caller, RESOURCES), self._present(caller, TEMPLATES)
        shelves = (*resources, *templates)
        kept = self._webs.get(caller.audience)
        if kept is None or not _same(kept[0], shelves):
            kept = (shelves, web_table(_web_pairs(resources), _web_pairs(templates)))
            self._webs[caller.audience] = kept
        return kept[1]

    def hidden(self, mount: Mount, caller: Caller, kind: Kind) -> frozenset[str]:
        """What plug-ins hide of one mount's components of `kind`, by upstream name."""
        session = mount.sessions.get(caller.audience)
        shelf = self._shelf(mount, session, caller.audience, kind) if session is not None else None
        return shelf.hidden if shelf is not None else frozenset()

    def entries(self, mount: Mount, audience: str, kind: Kind) -> tuple[Entry, ...]:
        """One mount's public components of `kind`, from what is known now."""
        session = mount.sessions.get(audience)
        shelf = self._shelf(mount, session, audience, kind) if session is not None else None
        return shelf.entries if shelf is not None else ()

    def first_entries(self, mount: Mount | None, kind: Kind) -> tuple[Entry, ...]:
        """One mount's public components of `kind` as the first audience that has a session with it sees them."""
        audience = next(iter(mount.sessions), None) if mount is not None else None
        return () if mount is None or audience is None else self.entries(mount, audience, kind)

    def web_conflicts(self) -> list[str]:
        """Web addresses that several upstreams offer, and who answers."""
        return list(dict.fromkeys(conflict for _, web in self._webs.values() for conflict in web.conflicts))

    def name_clashes(self) -> list[str]:
        """Names that mean two things, and labels whose safe names carry a hash because they look alike."""
        clashes = [clash for _, table in self._tables.values() for clash in table.clashes]
        alike = sorted(self.hashed_labels)
        told = (
            [f"safe names of {', '.join(alike)} carry a hash: without it, one's could be read as another's"]
            if alike
            else []
        )
        return list(dict.fromkeys([*told, *clashes]))

    def snapshot(self, audiences: Sequence[str]) -> dict[KindName, tuple[str, ...]]:
        """What stands in every audience's lists now, as one state per kind; two that differ mean that clients must
        look again.
        """
        return {
            kind.name: tuple(
                _digest([entry.item for mount in self._mounts for entry in self.entries(mount, audience, kind)])
                for audience in audiences
            )
            for kind in KINDS
        }

    def _present(self, caller: Caller, kind: Kind) -> tuple[Shelf, ...]:
        found = []
        for mount in self._mounts:
            session = mount.sessions.get(caller.audience)
            shelf = self._shelf(mount, session, caller.audience, kind) if session is not None else None
            if shelf is not None:
                found.append(shelf)
        return tuple(found)

    def _merge(self, audience: str, kind: Kind, shelves: tuple[Shelf, ...]) -> tuple[tuple[Entry, ...], str]:
        kept = self._merged.get((audience, kind.name))
        if kept is None or not _same(kept[0], shelves):
            entries = tuple(entry for shelf in shelves for entry in shelf.entries)
            kept = (shelves, entries, _digest([entry.item for entry in entries]))
            self._merged[(audience, kind.name)] = kept
        return kept[1], kept[2]

    def _shelf(self, mount: Mount, session: UpstreamSession, audience: str, kind: Kind) -> Shelf | None:
        items = session.catalogue.peek(kind)
        if items is None:
            return None
        if self._version != self._mounts.version:
            self._start_over()
        kept = self._shelves.get((mount.id, audience, kind.name))
        if kept is None or kept[0] is not session or kept[1].items is not items:
            kept = (session, self._build(mount, kind, items))
            self._shelves[(mount.id, audience, kind.name)] = kept
        return kept[1]

    def _start_over(self) -> None:
        """Forget what was made for other mounts, or for these under other settings."""
        self._shelves.clear()
        self.hashed_labels = safe_label_clashes(self._mounts.labels)
        self._version = self._mounts.version

    def _build(self, mount: Mount, kind: Kind, items: Items) -> Shelf:
        listed: list[tuple[str, JsonObject]] = []
        hidden: set[str] = set()
        for item in items:
            seen = apply_components(mount.components, VIEWS[kind.name](item), self._on_failure)
            if seen is None:
                hidden.add(item[kind.field])
            else:
                listed.append((item[kind.field], dict(seen.raw)))
        safe = self._safe(mount, kind, [public[kind.field] for _, public in listed])
        entries = tuple(
            Entry(mount.id, local, public[kind.field], safe.get(public[kind.field]) or public[kind.field], public)
            for local, public in listed
        )
        return Shelf(items, entries, frozenset(hidden))

    def _safe(self, mount: Mount, kind: Kind, dotted: list[str]) -> dict[str, str]:
        """The safe form of each dotted name; URIs have none."""
        if kind not in (TOOLS, PROMPTS):
            return {}
        start = f"{mount.label}." if mount.label else ""
        own = {name.removeprefix(start): name for name in dotted}
        formed = safe_names(
            mount.id, mount.label, list(own), budget=self._budget(), hashed=mount.label in self.hashed_labels
        )
        return {own[name]: safe for name, safe in formed.items()}


def _same(one: tuple[Shelf, ...], other: tuple[Shelf, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _web_pairs(shelves: Sequence[Shelf]) -> list[tuple[str, str]]:
    return [(entry.dotted, entry.mount_id) for shelf in shelves for entry in shelf.entries if is_web(entry.dotted)]


def _digest(items: list[JsonObject]) -> str:
    return hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()[:16]
