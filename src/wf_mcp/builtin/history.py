"""The built-in plug-in that remembers what happened lately, for `wf.admin.events` (design D9)."""

from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from wf_mcp.plugin import Event, EventRecord, EventSink, describe, impl, kind_of

LIMIT: Final = 500
"""Events kept; as many as `wf.admin.events` may ask for."""


def _now() -> datetime:
    return datetime.now(UTC)


class HistorySink:
    """The last `limit` events with their times; as a plug-in, it offers itself.

    One lives as long as the process, so that a reload forgets nothing.
    """

    name = "history"

    def __init__(self, limit: int = LIMIT, clock: Callable[[], datetime] = _now) -> None:
        self._events: deque[tuple[datetime, Event]] = deque(maxlen=limit)
        self._clock = clock

    @impl
    def wf_event_sinks(self) -> Iterable[EventSink]:
        """Offer this very sink."""
        return [self]

    def offer(self, event: Event) -> None:
        """Remember `event`; the oldest one is forgotten when there are too many."""
        self._events.append((self._clock(), event))

    def records(self, limit: int) -> list[EventRecord]:
        """Return the last `limit` events, newest last."""
        latest = list(self._events)[-limit:] if limit > 0 else []
        return [
            EventRecord(
                at=at.isoformat(timespec="milliseconds"), kind=kind_of(event), mount=event.mount, text=describe(event)
            )
            for at, event in latest
        ]
