"""What wf-mcp says about itself: the results of the admin tools, and of the commands that print the same.

The models become the tools' output schemas, so every field tells a model what it holds. They carry no secret: whoever
fills them has masked command lines, environments and reasons before (design D13).
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from wf_mcp.core.wire import JsonObject


class Report(BaseModel):
    """The base of every report: immutable, and strict about field names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ReloadReport(Report):
    """What reloading the configuration did. Upstreams are named by their key in the configuration file."""

    added: list[str] = Field(default=[], description="Upstreams that are new and were started.")
    removed: list[str] = Field(
        default=[], description="Upstreams that are gone from the configuration and were stopped."
    )
    restarted: list[str] = Field(
        default=[], description="Upstreams whose settings changed, so that they were started anew."
    )
    unchanged: list[str] = Field(
        default=[], description="Upstreams that were left alone; their processes kept running."
    )
    failed: dict[str, str] = Field(default={}, description="Upstreams that could not be started, each with the reason.")
    error: str | None = Field(
        default=None, description="Why the new configuration was refused and nothing changed; null when it was applied."
    )


class FailureStatus(Report):
    """The last failure of a connection."""

    kind: str = Field(description="Its class, such as unreachable, needs_auth, exited or unanswered.")
    reason: str = Field(description="What happened.")
    advice: str = Field(description="What to do about it.")
    at: float = Field(description="When it was, in seconds since 1970.")
    in_a_row: int = Field(description="Failures since it last worked.")
    next_start_seconds: float | None = Field(default=None, description="Seconds until it is tried again.")


class SessionStatus(Report):
    """One negotiated connection to an upstream."""

    state: str = Field(description="asleep (until it is used), starting, ready, failed or gone.")
    reason: str | None = Field(default=None, description="Why it failed or ended.")
    pid: int | None = Field(default=None, description="Process id of a stdio upstream.")
    era: str | None = Field(default=None, description="handshake (up to 2025-11-25) or modern (2026-07-28).")
    protocol_version: str | None = Field(default=None, description="The negotiated protocol version.")
    server_name: str | None = Field(default=None, description="What the server calls itself.")
    server_version: str | None = Field(default=None, description="The version that the server gives.")
    uptime_seconds: float | None = Field(default=None, description="Seconds since it became ready.")
    lists_age_seconds: float | None = Field(
        default=None, description="Seconds since all its lists were loaded, by an earlier run perhaps."
    )
    calls: int = Field(default=0, description="Requests sent to it.")
    errors: int = Field(default=0, description="Requests that ended in a protocol error.")
    stderr_tail: list[str] = Field(default=[], description="The last lines that the process wrote to stderr.")
    exit_code: int | None = Field(default=None, description="Exit code of a stdio process that ended.")
    last_failure: FailureStatus | None = Field(default=None, description="Its last failure, also one that is over.")


class UpstreamStatus(Report):
    """One configured upstream and its connections."""

    id: str = Field(description="Its key in the configuration file.")
    label: str = Field(description="The first part of its public names; empty when it is mounted bare.")
    state: str = Field(description="disabled, idle, asleep, starting, ready, failed or gone.")
    reason: str | None = Field(default=None, description="Why it is in that state, where there is something to say.")
    transport: Literal["stdio", "http", "sse"] = Field(description="How wf-mcp reaches it.")
    sessions: list[SessionStatus] = Field(default=[], description="Its connections; empty when none was opened yet.")


class PluginStatus(Report):
    """One plug-in: installed, or named in the configuration."""

    name: str = Field(description="Its entry point's name, which is its key under wf.plugins.")
    version: str | None = Field(
        default=None, description="Version of the package that provides it; null when built in."
    )
    state: Literal["active", "disabled", "failed", "missing"] = Field(
        description="missing means that the configuration names it and no installed package provides it."
    )
    reason: str | None = Field(
        default=None, description="Why it is not active, or what went wrong last in an active one."
    )


class ClientStatus(Report):
    """One client, and the form of names that it gets in lists; both forms can be called by everybody."""

    name: str | None = Field(description="What the client calls itself.")
    version: str | None = Field(description="The version that it gives.")
    era: Literal["handshake", "modern"] = Field(description="handshake (up to 2025-11-25) or modern (2026-07-28).")
    style: Literal["dotted", "safe"] = Field(description="The form of names in its lists.")
    why: str = Field(description="What decided that.")


class ProcessStatus(Report):
    """What the process of this proxy holds."""

    pid: int = Field(description="Its process id.")
    uptime_seconds: float = Field(description="Seconds since it was started.")
    memory_bytes: int | None = Field(default=None, description="Bytes of memory; null where the system does not tell.")
    open_files: int | None = Field(
        default=None, description="File descriptors in use; null where the system does not tell."
    )
    tasks: int = Field(description="Tasks of its event loop.")
    threads: int = Field(description="Its threads.")


class Status(Report):
    """The state of this proxy."""

    version: str = Field(description="Version of wf-mcp.")
    lane: str = Field(description="wire (raw JSON relayed) or component (FastMCP components).")
    front: str = Field(description="How clients reach it: stdio or http.")
    names_style: str = Field(description="The front's form of names: auto, dotted or safe.")
    config_file: str | None = Field(description="The configuration file in use.")
    process: ProcessStatus | None = Field(default=None, description="What its process holds.")
    upstreams: list[UpstreamStatus] = Field(
        default=[], description="Every configured upstream, in configuration order."
    )
    clients: list[ClientStatus] = Field(
        default=[], description="Connected clients, and the latest ones of 2026-07-28, which keep no connection."
    )
    plugins: list[PluginStatus] = Field(default=[], description="Every plug-in, built in or installed.")
    notes: list[str] = Field(default=[], description="Remarks on the configuration that are no errors.")
    web_conflicts: list[str] = Field(
        default=[], description="http(s) resources that several upstreams offer, and who serves."
    )
    name_clashes: list[str] = Field(
        default=[], description="Names that mean two things, were shortened or carry a hash, and why."
    )


class NamedItem(Report):
    """A tool or a prompt."""

    public_name: str = Field(description="The dotted name; callable here.")
    safe_name: str = Field(description="The name in letters, digits and underscores; callable here too.")
    upstream_name: str = Field(description="Its name on its own server.")
    title: str | None = Field(default=None, description="Its display name.")
    description: str | None = Field(default=None, description="What it says it does.")


class UriItem(Report):
    """A resource or a resource template."""

    public_uri: str = Field(description="The URI or template to use here.")
    upstream_uri: str = Field(description="The URI or template on its own server.")
    name: str | None = Field(default=None, description="Its name.")
    mime_type: str | None = Field(default=None, description="Its media type.")


class UpstreamInventory(Report):
    """What one upstream offers."""

    id: str = Field(description="Its key in the configuration file.")
    label: str = Field(description="The first part of its public names; empty when it is mounted bare.")
    state: str = Field(description="disabled, idle, asleep, starting, ready, failed or gone.")
    capabilities: JsonObject | None = Field(default=None, description="The capabilities that it declared.")
    instructions: str | None = Field(default=None, description="Its instructions to a model.")
    tools: list[NamedItem] = Field(default=[], description="Its tools.")
    prompts: list[NamedItem] = Field(default=[], description="Its prompts.")
    resources: list[UriItem] = Field(default=[], description="The resources that it lists.")
    templates: list[UriItem] = Field(default=[], description="Its resource templates.")


class Inventory(Report):
    """Everything that can be reached through this proxy, upstream by upstream, in configuration order."""

    upstreams: list[UpstreamInventory] = Field(default=[], description="Every configured upstream.")


class EventRecord(Report):
    """One thing that happened inside wf-mcp."""

    at: str = Field(description="When, in ISO 8601, UTC.")
    kind: str = Field(description="What kind of event, for example upstream_failed.")
    mount: str = Field(description="The upstream that it concerns; empty for wf-mcp itself.")
    text: str = Field(description="One line that says what happened.")


class EventList(Report):
    """Recent events, newest last."""

    events: list[EventRecord] = Field(default=[], description="The events.")
