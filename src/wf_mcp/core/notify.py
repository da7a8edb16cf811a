"""Which MCP notification an event becomes, and which event an upstream's notification is.

Knows method names and nothing about connections; the sinks do the sending.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, assert_never

from wf_mcp.core.events import (
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
from wf_mcp.core.wire import JsonObject

TOOLS: Final = "notifications/tools/list_changed"
PROMPTS: Final = "notifications/prompts/list_changed"
RESOURCES: Final = "notifications/resources/list_changed"

Notification: TypeAlias = tuple[str, JsonObject | None]
"""A method and its parameters; `None` where the notification has none."""

FROM_UPSTREAM: Final[Mapping[str, Callable[[str], Event]]] = {
    TOOLS: ToolsChanged,
    PROMPTS: PromptsChanged,
    RESOURCES: ResourcesChanged,
}


def notifications_for(event: Event) -> tuple[Notification, ...]:
    """Return what every client is told of `event`; none for what only an operator cares about.

    An upstream that comes or goes is no notification of its own: whoever finds that a list became another one says so
    with the event for that list, so that no client refetches in vain.
    """
    match event:
        case ToolsChanged():
            return ((TOOLS, None),)
        case PromptsChanged():
            return ((PROMPTS, None),)
        case ResourcesChanged():
            return ((RESOURCES, None),)
        case UpstreamStarting() | UpstreamAsleep() | UpstreamReady() | UpstreamFailed() | UpstreamGone():
            return ()
        case ConfigReloaded() | ReloadRefused() | PluginFailed():
            return ()
        case _:
            assert_never(event)


def event_of_change(method: str, mount: str) -> Event | None:
    """Return the event that an upstream's notification stands for, `None` where it is not one for the bus."""
    make = FROM_UPSTREAM.get(method)
    return None if make is None else make(mount)
