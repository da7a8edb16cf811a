"""docs/inventory.md says what the tests show: generated, complete, and naming nothing that does not exist."""

import ast
import re

from tests.inventory import HEAD, PAGE, TAIL, TESTS, page, rows


def test_the_page_is_what_the_tests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make inventory`"


def test_every_row_that_is_named_by_hand_exists() -> None:
    by_hand = HEAD.read_text(encoding="utf-8") + TAIL.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z]+\.[a-z0-9-]+)`", by_hand))
    known = rows()
    areas = {row.partition(".")[0] for row in known}
    assert sorted(name for name in named if name.partition(".")[0] in areas and name not in known) == []


def test_every_end_to_end_test_shows_a_row() -> None:
    bare = [
        f"{path.name}::{node.name}"
        for path in sorted((TESTS / "interaction").glob("test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not any(
            isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "covers" for mark in node.decorator_list
        )
    ]
    assert bare == []
