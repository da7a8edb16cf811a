"""Which observed behaviour a test shows: `@covers("lists.all-pages", "A list follows every upstream page")`.

docs/inventory.md is generated from these rows. A row may be shown by several tests; it has one sentence.
"""

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

ATTRIBUTE = "__covers__"


def covers(row: str, sentence: str) -> Callable[[F], F]:
    """Marks a test with a row of the inventory: an id like `relay.results-whole` and what was observed."""

    def mark(test: F) -> F:
        rows: dict[str, str] = getattr(test, ATTRIBUTE, {})
        setattr(test, ATTRIBUTE, {row: sentence, **rows})
        return test

    return mark


def rows_of(test: object) -> dict[str, str]:
    """The rows that a test shows: id to sentence; empty for a test without any."""
    rows: dict[str, str] = getattr(test, ATTRIBUTE, {})
    return rows
