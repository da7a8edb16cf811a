"""docs/inventory.md from the tests: every `@covers` row, by area, with the tests that show it.

`make inventory` writes the page; a test compares. What no test can say (gaps, what is not ours) stands in
`inventory_head.md` and `inventory_tail.md` beside this file and is put around the generated part.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.matrix import show_asking, show_flow, show_plain
from tests.matrix.cells import CELLS, COLUMNS
from tests.matrix.features import FEATURES

MATRIX = (show_plain, show_asking, show_flow)
"""The modules of the matrix, in the order of its rows; their import fills `FEATURES`."""

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
PAGE = DOCS / "inventory.md"
HEAD = TESTS / "inventory_head.md"
TAIL = TESTS / "inventory_tail.md"


@dataclass
class Row:
    """One observed behaviour: its sentence, and the tests that show it."""

    sentence: str
    tests: dict[str, None] = field(default_factory=dict)


def rows() -> dict[str, Row]:
    """Every row by id, read from the tests' decorators without importing them."""
    found: dict[str, Row] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        if "node_modules" in path.parts or ".wheel-venv" in path.parts:
            continue
        for name, row, sentence in _marks(path):
            entry = found.setdefault(row, Row(sentence))
            if entry.sentence != sentence:
                raise SystemExit(f"{path}: row {row} has two sentences:\n  {entry.sentence}\n  {sentence}")
            entry.tests[f"{path.relative_to(TESTS.parent).as_posix()}::{name}"] = None
    return found


def _marks(path: Path) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "covers":
                row, sentence = (ast.literal_eval(argument) for argument in mark.args)
                yield node.name, row, sentence


def page() -> str:
    """The whole page."""
    areas: dict[str, list[str]] = {}
    for row, entry in sorted(rows().items()):
        shown = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in entry.tests)
        areas.setdefault(row.partition(".")[0], []).append(f"| `{row}` | {entry.sentence} | {shown} |")
    parts = [HEAD.read_text(encoding="utf-8").rstrip()]
    for area, lines in areas.items():
        parts.append("\n".join([f"### {area}", "", "| row | observed | by |", "| --- | --- | --- |", *lines]))
    parts.append(eras())
    parts.append(TAIL.read_text(encoding="utf-8").rstrip())
    return "\n\n".join(parts) + "\n"


def eras() -> str:
    """The matrix: every feature by the client's and the upstream's era, and the clauses for cells that cannot have it.

    Over stdio and over HTTP each cell is the same; `tests/matrix/test_matrix.py` runs all of them.
    """
    columns = {cell.eras: cell for cell in CELLS}
    notes: list[str] = []
    lines = []
    places = [module.__name__ for module in MATRIX]
    for each in sorted(FEATURES.values(), key=lambda feature: places.index(feature.show.__module__)):
        said = [each.said(columns[eras]) for eras in COLUMNS]
        notes = list(dict.fromkeys([*notes, *(text for text in said if text != "works")]))
        marks = ["works" if text == "works" else f"[{notes.index(text) + 1}]" for text in said]
        lines.append(f"| {each.name} | {' | '.join(marks)} |")
    head = [
        "## Eras",
        "",
        "Client era → upstream era (`hs`: handshake, up to 2025-11-25; `modern`: 2026-07-28), over stdio and HTTP;",
        "`tests/matrix/test_matrix.py` runs each cell over both.",
        "",
        f"| feature | {' | '.join(COLUMNS)} |",
        f"| --- |{' --- |' * len(COLUMNS)}",
    ]
    return "\n".join([*head, *lines, "", *(f"[{number}] {text}  " for number, text in enumerate(notes, 1))])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
