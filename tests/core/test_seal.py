"""A seal opens for its key and its purpose, in one spelling, and for nothing else (2026-07-28 basic/patterns/mrtr)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.seal import Sealer, SealError

SEALER, OTHER = Sealer(b"k" * 32), Sealer(b"o" * 32)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(JSON)
def test_what_is_sealed_comes_back(claims: object) -> None:
    text = SEALER.seal("state", claims)
    assert SEALER.open("state", text) == claims
    assert text.isascii() and all(char.isalnum() or char in "-_" for char in text)


@given(JSON, st.data())
def test_any_other_text_is_refused(claims: object, data: st.DataObject) -> None:
    text = SEALER.seal("state", claims)
    place = data.draw(st.integers(0, len(text) - 1))
    char = data.draw(st.sampled_from("ABab09-_=+/ \n"))
    changed = text[:place] + char + text[place + 1 :]
    if changed != text:
        with pytest.raises(SealError):
            SEALER.open("state", changed)


def test_another_key_or_purpose_does_not_open() -> None:
    text = SEALER.seal("state", 1)
    for sealer, purpose in ((OTHER, "state"), (SEALER, "cursor")):
        with pytest.raises(SealError):
            sealer.open(purpose, text)


@pytest.mark.parametrize("text", [None, 1, "", "=", "é", "A", SEALER.seal("state", 1) + "=", b"x"], ids=repr)
def test_what_is_no_seal_is_refused(text: object) -> None:
    with pytest.raises(SealError):
        SEALER.open("state", text)


def test_the_key_is_not_shown() -> None:
    assert "kkk" not in repr(SEALER)
