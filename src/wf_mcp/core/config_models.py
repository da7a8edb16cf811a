"""The shape of a configuration file, as pydantic models: what may stand where.

Shapes only. What the shapes mean together (`command` beside `url`, `disabled` beside `enabled`, variables, labels) is
decided in `config_entry.py` and `config.py`. The published JSON Schema is made from these models.
"""

import json
import math
import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from wf_mcp.core.config_values import (
    Attribution,
    EraSetting,
    Fallback,
    Identity,
    IncludeContext,
    Isolation,
    NamesStyle,
    Start,
)
from wf_mcp.core.names import MIN_BUDGET, is_label
from wf_mcp.core.wire import JsonObject

SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NEVER_FORWARDED: Final = frozenset(
    [
        *("connection", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("accept", "content-encoding", "content-length", "content-type"),
        *("last-event-id", "mcp-protocol-version", "mcp-session-id"),
    ]
)
"""Headers that belong to one hop or to one session of the protocol (RFC 9110 § 7.6.1, MCP transports)."""

_OURS: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
_THEIRS: Final = ConfigDict(extra="allow", strict=True, frozen=True, allow_inf_nan=False)


def env_text(value: Any) -> Any:
    """An environment value as text: hosts accept numbers and booleans, a process gets strings."""
    if isinstance(value, bool) or (isinstance(value, int | float) and math.isfinite(value)):
        return json.dumps(value)
    return value


def _not_a_number(value: Any) -> Any:
    # To Python 1 is true, and a Literal does not tell them apart.
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError('true, false or "write"')
    return value


def _namespace(text: str) -> str:
    if text and not is_label(text):
        raise ValueError('a label such as "github" or "files.home" (lower case), or "" for none')
    return text


def _header_name(text: str) -> str:
    if not _HEADER_NAME.fullmatch(text):
        raise ValueError("the name of an HTTP header")
    if text.lower() in _NEVER_FORWARDED:
        raise ValueError("a header that does not belong to one connection or session")
    return text.lower()


def _host_name(text: str) -> str:
    if not text or re.search(r"[\s/@]", text):
        raise ValueError('a host name with an optional port, such as "mcp.example.org" or "mcp.example.org:8443"')
    return text.lower()


EnvValue = Annotated[str, BeforeValidator(env_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Seconds = Annotated[float, Field(ge=0)]
PositiveSeconds = Annotated[float, Field(gt=0)]


class UpstreamWf(BaseModel):
    """wf-mcp's own settings of one server."""

    model_config = _OURS

    namespace: Annotated[str, AfterValidator(_namespace)] | None = Field(
        default=None, description='The label to use instead of the one made from the key; "" mounts the server bare.'
    )
    enabled: bool | None = Field(default=None, description="false: as if the entry were not there.")
    timeout: PositiveSeconds | None = Field(
        default=None, description="Seconds that one request may take; null: no limit."
    )
    timeout_resets: bool = Field(default=False, description="Whether timeout counts from the last progress.")
    init_timeout: PositiveSeconds = Field(default=60.0, description="Seconds that starting and initializing may take.")
    list_timeout: PositiveSeconds = Field(default=60.0, description="Seconds that each page of its lists may take.")
    ping: PositiveSeconds | None = Field(
        default=None, description="Seconds between pings, and for the answer; null: the server is not pinged."
    )
    isolation: Isolation = Field(default="client", description="Who shares one session with the server.")
    start: Start = Field(default="auto", description="When the server is started.")
    identity: Identity = Field(
        default="client", description="Whose name the server sees: the real client's or wf-mcp's."
    )
    forward_headers: list[Annotated[str, AfterValidator(_header_name)]] = Field(
        default=[], description="Headers of the client's HTTP request that are passed on to the server."
    )
    attribution: Attribution = Field(
        default="label", description="Whether a question of the server to the user begins with its label."
    )
    include_context: IncludeContext = Field(
        default="none", description="What becomes of a sampling request's wish to see the context of all servers."
    )
    era: EraSetting = Field(
        default="auto", description="Which era of the protocol the server speaks; auto: found out and remembered."
    )
    idle: PositiveSeconds | None = Field(
        default=None,
        description="Seconds without use after which the server is disconnected until it is needed; null: 900 where no "
        "client is connected, never while one is.",
    )
    max_sessions: int = Field(default=100, ge=1, description="Sessions that may be open with the server at once.")


class ServerEntry(BaseModel):
    """One server, as MCP hosts write it; keys that only other hosts know are ignored with a note."""

    model_config = _THEIRS

    command: str | None = Field(
        default=None, min_length=1, description="Program to start; a relative path starts at the file."
    )
    args: list[str] | None = Field(default=None, description="Its arguments, passed as they are.")
    env: dict[str, EnvValue] | None = Field(
        default=None, description="Environment variables beside the minimal base ones."
    )
    cwd: str | None = Field(
        default=None, min_length=1, description="Working folder; a relative one starts at the file."
    )
    url: str | None = Field(default=None, min_length=1, description="Endpoint of a server reached over HTTP.")
    type: str | None = Field(
        default=None, description="stdio, http (or streamable-http), or sse; guessed from command and url where absent."
    )
    transport: str | None = Field(default=None, description="The same as type.")
    headers: dict[str, str] | None = Field(default=None, description="Headers sent with every request to url.")
    disabled: bool | None = Field(default=None, description="true: as if the entry were not there.")
    enabled: bool | None = Field(default=None, description="The opposite of disabled.")
    wf: UpstreamWf = Field(default=UpstreamWf(), description="wf-mcp's own settings of this server.")


class NamesWf(BaseModel):
    """How public names look."""

    model_config = _OURS

    style: NamesStyle = Field(
        default="auto", description="dotted, safe (letters, digits, _), or by what the client accepts."
    )
    budget: int = Field(default=50, ge=MIN_BUDGET, le=128, description="Longest safe name.")


class ToolsWf(BaseModel):
    """wf-mcp's own tools for hosts that cannot do without them."""

    model_config = _OURS

    fallback: Fallback = Field(
        default="auto",
        description="Whether wf.read_resource and wf.call_tool are listed; auto: to hosts that are known to need them.",
    )


class ShutdownWf(BaseModel):
    """How long a server's process may take to end."""

    model_config = _OURS

    eof: Seconds = Field(default=2.0, description="Seconds from the end of its input to SIGTERM.")
    term: Seconds = Field(default=2.0, description="Seconds from SIGTERM to SIGKILL.")


class ParkedWf(BaseModel):
    """Calls of protocol 2026-07-28 clients that wait for their user's answer to an older server."""

    model_config = _OURS

    expiry: PositiveSeconds = Field(
        default=600.0, description="Seconds for an answer; then the server's request is cancelled."
    )
    per_upstream: int = Field(default=100, ge=1, description="How many may wait at one server.")
    per_principal: int = Field(default=100, ge=1, description="How many may wait of one holder of a token.")


class AuthWf(BaseModel):
    """Who may use the HTTP front."""

    model_config = _OURS

    tokens: dict[str, str] = Field(
        default={}, description='Bearer tokens by name, such as {"alice": "${ALICE_TOKEN}"}.'
    )


class TopWf(BaseModel):
    """wf-mcp's own settings of the whole proxy."""

    model_config = _OURS

    admin: Annotated[Literal[True, False, "write"], BeforeValidator(_not_a_number)] = Field(
        default=True, description='Whether the wf.admin tools exist; "write": changes need no confirmation.'
    )
    plugins: dict[str, JsonObject] = Field(default={}, description="Settings of each plug-in, by its name.")
    names: NamesWf = Field(default=NamesWf(), description="How public names look.")
    tools: ToolsWf = Field(default=ToolsWf(), description="wf-mcp's own tools for hosts that cannot do without them.")
    page_size: int | None = Field(default=None, ge=1, description="Items per page of a list; null: one page.")
    list_wait: Seconds = Field(
        default=5.0, description="Seconds that the first lists wait for servers never seen before."
    )
    starts: int = Field(default=8, ge=1, description="Servers' processes that may be starting at the same time.")
    refresh: PositiveSeconds | None = Field(
        default=86_400.0,
        description="Age in seconds from which on a server's remembered lists are loaded anew; null: only once it is "
        "used.",
    )
    shutdown: ShutdownWf = Field(default=ShutdownWf(), description="How long a server's process may take to end.")
    parked: ParkedWf = Field(
        default=ParkedWf(), description="Calls of protocol 2026-07-28 clients that wait for their user."
    )
    auth: AuthWf = Field(default=AuthWf(), description="Who may use the HTTP front.")
    allowed_hosts: list[Annotated[str, AfterValidator(_host_name)]] = Field(
        default=[], description="Host names, beside loopback, under which a reverse proxy serves the HTTP front."
    )
    max_request_bytes: int = Field(
        default=268_435_456, ge=1, description="Bytes that one request to the HTTP front may have."
    )
    max_sessions: int = Field(default=1000, ge=1, description="Sessions that may be open with all servers at once.")
    session_idle: PositiveSeconds = Field(
        default=1800.0, description="Seconds without use after which a session of the HTTP front ends."
    )


class ConfigFile(BaseModel):
    """Configuration of wf-mcp: MCP servers as hosts write them, and wf-mcp's own settings under "wf"."""

    model_config = _THEIRS

    mcpServers: dict[str, ServerEntry] = Field(default={}, description="The servers, by connection id.")
    servers: dict[str, ServerEntry] = Field(
        default={}, description="The same as mcpServers, used where that is absent."
    )
    wf: TopWf = Field(default=TopWf(), description="wf-mcp's own settings.")


def config_schema() -> JsonObject:
    """The JSON Schema of a configuration file (draft 2020-12), as published in `docs/reference`."""
    return {"$schema": SCHEMA_DIALECT, **ConfigFile.model_json_schema()}
