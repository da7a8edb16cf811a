"""One stream and its readers: plain or events, replaced, resumed, and never waited for."""

from typing import Any

import anyio
import pytest
from tests.edge.asgi import Hit
from tests.inbox import eventually

from wf_mcp.edge.event_store import EventStore, StoredEvent
from wf_mcp.edge.http_stream import BACKLOG, EventStream, Outbox, Pace, frame, pour

pytestmark = pytest.mark.anyio


def stream(store: EventStore | None = None, *, primed: bool = False, pace: Pace | None = None) -> EventStream:
    return EventStream(1, store or EventStore(), lambda: primed, pace or Pace())


async def taken(outbox: Outbox) -> list[bytes]:
    """What waits for a reader, event by event."""
    with anyio.fail_after(5):
        data = await outbox.take()
    return [] if data is None else [block + b"\n\n" for block in data.split(b"\n\n")[:-1]]


def test_an_event_has_its_id_and_one_line_of_data() -> None:
    assert (
        frame(StoredEvent(1, 2, 0, b'{"a":"\xe2\x80\xa8"}'))
        == b'event: message\nid: 1-2\ndata: {"a":"\xe2\x80\xa8"}\n\n'
    )


def test_a_primer_has_an_id_a_retry_and_no_data() -> None:
    assert frame(StoredEvent(1, 2, 0, b"")) == b"id: 1-2\nretry: 1000\ndata: \n\n"


async def test_an_answer_that_nothing_precedes_is_plain_and_not_kept() -> None:
    store = EventStore()
    single = stream(store, primed=True)
    single.attach()
    single.put(b"answer", final=True)
    assert single.plain == b"answer" and single.done and len(store) == 0
    single.put(b"late")
    assert len(store) == 0


@pytest.mark.parametrize("primed", [False, True])
async def test_what_precedes_an_answer_makes_events_of_both(primed: bool) -> None:
    single = stream(primed=primed)
    outbox = single.attach()
    single.put(b"note")
    single.put(b"answer", final=True)
    first = [b"id: 1-1\nretry: 1000\ndata: \n\n"] if primed else []
    assert single.plain is None
    assert [block for block in await taken(outbox) if b"retry" in block] == first
    assert await outbox.take() is None


async def test_a_new_reader_takes_the_place_of_the_older_which_ends() -> None:
    single = stream()
    older = single.attach()
    single.put(b"a")
    newer = single.attach()
    single.put(b"b")
    assert b"data: a" in (await taken(older))[0] and await older.take() is None
    assert b"data: b" in (await taken(newer))[0]
    single.detach(older)
    assert single.outbox is newer


async def test_what_no_reader_was_given_waits_for_the_next_one_up_to_a_limit() -> None:
    single = stream()
    single.start()
    for number in range(BACKLOG + 5):
        single.put(str(number).encode())
    assert [block.split()[-1] for block in await taken(single.attach())] == [
        str(number).encode() for number in range(5, BACKLOG + 5)
    ]
    assert single.attach() is not None
    single.put(b"new")
    assert single.outbox is not None and len(await taken(single.outbox)) == 1


async def test_a_resumed_reader_gets_what_followed_and_then_what_comes() -> None:
    single = stream()
    single.start()
    for text in (b"a", b"b", b"c"):
        single.put(text)
    outbox = single.resume(1)
    single.put(b"d", final=True)
    assert [block.split()[-1] for block in await taken(outbox)] == [b"b", b"c", b"d"]
    assert await outbox.take() is None


@pytest.mark.parametrize("pace", [Pace(max_frames=3), Pace(max_bytes=100)], ids=["frames", "bytes"])
async def test_a_reader_that_falls_behind_is_cut_and_nothing_is_lost(pace: Pace) -> None:
    store = EventStore()
    single = stream(store, pace=pace)
    outbox = single.attach()
    for number in range(10):
        single.put(f"{number}".encode())
    assert outbox.cut.is_set() and single.outbox is None
    assert len(await taken(single.resume(0))) == 10


async def test_one_event_of_any_size_passes() -> None:
    single = stream(pace=Pace(max_bytes=100))
    outbox = single.attach()
    single.put(b"x" * 1000)
    assert not outbox.cut.is_set() and len(await taken(outbox)) == 1


async def poured(outbox: Outbox, hit: Hit) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await pour(outbox, receive, send, headers=[])

    with anyio.fail_after(10):
        await hit.run(app)


def get() -> Hit:
    return Hit("GET", {}, b"")


async def test_a_stream_is_sent_to_its_end_past_proxies_that_would_hold_it_back() -> None:
    outbox, hit = Outbox(), get()
    outbox.offer(b"id: 1-1\ndata: 1\n\n")
    outbox.finish()
    await poured(outbox, hit)
    assert hit.whole and outbox.whole and hit.messages == [1]
    assert hit.headers["x-accel-buffering"] == "no" and hit.headers["content-type"] == "text/event-stream"


async def test_silence_is_filled_with_comments() -> None:
    outbox, hit = Outbox(pace=Pace(comment=0.01)), get()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(poured, outbox, hit)
        await eventually(lambda: hit.data.count(b"\n\n") > 2)
        assert hit.data.startswith(b": ") and hit.events == []
        outbox.finish()
    assert hit.whole


@pytest.mark.parametrize("how", ["gone", "cut", "stalled"])
async def test_a_response_whose_client_is_gone_or_frozen_breaks_off(how: str) -> None:
    outbox, hit = Outbox(pace=Pace(stall=0.05 if how == "stalled" else 60)), get()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(poured, outbox, hit)
        await hit.streams()
        if how == "gone":
            hit.gone.set()
        else:
            hit.reads = anyio.Event()
            outbox.offer(b"data: 1\n\n")
        if how == "cut":
            outbox.cut.set()
        await hit.end()
    assert not hit.whole and not outbox.whole
