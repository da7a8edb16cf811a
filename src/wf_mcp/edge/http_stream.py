"""One stream of events of an HTTP session, and the response that it is read through at the time.

A stream outlives its responses: a reader that breaks off, falls too far behind or is replaced costs its own response
only, and what was sent since stays in the session's store. Nothing here ever waits for a reader.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import anyio
from starlette.types import Receive, Send

from wf_mcp.core.http_rules import EVENTS
from wf_mcp.edge.event_store import EventStore, StoredEvent

RETRY = 1000
"""Milliseconds after which a client whose stream broke off should come back."""

STREAM_HEADERS = [
    (b"content-type", EVENTS.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),  # reverse proxies on nginx hold streams back otherwise
]
BACKLOG = 100
"""Events that a client gets at most when it opens its standalone stream later than they were sent."""

_COMMENT = b": still here\n\n"
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pace:
    """The clock of responses, in seconds, and how much may wait for one reader.

    `patience`: after it, a call without an answer becomes an event stream, which survives intermediaries and can be
    resumed; `comment`: silence after which a comment is sent; `stall`: how long a reader may take none of 1 MiB.
    """

    patience: float = 1.0
    comment: float = 15.0
    stall: float = 60.0
    max_frames: int = 100_000
    max_bytes: int = 32 * 1024 * 1024


PACE = Pace()


def frame(event: StoredEvent) -> bytes:
    """`event` as it goes over the wire; one without data only tells the client where to resume, and when."""
    if not event.data:
        return f"id: {event.id}\nretry: {RETRY}\ndata: \n\n".encode()
    return b"".join((b"event: message\nid: ", event.id.encode(), b"\ndata: ", event.data, b"\n\n"))


class Outbox:
    """What waits for one response, which reads stream `key`.

    It is `finished` when no more will come, `cut` when the response must break off, `whole` when it was sent to its
    end.
    """

    def __init__(self, key: int = 0, pace: Pace = PACE, missed: Iterable[StoredEvent] = ()) -> None:
        self.key = key
        self.pace = pace
        self._frames = deque(frame(event) for event in missed)
        self._size = sum(map(len, self._frames))
        # What was missed is bounded by the store; the limits are for what comes while nobody reads.
        self._max_frames = pace.max_frames + len(self._frames)
        self._max_bytes = pace.max_bytes + self._size
        self._news = anyio.Event()
        self.finished = False
        self.whole = False
        self.cut = anyio.Event()

    def offer(self, data: bytes) -> bool:
        """Queue one frame; false means that this reader has fallen too far behind, and its response is cut.

        A frame of any size is taken when nothing waits before it.
        """
        if self._frames and (len(self._frames) >= self._max_frames or self._size + len(data) > self._max_bytes):
            self._frames.clear()
            self.cut.set()
            return False
        self._frames.append(data)
        self._size += len(data)
        self._news.set()
        return True

    def finish(self) -> None:
        """End the response once everything queued is sent."""
        self.finished = True
        self._news.set()

    async def take(self) -> bytes | None:
        """Everything that waits, or a comment after a long silence; None when the response is to end."""
        if not self._frames and not self.finished:
            self._news = anyio.Event()
            with anyio.move_on_after(self.pace.comment):
                await self._news.wait()
        if not self._frames:
            return None if self.finished else _COMMENT
        data = b"".join(self._frames) if len(self._frames) > 1 else self._frames[0]
        self._frames.clear()
        self._size = 0
        return data


class EventStream:
    """A request's stream, or with `key` 0 a session's standalone one.

    A request's answer is `plain` as long as nothing precedes it. From the first event on everything is an event, kept
    in the store; `primes` tells whether the session's revision has an empty event at the start.
    """

    def __init__(self, key: int, store: EventStore, primes: Callable[[], bool], pace: Pace = PACE) -> None:
        self.key = key
        self.plain: bytes | None = None
        self.decided = anyio.Event()
        self.last = 0
        self.done = False
        self.outbox: Outbox | None = None
        self._store = store
        self._primes = primes
        self._pace = pace
        self._offered = 0

    def put(self, data: bytes, *, final: bool = False) -> None:
        """Send one message; `final` is the answer, after which nothing more is sent."""
        if self.done:
            return
        self.done = final
        if final and not self.decided.is_set():
            self.plain = data
            self.decided.set()
            return
        self.start()
        self._write(data)
        if final:
            self.close()

    def start(self) -> None:
        """Decide for events, if nothing is decided yet."""
        if self.decided.is_set():
            return
        self.decided.set()
        self.prime()

    def abandon(self) -> None:
        """End without an answer, which a cancelled request does not get (2025-11-25 basic/utilities/cancellation)."""
        self.done = True
        self.decided.set()
        self.close()

    def attach(self) -> Outbox:
        """A new reader, in place of any other, which gets the last of what no reader was ever given."""
        fresh = self._offered == self.last
        return self._replace([] if fresh else self._store.since(self.key, self._offered)[-BACKLOG:])

    def resume(self, number: int) -> Outbox:
        """A new reader, in place of any other, which gets what was sent after event `number`."""
        return self._replace(self._store.since(self.key, number))

    def detach(self, outbox: Outbox) -> None:
        """This reader is gone; the stream goes on without."""
        if self.outbox is outbox:
            self.outbox = None

    def suspend(self) -> None:
        """End the response of a call that goes on; the client comes back for the rest."""
        self.start()
        self.close()

    def close(self) -> None:
        """End the response that reads this stream, in good order; the stream itself goes on."""
        if self.outbox is not None:
            self.outbox.finish()
            self.outbox = None

    def _replace(self, missed: list[StoredEvent]) -> Outbox:
        self.close()
        self.outbox = outbox = Outbox(self.key, self._pace, missed)
        self._offered = self.last
        return outbox

    def prime(self) -> None:
        """Tell the reader from where it may resume, if the session's revision has that."""
        if self._primes():
            self._write(b"")

    def _write(self, data: bytes) -> None:
        event = self._store.add(self.key, data, self.last)
        self.last = event.number
        if self.outbox is not None:
            self._offered = event.number
            if not self.outbox.offer(frame(event)):
                self.outbox = None


async def pour(outbox: Outbox, receive: Receive, send: Send, *, headers: list[tuple[bytes, bytes]]) -> bool:
    """Send an event stream until its outbox ends, is cut, or the client is gone; true if it was sent to its end."""
    await send({"type": "http.response.start", "status": 200, "headers": [*STREAM_HEADERS, *headers]})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_until_gone, receive, outbox, name="the client of an event stream")
        tasks.start_soon(_until_cut, outbox, tasks.cancel_scope, name="the end of an event stream")
        while (data := await outbox.take()) is not None:
            await _send_in_pieces(data, outbox, send)
        await send({"type": "http.response.body", "body": b""})
        outbox.whole = True
        tasks.cancel_scope.cancel()
    return outbox.whole


async def _send_in_pieces(data: bytes, outbox: Outbox, send: Send) -> None:
    """Send `data`, or cut the response when the client takes nothing of it for too long."""
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        with anyio.move_on_after(outbox.pace.stall) as patience:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if patience.cancelled_caught:
            outbox.cut.set()
            await anyio.sleep_forever()  # until the response is broken off, which `cut` does


async def _until_gone(receive: Receive, outbox: Outbox) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    outbox.cut.set()


async def _until_cut(outbox: Outbox, scope: anyio.CancelScope) -> None:
    await outbox.cut.wait()
    scope.cancel()
