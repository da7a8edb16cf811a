"""One list as it was loaded last: whether it is up to date, whom it may be told, and how long it holds."""

import time
from typing import Any

import pytest
from tests.runtime.memory import tool

from wf_mcp.core.hints import Hints
from wf_mcp.core.kinds import TEMPLATES, TOOLS
from wf_mcp.runtime.kept_list import KeptList, Loaded, announced

A, B = (tool("a"),), (tool("b"),)


def kept(**fields: Any) -> KeptList:
    made = KeptList(**fields)
    made.put(Loaded(A, hints=Hints(5000, "public")), made.generation)
    return made


def test_equal_items_stay_the_very_same_objects() -> None:
    one = kept()
    first = one.items
    assert not one.put(Loaded((tool("a"),), {"vendor": 1}), 1)
    assert one.items is first
    assert (one.meta, one.hints, one.loaded) == ({"vendor": 1}, None, 1)
    assert one.put(Loaded(B), 2)
    assert one.items == B


def test_what_is_described_otherwise_is_named_once() -> None:
    one = KeptList()
    first, second = Loaded((tool("a"), tool("b"))), Loaded((tool("b", description="new"), tool("c")))
    assert one.redefined(first, TOOLS.field) == []
    one.put(first, 1)
    assert one.redefined(first, TOOLS.field) == []
    assert one.redefined(second, TOOLS.field) == ["b"]
    one.put(second, 2)
    assert one.redefined(second, TOOLS.field) == []


def test_a_list_expires_once_and_only_where_nobody_would_tell_of_a_change() -> None:
    for told, past, expected in ((False, 6, 1), (False, 4, 0), (True, 6, 0)):
        one = kept(announced=told)
        one.arrived = time.monotonic() - past
        one.expire()
        one.expire()  # it is outdated by now, and being loaded perhaps
        assert one.generation == expected


def test_hints_that_an_upstream_keeps_good_do_not_run_out() -> None:
    for told, expected in ((True, 5000), (False, 0)):
        one = kept(announced=told)
        one.arrived = time.monotonic() - 60
        assert one.hints_now() == Hints(expected, "public")


@pytest.mark.parametrize(
    ("fields", "new", "expected"),
    [
        ({}, B, False),
        ({"owed": True}, B, True),
        ({"owed": True}, A, False),
        ({"announced": False}, B, True),
        ({"announced": False}, A, False),
    ],
)
def test_clients_are_told_of_a_difference_that_they_cannot_know_of(
    fields: dict[str, bool], new: tuple[Any, ...], expected: bool
) -> None:
    one = kept()
    for name, value in fields.items():
        setattr(one, name, value)
    assert one.tells(Loaded(new)) is expected


def test_the_first_list_is_no_change_unless_somebody_went_without_it() -> None:
    assert not KeptList(announced=False).tells(Loaded(A))
    assert KeptList(owed=True).tells(Loaded(A))
    assert not KeptList(owed=True).tells(Loaded(()))


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"tools": {"listChanged": True}}, True),
        ({"tools": {"listChanged": False}}, False),
        ({"tools": {}}, False),
        ({"tools": None}, False),
        ({}, False),
    ],
)
def test_an_upstream_tells_of_changes_if_it_says_so(capabilities: dict[str, Any], expected: bool) -> None:
    assert announced(capabilities, TOOLS) is expected
    assert announced({"resources": {"listChanged": True}}, TEMPLATES)


def test_what_was_listed_before_stands_until_it_is_listed_anew() -> None:
    one = KeptList()
    one.seed(Loaded(A, {"vendor": 1}, Hints(5000, "public")), 2.0)
    assert (one.items, one.meta, one.remembered, one.fresh) == (A, {"vendor": 1}, True, False)
    left = one.hints_now()
    assert left is not None and 2500 < left.ttl <= 3000  # nobody would tell of a change
    one.put(Loaded(A), 1)
    assert (one.remembered, one.fresh, one.items is not None and one.items is A) == (False, True, True)


def test_only_a_list_that_is_up_to_date_stands_while_its_upstream_sleeps() -> None:
    unknown, outdated, good = KeptList(), kept(), kept()
    outdated.generation += 1
    for one in (unknown, outdated, good):
        one.rest()
    assert [one.remembered for one in (unknown, outdated, good)] == [False, False, True]
