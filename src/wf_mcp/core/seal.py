"""Sealed text: what a client keeps for us and brings back, which nobody else can make or change (2026-07-28
basic/patterns/mrtr § Server Requirements; matrix F.4).

A seal says for what it was made, so that a cursor is never taken for a request's state. It hides nothing: what is
inside would reach the client without us too.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any, Final

KEY_SIZE: Final = 32
"""Bytes of a key."""

_TAG: Final = 16


class SealError(ValueError):
    """A text that is not one of our seals, was changed, or was made for something else."""


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals and opens under one `key` of `KEY_SIZE` bytes."""

    key: bytes = field(repr=False)

    def seal(self, purpose: str, claims: Any) -> str:
        """`claims` (any JSON) as one opaque line of URL-safe characters, good for `purpose` only."""
        body = json.dumps(claims, sort_keys=True, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._tag(purpose, body) + body).decode().rstrip("=")

    def open(self, purpose: str, text: object) -> Any:
        """The claims in `text`; raises `SealError` where it was not sealed by this key for this purpose.

        A seal has one spelling: base64 that decodes to the same bytes in another way is refused.
        """
        if not isinstance(text, str):
            raise SealError("it is no string")
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise SealError("it is not of our making") from error
        tag, body = raw[:_TAG], raw[_TAG:]
        if base64.urlsafe_b64encode(raw).decode().rstrip("=") != text:
            raise SealError("it is not of our making")
        if not hmac.compare_digest(tag, self._tag(purpose, body)):
            raise SealError("it is not of our making, or was changed")
        return json.loads(body)

    def _tag(self, purpose: str, body: bytes) -> bytes:
        return hmac.digest(self.key, purpose.encode() + b"\0" + body, hashlib.sha256)[:_TAG]
