"""What an upstream listed when it was last connected, as it is kept on disk (design D5): so that all lists are complete
at once after a restart, while the upstream sleeps.

Nothing is kept but what the upstream itself says to its clients. A text of another version or shape is refused whole.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from wf_mcp.core.envelope import Era
from wf_mcp.core.hints import Hints, hints_of
from wf_mcp.core.kinds import KINDS, Kind, KindName
from wf_mcp.core.wire import JsonObject

VERSION: Final = 1
"""Of the format; what was written under another one is forgotten."""


class BadStored(ValueError):
    """A text that is no stored catalogue, with the reason."""


@dataclass(frozen=True, slots=True)
class CatalogueKey:
    """For whom a catalogue holds: the upstream as configured (`digest`), what is declared to it, and for which
    principal, if for one.

    `declared` are the client's capabilities, era and protocol version, since servers list more to a client that can
    do more.
    """

    digest: str
    declared: JsonObject = field(hash=False)
    principal: str | None = None

    @property
    def text(self) -> str:
        """The key as one line, equal for equal keys. It depends on the configuration's secrets: never to be shown."""
        return json.dumps([self.digest, self.declared, self.principal], sort_keys=True)


@dataclass(frozen=True, slots=True)
class StoredList:
    """One kind's list: every page's items, and the `_meta` and cache hints of all pages together."""

    items: tuple[JsonObject, ...]
    meta: JsonObject | None = None
    hints: Hints | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """One upstream's catalogue: `at` is when it was listed, in seconds since 1970, `initialized` its `initialize`
    result, or what a modern upstream said in that shape; `lists` has every kind.
    """

    at: float
    era: Era
    initialized: JsonObject
    lists: Mapping[KindName, StoredList]


def dump(stored: Stored) -> str:
    """`stored` as text."""
    lists = {name: _list_json(each) for name, each in stored.lists.items()}
    whole = {
        "version": VERSION,
        "at": stored.at,
        "era": stored.era,
        "initialized": stored.initialized,
        "lists": lists,
    }
    return json.dumps(whole, separators=(",", ":"))


def parse(text: str | bytes) -> Stored:
    """The catalogue in `text`; raises `BadStored` where its version or its shape is not `dump`'s."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadStored(f"it is no JSON: {error}") from error
    if not isinstance(whole, dict) or whole.get("version") != VERSION:
        raise BadStored(f"it is not of version {VERSION}")
    at, era = whole.get("at"), whole.get("era")
    initialized, lists = whole.get("initialized"), whole.get("lists")
    if isinstance(at, bool) or not isinstance(at, int | float) or at < 0:
        raise BadStored("it does not say when it was made")
    if era not in ("handshake", "modern"):
        raise BadStored(f"it is of the era {era!r}")
    if not isinstance(initialized, dict) or not isinstance(initialized.get("capabilities"), dict):
        raise BadStored("it does not say what the upstream declared")
    if not isinstance(lists, dict):
        raise BadStored("it has no lists")
    return Stored(float(at), era, initialized, {kind.name: _list_of(lists.get(kind.name), kind) for kind in KINDS})


def _list_json(stored: StoredList) -> JsonObject:
    whole: JsonObject = {"items": list(stored.items)}
    if stored.meta is not None:
        whole["meta"] = stored.meta
    return whole if stored.hints is None else {**whole, "hints": stored.hints.as_fields()}


def _list_of(whole: Any, kind: Kind) -> StoredList:
    if not isinstance(whole, dict) or not isinstance(whole.get("items"), list):
        raise BadStored(f"it has no list of {kind.name}")
    items = whole["items"]
    if not all(isinstance(item, dict) and isinstance(item.get(kind.field), str) for item in items):
        raise BadStored(f"one of its {kind.name} has no {kind.field}")
    meta, hints = whole.get("meta"), whole.get("hints")
    if not isinstance(meta, dict | None) or not isinstance(hints, dict | None):
        raise BadStored(f"what it says about its {kind.name} is no object")
    return StoredList(tuple(items), meta, None if hints is None else hints_of(hints))
