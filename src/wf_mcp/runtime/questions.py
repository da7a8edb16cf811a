"""What an upstream asks or tells a client, in the client's terms: nested resource URIs become public (matrix C.1 rows
6 and 7).
"""

from collections.abc import Callable
from typing import Any

from wf_mcp.core.namespace import Namespace
from wf_mcp.core.rewrite import map_block
from wf_mcp.core.wire import JsonObject


def to_client(namespace: Namespace) -> Callable[[str, JsonObject], JsonObject]:
    """The translation of one upstream's requests and notifications towards clients."""

    def translate(method: str, params: JsonObject) -> JsonObject:
        if method == "sampling/createMessage" and isinstance(params.get("messages"), list):
            return {**params, "messages": [_message(message, namespace) for message in params["messages"]]}
        if method == "notifications/resources/updated" and isinstance(params.get("uri"), str):
            return {**params, "uri": namespace.public_uri(params["uri"])}
        return params

    return translate


def _message(message: Any, namespace: Namespace) -> Any:
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [map_block(block, namespace.public_uri) for block in content]}
    if isinstance(content, dict):
        return {**message, "content": map_block(content, namespace.public_uri)}
    return message
