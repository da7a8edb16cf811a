"""A list that is sent again and again: the same object for the same items, so that its text is found again."""

import pytest

from wf_mcp.core.wire import JsonObject, Written

ITEMS: list[JsonObject] = [{"n": n} for n in range(5)]


def test_it_is_a_list_of_its_items() -> None:
    assert Written(ITEMS) == ITEMS
    assert Written(ITEMS).text is None


def test_the_whole_list_as_a_part_is_the_list() -> None:
    whole = Written(ITEMS)
    assert whole.part(0, 5) is whole
    empty = Written([])
    assert empty.part(0, 0) is empty


@pytest.mark.parametrize(("start", "end"), [(0, 2), (2, 5), (1, 1)])
def test_a_part_is_the_same_object_each_time(start: int, end: int) -> None:
    whole = Written(ITEMS)
    part = whole.part(start, end)
    assert part == ITEMS[start:end]
    assert whole.part(start, end) is part
    part.text = b"[]"
    assert whole.text is None
