"""What passes over the wire, as Python sees it: JSON objects, and nothing that rebuilds them."""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""One JSON object. Functions of the core never change one that they were given; they return a new one."""


class Written(list[JsonObject]):
    """A list that is sent again and again, and never changed: whoever first writes it as JSON keeps its `text` here.

    It is found again in whatever result it stands in, since only the objects around it are copied on their way out.
    """

    text: bytes | None = None

    def __init__(self, items: list[JsonObject]) -> None:
        super().__init__(items)
        self._parts: dict[tuple[int, int], Written] = {}

    def part(self, start: int, end: int) -> "Written":
        """The items from `start` to `end`, the same object for the same ones."""
        if start == 0 and end == len(self):
            return self
        found = self._parts.get((start, end))
        if found is None:
            found = self._parts[start, end] = Written(self[start:end])
        return found
