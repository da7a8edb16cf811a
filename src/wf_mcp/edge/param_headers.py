"""The headers of a 2026-07-28 request over HTTP, made from its body (streamable-http § Request Metadata, matrix A.2).

They belong to one hop: what a client sent us is never passed on, and what an upstream gets is made from the translated
body.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)

from wf_mcp.core.wire import JsonObject

logger = logging.getLogger(__name__)

NAMED_BY: Final[Mapping[str, str]] = {
    **NAME_BEARING_METHODS,
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}
"""Method → the field that `Mcp-Name` repeats (§ Standard Request Headers; ext-tasks § Streamable HTTP)."""


def routing_headers(method: str, params: Mapping[str, Any] | None, version: str) -> dict[str, str]:
    """`MCP-Protocol-Version`, `Mcp-Method` and, where the method has it, `Mcp-Name` (§ Standard Request Headers)."""
    headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: encode_header_value(method)}
    name = (params or {}).get(NAMED_BY.get(method, ""))
    return {**headers, MCP_NAME_HEADER: encode_header_value(name)} if isinstance(name, str) else headers


class ParamHeaders:
    """Which arguments of which tools are repeated in `Mcp-Param-*` headers (§ Custom Headers from Tool Parameters).

    Learns from the tool lists that pass by.
    """

    def __init__(self, upstream_id: str) -> None:
        self._upstream_id = upstream_id
        self._maps: dict[str, dict[tuple[str, ...], str]] = {}
        self._warned: set[str] = set()

    def usable(self, result: JsonObject) -> JsonObject:
        """A `tools/list` result without the tools whose annotation is invalid, which a client must leave out."""
        tools = result.get("tools")
        if not isinstance(tools, list):
            return result
        kept = [tool for tool in tools if self._learned(tool)]
        return result if len(kept) == len(tools) else {**result, "tools": kept}

    def of(self, name: object, arguments: object) -> dict[str, str]:
        """The headers of one call; none for a tool that no list showed yet."""
        mapped = self._maps.get(name) if isinstance(name, str) else None
        return mcp_param_headers(mapped, arguments) if mapped and isinstance(arguments, Mapping) else {}

    def _learned(self, tool: object) -> bool:
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            return True
        name, schema = tool["name"], tool.get("inputSchema")
        fault = find_invalid_x_mcp_header(schema)
        if fault is None:
            self._maps[name] = x_mcp_header_map(schema)
            return True
        if name not in self._warned:
            logger.warning("upstream %s: the tool %r is left out: %s", self._upstream_id, name, fault)
            self._warned.add(name)
        return False
