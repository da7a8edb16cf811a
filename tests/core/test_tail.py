"""The stderr ring: always the end, never more than its bounds."""

from wf_mcp.core.tail import Tail


def test_the_last_lines_are_kept_in_order():
    tail = Tail(max_lines=2)
    tail.feed(b"one\ntw")
    tail.feed(b"o\r\nthree\n")
    assert tail.lines() == ["two", "three"]
    assert tail.text() == "two\nthree"


def test_nothing_said_is_nothing_shown():
    assert Tail().lines() == []
    assert Tail().text() == ""


def test_a_line_without_end_keeps_its_last_bytes():
    tail = Tail(max_bytes=10)
    for _ in range(1000):
        tail.feed(b"abcdefghijklmnop")
    assert tail.lines() == ["…ghijklmnop"]
    tail.feed(b"x" * 1_000_000 + b"\nend")
    assert tail.lines() == ["…xxxxxx", "end"]


def test_invalid_utf8_is_replaced_and_a_cut_character_is_not_shown():
    tail = Tail(max_bytes=8)
    tail.feed(b"\xffboom")
    assert tail.lines() == ["�boom"]
    tail = Tail(max_bytes=7)
    tail.feed("aaa😀 end".encode())
    assert tail.lines() == ["… end"]


def test_an_unfinished_line_is_shown():
    tail = Tail()
    tail.feed(b"Traceback\n  boom")
    assert tail.lines() == ["Traceback", "  boom"]
