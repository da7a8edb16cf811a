"""The bus: every sink hears every event, in order, whatever another sink does (design D9)."""

import logging

import pytest
from tests.runtime.stage import Ear

from wf_mcp.core.events import Event, PromptsChanged, ToolsChanged
from wf_mcp.runtime.bus import EventBus


class Noting:
    """A sink that writes down its own name for each event."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name = name
        self._notes = notes

    def offer(self, event: Event) -> None:
        self._notes.append(self.name)


class Broken:
    """A sink that fails on everything."""

    name = "broken"

    def offer(self, event: Event) -> None:
        raise RuntimeError("no room")


def test_sinks_hear_an_event_in_the_order_in_which_they_were_added() -> None:
    bus, notes = EventBus(), list[str]()
    for name in ("catalogue", "clients", "plug-in"):
        bus.add(Noting(name, notes))
    bus.publish(ToolsChanged("alpha"))
    assert notes == ["catalogue", "clients", "plug-in"]


def test_a_sink_hears_events_in_the_order_of_publishing() -> None:
    bus, ear = EventBus(), Ear()
    bus.add(ear)
    bus.publish(ToolsChanged("alpha"))
    bus.publish(PromptsChanged("beta"))
    assert ear.events == [ToolsChanged("alpha"), PromptsChanged("beta")]


def test_a_sink_that_fails_silences_nobody_and_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    bus, ear = EventBus(), Ear()
    bus.add(Broken())
    bus.add(ear)
    with caplog.at_level(logging.ERROR, "wf_mcp"):
        bus.publish(ToolsChanged("alpha"))
    assert ear.events == [ToolsChanged("alpha")]
    assert "sink broken missed ToolsChanged(mount='alpha', session='')" in caplog.text


def test_a_sink_that_was_removed_hears_no_more() -> None:
    bus, ear = EventBus(), Ear()
    bus.add(ear)
    bus.remove(ear)
    bus.publish(ToolsChanged("alpha"))
    assert ear.events == []


def test_removing_a_sink_that_was_never_added_is_no_mistake() -> None:
    EventBus().remove(Ear())


def test_a_sink_may_leave_while_it_hears_an_event() -> None:
    bus, ear = EventBus(), Ear()

    class Once(Ear):
        def offer(self, event: Event) -> None:
            super().offer(event)
            bus.remove(self)

    once = Once()
    bus.add(once)
    bus.add(ear)
    bus.publish(ToolsChanged("alpha"))
    bus.publish(ToolsChanged("beta"))
    assert once.events == [ToolsChanged("alpha")]
    assert ear.events == [ToolsChanged("alpha"), ToolsChanged("beta")]
