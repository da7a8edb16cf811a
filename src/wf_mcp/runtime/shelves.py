"""One mount's components as clients see them: through the plug-ins' transforms, under their public names.

What is computed is kept as long as the upstream's own list is the same object. `listing.py` merges what stands here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from wf_mcp.core.kinds import PROMPTS, TOOLS, Kind, KindName
from wf_mcp.core.names import safe_label_clashes, safe_names, why_not_plain
from wf_mcp.core.routing import Entry
from wf_mcp.core.views import Component, Prompt, Resource, ResourceTemplate, Tool
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.chain import apply_components
from wf_mcp.plugin.types import OnFailure
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.kept_list import Items
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.session import UpstreamSession

VIEWS: dict[KindName, Callable[[JsonObject], Component]] = {
    "tools": Tool,
    "prompts": Prompt,
    "resources": Resource,
    "templates": ResourceTemplate,
}


@dataclass(frozen=True, slots=True, eq=False)
class Shelf:
    """One mount's components of one kind; `hidden` holds what a plug-in took away, by upstream name."""

    items: Items
    entries: tuple[Entry, ...]
    hidden: frozenset[str]


class Shelves:
    """Every mount's shelves, by audience and kind."""

    def __init__(self, mounts: Mounts, on_failure: OnFailure, budget: Callable[[], int]) -> None:
        self._mounts = mounts
        self._on_failure = on_failure
        self._budget = budget
        self._version = -1
        self._hashed_labels: frozenset[str] = frozenset()
        self._shelves: dict[tuple[str, str, KindName], tuple[UpstreamSession, Shelf]] = {}
        mounts.on_release.append(self._forget)

    def shelf(self, mount: Mount, audience: Audience, kind: Kind) -> Shelf | None:
        """What `mount` lists to `audience`, as far as it is known now; `None` if its list was never loaded."""
        key = mount.lister_key(audience)
        session = mount.sessions.get(key)
        items = session.catalogue.peek(kind) if session is not None else None
        if session is None or items is None:
            return None
        if self._version != self._mounts.version:
            self._start_over()
        kept = self._shelves.get((mount.id, key, kind.name))
        if kept is None or kept[0] is not session or kept[1].items is not items:
            kept = (session, self._build(mount, kind, items))
            self._shelves[(mount.id, key, kind.name)] = kept
        return kept[1]

    def present(self, audience: Audience, kind: Kind) -> tuple[Shelf, ...]:
        """The shelves of every mount that has one, in config order."""
        found = (self.shelf(mount, audience, kind) for mount in self._mounts)
        return tuple(shelf for shelf in found if shelf is not None)

    def hidden(self, mount: Mount, audience: Audience, kind: Kind) -> frozenset[str]:
        """What plug-ins hide of one mount's components of `kind`, by upstream name."""
        shelf = self.shelf(mount, audience, kind)
        return shelf.hidden if shelf is not None else frozenset()

    def first_entries(self, mount: Mount | None, kind: Kind) -> tuple[Entry, ...]:
        """One mount's public components of `kind` as the first audience that has a session with it sees them."""
        if mount is None:
            return ()
        shelves = (self.shelf(mount, audience, kind) for audience in self._mounts.audiences)
        return next((shelf.entries for shelf in shelves if shelf is not None), ())

    def hashes(self, audience: Audience) -> list[str]:
        """Which names have another safe form than their plain one, and why, in sentences (design D6)."""
        shelves = [(kind, shelf) for kind in (TOOLS, PROMPTS) for shelf in self.present(audience, kind)]
        alike = sorted(self._hashed_labels)
        told = [f"safe names of {', '.join(alike)} carry a hash: one's could be read as another's"] if alike else []
        return told + [remark for kind, shelf in shelves for remark in self._remarks(kind, shelf)]

    def _remarks(self, kind: Kind, shelf: Shelf) -> list[str]:
        what = kind.name.removesuffix("s")
        reasons = ((entry, self._why(self._mounts[entry.mount_id], entry)) for entry in shelf.entries)
        return [f"{what} {entry.dotted} is {entry.safe} in safe form: {why}" for entry, why in reasons if why]

    def _why(self, mount: Mount, entry: Entry) -> str | None:
        own = entry.dotted.removeprefix(f"{mount.label}." if mount.label else "")
        hashed = mount.label in self._hashed_labels
        return why_not_plain(mount.label, own, entry.safe, budget=self._budget(), hashed=hashed)

    def _forget(self, audience: Audience) -> None:
        """Let go of the lists of sessions that were one client's alone, or are no more."""
        for each in [each for each in self._shelves if audience.owns(each[1]) or not self._served(each[0], each[1])]:
            del self._shelves[each]

    def _served(self, mount_id: str, key: str) -> bool:
        mount = self._mounts.get(mount_id)
        return mount is not None and key in mount.sessions

    def _start_over(self) -> None:
        """Forget what was made for other mounts, or for these under other settings."""
        self._shelves.clear()
        self._hashed_labels = safe_label_clashes(self._mounts.labels)
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
        hashed = mount.label in self._hashed_labels
        formed = safe_names(mount.id, mount.label, list(own), budget=self._budget(), hashed=hashed)
        return {own[name]: safe for name, safe in formed.items()}
