"""The events of one HTTP session that a client may still ask for again (2025-11-25 basic/transports § Resumability).

Bounded in number and in bytes: the oldest go first, whatever stream they are of. The newest always stays, however
large it is, since it may be the one answer that a client lost. Of a stream that was read to its end only the last
events stay, for a client that lost those, and only until so many others were read to theirs: a session that lasts for
days holds no more than one that lasts for minutes.
"""

import logging
from collections import deque
from dataclasses import dataclass

logger = logging.getLogger(__name__)

MAX_EVENTS = 100_000
MAX_BYTES = 32 * 1024 * 1024
LAST_EVENTS = 100
LAST_BYTES = 1024 * 1024
"""What is kept of a stream that was read to its end."""
LAST_STREAMS = 64
LAST_STREAMS_BYTES = 4 * 1024 * 1024
"""What is kept of all of those together; of the latest in any case."""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event of a stream; `before` is the number of the stream's event before it, 0 for none."""

    stream: int
    number: int
    before: int
    data: bytes

    @property
    def id(self) -> str:
        """Its id, unique within the session: it names its stream, so that an old one still says what to resume."""
        return f"{self.stream}-{self.number}"


def read_event_id(text: str) -> tuple[int, int] | None:
    """The stream and the number that an event id names; None for what is no id of ours."""
    stream, _, number = text.partition("-")
    if not (stream.isascii() and stream.isdecimal() and number.isascii() and number.isdecimal()):
        return None
    if len(text) > 40:
        return None
    return int(stream), int(number)


class EventStore:
    """What was sent on the event streams of one session, oldest first."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self._max_events, self._max_bytes = max_events, max_bytes
        self._events: deque[StoredEvent] = deque()
        self._bytes = 0
        self._numbers = 0
        self._settled: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._events)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return self._bytes

    def add(self, stream: int, data: bytes, before: int) -> StoredEvent:
        """Keep one more event of `stream`; `before` is the number of the one that it follows there."""
        self._numbers += 1
        event = StoredEvent(stream, self._numbers, before, data)
        self._events.append(event)
        self._bytes += len(data)
        while len(self._events) > 1 and self._over():
            self._drop()
        return event

    def since(self, stream: int, number: int) -> list[StoredEvent]:
        """The kept events of `stream` after `number`, and of no other stream."""
        found = [event for event in self._events if event.stream == stream and event.number > number]
        if found and found[0].before > number:
            logger.warning("a client comes back for events of which the oldest are not kept any more")
        return found

    def settle(self, stream: int) -> None:
        """`stream` was read to its end: keep its last events only, and those of the streams that ended last."""
        self._settled.pop(stream, None)
        self._settled[stream] = None
        sizes = dict.fromkeys(self._settled, 0)
        events, full = 0, False
        kept: deque[StoredEvent] = deque()
        for event in reversed(self._events):
            if event.stream in sizes:
                size = sizes[event.stream] + len(event.data)
                if event.stream == stream:
                    events += 1
                    full = full or events > LAST_EVENTS or size > LAST_BYTES
                    if full:
                        continue
                sizes[event.stream] = size
            kept.appendleft(event)
        gone = self._too_old(sizes)
        for each in gone:
            del self._settled[each]
        self._events = deque(event for event in kept if event.stream not in gone) if gone else kept
        self._bytes = sum(len(event.data) for event in self._events)

    def _too_old(self, sizes: dict[int, int]) -> set[int]:
        """Those of the settled streams, with their sizes, that later ones leave no room for."""
        gone, total = set(), 0
        for place, stream in enumerate(reversed(self._settled)):
            total += sizes[stream]
            if place and (place >= LAST_STREAMS or total > LAST_STREAMS_BYTES):
                gone.add(stream)
        return gone

    def _over(self) -> bool:
        return len(self._events) > self._max_events or self._bytes > self._max_bytes

    def _drop(self) -> None:
        self._bytes -= len(self._events.popleft().data)
