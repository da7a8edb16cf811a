"""Feature × cell: every feature of `FEATURES` in every cell, at real processes; the table in docs/inventory.md is made
of the same rows.
"""

import traceback
from pathlib import Path

import pytest
from tests.covers import covers
from tests.matrix import show_asking, show_flow, show_plain
from tests.matrix.cells import CELLS, Cell, Table
from tests.matrix.features import FEATURES
from tests.rig import Rig

pytestmark = pytest.mark.anyio
SHOWN = (show_plain, show_asking, show_flow)


@covers("eras.matrix", "Every feature works in all four pairs of eras over stdio and HTTP, or a clause says why not")
@pytest.mark.parametrize("cell", CELLS, ids=[cell.id for cell in CELLS])
async def test_every_feature_in(cell: Cell, rig: Rig) -> None:
    table = Table(rig, cell)
    failed: dict[str, str] = {}
    async with table.person() as person:
        for each in FEATURES.values():
            try:
                await each.show(table, person)
            except Exception as error:  # every feature gets its turn; what failed is told together
                failed[each.name] = f"{where(error)} {type(error).__name__}: {error}"[:900]
    assert not failed, "\n".join(f"{name}: {why}" for name, why in failed.items())


def where(error: Exception) -> str:
    """The line of this folder at which a feature failed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "matrix" in frame.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno} `{frames[-1].line}`"


def test_every_clause_is_of_a_cell() -> None:
    cells = {cell.eras for cell in CELLS}
    assert {eras for each in FEATURES.values() for eras in each.impossible} <= cells
