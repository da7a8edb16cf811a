"""What a client may ask for again: in order, of one stream, within bounds."""

import pytest

from wf_mcp.edge.event_store import (
    LAST_BYTES,
    LAST_EVENTS,
    LAST_STREAMS,
    LAST_STREAMS_BYTES,
    EventStore,
    read_event_id,
)


def test_ids_are_unique_and_name_their_stream() -> None:
    store = EventStore()
    events = [store.add(stream, b"x", 0) for stream in (3, 4, 3, 0)]
    assert len({event.id for event in events}) == 4
    assert [read_event_id(event.id) for event in events] == [(3, 1), (4, 2), (3, 3), (0, 4)]


@pytest.mark.parametrize("text", ["", "1", "-", "1-", "-1", "a-1", "1-2-3", "1- 2", "٣-1", "1-²", "9" * 50 + "-1"])
def test_what_is_no_id_of_ours_is_seen(text: str) -> None:
    assert read_event_id(text) is None


def test_only_the_same_streams_later_events_are_given_again() -> None:
    store = EventStore()
    for number, stream in enumerate((1, 2, 1, 2, 1)):
        store.add(stream, str(number).encode(), 0)
    assert [event.data for event in store.since(1, 1)] == [b"2", b"4"]
    assert store.since(1, 5) == store.since(7, 0) == []


def test_the_oldest_go_first_by_number() -> None:
    store = EventStore(max_events=3)
    for number in range(5):
        store.add(1, str(number).encode(), 0)
    assert [event.data for event in store.since(1, 0)] == [b"2", b"3", b"4"]


def test_a_gap_is_not_passed_over_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    store = EventStore(max_events=2)
    numbers = [0]
    for _ in range(4):
        numbers.append(store.add(1, b"x", numbers[-1]).number)
    assert len(store.since(1, 2)) == 2 and not caplog.records
    assert len(store.since(1, 1)) == 2 and "not kept any more" in caplog.text


def test_the_oldest_go_first_by_size() -> None:
    store = EventStore(max_bytes=10)
    for _ in range(5):
        store.add(1, b"1234", 0)
    assert len(store) == 2 and store.size == 8


def test_the_newest_stays_however_large() -> None:
    store = EventStore(max_bytes=10)
    store.add(1, b"small", 0)
    store.add(2, b"x" * 1000, 0)
    assert [event.data for event in store.since(2, 0)] == [b"x" * 1000] and len(store) == 1
    store.add(2, b"y", 2)
    assert [event.data for event in store.since(2, 0)] == [b"y"] and store.size == 1


def test_of_a_stream_that_was_read_to_its_end_the_last_events_stay() -> None:
    store = EventStore()
    for number in range(LAST_EVENTS + 50):
        store.add(1, str(number).encode(), 0)
        store.add(2, b"z", 0)
    store.add(3, b"x" * (LAST_BYTES + 1), 0)
    for stream in (1, 3, 9):
        store.settle(stream)
    assert [event.data for event in store.since(1, 0)] == [b"%d" % n for n in range(50, LAST_EVENTS + 50)]
    assert len(store.since(2, 0)) == LAST_EVENTS + 50 and store.since(3, 0) == []
    assert store.size == sum(len(event.data) for stream in (1, 2) for event in store.since(stream, 0))


def test_of_streams_that_were_read_to_their_end_the_latest_stay() -> None:
    store = EventStore()
    store.add(0, b"unread", 0)
    for stream in range(1, LAST_STREAMS + 101):
        store.add(stream, b"x", 0)
        store.settle(stream)
    assert len(store) == store.size - len(b"unread") + 1 == LAST_STREAMS + 1
    assert store.since(100, 0) == [] and len(store.since(101, 0)) == 1 and len(store.since(0, 0)) == 1


def test_large_streams_that_were_read_to_their_end_leave_room_for_fewer() -> None:
    store = EventStore()
    for stream in range(1, 11):
        store.add(stream, b"x" * (LAST_BYTES - 1), 0)
        store.settle(stream)
    assert store.size <= LAST_STREAMS_BYTES
    assert [stream for stream in range(1, 11) if store.since(stream, 0)] == [7, 8, 9, 10]


def test_the_last_events_of_a_stream_have_no_gap() -> None:
    store = EventStore()
    for data in (b"first", b"x" * LAST_BYTES, b"last"):
        store.add(1, data, 0)
    store.settle(1)
    assert [event.data for event in store.since(1, 0)] == [b"last"]
