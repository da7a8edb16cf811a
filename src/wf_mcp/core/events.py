"""What happens inside wf-mcp, as frozen values that hash, so that a backlog can collapse repeats.

Knows nothing of who listens: `core/notify.py` says which notification an event becomes, the bus carries it, sinks
deliver it. `mount` is a connection id; empty, it means wf-mcp itself. `session` is the key of the session whose list it
is, and stays inside; empty, the change concerns every client. An event that names no mount of its own has an
empty one too, so that every event answers `.mount`.
"""

import re
from dataclasses import dataclass, fields
from typing import ClassVar, Final, TypeAlias, assert_never, get_args

from wf_mcp.core.wire import JsonObject


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """The tool list of `mount` is stale; refetch before trusting it."""

    mount: str
    session: str = ""


@dataclass(frozen=True, slots=True)
class PromptsChanged:
    """The prompt list of `mount` is stale."""

    mount: str
    session: str = ""


@dataclass(frozen=True, slots=True)
class ResourcesChanged:
    """The lists of resources and of templates of `mount` are stale."""

    mount: str
    session: str = ""


@dataclass(frozen=True, slots=True)
class UpstreamStarting:
    """`mount` is being connected."""

    mount: str


@dataclass(frozen=True, slots=True)
class UpstreamAsleep:
    """`mount` was not needed for a while and is not connected now; the next call connects it."""

    mount: str


@dataclass(frozen=True, slots=True)
class UpstreamReady:
    """`mount` answered its handshake; it calls itself `server`, `version` (each empty where it does not say)."""

    mount: str
    server: str
    version: str


@dataclass(frozen=True, slots=True)
class UpstreamFailed:
    """`mount` could not be connected."""

    mount: str
    reason: str


@dataclass(frozen=True, slots=True)
class UpstreamGone:
    """`mount` was connected and is not any more."""

    mount: str
    reason: str


@dataclass(frozen=True, slots=True)
class ConfigReloaded:
    """A new configuration is in force; each field holds the connection ids that it concerns.

    Why an upstream failed is told by its own `UpstreamFailed`.
    """

    mount: ClassVar[str] = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReloadRefused:
    """A new configuration cannot be used, so nothing was changed."""

    mount: ClassVar[str] = ""
    reason: str


@dataclass(frozen=True, slots=True)
class PluginFailed:
    """Something that `plugin` offered through `hook`, or the hook itself, raised; it was skipped."""

    mount: ClassVar[str] = ""
    plugin: str
    hook: str
    reason: str


Event: TypeAlias = (
    ToolsChanged
    | PromptsChanged
    | ResourcesChanged
    | UpstreamStarting
    | UpstreamReady
    | UpstreamFailed
    | UpstreamGone
    | ConfigReloaded
    | ReloadRefused
    | PluginFailed
    | UpstreamAsleep
)

EVENT_TYPES: Final[tuple[type[Event], ...]] = get_args(Event)

KINDS: Final[dict[type[Event], str]] = {
    event_type: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event_type.__name__).lower() for event_type in EVENT_TYPES
}
"""The name of each event type outside Python: `tools_changed`, `upstream_ready`, …"""


def kind_of(event: Event) -> str:
    """Return the event's kind in snake case."""
    return KINDS[type(event)]


def describe(event: Event) -> str:
    """Return one line for a person or a model; line breaks in a reason become spaces."""
    return " ".join(_sentence(event).split())


def as_json(event: Event) -> JsonObject:
    """Return the event as a JSON object: `kind`, `mount`, then its own fields, tuples as lists."""
    values = {field.name: getattr(event, field.name) for field in fields(event) if field.name != "session"}
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {"kind": kind_of(event), "mount": event.mount, **listed}


def _sentence(event: Event) -> str:
    match event:
        case ToolsChanged():
            return f"{_who(event.mount)}: tools changed"
        case PromptsChanged():
            return f"{_who(event.mount)}: prompts changed"
        case ResourcesChanged():
            return f"{_who(event.mount)}: resources changed"
        case ReloadRefused(reason=reason):
            return f"new configuration refused, nothing changed: {reason}"
        case PluginFailed(plugin=plugin, hook=hook, reason=reason):
            return f"plug-in {plugin} failed in {hook} and was skipped: {reason}"
        case ConfigReloaded():
            return f"configuration reloaded: {_counts(event)}"
        case _:
            return f"{_who(event.mount)}: {_upstream(event)}"


def _upstream(event: UpstreamStarting | UpstreamAsleep | UpstreamReady | UpstreamFailed | UpstreamGone) -> str:
    match event:
        case UpstreamStarting():
            return "starting"
        case UpstreamAsleep():
            return "asleep until it is needed"
        case UpstreamReady(server=server, version=version):
            name = f"{server} {version}".strip()
            return f"ready ({name})" if name else "ready"
        case UpstreamFailed(reason=reason):
            return f"failed: {reason}"
        case UpstreamGone(reason=reason):
            return f"gone: {reason}"
        case _:
            assert_never(event)


def _who(mount: str) -> str:
    return mount or "wf-mcp"


def _counts(event: ConfigReloaded) -> str:
    groups = {field.name: getattr(event, field.name) for field in fields(event) if field.name != "session"}
    parts = [f"{name} {', '.join(ids)}" for name, ids in groups.items() if ids and name != "unchanged"]
    return "; ".join([*parts, f"{len(event.unchanged)} unchanged"])
