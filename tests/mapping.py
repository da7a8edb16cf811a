"""Public names and URIs back to the upstream's, for comparing with a direct connection.

Written from design D6 and D7 alone, not from `src`: a fault there must not hide itself here.
"""

import copy
from collections.abc import Callable
from typing import Any

from tests.inbox import JsonObject
from tests.rawclient import META

# The only places where a result of tools/call, prompts/get, resources/read or a list carries a URI (matrix C.1).
URI_KEYS = ("uri", "uriTemplate", "resourceUri", "ui/resourceUri", "openai/outputTemplate")
# What belongs to the upstream alone is compared as it is.
VERBATIM = ("structuredContent", "inputSchema", "outputSchema", "arguments", "icons")


def uri_back(label: str, uri: str) -> str:
    """The upstream's form of a public URI or template; anything else comes back unchanged."""
    path = label.replace(".", "/")
    wrapped = f"wf://{path}/"
    if uri.startswith(wrapped):
        return uri.removeprefix(wrapped)
    scheme, mark, rest = uri.partition("://")
    if not mark:
        return uri
    if rest == f"/{path}" or rest.startswith(f"/{path}/"):
        return f"{scheme}://{rest[len(path) + 1 :]}"
    if rest.startswith(f"{path}/"):
        return f"{scheme}://{rest[len(path) + 1 :]}"
    return uri


def name_back(label: str, name: str) -> str:
    """The upstream's form of a dotted name."""
    assert name.startswith(f"{label}."), f"{name!r} is not under {label!r}"
    return name.removeprefix(f"{label}.")


def back(label: str, value: JsonObject) -> JsonObject:
    """A whole result with every public URI mapped back."""
    mapped: JsonObject = walk(copy.deepcopy(value), lambda uri: uri_back(label, uri))
    return mapped


def walk(value: Any, change: Callable[[str], str]) -> Any:
    """Applies `change` to the URIs in a JSON value."""
    if isinstance(value, list):
        return [walk(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: changed(key, item, change) for key, item in value.items()}


def changed(key: str, item: Any, change: Callable[[str], str]) -> Any:
    """The value of one key."""
    if key in VERBATIM:
        return item
    if key in URI_KEYS and isinstance(item, str):
        return change(item)
    return walk(item, change)


def listed_back(label: str, kind: str, items: list[JsonObject]) -> list[JsonObject]:
    """Listed components of one upstream, as it lists them itself; those of others are left out."""
    if kind in ("tools", "prompts"):
        mine = [item for item in items if item["name"].startswith(f"{label}.")]
        return [back(label, {**item, "name": name_back(label, item["name"])}) for item in mine]
    mapped = [(item, back(label, item)) for item in items]
    return [after for before, after in mapped if after != before]


def unstamped(result: JsonObject) -> JsonObject:
    """A result without what 2026-07-28 puts on every result of a server (matrix A.1), checked to be there."""
    result = dict(result)
    assert result.pop("resultType") == "complete"
    for hint in ("ttlMs", "cacheScope"):
        result.pop(hint, None)
    meta = dict(result.pop("_meta"))
    assert meta.pop(f"{META}/serverInfo")["name"] == "wf-mcp"
    return {**result, "_meta": meta} if meta else result
