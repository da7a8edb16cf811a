"""JSON-RPC as a bare client writes it, in both eras."""

import json
from dataclasses import dataclass
from typing import Any, Final, Literal

Json = dict[str, Any]
Era = Literal["handshake", "modern"]
ERAS: Final[tuple[Era, ...]] = ("handshake", "modern")

INFO: Final = {"name": "bench", "version": "1"}
HANDSHAKE: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
ENVELOPE: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What every modern request carries in `_meta` (2026-07-28 basic/index)."""


class BadAnswer(Exception):
    """An answer that is not what was asked for: a measurement of it would say nothing."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a connection begins: the request, and the notification after its answer where there is one."""

    method: str
    params: Json
    notification: Json | None


def opening(era: Era) -> Opening:
    """The first exchange of an era."""
    if era == "modern":
        return Opening("server/discover", {}, None)
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": INFO}
    return Opening("initialize", params, {"jsonrpc": "2.0", "method": "notifications/initialized"})


def request(era: Era, number: int, method: str, params: Json) -> bytes:
    """One request."""
    if era == "modern":
        params = {**params, "_meta": ENVELOPE}
    return encoded({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def encoded(message: Json) -> bytes:
    """A message as bytes."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def headers(era: Era, method: str, params: Json) -> Json:
    """The protocol's HTTP headers of one message."""
    if era == "handshake":
        return {} if method == "initialize" else {"mcp-protocol-version": HANDSHAKE}
    named = {"mcp-name": params["name"]} if method == "tools/call" else {}
    return {"mcp-protocol-version": MODERN, "mcp-method": method, **named}


def result(answer: Any) -> Json:
    """The result in an answer; raises `BadAnswer` for an error."""
    if not isinstance(answer, dict) or not isinstance(answer.get("result"), dict):
        raise BadAnswer(str(answer)[:300])
    found: Json = answer["result"]
    return found


def check_echo(answer: Json, message: str) -> None:
    """Raise `BadAnswer` unless `answer`, the result of a call, holds the message that was sent."""
    if answer.get("isError") or answer["content"][0]["text"] != message:
        raise BadAnswer(f"not an echo: {str(answer)[:300]}")
