"""From an error to what is done about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.backoff import FIRST, LONGEST, backoff
from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.core.failures import QUARTER_HOUR, REMEDIES, Failure, FailureKind, failure_of, terminal
from wf_mcp.core.trouble import SESSION_LOST, Trouble, TroubleKind


def with_trouble(error: WfMcpError, kind: TroubleKind, retry_after: float | None = None) -> WfMcpError:
    error.trouble = Trouble(kind, "m", retry_after=retry_after)
    return error


def caused(by: BaseException) -> WfMcpError:
    error = UpstreamUnavailable("outer")
    error.__cause__ = by
    return error


UNREACHABLE = with_trouble(UpstreamUnavailable("x"), "unreachable")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UNREACHABLE, "unreachable"),
        (caused(UNREACHABLE), "unreachable"),
        (ExceptionGroup("g", [ValueError("other"), ExceptionGroup("h", [UNREACHABLE])]), "unreachable"),
        (with_trouble(LinkLost("x", started=False), "session_lost"), "session_lost"),
        (with_trouble(RelayedError(-32603, "x"), "needs_auth"), "needs_auth"),
        (with_trouble(RelayedError(-32603, "x"), "busy"), "busy"),
        (RelayedError(-32603, "x"), "refused"),
        (UpstreamTimeout("x"), "unanswered"),
        (TimeoutError(), "unanswered"),
        (ExceptionGroup("g", [TimeoutError()]), "unanswered"),
        (LinkLost("x", started=True), "reset"),
        (ValueError("x"), "unknown"),
    ],
)
def test_an_error_has_a_class(error: BaseException, kind: FailureKind) -> None:
    assert failure_of(error, "why") == Failure(kind, "why")


def test_what_a_server_said_about_coming_back_is_kept() -> None:
    assert failure_of(with_trouble(RelayedError(-1, "x"), "refused", 7.5), "r") == Failure("refused", "r", 7.5)


@pytest.mark.parametrize("kind", REMEDIES)
def test_every_class_says_what_a_person_can_do(kind: FailureKind) -> None:
    assert Failure(kind, "r").advice


@pytest.mark.parametrize(
    ("failure", "growing", "seconds"),
    [
        (Failure("unreachable", ""), 4.0, 4.0),
        (Failure("needs_auth", ""), 4.0, QUARTER_HOUR),
        (Failure("session_lost", ""), 0.0, 0.0),
        (Failure("session_lost", ""), 8.0, 8.0),
        (Failure("refused", "", 20.0), 4.0, 20.0),
        (Failure("refused", "", 1.0), 4.0, 4.0),
        (Failure("needs_auth", "", 5.0), 4.0, 5.0),
        (Failure("refused", "", 1e9), 4.0, QUARTER_HOUR),
    ],
)
def test_the_pause_follows_the_class_and_the_servers_own_word(failure: Failure, growing: float, seconds: float) -> None:
    assert failure.pause(growing) == seconds


@pytest.mark.parametrize(
    ("error", "speaks_against_the_connection"),
    [
        (LinkLost("x", started=True), True),
        (UpstreamTimeout("x"), True),
        (with_trouble(RelayedError(-32603, "x"), "reset"), True),
        (with_trouble(RelayedError(-32603, "x"), "needs_auth"), False),
        (RelayedError(-32603, "x"), False),
        (WfMcpError("x"), False),
    ],
)
def test_an_upstreams_own_answer_never_speaks_against_the_connection(
    error: WfMcpError, speaks_against_the_connection: bool
) -> None:
    assert terminal(error) is speaks_against_the_connection


def test_a_lost_session_is_found_again_at_once() -> None:
    assert REMEDIES[SESSION_LOST.kind].wait == 0


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_pauses_stay_within_their_bounds_whatever_chance_says(failures: int, chance: float) -> None:
    assert FIRST <= backoff(failures, chance) <= min(LONGEST, 2.0 ** min(failures - 1, 10))
    assert backoff(failures, chance) >= backoff(failures) / 2
