"""Where URIs stand in what upstreams send, and putting others there (matrix C.1; C.4 says where not).

Knows JSON shapes and no mapping: the caller brings one (`Namespace.public_uri`). Copy on write: the input is never
changed, every field that is not mapped stays, in its place, and what needs no change comes back as the same object.
Whatever does not have the expected shape passes through: judging it is the client's business, as without us.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from wf_mcp.core.uris import is_web
from wf_mcp.core.wire import JsonObject

UriMap: TypeAlias = Callable[[str], str]
"""Turns an upstream's URI into the public one, or back."""

_Change: TypeAlias = Callable[[Any], Any]
"""Returns another value, or the very one it was given for "no change"."""

_DEEPEST: Final = 16
"""Levels of `tool_result` that are followed; the schema has one, and a hostile peer must not exhaust the stack."""


def map_block(block: Any, uri: UriMap) -> Any:
    """Map a content block: a link, an embedded resource, or a tool result that holds such (matrix C.1 rows 4 to 6)."""
    return _map_block(block, uri, _DEEPEST)


def map_tool_meta(holder: JsonObject, uri: UriMap) -> JsonObject:
    """Map the app links in `_meta` of a tool or of a call's result (matrix C.1 row 9); only strings are links."""

    def in_meta(meta: Any) -> Any:
        meta = _field(meta, "ui", lambda ui: _field(ui, "resourceUri", _string(uri)))
        meta = _field(meta, "ui/resourceUri", _string(uri))
        return _field(meta, "openai/outputTemplate", _string(uri))

    mapped: JsonObject = _field(holder, "_meta", in_meta)
    return mapped


def map_call_result(result: JsonObject, uri: UriMap) -> JsonObject:
    """Map a `tools/call` result: content and app links (matrix C.1 rows 4 and 9); structured content stays (C.4)."""
    return map_tool_meta(_field(result, "content", lambda content: _items(content, _block(uri))), uri)


def map_prompt_result(result: JsonObject, uri: UriMap) -> JsonObject:
    """Map a `prompts/get` result (matrix C.1 row 5): `content` is one block there; a list of blocks is mapped too."""

    def in_content(content: Any) -> Any:
        return _items(content, _block(uri)) if isinstance(content, list) else map_block(content, uri)

    def in_message(message: Any) -> Any:
        return _field(message, "content", in_content)

    mapped: JsonObject = _field(result, "messages", lambda messages: _items(messages, in_message))
    return mapped


def map_read_result(result: JsonObject, uri: UriMap, requested: tuple[str, str] | None) -> JsonObject:
    """Map a `resources/read` result (matrix C.1 row 3, field case F28), each of its contents on its own.

    `requested` is (URI that the upstream was asked for, URI that the client wrote): a content with the former gets
    exactly the latter, though `uri` might spell it otherwise.
    """

    def as_asked(found: str) -> str:
        return requested[1] if requested is not None and found == requested[0] else uri(found)

    def in_content(content: Any) -> Any:
        return _field(content, "uri", _string(as_asked))

    mapped: JsonObject = _field(result, "contents", lambda contents: _items(contents, in_content))
    return mapped


def map_error_data(data: Any, uri: UriMap) -> Any:
    """Map `uri` in the data of an error, as in resource-not-found (matrix C.1 row 12)."""
    return _field(data, "uri", _string(uri))


def web_uris(result: JsonObject) -> Iterator[str]:
    """Yield the URIs of the web, each once, that a call, prompt or read result links to (design D7: who links owns)."""
    found: dict[str, None] = {}

    def note(uri: str) -> str:
        if is_web(uri):
            found[uri] = None
        return uri

    # Walked by the mappings themselves, so that no place is known to one and not to the other.
    map_call_result(result, note)
    map_prompt_result(result, note)
    map_read_result(result, note, None)
    yield from found


def _map_block(block: Any, uri: UriMap, levels: int) -> Any:
    match block:
        case {"type": "resource_link"}:
            return _field(block, "uri", _string(uri))
        case {"type": "resource"}:
            return _field(block, "resource", lambda resource: _field(resource, "uri", _string(uri)))
        case {"type": "tool_result"} if levels > 0:
            return _field(block, "content", lambda content: _items(content, lambda b: _map_block(b, uri, levels - 1)))
        case _:
            return block


def _block(uri: UriMap) -> _Change:
    return lambda block: map_block(block, uri)


def _string(uri: UriMap) -> _Change:
    def change(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        mapped = uri(value)
        return value if mapped == value else mapped

    return change


def _field(holder: Any, key: str, change: _Change) -> Any:
    if not isinstance(holder, dict) or key not in holder:
        return holder
    value = change(holder[key])
    return holder if value is holder[key] else {**holder, key: value}


def _items(values: Any, change: _Change) -> Any:
    if not isinstance(values, list):
        return values
    changed = [change(value) for value in values]
    return values if all(new is old for new, old in zip(changed, values, strict=True)) else changed
