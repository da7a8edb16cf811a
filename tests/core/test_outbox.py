"""The backlog of one client: bounded, repeats collapse (style habit 22)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.events import ToolsChanged
from wf_mcp.core.outbox import Outbox


@given(st.lists(st.integers(0, 5)), st.integers(1, 6))
def test_what_is_taken_is_what_was_accepted_each_once_in_order(offers: list[int], limit: int) -> None:
    box: Outbox[int] = Outbox(limit)
    accepted = [item for item in offers if box.offer(item)]
    assert len(box) <= limit
    assert box.take() == tuple(dict.fromkeys(accepted))
    assert box.take() == ()


def test_a_repeat_is_accepted_by_a_full_box_and_changes_nothing() -> None:
    box: Outbox[ToolsChanged] = Outbox(2)
    assert box.offer(ToolsChanged("a"))
    assert box.offer(ToolsChanged("b"))
    assert box.offer(ToolsChanged("a"))
    assert not box.offer(ToolsChanged("c"))
    assert box.take() == (ToolsChanged("a"), ToolsChanged("b"))


def test_what_was_taken_may_come_again() -> None:
    box: Outbox[str] = Outbox(1)
    box.offer("a")
    box.take()
    assert box.offer("a")
    assert box.take() == ("a",)


def test_a_box_holds_something() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Outbox(0)
