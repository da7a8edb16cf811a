"""Who carries an event: one bus, named sinks, and no sink that can silence another (design D9)."""

import logging

from wf_mcp.core.events import Event
from wf_mcp.plugin.types import EventSink

logger = logging.getLogger(__name__)


class EventBus:
    """Publishes each event to every sink, in the order in which the sinks were added."""

    def __init__(self) -> None:
        self._sinks: list[EventSink] = []

    def add(self, sink: EventSink) -> None:
        """Let `sink` hear every event from now on."""
        self._sinks.append(sink)

    def remove(self, sink: EventSink) -> None:
        """Stop offering events to `sink`; unknown sinks are ignored."""
        if sink in self._sinks:
            self._sinks.remove(sink)

    def publish(self, event: Event) -> None:
        """Offer `event` to every sink, synchronously, so that order is the order of publishing."""
        for sink in tuple(self._sinks):
            try:
                sink.offer(event)
            except Exception:  # fan-out seam: one sink must not silence the others
                logger.exception("sink %s missed %r", sink.name, event)
