"""What a configuration file means, as frozen values: the result of `load_config`.

Everything is resolved: variables expanded, `~` and relative paths made absolute, defaults filled in. Fields that may
hold secrets stay out of `repr`, so that a logged value gives none away.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wf_mcp.core.wire import JsonObject

Attribution: TypeAlias = Literal["label", "off"]
IncludeContext: TypeAlias = Literal["none", "relay"]
Isolation: TypeAlias = Literal["client", "principal", "shared"]
Start: TypeAlias = Literal["auto", "eager", "lazy"]
Identity: TypeAlias = Literal["client", "proxy"]
EraSetting: TypeAlias = Literal["auto", "handshake", "modern"]
NamesStyle: TypeAlias = Literal["auto", "dotted", "safe"]
Fallback: TypeAlias = Literal["auto", "on", "off"]
Admin: TypeAlias = bool | Literal["write"]


@dataclass(frozen=True, slots=True)
class StdioTransport:
    """A process to start; `env` holds only what the file names, the edge merges it over the base environment."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class HttpTransport:
    """A streamable HTTP endpoint."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class SseTransport:
    """An endpoint of the older HTTP+SSE transport."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


Transport: TypeAlias = StdioTransport | HttpTransport | SseTransport


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """Our own settings of one upstream: what stands under its `"wf"`."""

    namespace: str | None = None
    enabled: bool = True
    timeout: float | None = None
    timeout_resets: bool = False
    init_timeout: float = 60.0
    list_timeout: float = 60.0
    ping: float | None = None
    isolation: Isolation = "client"
    start: Start = "auto"
    identity: Identity = "client"
    forward_headers: tuple[str, ...] = ()
    attribution: Attribution = "label"
    include_context: IncludeContext = "none"
    era: EraSetting = "auto"
    idle: float | None = None
    max_sessions: int = 100


@dataclass(frozen=True, slots=True)
class Upstream:
    """One configured MCP server.

    `problem`, where set, says why it cannot be started although the file is good; such an upstream is listed and
    never started. `digest` changes exactly when a running one would have to be started anew.
    """

    id: str
    label: str
    transport: Transport
    settings: UpstreamSettings
    digest: str
    enabled: bool = True
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class NamesSettings:
    """Which form of names is listed, and how long a safe name may be (design D6)."""

    style: NamesStyle = "auto"
    budget: int = 50


@dataclass(frozen=True, slots=True)
class ToolsSettings:
    """Who is offered `wf.read_resource` and `wf.call_tool`."""

    fallback: Fallback = "auto"


@dataclass(frozen=True, slots=True)
class ShutdownSettings:
    """How long a child may take: seconds from the end of its stdin to SIGTERM, and from SIGTERM to SIGKILL."""

    eof: float = 2.0
    term: float = 2.0


@dataclass(frozen=True, slots=True)
class ParkedSettings:
    """Calls of 2026-07-28 clients that wait for their user: for how many seconds, and how many (matrix D.4)."""

    expiry: float = 600.0
    per_upstream: int = 100
    per_principal: int = 100


@dataclass(frozen=True, slots=True)
class Config:
    """One configuration file, checked and resolved; `upstreams` are in the order of the file."""

    file: str
    upstreams: tuple[Upstream, ...] = ()
    admin: Admin = True
    plugins: Mapping[str, JsonObject] = field(default_factory=dict, repr=False)
    names: NamesSettings = NamesSettings()
    tools: ToolsSettings = ToolsSettings()
    page_size: int | None = None
    list_wait: float = 5.0
    starts: int = 8
    """Processes that may be starting at the same time."""
    refresh: float | None = 86_400.0
    """Age in seconds from which on remembered lists are loaded anew; `None` for never."""
    shutdown: ShutdownSettings = ShutdownSettings()
    parked: ParkedSettings = ParkedSettings()
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Bearer tokens of the HTTP front, by the name of who holds them."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names, beside loopback, under which a reverse proxy serves the HTTP front."""
    max_request_bytes: int = 268_435_456
    """The largest body that the HTTP front reads."""
    max_sessions: int = 1000
    session_idle: float = 1800.0
    """Seconds without use after which a session of the HTTP front ends."""
    notes: tuple[str, ...] = ()
    """Remarks for people about what the file says and wf-mcp does not use."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """What must never be shown; for `wf_mcp.core.secrets.Secrets`."""
