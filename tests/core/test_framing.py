"""Framing: what comes out depends on the bytes, never on how they were cut into chunks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.framing import HEAD, NOISE, Lines, Overlong, replace_lone_surrogates


class CountedChunk(bytes):
    """A chunk that counts how many of its bytes are searched."""

    searched = 0

    def find(self, sub, start=0):
        found = super().find(sub, start)
        CountedChunk.searched += (found + 1 if found >= 0 else len(self)) - start
        return found


def fed(chunks, limit=None):
    lines = Lines(limit)
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    return found + lines.finish()


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\n"], [b"ab"]),
        ([b"a\r\nb\r", b"\n"], [b"a", b"b"]),
        ([b"\n\n"], [b"", b""]),
        ([b"", b"\n", b""], [b""]),
        ([b"a\nrest"], [b"a", b"rest"]),
        ([b"a\rb\n"], [b"a\rb"]),
        ([], []),
    ],
)
def test_lines(chunks, expected):
    assert fed(chunks) == expected


@given(st.binary(max_size=200), st.lists(st.integers(1, 20), min_size=1))
def test_the_cut_into_chunks_changes_nothing(data, sizes):
    data = data.replace(b"\r", b"")
    chunks, position = [], 0
    for size in sizes:
        chunks.append(data[position : position + size])
        position += size
    chunks.append(data[position:])
    whole = data.split(b"\n")
    assert fed(chunks) == (whole if whole[-1] else whole[:-1])


def test_a_line_of_50_mb_is_searched_once_and_kept_in_its_pieces():
    CountedChunk.searched = 0
    lines = Lines(256 * 1024 * 1024)
    chunk = CountedChunk(b"[" * 65_536)
    for _ in range(800):
        assert lines.feed(chunk) == []
    end = CountedChunk(b"y\nz")
    assert lines.feed(end) == [b"[" * 65_536 * 800 + b"y"]
    assert CountedChunk.searched == 65_536 * 800 + 3
    assert lines.finish() == [b"z"]


@pytest.mark.parametrize("cut", [1, 3, 1000])
def test_an_overlong_line_is_reported_once_and_its_rest_skipped(cut):
    data = b"ok\n" + b"1234567890123\n" + b"next\n"
    chunks = [data[i : i + cut] for i in range(0, len(data), cut)]
    first, marker, last = fed(chunks, limit=10)
    assert (first, last) == (b"ok", b"next")
    assert isinstance(marker, Overlong)
    assert b"1234567890123".startswith(marker.head)


def test_an_overlong_line_is_reported_before_it_ends_and_does_not_grow():
    lines = Lines(1000)
    assert lines.feed(b"a" * 900) == []
    assert lines.feed(b"b" * 900) == [Overlong(b"a" * HEAD)]
    assert lines.feed(b"c" * 900) == []
    assert lines.finish() == []
    assert lines.feed(b"c\nd\n") == [b"d"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (rb'"\ud83d"', '"�"'),
        (rb'"\ude00 \uD83D!"', '"� �!"'),
        (rb'"\ud83d\ud83d\ude00"', '"�😀"'),
        (rb'"\ude00\ud83d"', '"��"'),
    ],
)
def test_half_a_surrogate_pair_is_replaced(line, expected):
    assert json.loads(replace_lone_surrogates(line)) == json.loads(expected)


@pytest.mark.parametrize("line", [rb'"\ud83d\ude00"', rb'"\\ud83d"', rb'"\\\\ud83d \n\t\u00e9"', b'"plain"'])
def test_nothing_else_is_touched(line):
    assert replace_lone_surrogates(line) is line


@pytest.mark.parametrize("size", [1_000, 70_000, 3 * NOISE])
def test_a_long_line_that_begins_like_no_message_is_not_kept(size: int) -> None:
    noise, message = b"x" * (2 * NOISE), b" [" + b"1" * (2 * NOISE)
    data = noise + b"\n" + message + b"\nshort\n"
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert fed(chunks, limit=10 * NOISE) == [Overlong(b"x" * HEAD), message, b"short"]
    assert fed(chunks) == [
        noise,
        message,
        b"short",
    ]  # events begin with their field
