"""What a handshake client at its revision can hold of an upstream's results, errors and list entries (matrix A.6, D.3).

Unknown fields may stay; an unknown content block would make the client refuse the whole result, so that a text block
says what it was. Copy on write: what needs no change comes back as the same object.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from wf_mcp.core.envelope import bare_result
from wf_mcp.core.errors import INVALID_PARAMS, RESOURCE_NOT_FOUND
from wf_mcp.core.wire import JsonObject

SINCE: Final = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
"""The revision that introduced a content block; those of the first revision are not here."""


def held_result(method: str, result: JsonObject, version: str, *, modern: bool) -> JsonObject:
    """The result of a call, prompt or read as a handshake client at revision `version` can hold it; `modern` says
    whether the upstream is.
    """
    if modern:
        result = bare_result(result)
        if method == "tools/call":
            result = _with_object_structure(result)
    return _with_known_blocks(result, version)


def held_tool(tool: JsonObject) -> JsonObject:
    """A modern upstream's tool: an output schema that is not of an object has no place in the handshake era."""
    schema = tool.get("outputSchema")
    if schema is None or (isinstance(schema, dict) and schema.get("type") == "object"):
        return tool
    return {key: value for key, value in tool.items() if key != "outputSchema"}


def handshake_code(method: str, code: int, data: Any) -> int:
    """The code of a modern upstream's error: a resource that is not found has a code of its own in the handshake era
    (matrix A.5).
    """
    about_resource = method == "resources/read" and isinstance(data, dict) and isinstance(data.get("uri"), str)
    return RESOURCE_NOT_FOUND if code == INVALID_PARAMS and about_resource else code


def _with_object_structure(result: JsonObject) -> JsonObject:
    """A tool result whose structured content is an object, or gone; what it said is then in a text block."""
    if "structuredContent" not in result or isinstance(result["structuredContent"], dict):
        return result
    bare = {key: value for key, value in result.items() if key != "structuredContent"}
    content = result["content"] if isinstance(result.get("content"), list) else []
    structure = result["structuredContent"]
    if any(_says(block, structure) for block in content):
        return bare
    return {**bare, "content": [*content, {"type": "text", "text": json.dumps(structure, ensure_ascii=False)}]}


def _says(block: Any, structure: Any) -> bool:
    """Whether a content block is the text of some structured content."""
    if not isinstance(block, dict) or not isinstance(block.get("text"), str):
        return False
    try:
        return bool(json.loads(block["text"]) == structure)
    except ValueError:
        return bool(block["text"] == structure)


def _with_known_blocks(result: JsonObject, version: str) -> JsonObject:
    unknown = {kind for kind, since in SINCE.items() if version < since}
    if not unknown:
        return result

    def known(block: Any) -> Any:
        return _in_words(block) if isinstance(block, dict) and block.get("type") in unknown else block

    shown = _field(result, "content", known)
    held: JsonObject = _field(shown, "messages", lambda message: _field(message, "content", known))
    return held


def _in_words(block: JsonObject) -> JsonObject:
    """A text block that says what a block was which the client does not know."""
    if block["type"] == "audio":
        said = f"[audio, {block.get('mimeType', 'of unknown type')}: this client's protocol version cannot receive it]"
    else:
        about = block.get("description") or block.get("title")
        said = f"[resource {block.get('name', '')}: {block.get('uri', '')}{f' – {about}' if about else ''}]"
    kept: JsonObject = {key: block[key] for key in ("annotations", "_meta") if key in block}
    return {"type": "text", "text": said, **kept}


def _field(holder: Any, key: str, change: Callable[[Any], Any]) -> Any:
    """`holder` with `change` applied to what stands under `key`, or to each element of a list there."""
    if not isinstance(holder, dict) or key not in holder:
        return holder
    old = holder[key]
    if not isinstance(old, list):
        new = change(old)
        return holder if new is old else {**holder, key: new}
    items = [change(each) for each in old]
    return holder if all(new is each for new, each in zip(items, old, strict=True)) else {**holder, key: items}
