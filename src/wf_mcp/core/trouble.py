"""What went wrong on the way to an upstream, for whoever decides what to do about it; errors carry it as `trouble`."""

from dataclasses import dataclass
from typing import Literal

TroubleKind = Literal[
    "unreachable",
    "tls",
    "timed_out",
    "unanswered",
    "reset",
    "refused",
    "busy",
    "needs_auth",
    "session_lost",
    "not_found",
    "exited",
    "broken_pipe",
]
"""No connection (refused, or no such host); a certificate that is not accepted; no connection or no room for sending in
time; no answer in time; a connection that broke off; an HTTP status of refusal, those for too much to do and for
missing rights apart; a session that is not known; a command that is not installed; a process that ended; one that
closed its pipes and lives on.
"""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One failure of one request. `started` is false where the upstream certainly never got to act on it.

    `status` is the HTTP status, `retry_after` the seconds of its `Retry-After`, `challenge` its `WWW-Authenticate`.
    """

    kind: TroubleKind
    message: str
    started: bool = False
    status: int | None = None
    retry_after: float | None = None
    challenge: str | None = None


SESSION_LOST = Trouble("session_lost", "it no longer knows our session", status=404)
"""HTTP 404 for a request that names a session (2025-11-25 basic/transports § Session Management)."""
