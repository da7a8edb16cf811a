"""What a result asks of the client, and the client's answers (2026-07-28 basic/patterns/mrtr; matrix A.3, C.1, C.3).

The requests are the handshake era's own (`elicitation/create`, `sampling/createMessage`, `roots/list`), so that what is
mapped there is mapped here by the same functions, which the caller brings.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.wire import JsonObject

INPUT_REQUIRED: Final = "input_required"
REQUESTS: Final = "inputRequests"
RESPONSES: Final = "inputResponses"
STATE: Final = "requestState"

ELICITATION: Final = "elicitation/create"
SAMPLING: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"
QUESTIONS: Final = frozenset({ELICITATION, SAMPLING, ROOTS})
"""What an upstream may ask of a client in a result."""

Translate = Callable[[str, JsonObject], JsonObject]
"""Turns what belongs to a request of one method into the other side's terms."""


class CannotAsk(WfMcpError):
    """An upstream needs of a handshake client what it did not declare, or cannot be asked for;
    `data.requiredCapabilities` says what (matrix D.3).
    """

    def __init__(self, message: str, required: Any) -> None:
        super().__init__(message, {"requiredCapabilities": required})


def is_input_required(result: JsonObject) -> bool:
    """Whether a result asks for input before the request can go on."""
    return result.get("resultType") == INPUT_REQUIRED


def is_retry(params: Mapping[str, Any]) -> bool:
    """Whether a request answers an earlier `input_required`."""
    return RESPONSES in params or STATE in params


def input_requests(result: JsonObject) -> dict[str, JsonObject]:
    """What a result asks for, by key, each with its `method`; what has not that shape is left out."""
    wanted = result.get(REQUESTS)
    found = wanted.items() if isinstance(wanted, dict) else ()
    return {key: each for key, each in found if isinstance(each, dict) and isinstance(each.get("method"), str)}


def methods_of(result: JsonObject) -> dict[str, str]:
    """The method of each request for input, by its key."""
    return {key: str(each["method"]) for key, each in input_requests(result).items()}


def map_requests(result: JsonObject, to_client: Translate) -> JsonObject:
    """`result` with its requests for input in the client's terms (matrix C.1 row 6); keys stay."""
    wanted = input_requests(result)
    if not wanted:
        return result

    def shown(request: JsonObject) -> JsonObject:
        params = to_client(request["method"], params_of(request))
        return {**request, "params": params} if params or "params" in request else request

    return {**result, REQUESTS: {**result[REQUESTS], **{key: shown(each) for key, each in wanted.items()}}}


def map_responses(responses: Any, methods: Mapping[str, str], from_client: Translate) -> Any:
    """A client's answers in the upstream's terms (matrix C.3).

    `methods` says what each key was asked for; an answer to anything else is known by its shape, as only those to
    sampling hold what is mapped.
    """
    if not isinstance(responses, dict):
        return responses
    return {
        key: from_client(methods.get(key) or _likely(each), each) if isinstance(each, dict) else each
        for key, each in responses.items()
    }


def params_of(request: JsonObject) -> JsonObject:
    """The parameters of one request for input."""
    params = request.get("params")
    return dict(params) if isinstance(params, dict) else {}


def lacking(capabilities: JsonObject, method: str, params: JsonObject) -> JsonObject | None:
    """The capability that a client would need to be asked this, in the shape of `requiredCapabilities`; `None` where
    it declared it (2025-11-25 client/elicitation, client/sampling, client/roots § Capabilities).
    """
    match method:
        case "roots/list":
            return None if _has(capabilities, "roots") else {"roots": {}}
        case "sampling/createMessage":
            return _lacking_sampling(capabilities, params)
        case _:
            return _lacking_elicitation(capabilities, str(params.get("mode", "form")))


def named(required: Any) -> str:
    """Capabilities in words: `elicitation.url, roots`."""
    if not isinstance(required, dict) or not required:
        return "one that it does not name"
    parts = []
    for name, features in required.items():
        inner = list(features) if isinstance(features, dict) else []
        parts += [f"{name}.{feature}" for feature in inner] or [name]
    return ", ".join(parts)


def _lacking_sampling(capabilities: JsonObject, params: JsonObject) -> JsonObject | None:
    if not _has(capabilities, "sampling"):
        return {"sampling": {}}
    with_tools = "tools" in params or "toolChoice" in params
    return {"sampling": {"tools": {}}} if with_tools and "tools" not in capabilities["sampling"] else None


def _lacking_elicitation(capabilities: JsonObject, mode: str) -> JsonObject | None:
    declared = capabilities.get("elicitation")
    if isinstance(declared, dict) and (mode in declared or (mode == "form" and not {"form", "url"} & set(declared))):
        return None
    return {"elicitation": {mode: {}}}


def _has(capabilities: JsonObject, name: str) -> bool:
    return isinstance(capabilities.get(name), dict)


def _likely(answer: JsonObject) -> str:
    return SAMPLING if "role" in answer and "content" in answer else ""
