"""Pages towards the client: opaque, sealed cursors over a list made of sections, one for each upstream (matrix F.4).

A cursor says after which item of which section it goes on, so that it stays good while other upstreams come, go and
change, and after a restart under the same key. One that was tampered with, was made for another kind or another
principal, or whose item is gone, is refused, so that a client starts again instead of missing or repeating items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.seal import Sealer, SealError
from wf_mcp.core.wire import JsonObject

PURPOSE: Final = "cursor"
"""What the seal is for."""


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a list, `start` to `end`, that one `owner` has in it."""

    owner: str
    start: int
    end: int


def sections(owners: Sequence[str]) -> tuple[Section, ...]:
    """The sections of a list whose items belong to these owners, in order."""
    found: list[Section] = []
    at = 0
    for owner, run in groupby(owners):
        end = at + sum(1 for _ in run)
        found.append(Section(owner, at, end))
        at = end
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Pages:
    """One list as `sections`, with each item's own key at its upstream, in pages for one `principal`."""

    kind: str
    principal: str | None
    sections: tuple[Section, ...]
    keys: Sequence[str]

    def page(self, cursor: object, size: int | None, sealer: Sealer, *, given: bool) -> tuple[slice, str | None]:
        """Which items are on a page, and the cursor of the next; `given` says whether the client brought a cursor.

        Raises `InvalidParams` (-32602, server/utilities/pagination) for a cursor that is not good for this list.
        """
        start = self._start(cursor, sealer) if given else 0
        end = len(self.keys) if size is None else min(start + size, len(self.keys))
        following = sealer.seal(PURPOSE, self._place(end - 1)) if 0 < end < len(self.keys) else None
        return slice(start, end), following

    def _place(self, last: int) -> JsonObject:
        """Where the item that came last stands."""
        at = next(n for n, section in enumerate(self.sections) if section.start <= last < section.end)
        section = self.sections[at]
        return {
            "kind": self.kind,
            "principal": self.principal,
            "owner": section.owner,
            "key": self.keys[last],
            "index": last - section.start,
            "before": [each.owner for each in self.sections[:at]],
        }

    def _start(self, cursor: object, sealer: Sealer) -> int:
        try:
            place: JsonObject = sealer.open(PURPOSE, cursor)
        except SealError as error:
            raise _refused(str(error)) from error
        if place["kind"] != self.kind or place["principal"] != self.principal:
            raise _refused("it was made for another list")
        section = next((each for each in self.sections if each.owner == place["owner"]), None)
        return self._past(place["before"]) if section is None else self._after(section, place)

    def _after(self, section: Section, place: JsonObject) -> int:
        """The item after the one that came last, wherever that stands now."""
        likely = section.start + place["index"]
        if likely < section.end and self.keys[likely] == place["key"]:
            return int(likely) + 1
        for at in range(section.start, section.end):
            if self.keys[at] == place["key"]:
                return at + 1
        raise _refused("what it went on from is gone")

    def _past(self, before: list[str]) -> int:
        """Where the owner is gone: the start of what follows the sections that were given out before it."""
        return max((section.end for section in self.sections if section.owner in before), default=0)


def _refused(why: str) -> InvalidParams:
    return InvalidParams(f"Invalid cursor: {why}; start again without a cursor")
