"""The two tables between events and notifications (design D9)."""

import pytest

from wf_mcp.core.events import (
    EVENT_TYPES,
    ConfigReloaded,
    Event,
    PluginFailed,
    PromptsChanged,
    ReloadRefused,
    ResourcesChanged,
    ToolsChanged,
    UpstreamAsleep,
    UpstreamFailed,
    UpstreamGone,
    UpstreamReady,
    UpstreamStarting,
)
from wf_mcp.core.notify import FROM_UPSTREAM, event_of_change, notifications_for

TABLE: list[tuple[Event, str | None]] = [
    (ToolsChanged("a"), "notifications/tools/list_changed"),
    (PromptsChanged("a"), "notifications/prompts/list_changed"),
    (ResourcesChanged("a"), "notifications/resources/list_changed"),
    (UpstreamStarting("a"), None),
    (UpstreamReady("a", "s", "1"), None),
    (UpstreamFailed("a", "r"), None),
    (UpstreamGone("a", "r"), None),
    (ConfigReloaded(), None),
    (ReloadRefused("r"), None),
    (PluginFailed("p", "h", "r"), None),
    (UpstreamAsleep("a"), None),
]


def test_the_table_has_every_event() -> None:
    assert [type(event) for event, _ in TABLE] == list(EVENT_TYPES)


@pytest.mark.parametrize(("event", "method"), TABLE)
def test_what_clients_are_told(event: Event, method: str | None) -> None:
    assert notifications_for(event) == (() if method is None else ((method, None),))


@pytest.mark.parametrize("method", FROM_UPSTREAM)
def test_a_change_that_an_upstream_tells_is_told_to_clients_in_the_same_words(method: str) -> None:
    event = event_of_change(method, "a")
    assert event is not None
    assert event.mount == "a"
    assert notifications_for(event) == ((method, None),)


@pytest.mark.parametrize("method", ["notifications/message", "notifications/progress", "tools/list", ""])
def test_other_notifications_are_not_for_the_bus(method: str) -> None:
    assert event_of_change(method, "a") is None
