"""What becomes of an upstream that failed: from the error to its class, and from the class to what is done.

The table is the one place that decides; `runtime/connection.py` does what it says (design D5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamTimeout, WfMcpError
from wf_mcp.core.trouble import Trouble, TroubleKind

FailureKind = Literal[TroubleKind, "unknown"]
"""What can be wrong on the way (`TroubleKind`), and what is none of that."""

QUARTER_HOUR: Final = 900.0
"""Seconds for which a server that wants a login is left alone, and the longest that one may put off our return."""

TERMINAL: Final = 3
"""Calls in a row that fail for the connection's own reasons, after which one that believes itself open is reopened."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What is done about a class of failures: `wait` seconds before the next start, `None` for growing pauses, and what
    a person can do.
    """

    advice: str
    wait: float | None = None


REMEDIES: Final[Mapping[FailureKind, Remedy]] = MappingProxyType(
    {
        "unreachable": Remedy("check the URL, and that the server is running and can be reached from here"),
        "tls": Remedy("check the server's certificate, or the certificates that this machine trusts"),
        "timed_out": Remedy("check that the server is up; a slow start may take a longer wf.init_timeout"),
        "unanswered": Remedy("check that the server is up; a slow start may take a longer wf.init_timeout"),
        "reset": Remedy("look at the server's own log: it closed the connection"),
        "refused": Remedy("look at the server's own log: it refused what it was sent"),
        "busy": Remedy("wait: it has too much to do"),
        "needs_auth": Remedy("log in at the server, and put a valid token into its headers", QUARTER_HOUR),
        "session_lost": Remedy("nothing: a new session is opened", 0.0),
        "not_found": Remedy("install the command, or write its whole path"),
        "exited": Remedy("look at what it wrote to stderr"),
        "broken_pipe": Remedy("look at what it wrote to stderr: its process closed stdin or stdout and lives on"),
        "unknown": Remedy("look at the message, and at the server's own log"),
    }
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure of a connection: its class, the reason in words, and the seconds that the server asked us to wait."""

    kind: FailureKind
    reason: str
    retry_after: float | None = None

    @property
    def advice(self) -> str:
        """What a person can do about it."""
        return REMEDIES[self.kind].advice

    def pause(self, growing: float) -> float:
        """Seconds before the next start, where a pause that grows with each failure would now be `growing`."""
        if self.retry_after is not None:
            return min(max(self.retry_after, growing), QUARTER_HOUR)
        wait = REMEDIES[self.kind].wait
        return growing if wait is None else max(wait, growing if wait == 0 else 0.0)


def failure_of(error: BaseException, reason: str) -> Failure:
    """The failure behind an exception, also one in a group or the cause of another; `reason` says it in words."""
    trouble = _trouble(error)
    if trouble is not None:
        return Failure(trouble.kind, reason, trouble.retry_after)
    return Failure(_kind(error), reason)


def terminal(error: WfMcpError) -> bool:
    """Whether a call's error speaks against the connection, and not of the call."""
    if error.trouble is not None:
        return error.trouble.kind in ("reset", "timed_out", "unanswered", "unreachable")
    return isinstance(error, LinkLost | UpstreamTimeout)


def shut_out(error: WfMcpError) -> bool:
    """Whether the server wants a login for everything; a 403 may be about this one request (RFC 9110 § 15.5.4)."""
    return error.trouble is not None and error.trouble.kind == "needs_auth" and error.trouble.status == 401


def _trouble(error: BaseException) -> Trouble | None:
    seen: list[BaseException] = [error]
    for each in seen:
        if isinstance(each, WfMcpError) and each.trouble is not None:
            return each.trouble
        if isinstance(each, BaseExceptionGroup):
            seen.extend(each.exceptions)
        if each.__cause__ is not None and all(each.__cause__ is not known for known in seen):
            seen.append(each.__cause__)
    return None


def _kind(error: BaseException) -> FailureKind:
    if isinstance(error, BaseExceptionGroup):
        return _kind(error.exceptions[0])
    if isinstance(error, UpstreamTimeout | TimeoutError):
        return "unanswered"
    if isinstance(error, RelayedError):
        return "refused"
    return "reset" if isinstance(error, LinkLost) else "unknown"
