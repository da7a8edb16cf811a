"""The two eras, and the envelope that every 2026-07-28 request carries in `params._meta` (basic/index § `_meta`).

An envelope belongs to one hop: what a client sent us ends here, and what an upstream gets is made here (matrix C.3).
"""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from wf_mcp.core.wire import JsonObject

Era: TypeAlias = Literal["handshake", "modern"]

LATEST_HANDSHAKE_VERSION: Final = "2025-11-25"
LATEST_MODERN_VERSION: Final = "2026-07-28"

_PREFIX: Final = "io.modelcontextprotocol/"
PROTOCOL_VERSION_META_KEY: Final = f"{_PREFIX}protocolVersion"
CLIENT_INFO_META_KEY: Final = f"{_PREFIX}clientInfo"
CLIENT_CAPABILITIES_META_KEY: Final = f"{_PREFIX}clientCapabilities"
LOG_LEVEL_META_KEY: Final = f"{_PREFIX}logLevel"
SERVER_INFO_META_KEY: Final = f"{_PREFIX}serverInfo"
SUBSCRIPTION_ID_META_KEY: Final = f"{_PREFIX}subscriptionId"

ENVELOPE: Final = frozenset(
    {PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY}
)
"""The `_meta` keys of a modern request that end at this hop."""

HINTS: Final = ("resultType", "ttlMs", "cacheScope")
"""What modern results have at their top and handshake results have not."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who asks, as a modern upstream is told: capabilities, client info, and the log level that the request wants."""

    capabilities: JsonObject = field(default_factory=dict)
    client_info: JsonObject = field(default_factory=dict)
    log_level: str | None = None


def with_envelope(params: JsonObject | None, envelope: Envelope, version: str = LATEST_MODERN_VERSION) -> JsonObject:
    """`params` with `envelope` in its `_meta`, for one request at revision `version`."""
    meta = (params or {}).get("_meta")
    stamped: JsonObject = {
        **(meta if isinstance(meta, dict) else {}),
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: envelope.client_info,
        CLIENT_CAPABILITIES_META_KEY: envelope.capabilities,
    }
    if envelope.log_level is not None:
        stamped[LOG_LEVEL_META_KEY] = envelope.log_level
    return {**(params or {}), "_meta": stamped}


def without_envelope(params: JsonObject) -> JsonObject:
    """`params` without the fields of a 2026-07-28 envelope: they describe the client's hop to us (matrix C.3)."""
    return _without_meta(params, ENVELOPE)


def bare_result(result: JsonObject) -> JsonObject:
    """A modern result without what only that era's results carry: for handshake clients, and to be stamped anew."""
    return without_server_info({key: value for key, value in result.items() if key not in HINTS})


def without_server_info(result: JsonObject) -> JsonObject:
    """A modern result without the name of the server that answered, which belongs to one hop (design D16)."""
    return _without_meta(result, frozenset({SERVER_INFO_META_KEY}))


def as_initialized(discovered: JsonObject) -> JsonObject:
    """A `server/discover` result in the shape of an `initialize` result, which is how the runtime knows an upstream."""
    meta = discovered.get("_meta")
    info = meta.get(SERVER_INFO_META_KEY) if isinstance(meta, dict) else None
    shaped: JsonObject = {
        "protocolVersion": LATEST_MODERN_VERSION,
        "capabilities": _object(discovered.get("capabilities")),
        "serverInfo": _object(info),
    }
    instructions = discovered.get("instructions")
    return shaped if instructions is None else {**shaped, "instructions": instructions}


def declared_to(era: Era, capabilities: JsonObject, client_era: Era) -> JsonObject:
    """What a client of `client_era` declared, as an upstream of `era` is to be told (matrix D.2).

    Client-hosted tasks exist in the handshake era only, `roots.listChanged` between handshake ends only, and the tasks
    extension is declared by the request that wants it.
    """
    if era == client_era:
        return capabilities
    declared = dict(capabilities)
    if era == "modern":
        declared.pop("tasks", None)
    if isinstance(declared.get("roots"), dict):
        declared["roots"] = {key: value for key, value in declared["roots"].items() if key != "listChanged"}
    return declared


def extensions(capabilities: JsonObject) -> JsonObject:
    """The extensions in a capability object, by identifier."""
    return _object(capabilities.get("extensions"))


def _without_meta(holder: JsonObject, keys: frozenset[str]) -> JsonObject:
    meta = holder.get("_meta")
    if not isinstance(meta, dict) or keys.isdisjoint(meta):
        return holder
    rest = {key: value for key, value in meta.items() if key not in keys}
    bare = {key: value for key, value in holder.items() if key != "_meta"}
    return {**bare, "_meta": rest} if rest else bare


def _object(value: object) -> JsonObject:
    return dict(value) if isinstance(value, dict) else {}
