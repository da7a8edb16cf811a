"""Pages towards the client: opaque, sealed cursors over a list that is already whole (matrix F.4).

A cursor names the kind, the place and the digest of the list it was made for. One that was tampered with, made for
another list or for an older state of it is refused, so that a client starts again instead of missing or repeating
items.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any

from wf_mcp.core.errors import InvalidParams


def page(
    items: Sequence[Any], cursor: object, *, kind: str, size: int | None, state: str, key: bytes
) -> tuple[Sequence[Any], str | None]:
    """The items of one page and the cursor of the next.

    `state` stands for the list's present content. Raises `InvalidParams` (-32602, server/utilities/pagination) for a
    cursor that was not made for this list as it is now.
    """
    start = 0 if cursor is None else _open(cursor, kind=kind, state=state, key=key)
    if size is None:
        return items[start:], None
    end = start + size
    following = _seal({"kind": kind, "start": end, "state": state}, key) if end < len(items) else None
    return items[start:end], following


def _seal(claims: dict[str, object], key: bytes) -> str:
    body = json.dumps(claims, sort_keys=True, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_tag(body, key) + body).decode().rstrip("=")


def _open(cursor: object, *, kind: str, state: str, key: bytes) -> int:
    refused = InvalidParams("Invalid cursor: it was not made for this list as it is now; start again without a cursor")
    if not isinstance(cursor, str):
        raise refused
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except ValueError as error:
        raise refused from error
    tag, body = raw[:16], raw[16:]
    if not hmac.compare_digest(tag, _tag(body, key)):
        raise refused
    claims = json.loads(body)
    if claims["kind"] != kind or claims["state"] != state:
        raise refused
    return int(claims["start"])


def _tag(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, body, hashlib.sha256)[:16]
