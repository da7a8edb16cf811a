"""Pages towards the client: whole in sum, and no cursor that could skip or repeat something (matrix F.4)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.paging import Pages, sections
from wf_mcp.core.seal import Sealer

SEALER, OTHER = Sealer(b"k" * 32), Sealer(b"o" * 32)
Offers = dict[str, list[str]]
ALPHA: Offers = {"a": list("123"), "b": list("12"), "c": list("1")}


def pages_of(offers: Offers, kind: str = "tools", principal: str | None = None) -> Pages:
    """The list of what each upstream offers, in order."""
    owners = [owner for owner, keys in offers.items() for _ in keys]
    return Pages(kind, principal, sections(owners), [key for keys in offers.values() for key in keys])


def items(offers: Offers) -> list[str]:
    return [owner + key for owner, keys in offers.items() for key in keys]


def page(offers: Offers, cursor: object = None, size: int | None = 2, **fields: str) -> tuple[list[str], str | None]:
    part, following = pages_of(offers, **fields).page(cursor, size, SEALER, given=cursor is not None)
    return items(offers)[part], following


OFFERS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("123456"), max_size=6, unique=True))


@given(OFFERS, st.integers(1, 31))
def test_the_pages_together_are_the_list(offers: Offers, size: int) -> None:
    found: list[str] = []
    cursor: str | None = None
    while True:
        part, cursor = page(offers, cursor, size)
        assert len(part) <= size
        found += part
        if cursor is None:
            break
    assert found == items(offers)


@given(OFFERS, OFFERS, st.sampled_from("abcdef"), st.integers(1, 6))
def test_what_other_upstreams_do_between_pages_costs_the_present_one_nothing(
    before: Offers, after: Offers, present: str, size: int
) -> None:
    """The upstream that a page ended in is listed to its end, each item once, whatever the others have become."""
    part, cursor = page(before, None, size)
    if cursor is None or part[-1][0] != present:
        return
    after = {**after, present: before[present]}
    rest, _ = page(after, cursor, None)
    mine = [item for item in [*part, *rest] if item[0] == present]
    assert mine == [present + key for key in before[present]]


def test_an_upstream_that_is_gone_is_followed_by_the_next() -> None:
    part, cursor = page(ALPHA, size=4)
    assert part == ["a1", "a2", "a3", "b1"]
    assert page({"new": ["1"], "a": ["1"], "c": ["1"], "d": ["1"]}, cursor, None)[0] == ["c1", "d1"]
    assert page({"x": ["1"], "c": ["1"]}, cursor, None)[0] == ["x1", "c1"]


def test_an_item_that_moved_is_gone_on_from_where_it_is() -> None:
    _, cursor = page(ALPHA)
    assert page({**ALPHA, "a": ["0", "1", "2", "4", "3"]}, cursor, 3)[0] == ["a4", "a3", "b1"]


def test_an_item_that_is_gone_is_refused() -> None:
    _, cursor = page(ALPHA)
    refused(cursor, offers={**ALPHA, "a": ["1", "3"]})


def test_without_a_size_everything_is_on_one_page() -> None:
    assert page(ALPHA, size=None) == (items(ALPHA), None)


@pytest.mark.parametrize("size", [6, 7])
def test_a_list_that_fits_has_no_cursor(size: int) -> None:
    assert page(ALPHA, size=size) == (items(ALPHA), None)
    assert page({}, size=size) == ([], None)


@given(st.data())
def test_a_cursor_of_which_any_character_was_changed_is_refused(data: st.DataObject) -> None:
    _, cursor = page(ALPHA)
    assert cursor is not None
    place = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from([c for c in "ABCxyz019-_" if c != cursor[place]]))
    refused(cursor[:place] + other + cursor[place + 1 :])


def test_a_cursor_of_another_list_another_principal_or_another_key_is_refused() -> None:
    _, cursor = page(ALPHA)
    refused(cursor, kind="prompts")
    refused(cursor, principal="alice")
    with pytest.raises(InvalidParams):
        pages_of(ALPHA).page(cursor, 2, OTHER, given=True)
    with pytest.raises(InvalidParams):
        pages_of(ALPHA).page(SEALER.seal("request-state", {"kind": "tools"}), 2, SEALER, given=True)


@pytest.mark.parametrize(
    "cursor",
    ["", " ", "2", "abc", "=", "ü", "A" * 21, "A" * 22, "A" * 10_000, "\x00", 0, 2, True, [], {}, b"x", 1.5, None],
    ids=lambda value: repr(value)[:20],
)
def test_what_was_never_a_cursor_is_refused(cursor: object) -> None:
    for size in (2, None):
        with pytest.raises(InvalidParams, match="start again without a cursor"):
            pages_of(ALPHA).page(cursor, size, SEALER, given=True)


def test_a_cursor_stays_good_where_the_size_of_pages_changes() -> None:
    _, cursor = page(ALPHA, size=2)
    assert page(ALPHA, cursor, 3)[0] == ["a3", "b1", "b2"]
    assert page(ALPHA, cursor, None) == (items(ALPHA)[2:], None)


def test_an_upstream_that_lists_one_key_twice_is_gone_on_from_the_right_one() -> None:
    twice: Offers = {"a": ["x", "x", "x", "y"]}
    _, cursor = page(twice, size=2)
    assert page(twice, cursor, None)[0] == ["ax", "ay"]


def test_sections_are_runs_of_one_owner() -> None:
    (first, second) = sections(["a", "a", "b"])
    assert (first.owner, first.start, first.end) == ("a", 0, 2)
    assert second == replace(first, owner="b", start=2, end=3)


def refused(cursor: object, offers: Offers = ALPHA, **fields: str) -> None:
    with pytest.raises(InvalidParams, match="start again without a cursor") as raised:
        page(offers, cursor, **fields)
    assert raised.value.code == -32602
