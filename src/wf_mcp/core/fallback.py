"""Two tools of wf-mcp's own for hosts that read no resources, or keep an old tool list (field case F87, design D12).

Each stands for another request, made with the same rights: `meant` says which. What is decided here is who is offered
them, what they look like in a list, and how a read looks as a tool's result; no request is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from wf_mcp.core.config_values import Fallback
from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.hosts import host_of
from wf_mcp.core.wire import JsonObject

READ_RESOURCE: Final = "wf.read_resource"
CALL_TOOL: Final = "wf.call_tool"

RESOURCE_META: Final = "wf-mcp/resource"
"""The `_meta` key of a text block that came from a resource: every field of the content but its text."""

_TOOLS: Final[Mapping[str, JsonObject]] = {
    READ_RESOURCE: {
        "name": READ_RESOURCE,
        "title": "Read a resource",
        "description": (
            "Read an MCP resource by its URI. Use it for any resource link that another tool returned, and for every "
            "URI that names a resource here; a URI need not have been listed anywhere. Returns the contents."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {"uri": {"type": "string", "description": "The URI, exactly as it was given."}},
            "required": ["uri"],
        },
        "annotations": {
            "title": "Read a resource",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": True,
        },
    },
    CALL_TOOL: {
        "name": CALL_TOOL,
        "title": "Call a tool by its name",
        "description": (
            "Call a tool that is not in your list, because it appeared after the list was made. Give the name as it "
            "was told to you, and the arguments that the tool takes. Returns what that tool returns. Call a tool "
            "that is in your list directly."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The tool's name."},
                "arguments": {"type": "object", "description": "The tool's arguments."},
            },
            "required": ["name"],
        },
        "annotations": {
            "title": "Call a tool by its name",
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    },
}


def offered(setting: Fallback, modern: bool, client_info: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the tools that one client is offered; those, and no others, it may call.

    `auto` goes by the table of hosts, and so offers nothing to clients of 2026-07-28, among which a server is not to
    make differences.
    """
    if setting != "auto":
        return tuple(_TOOLS) if setting == "on" else ()
    host = None if modern else host_of(client_info)
    if host is None:
        return ()
    needed = {READ_RESOURCE: host.reads_resources is False, CALL_TOOL: host.keeps_tools is True}
    return tuple(name for name, needs in needed.items() if needs)


def listed(names: tuple[str, ...]) -> list[JsonObject]:
    """The tools as `tools/list` shows them, in the dotted form."""
    return [_TOOLS[name] for name in names]


@dataclass(frozen=True, slots=True)
class Meant:
    """The request that a call of a fallback tool stands for."""

    method: Literal["resources/read", "tools/call"]
    params: JsonObject


def meant(params: JsonObject, names: tuple[str, ...]) -> Meant | None:
    """The request behind a `tools/call` of one of `names`, in either form; None where it is another tool's.

    Everything else of the call goes along: `_meta` with its progress token, and for another tool also `task`.

    Raises:
        InvalidParams: the arguments are not what the tool takes (-32602).
    """
    called = next((name for name in names if params.get("name") in (name, safe(name))), None)
    if called is None:
        return None
    given = params.get("arguments")
    arguments: Mapping[str, Any] = given if isinstance(given, dict) else {}
    if called == READ_RESOURCE:
        rest = {key: value for key, value in params.items() if key == "_meta"}
        return Meant("resources/read", {**rest, "uri": _text(called, "uri", arguments)})
    rest = {key: value for key, value in params.items() if key not in ("name", "arguments")}
    inner: JsonObject = {**rest, "name": _text(called, "name", arguments)}
    if inner["name"] in (CALL_TOOL, safe(CALL_TOOL)):
        raise InvalidParams(f"{called} calls other tools, not itself")
    if "arguments" not in arguments:
        return Meant("tools/call", inner)
    if not isinstance(arguments["arguments"], dict):
        raise InvalidParams(f"{called} needs an object 'arguments' in its arguments")
    return Meant("tools/call", {**inner, "arguments": arguments["arguments"]})


def safe(name: str) -> str:
    """The safe form of a fallback tool's name."""
    return name.replace(".", "_")


def _text(tool: str, key: str, arguments: Mapping[str, Any]) -> str:
    value = arguments.get(key)
    if not isinstance(value, str):
        raise InvalidParams(f"{tool} needs a string {key!r} in its arguments")
    return value


def as_tool_result(read: JsonObject) -> JsonObject:
    """A `resources/read` result as a tool's: text as text blocks, the rest as embedded resources.

    Nothing is lost: what a text block has no place for (URI, MIME type, `_meta`, unknown fields) is in its `_meta`,
    and other fields of the result stay.
    """
    contents = read.get("contents")
    blocks = [_block(content) for content in contents] if isinstance(contents, list) else []
    return {**{key: value for key, value in read.items() if key != "contents"}, "content": blocks}


def _block(content: Any) -> JsonObject:
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        rest = {key: value for key, value in content.items() if key != "text"}
        return {"type": "text", "text": content["text"], "_meta": {RESOURCE_META: rest}}
    return {"type": "resource", "resource": content}
