"""What is made of shelves, kept as long as they are the same.

While no list changed anywhere, a look costs one comparison, however many mounts there are (design D1).
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from wf_mcp.runtime.shelves import Shelf

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Memo(Generic[Key, Value]):
    """`make` of the shelves that belong to a key; `changes` is a count that grows whenever shelves may be others."""

    def __init__(
        self,
        changes: Callable[[], int],
        shelves: Callable[[Key], tuple[Shelf, ...]],
        make: Callable[[tuple[Shelf, ...]], Value],
    ) -> None:
        self._changes = changes
        self._shelves = shelves
        self._make = make
        self._kept: dict[Key, tuple[int, tuple[Shelf, ...], Value]] = {}

    def get(self, key: Key) -> Value:
        """What was made for `key`, made again only if its shelves are others now."""
        now = self._changes()
        kept = self._kept.get(key)
        if kept is not None and kept[0] == now:
            return kept[2]
        shelves = self._shelves(key)
        value = kept[2] if kept is not None and _same(kept[1], shelves) else self._make(shelves)
        self._kept[key] = (now, shelves, value)
        return value

    def forget(self, gone: Callable[[Key], bool]) -> None:
        """Let go of what was made for keys that nobody will ask for any more."""
        for key in [key for key in self._kept if gone(key)]:
            del self._kept[key]


def _same(one: tuple[Shelf, ...], other: tuple[Shelf, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
