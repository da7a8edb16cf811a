"""What an upstream asks or tells a client, in the client's terms, and the client's answers in the upstream's.

Nested resource URIs become public and back (matrix C.1 rows 6 and 7, C.3); ids of tasks and elicitations carry the
mount's label, since they are unique at their upstream only (matrix C.2).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wf_mcp.core.ids import map_related_task, public_id
from wf_mcp.core.inputs import map_requests
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.rewrite import UriMap, map_block, map_call_result, map_error_data, map_tool_meta
from wf_mcp.core.wire import JsonObject

SAMPLING = "sampling/createMessage"
ELICITATION = "elicitation/create"


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation between one upstream and the clients; `several` says whether other upstreams are mounted too."""

    namespace: Namespace
    several: Callable[[], bool] = lambda: False
    attribution: bool = True
    include_context: bool = False

    def to_client(self, method: str, params: JsonObject) -> JsonObject:
        """A request or notification of the upstream, as the client shall get it."""
        params = map_related_task(params, lambda task: public_id(self.namespace.label, task))
        match method:
            case "sampling/createMessage":
                return self._sampling(params)
            case "elicitation/create":
                return self._elicitation(params)
            case "notifications/elicitation/complete":
                return self._labelled(params, "elicitationId")
            case "notifications/tasks/status":
                return self._labelled(params, "taskId")
            case "notifications/tasks":
                return self._task(params)
            case "notifications/resources/updated" if isinstance(params.get("uri"), str):
                return {**params, "uri": self.namespace.public_uri(params["uri"])}
        return params

    def from_client(self, method: str, result: JsonObject) -> JsonObject:
        """A client's answer, as the upstream shall get it."""
        if method == SAMPLING and "content" in result:
            return {**result, "content": _content(result["content"], lambda uri: self.namespace.local_uri(uri) or uri)}
        return result

    def _task(self, params: JsonObject) -> JsonObject:
        """A task of the extension with what it carries: its result, its error, or what it asks for (matrix B.4)."""
        params = map_requests(self._labelled(params, "taskId"), self.to_client)
        result, error = params.get("result"), params.get("error")
        if isinstance(result, dict):
            params = {**params, "result": map_call_result(result, self.namespace.public_uri)}
        if isinstance(error, dict) and "data" in error:
            data = map_error_data(error["data"], self.namespace.public_uri)
            params = {**params, "error": {**error, "data": data}}
        return params

    def _labelled(self, params: JsonObject, key: str) -> JsonObject:
        value = params.get(key)
        return {**params, key: public_id(self.namespace.label, value)} if isinstance(value, str) else params

    def _sampling(self, params: JsonObject) -> JsonObject:
        messages = params.get("messages")
        if isinstance(messages, list):
            params = {**params, "messages": [self._message(message) for message in messages]}
        if isinstance(params.get("tools"), list):
            params = {**params, "tools": [self._tool(tool) for tool in params["tools"]]}
        if "includeContext" in params and self.several() and not self.include_context:
            # "thisServer" would hand one upstream what all the others said to the host (design D13).
            params = {**params, "includeContext": "none"}
        return params

    def _tool(self, tool: Any) -> Any:
        return map_tool_meta(tool, self.namespace.public_uri) if isinstance(tool, dict) else tool

    def _message(self, message: Any) -> Any:
        if not isinstance(message, dict) or "content" not in message:
            return message
        return {**message, "content": _content(message["content"], self.namespace.public_uri)}

    def _elicitation(self, params: JsonObject) -> JsonObject:
        params = self._labelled(params, "elicitationId")
        said = params.get("message")
        if isinstance(said, str) and self.attribution and self.namespace.label and self.several():
            # The user has to see who asks, and the host knows only us (design D16).
            return {**params, "message": f"[{self.namespace.label}] {said}"}
        return params


def _content(content: Any, uri: UriMap) -> Any:
    if isinstance(content, list):
        return [map_block(block, uri) for block in content]
    return map_block(content, uri)
