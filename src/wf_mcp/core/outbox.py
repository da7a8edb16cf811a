"""What one client still has to hear: a bounded backlog in which repeats collapse.

Every item means "look again", so that a second one, not yet sent, says nothing new. The rule knows no clock and no
connection; the sinks keep one box per client and send from it.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Outbox(Generic[Item]):
    """A backlog of at most `limit` different items, first offered, first taken."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"an outbox holds at least one item, not {limit}")
        self._limit = limit
        self._waiting: dict[Item, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, item: Item) -> bool:
        """Queue `item`; false means that this client has fallen too far behind, and nothing was queued."""
        if item not in self._waiting and len(self._waiting) >= self._limit:
            return False
        self._waiting.setdefault(item)
        return True

    def take(self) -> tuple[Item, ...]:
        """Return everything that waits, in the order first offered, and forget it."""
        taken = tuple(self._waiting)
        self._waiting.clear()
        return taken
