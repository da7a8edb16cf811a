"""Pages towards the client: whole in sum, and no cursor that could skip or repeat something (matrix F.4)."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.paging import page

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
ITEMS = list("abcdefg")


def first(size: int | None = 2, **fields: object) -> tuple[list[str], str | None]:
    return page_of(None, size, **fields)


def page_of(cursor: object, size: int | None = 2, **fields: object) -> tuple[list[str], str | None]:
    options = {"kind": "tools", "state": "s1", "key": KEY, **fields}
    items, following = page(ITEMS, cursor, size=size, **options)
    return list(items), following


@given(st.lists(st.integers(), max_size=30), st.integers(1, 31))
def test_the_pages_together_are_the_list(items: list[int], size: int) -> None:
    found: list[int] = []
    cursor: str | None = None
    while True:
        part, cursor = page(items, cursor, kind="tools", size=size, state="s", key=KEY)
        assert len(part) <= size
        found += part
        if cursor is None:
            break
    assert found == items


def test_without_a_size_everything_is_on_one_page() -> None:
    assert first(None) == (ITEMS, None)


@pytest.mark.parametrize("size", [7, 8])
def test_a_list_that_fits_has_no_cursor(size: int) -> None:
    assert first(size) == (ITEMS, None)


def test_a_cursor_says_nothing_that_a_client_could_change() -> None:
    _, cursor = first()
    assert cursor is not None
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    forged = json.dumps({**json.loads(raw[16:]), "start": 6}, sort_keys=True, separators=(",", ":")).encode()
    refused(base64.urlsafe_b64encode(raw[:16] + forged).decode().rstrip("="))


@given(st.data())
def test_a_cursor_of_which_any_character_was_changed_is_refused(data: st.DataObject) -> None:
    _, cursor = first()
    assert cursor is not None
    place = data.draw(st.integers(0, len(cursor) - 2))
    # The last character of base64 may hold bits that mean nothing; every other one counts.
    other = data.draw(st.sampled_from([c for c in "ABCxyz019-_" if c != cursor[place]]))
    refused(cursor[:place] + other + cursor[place + 1 :])


@pytest.mark.parametrize(
    "fields", [{"kind": "prompts"}, {"state": "s2"}, {"key": OTHER_KEY}], ids=["kind", "state", "key"]
)
def test_a_cursor_of_another_list_another_state_or_another_process_is_refused(fields: dict[str, object]) -> None:
    _, cursor = first()
    refused(cursor, **fields)


@pytest.mark.parametrize(
    "cursor",
    ["", " ", "2", "abc", "=", "ü", "A" * 21, "A" * 22, "A" * 10_000, "\x00", 0, 2, True, [], {}, b"x", 1.5],
    ids=lambda value: repr(value)[:20],
)
def test_what_was_never_a_cursor_is_refused(cursor: object) -> None:
    refused(cursor)
    with pytest.raises(InvalidParams):
        page_of(cursor, None)


def test_a_cursor_stays_good_where_the_size_of_pages_changes() -> None:
    _, cursor = first(2)
    assert page_of(cursor, 3)[0] == ["c", "d", "e"]
    assert page_of(cursor, None) == (ITEMS[2:], None)


def refused(cursor: object, **fields: object) -> None:
    with pytest.raises(InvalidParams, match="start again without a cursor") as raised:
        page_of(cursor, **fields)
    assert raised.value.code == -32602
