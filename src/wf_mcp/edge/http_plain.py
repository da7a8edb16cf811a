"""Plain HTTP around the protocol: a body read once, the message in it, and answers that are no event stream."""

import json
from collections.abc import Mapping
from typing import Any

from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
)
from mcp_types import (
    HEADER_MISMATCH,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.types import Message, Receive, Send

from wf_mcp.core.http_rules import BATCH, JSON, NOT_A_MESSAGE, NOT_ALLOWED, UNPARSABLE, Refusal
from wf_mcp.edge.http_wire import wire_bytes
from wf_mcp.edge.streams import parse_message

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


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read already, and then what comes after it."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return unread.pop() if unread else await receive()

    return again


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


def modern_refusal(message: JSONRPCMessage | Refusal, headers: Mapping[str, str]) -> tuple[int, JSONRPCError] | None:
    """Why a request of the stateless era cannot be served under a version header that is absent or a handshake
    client's: the two contradict each other (2026-07-28 streamable-http § Server Validation). None for other headers.
    """
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    if not isinstance(message, JSONRPCRequest) or not (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS):
        return None
    verdict = classify_inbound_request({"method": message.method, "params": message.params}, headers=headers)
    if not isinstance(verdict, InboundLadderRejection):  # only if the SDK served a handshake revision in this way
        verdict = InboundLadderRejection(HEADER_MISMATCH, "MCP-Protocol-Version does not match the body")
    error = ErrorData(code=verdict.code, message=verdict.message, **_data(verdict.data))
    return ERROR_CODE_HTTP_STATUS.get(verdict.code, 400), JSONRPCError(jsonrpc="2.0", id=message.id, error=error)


def _data(data: Any) -> dict[str, Any]:
    return {} if data is None else {"data": data}


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
    await reply(send, refusal.status, wire_bytes(JSONRPCError(jsonrpc="2.0", id=None, error=error)), *headers)
