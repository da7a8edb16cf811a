"""What the HTTP front decides from a request's first lines: era, formats, and how it refuses (matrix E.1, E.2).

Pure: strings in, verdicts out. `edge/http_front.py` reads the request and sends what is decided here.
"""

import functools
import re
from dataclasses import dataclass
from typing import Final

from wf_mcp.core.envelope import Era

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

MODERN_SINCE: Final = "2026-07-28"
"""The first revision without a handshake; revisions are dates, and dates in this form sort as text."""

PRIMED_SINCE: Final = "2025-11-25"
"""The first revision whose event streams open with an empty event and a `retry` (basic/transports § Sending Messages).
"""

_VERSION: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_INTERNAL_ERROR: Final = -32603


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is no answer of ours to a message: HTTP status, JSON-RPC error code, and a sentence."""

    status: int
    code: int
    message: str


UNPARSABLE: Final = Refusal(400, _PARSE_ERROR, "The body is not JSON")
NOT_A_MESSAGE: Final = Refusal(400, _INVALID_REQUEST, "The body is not a JSON-RPC message")
BATCH: Final = Refusal(400, _INVALID_REQUEST, "The body is a batch; send one JSON-RPC message")
NO_ANSWERS: Final = Refusal(400, _INVALID_REQUEST, "Clients of 2026-07-28 send requests, and no answers")
BAD_VERSION: Final = Refusal(400, _INVALID_REQUEST, "MCP-Protocol-Version is not a protocol version such as 2025-11-25")
NO_SESSION: Final = Refusal(400, _INVALID_REQUEST, "Mcp-Session-Id is missing; a session begins with initialize")
UNKNOWN_EVENT: Final = Refusal(400, _INVALID_REQUEST, "What followed Last-Event-ID is not kept any more, or never was")
UNKNOWN_SESSION: Final = Refusal(404, _INVALID_REQUEST, "Session not found; begin a new one with initialize")
NOT_ALLOWED: Final = Refusal(405, _INVALID_REQUEST, "Method not allowed")
POST_NOT_ACCEPTABLE: Final = Refusal(406, _INVALID_REQUEST, f"Accept must allow {JSON} and {EVENTS}")
GET_NOT_ACCEPTABLE: Final = Refusal(406, _INVALID_REQUEST, f"Accept must allow {EVENTS}")
TOO_LARGE: Final = Refusal(413, _INVALID_REQUEST, "The body is larger than wf.max_request_bytes allows")
NOT_JSON: Final = Refusal(415, _INVALID_REQUEST, f"Content-Type must be {JSON}, in UTF-8")
TOO_MANY_SESSIONS: Final = Refusal(503, _INTERNAL_ERROR, "Too many sessions; try again later")
STOPPING: Final = Refusal(503, _INTERNAL_ERROR, "wf-mcp is stopping")


def era_of(*, method: str | None, envelope: bool, session: bool, version: str | None) -> Era:
    """The era that a request belongs to (matrix E.1).

    `method` is that of a JSON-RPC request in the body, `envelope` whether its `_meta` names a protocol version,
    `session` whether there is an `Mcp-Session-Id`, `version` the `MCP-Protocol-Version`. An id that is not live counts
    as well: no modern message lacks the envelope and brings one, and a client whose session is lost has to be told so.
    """
    if envelope:
        return "modern"
    if method == "initialize" or session or version is None:
        return "handshake"
    return "modern" if looks_like_version(version) and version >= MODERN_SINCE else "handshake"


def looks_like_version(text: str) -> bool:
    """Whether `text` has the form of a revision; clients name other ones than they have negotiated (matrix E.1)."""
    return _VERSION.fullmatch(text) is not None


def primes(version: str) -> bool:
    """Whether event streams of a session at this revision open with an empty event and a `retry`."""
    return version >= PRIMED_SINCE


@functools.lru_cache(maxsize=256)
def accepts(header: str | None, media_type: str) -> bool:
    """Whether an `Accept` allows `media_type`: the most specific range decides, `q=0` refuses, absent allows all
    (RFC 9110 § 12.5.1).
    """
    if header is None:
        return True
    ranges = (f"{media_type.partition('/')[0]}/*", "*/*")
    found: dict[str, float] = {}
    for part in header.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        found[name] = max(_quality(parameters), found.get(name, 0.0))
    return next((found[name] > 0 for name in (media_type, *ranges) if name in found), False)


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0


def is_json(content_type: str | None) -> bool:
    """Whether a `Content-Type` is JSON in UTF-8, however its charset is spelt (RFC 8259 § 8.1)."""
    if content_type is None:
        return False
    name, *parameters = (piece.strip() for piece in content_type.lower().split(";"))
    charsets = [
        value.strip(" \"'") for key, _, value in (p.partition("=") for p in parameters) if key.strip() == "charset"
    ]
    return name == JSON and all(charset in ("utf-8", "utf8", "us-ascii") for charset in charsets)


def declared_too_large(content_length: str | None, limit: int) -> bool:
    """Whether a `Content-Length` says already that a body is over `limit` bytes."""
    return content_length is not None and content_length.isdecimal() and int(content_length) > limit
