"""What crosses, feature by feature: each shows its feature to the end, or fails.

A feature that the specification makes impossible in a cell names the clause; its function then shows what happens
instead.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tests.matrix.cells import Cell, Table
from tests.matrix.person import Person

Show = Callable[[Table, Person], Awaitable[None]]


@dataclass(frozen=True)
class Feature:
    """One row: `name`, the function that shows it, and the clause for the cells (`hs→modern` …) without it."""

    name: str
    show: Show
    impossible: Mapping[str, str] = field(default_factory=dict)

    def said(self, cell: Cell) -> str:
        """What the inventory says of a cell."""
        return self.impossible.get(cell.eras, "works")


FEATURES: dict[str, Feature] = {}


def feature(name: str, **impossible: str) -> Callable[[Show], Show]:
    """Registers a feature; `impossible` by cell, `hs_modern="clause"`."""

    def register(show: Show) -> Show:
        assert name not in FEATURES, name
        FEATURES[name] = Feature(name, show, {cell.replace("_", "→"): clause for cell, clause in impossible.items()})
        return show

    return register
