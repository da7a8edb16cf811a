"""What spans and metrics are called and what they say of a request (OpenTelemetry semantic conventions for MCP).

Never said: arguments, results, session ids, and the parts of a URI in which secrets travel (design D13).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from wf_mcp.core.envelope import PROTOCOL_VERSION_META_KEY
from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.core.wire import JsonObject

Attribute: TypeAlias = str | int

METHOD: Final = "mcp.method.name"
VERSION: Final = "mcp.protocol.version"
REQUEST_ID: Final = "jsonrpc.request.id"
OPERATION: Final = "gen_ai.operation.name"
TOOL: Final = "gen_ai.tool.name"
PROMPT: Final = "gen_ai.prompt.name"
URI: Final = "mcp.resource.uri"
TRANSPORT: Final = "network.transport"
ADDRESS: Final = "server.address"
PORT: Final = "server.port"
ERROR: Final = "error.type"
CODE: Final = "rpc.response.status_code"
UPSTREAM: Final = "wf_mcp.upstream"
"""The upstream's key in the configuration: the one attribute that is ours."""

SPAN_ATTRIBUTES: Final = (
    METHOD, VERSION, REQUEST_ID, OPERATION, TOOL, PROMPT, URI, TRANSPORT, ADDRESS, PORT, ERROR, CODE, UPSTREAM,
)  # fmt: skip

OTHER: Final = "_OTHER"
"""Stands for a method that is none: what a client makes up must not become a new name each time."""

TOOL_ERROR: Final = "tool_error"
"""The error of a call whose result says `isError`."""

BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Bounds of the durations, in seconds, as the conventions have them."""


@dataclass(frozen=True, slots=True)
class Instrument:
    """One metric: `kind` as OpenTelemetry calls it, and the attributes that its points carry."""

    name: str
    kind: Literal["counter", "histogram", "gauge", "observable counter"]
    unit: str
    description: str
    attributes: tuple[str, ...] = ()


SERVED: Final = Instrument(
    "mcp.server.operation.duration",
    "histogram",
    "s",
    "How long clients' requests took.",
    (METHOD, TRANSPORT, ERROR),
)
SENT: Final = Instrument(
    "mcp.client.operation.duration",
    "histogram",
    "s",
    "How long upstreams took for requests.",
    (UPSTREAM, METHOD, TRANSPORT, ERROR),
)
CALLS: Final = Instrument(
    "wf_mcp.upstream.calls", "counter", "{request}", "Requests sent to upstreams.", (UPSTREAM, METHOD)
)
ERRORS: Final = Instrument(
    "wf_mcp.upstream.errors",
    "counter",
    "{request}",
    "Those that ended in an error, or in a result that says so.",
    (UPSTREAM, METHOD, ERROR),
)
STARTS: Final = Instrument("wf_mcp.upstream.starts", "counter", "{start}", "Starts of upstreams.", (UPSTREAM,))
RESTARTS: Final = Instrument(
    "wf_mcp.upstream.restarts", "counter", "{start}", "Those of them that followed a loss or a failure.", (UPSTREAM,)
)
FAILURES: Final = Instrument("wf_mcp.upstream.failures", "counter", "{start}", "Starts that failed.", (UPSTREAM,))
LOSSES: Final = Instrument(
    "wf_mcp.upstream.losses", "counter", "{connection}", "Connections that were lost.", (UPSTREAM,)
)
SESSIONS: Final = Instrument(
    "wf_mcp.upstream.sessions", "gauge", "{session}", "Open sessions of upstreams.", (UPSTREAM,)
)
CLIENTS: Final = Instrument("wf_mcp.clients", "gauge", "{client}", "Connected handshake clients.")
STREAMS: Final = Instrument("wf_mcp.listen.streams", "gauge", "{stream}", "Open listen streams of modern clients.")
PARKED: Final = Instrument("wf_mcp.calls.parked", "gauge", "{call}", "Calls that wait for a user's answer.")
DROPPED: Final = Instrument(
    "wf_mcp.events.dropped",
    "observable counter",
    "{event}",
    "Notifications that were not delivered because their client had fallen too far behind.",
)

INSTRUMENTS: Final = (
    SERVED, SENT, CALLS, ERRORS, STARTS, RESTARTS, FAILURES, LOSSES, SESSIONS, CLIENTS, STREAMS, PARKED, DROPPED,
)  # fmt: skip

_USER: Final = re.compile(r"(?<=://)[^/@]*@")


def span_name(method: str, params: Mapping[str, Any] | None) -> str:
    """`tools/call echo`: the method, and the tool or prompt; URIs are too many to be part of a name."""
    target = _name(method, params)
    return method if target is None else f"{method} {target}"


def described(method: str, params: Mapping[str, Any] | None) -> dict[str, Attribute]:
    """What a span says of a request."""
    found: dict[str, Attribute] = {METHOD: method}
    target = _name(method, params)
    if method == "tools/call":
        found[OPERATION] = "execute_tool"
    if target is not None:
        found[TOOL if method == "tools/call" else PROMPT] = target
    uri = (params or {}).get("uri")
    if isinstance(uri, str):
        found[URI] = bare_uri(uri)
    return found


def bare_uri(uri: str) -> str:
    """`uri` without user, query and fragment, which is where secrets travel."""
    return _USER.sub("", re.split(r"[?#]", uri, maxsplit=1)[0])


def version_in(params: Mapping[str, Any] | None) -> str | None:
    """The protocol version that a modern request names."""
    meta = (params or {}).get("_meta")
    version = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def error_type(error: WfMcpError) -> str:
    """A name for what went wrong, one of few."""
    match error:
        case UpstreamTimeout():
            return "timeout"
        case LinkLost():
            return "connection_lost"
        case UpstreamUnavailable():
            return "unavailable"
        case RelayedError(code=code):
            return str(code)
        case _:
            return str(error.code)


def is_tool_error(result: JsonObject) -> bool:
    """Whether a result says that the tool failed."""
    return result.get("isError") is True


def _name(method: str, params: Mapping[str, Any] | None) -> str | None:
    name = (params or {}).get("name") if method in ("tools/call", "prompts/get") else None
    return name if isinstance(name, str) else None
