"""Server-sent events out of bytes, however they are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from wf_mcp.core.event_stream import EventReader, ServerEvent


def read(*chunks: bytes) -> list[ServerEvent]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


STREAM = (
    b"\xef\xbb\xbf: hello\r\n\r\n"
    b"id: 1\nretry: 500\ndata:\n\n"
    b"event: message\rid: 2\rdata: {\rdata:  }\r\r"
    b"event: other\r\ndata: \xc3\xbc\r\n\r\n"
    b"id\ndata:x\nid: nu\0ll\nretry: soon\nwhat: ever\n\n"
    b"data: unfinished\n"
)
EVENTS = [
    ServerEvent(b"", id="1", retry=500),
    ServerEvent(b"{\n }", id="2"),
    ServerEvent("ü".encode(), event="other"),
    ServerEvent(b"x", id=""),
]


def test_fields_lines_and_ends_of_lines_are_as_the_standard_has_them() -> None:
    assert read(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_where_the_chunks_are_cut_makes_no_difference(cuts: list[int]) -> None:
    marks = [0, *sorted(cuts), len(STREAM)]
    assert read(*(STREAM[start:end] for start, end in pairwise(marks))) == EVENTS


def test_byte_by_byte_is_the_same() -> None:
    assert read(*(STREAM[index : index + 1] for index in range(len(STREAM)))) == EVENTS


@pytest.mark.parametrize(("length", "size"), [(100_000, 1), (100_000, 1000), (5_000_000, 65_536)])
def test_a_large_event_comes_whole(length: int, size: int) -> None:
    data = b"x" * length
    chunks = [b"data: ", *(data[start : start + size] for start in range(0, len(data), size)), b"\n", b"\n"]
    assert read(*chunks) == [ServerEvent(data)]


def test_a_comment_alone_is_no_event() -> None:
    assert read(b": still here\n\n\n\n") == snapshot([])
