"""Plain HTTP around the protocol: a body read once, the message in it, and answers that are no event stream."""

import json
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp_types import (
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
)
from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import Receive, Send

from wf_mcp.core.http_rules import (
    BAD_VERSION,
    BATCH,
    EVENTS,
    JSON,
    NOT_A_MESSAGE,
    NOT_ALLOWED,
    POST_NOT_ACCEPTABLE,
    UNPARSABLE,
    Refusal,
    accepts,
    looks_like_version,
)
from wf_mcp.edge.messages import message_bytes, parse_message

Header = tuple[bytes, bytes]


class TooLargeError(Exception):
    """A body is over the limit."""


class DisconnectedError(Exception):
    """The client left before its body was complete."""


async def read_body(receive: Receive, limit: int) -> bytes:
    """The whole body, at most `limit` bytes; raises `TooLargeError` and `DisconnectedError`."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLargeError
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def read_message(body: bytes) -> JSONRPCMessage | Refusal:
    """The one message in `body`, built once, or why there is none."""
    try:
        message = parse_message(body)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return UNPARSABLE
        return BATCH if body.lstrip()[:1] == b"[" else NOT_A_MESSAGE
    # The notification model overlooks an id that is none; whoever sent one waits for an answer (JSON-RPC 2.0 § 4.1).
    if isinstance(message, JSONRPCNotification) and b'"id"' in body and "id" in _loaded(body):
        return NOT_A_MESSAGE
    return message


def _loaded(body: bytes) -> Any:
    """A message that was read already, as it came: repaired where it had to be."""
    return json.loads(body.decode("utf-8", "replace"))


def has_envelope(message: JSONRPCMessage | Refusal | None) -> bool:
    """Whether this is a request that names its protocol version itself, as only the stateless era's do."""
    if not isinstance(message, JSONRPCRequest) or not message.params:
        return False
    meta = message.params.get("_meta")
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta


def unacceptable(request: Request) -> Refusal | None:
    """Why a POST's `Accept` cannot be served: an answer may come in either form."""
    accept = request.headers.get("accept")
    both = all(accepts(accept, media) for media in (JSON, EVENTS))
    return None if both else POST_NOT_ACCEPTABLE


def odd_version(request: Request) -> Refusal | None:
    """Why an `MCP-Protocol-Version` is refused whatever the era: only its form is judged (matrix E.1)."""
    version = request.headers.get("mcp-protocol-version")
    return None if version is None or looks_like_version(version) else BAD_VERSION


def principal_of(request: Request) -> str | None:
    """Whose token the request carries; None where no tokens are configured."""
    user = request.scope.get("user")
    return user.access_token.client_id if isinstance(user, AuthenticatedUser) else None


async def reply(send: Send, status: int, body: bytes, *headers: Header) -> None:
    """A whole answer; a body is JSON."""
    kind = [(b"content-type", JSON.encode())] if body else []
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*kind, length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, refusal: Refusal, allow: str = "GET, POST, DELETE") -> None:
    """A refusal, as a JSON-RPC error that belongs to no request."""
    error = ErrorData(code=refusal.code, message=refusal.message)
    headers = [(b"allow", allow.encode())] if refusal is NOT_ALLOWED else []
    await reply(send, refusal.status, message_bytes(JSONRPCError(jsonrpc="2.0", id=None, error=error)), *headers)
