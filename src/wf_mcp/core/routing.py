"""Which upstream a public name or web address belongs to: tables built from listings, never by splitting (design D6,
D7).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wf_mcp.core.wire import JsonObject


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One listed component: where it comes from (`mount_id`, `local` name), both public names, and the item as listed.

    For resources and templates `local` and the names are URIs; `dotted` and `safe` are then equal.
    """

    mount_id: str
    local: str
    dotted: str
    safe: str
    item: JsonObject


@dataclass(frozen=True, slots=True)
class NameTable:
    """Public name, in either form, to the component it means."""

    by_name: Mapping[str, Entry] = field(default_factory=dict)
    clashes: tuple[str, ...] = ()

    def for_apps(self, local: str) -> tuple[Entry, ...]:
        """The tools called `local` at their own server that apps may call: an app knows no other name (matrix C.5
        item 10).
        """
        named = dict.fromkeys(entry for entry in self.by_name.values() if entry.local == local)
        return tuple(entry for entry in named if _for_apps(entry.item))

    def find(self, name: str) -> Entry | None:
        """The component called `name`, dotted or safe; `None` if nobody lists it."""
        return self.by_name.get(name)


def _for_apps(item: JsonObject) -> bool:
    """Whether `_meta.ui.visibility` lets apps call a tool (MCP Apps 2026-01-26 § Visibility)."""
    meta = item.get("_meta")
    ui = meta.get("ui") if isinstance(meta, dict) else None
    visibility = ui.get("visibility") if isinstance(ui, dict) else None
    return isinstance(visibility, list) and "app" in visibility


def name_table(entries: Iterable[Entry], aliases: Mapping[str, Entry] | None = None) -> NameTable:
    """Index `entries` by both forms; the first in order keeps a contested name, and the clash is reported."""
    table: dict[str, Entry] = {}
    clashes: list[str] = []
    for entry in entries:
        for public in {entry.dotted: None, entry.safe: None}:
            owner = table.setdefault(public, entry)
            if owner is not entry:
                clashes.append(
                    f"{public!r} is {owner.local!r} of {owner.mount_id!r}, not {entry.local!r} of {entry.mount_id!r}"
                )
    for name, entry in (aliases or {}).items():
        table.setdefault(name, entry)
    return NameTable(table, tuple(clashes))


@dataclass(frozen=True, slots=True)
class WebTable:
    """Who owns an `http(s)` URI: such URIs stay as they are, so only listings and links tell (design D7)."""

    owners: Mapping[str, str]
    prefixes: tuple[tuple[str, str], ...]
    conflicts: tuple[str, ...]

    def owner(self, uri: str) -> str | None:
        """The id of the mount that listed `uri`, or whose template starts the way `uri` does (longest start wins)."""
        found = self.owners.get(uri)
        if found is not None:
            return found
        return next((mount for start, mount in self.prefixes if uri.startswith(start)), None)


def web_table(resources: Sequence[tuple[str, str]], templates: Sequence[tuple[str, str]]) -> WebTable:
    """Build the ownership table from (uri, mount id) and (uriTemplate, mount id) pairs in config order.

    An identical URI in two upstreams belongs to the first; the conflict is kept for the status.
    """
    owners: dict[str, str] = {}
    conflicts: list[str] = []
    for uri, mount in resources:
        owner = owners.setdefault(uri, mount)
        if owner != mount:
            conflicts.append(
                f"{uri} is offered by {owner!r} and {mount!r}; {owner!r} comes first in the config and answers"
            )
    starts: dict[str, str] = {}
    for template, mount in templates:
        owner = starts.setdefault(template.split("{", 1)[0], mount)
        if owner != mount:
            conflicts.append(
                f"{template} is offered by {owner!r} and {mount!r}; {owner!r} comes first in the config and answers"
            )
    longest_first = sorted(starts.items(), key=lambda pair: -len(pair[0]))
    return WebTable(owners, tuple(longest_first), tuple(conflicts))
