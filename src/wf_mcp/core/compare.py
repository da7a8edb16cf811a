"""What differs between two answers to one request: made directly, and through wf-mcp (design D15).

JSON in, differences out. `back` first gives the proxied answer the upstream's own URIs again; names are the caller's.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from wf_mcp.core.positions import JsonPath, json_path
from wf_mcp.core.wire import JsonObject

_LINKS: Final = frozenset({"uri", "uriTemplate", "resourceUri", "ui/resourceUri", "openai/outputTemplate"})
"""Where results carry URIs (matrix C.1)."""

_VERBATIM: Final = frozenset({"structuredContent", "inputSchema", "outputSchema", "arguments", "icons"})
"""What is the upstream's alone, and so is compared as it came (matrix C.4)."""


class Absent:
    """Stands for what one side does not have at all, which JSON's null is not."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place in which the answers differ; a side that has nothing there is `ABSENT`."""

    method: str
    item: str
    path: str
    direct: Any
    proxied: Any


def back(value: Any, local_uri: Callable[[str], str | None]) -> Any:
    """A proxied result with the upstream's own URIs in the places where results carry some."""
    if isinstance(value, list):
        return [back(item, local_uri) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _field_back(key, item, local_uri) for key, item in value.items()}


def _field_back(key: str, value: Any, local_uri: Callable[[str], str | None]) -> Any:
    if key in _VERBATIM:
        return value
    if key in _LINKS and isinstance(value, str):
        found = local_uri(value)
        return value if found is None else found
    return back(value, local_uri)


def keyed(items: Iterable[Any], field: str) -> JsonObject:
    """List items by name or URI; a second one of the same name is `name #2`, one without a name is `(unnamed)`."""
    seen: Counter[str] = Counter()
    by_key: JsonObject = {}
    for item in items:
        name = item.get(field) if isinstance(item, dict) else None
        key = name if isinstance(name, str) else "(unnamed)"
        seen[key] += 1
        by_key[key if seen[key] == 1 else f"{key} #{seen[key]}"] = item
    return by_key


def list_differences(method: str, direct: JsonObject, proxied: JsonObject) -> list[Difference]:
    """How two lists differ, both by `keyed`: items that only one has, what is different in an item, and the order."""
    found = [
        Difference(method, str(path[0]), json_path(path[1:]), mine, theirs)
        for path, mine, theirs in _walk(direct, proxied, ())
    ]
    if direct.keys() == proxied.keys() and list(direct) != list(proxied):
        found.append(Difference(method, "(order)", "$", list(direct), list(proxied)))
    return found


def differences(method: str, item: str, direct: Any, proxied: Any) -> list[Difference]:
    """How two answers about one item differ."""
    return [
        Difference(method, item, json_path(path), mine, theirs) for path, mine, theirs in _walk(direct, proxied, ())
    ]


def parted(
    found: Iterable[Difference], between_direct: Iterable[Difference]
) -> tuple[list[Difference], list[Difference]]:
    """`found` in two parts: what the proxy is to blame for, and what lies where two direct answers differ as well."""
    places = [(each.item, each.path) for each in between_direct]
    lost: list[Difference] = []
    unsteady: list[Difference] = []
    for each in found:
        varies = any(each.item == item and _inside(each.path, path) for item, path in places)
        (unsteady if varies else lost).append(each)
    return lost, unsteady


def _inside(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}["))


def _walk(direct: Any, proxied: Any, path: JsonPath) -> Iterator[tuple[JsonPath, Any, Any]]:
    if isinstance(direct, dict) and isinstance(proxied, dict):
        for key in [*direct, *(key for key in proxied if key not in direct)]:
            yield from _walk(direct.get(key, ABSENT), proxied.get(key, ABSENT), (*path, key))
    elif isinstance(direct, list) and isinstance(proxied, list):
        for index in range(max(len(direct), len(proxied))):
            mine = direct[index] if index < len(direct) else ABSENT
            theirs = proxied[index] if index < len(proxied) else ABSENT
            yield from _walk(mine, theirs, (*path, index))
    # To Python 1, 1.0 and true are equal; on the wire they are not.
    elif type(direct) is not type(proxied) or direct != proxied:
        yield path, direct, proxied
