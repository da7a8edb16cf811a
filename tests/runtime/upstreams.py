"""Modern upstreams that follow a script of results, for the tests of the bridge."""

from collections.abc import Callable
from typing import Any

from tests.runtime.memory import Twin, TwinClient, TwinLink, text, tool
from tests.runtime.stage import caller

from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import Caller, Hello

ABLE: JsonObject = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {"listChanged": True},
}
DONE: JsonObject = {"resultType": "complete", **text("done")}
FORM: JsonObject = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}}
URL: JsonObject = {"method": "elicitation/create", "params": {"mode": "url", "message": "Go", "url": "https://x.test"}}
SAMPLE: JsonObject = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}}
ROOTS: JsonObject = {"method": "roots/list"}


def asking(state: str | None = None, **requests: JsonObject) -> JsonObject:
    """An `input_required` result."""
    result: JsonObject = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = requests
    return result if state is None else {**result, "requestState": state}


def modern(*script: JsonObject | WfMcpError | Callable[[JsonObject], Any], **lists: Any) -> Twin:
    """A modern upstream `alpha` with one tool, whose calls get what `script` holds in turn, the last for ever."""
    twin = Twin("alpha", era="modern", **{"tools": [tool("x")], **lists})
    for method in ("tools/call", "prompts/get", "resources/read"):
        follow(twin, method, *script)
    return twin


def follow(twin: Twin, method: str, *script: JsonObject | WfMcpError | Callable[[JsonObject], Any]) -> None:
    """Let a twin answer `method` with the results of `script` in turn, the last one forever."""
    left = list(script)

    async def answer(link: TwinLink, params: JsonObject) -> JsonObject:
        step = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(step, WfMcpError):
            raise step
        return step(params) if callable(step) else step

    if script:
        twin.answers[method] = answer


def client(port: TwinClient | None = None, capabilities: JsonObject | None = None, **fields: Any) -> Caller:
    """A handshake client that can be asked everything, unless told otherwise."""
    version = fields.pop("version", "2025-11-25")
    hello = Hello(ABLE if capabilities is None else capabilities, {"name": "test", "version": "1"}, version)
    return caller(hello=hello, port=port, standing=port, **fields)


def modern_client(**fields: Any) -> Caller:
    """A modern client that can be asked everything."""
    hello = Hello(ABLE, {"name": "test", "version": "1"}, "2025-11-25", era="modern")
    return caller(hello=hello, era="modern", port=TwinClient(), **fields)
