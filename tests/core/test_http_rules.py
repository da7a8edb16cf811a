"""The HTTP rules as tables (matrix E.1, E.2)."""

import pytest

from wf_mcp.core import http_rules
from wf_mcp.core.http_rules import EVENTS, JSON, Refusal, accepts, declared_too_large, era_of, is_json, primes


@pytest.mark.parametrize(
    ("method", "envelope", "session", "version", "era"),
    [
        # 1: the body says so
        ("tools/list", True, False, "2026-07-28", "modern"),
        ("tools/list", True, False, "2025-11-25", "modern"),
        ("tools/list", True, True, None, "modern"),
        ("initialize", True, False, None, "modern"),
        # 2: the handshake
        ("initialize", False, False, None, "handshake"),
        ("initialize", False, False, "2026-07-28", "handshake"),
        ("initialize", False, False, "2099-01-01", "handshake"),
        # 3: a session, whatever the header says
        ("tools/list", False, True, None, "handshake"),
        ("tools/list", False, True, "2026-07-28", "handshake"),
        ("tools/list", False, True, "foobar", "handshake"),
        (None, False, True, "2026-07-28", "handshake"),
        # 4: the header
        ("tools/list", False, False, None, "handshake"),
        ("tools/list", False, False, "2025-06-18", "handshake"),
        ("tools/list", False, False, "2020-01-01", "handshake"),
        ("tools/list", False, False, "foobar", "handshake"),
        ("tools/list", False, False, "2026-07-28", "modern"),
        ("tools/list", False, False, "2099-01-01", "modern"),
        (None, False, False, "2026-07-28", "modern"),
        (None, False, False, None, "handshake"),
    ],
)
def test_the_body_decides_the_era_then_the_session_then_the_header(
    method: str | None, envelope: bool, session: bool, version: str | None, era: str
) -> None:
    assert era_of(method=method, envelope=envelope, session=session, version=version) == era


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        *((text, True) for text in ("2024-11-05", "2025-11-25", "2026-07-28", "2020-01-01", "2099-01-01")),
        *(
            (text, False)
            for text in ("", "foobar", "2025-11-25x", " 2025-11-25", "2025-11-25\n", "25-11-25", "٢٠٢٥-11-25")
        ),
    ],
)
def test_a_version_is_judged_by_its_form(text: str, looks: bool) -> None:
    assert http_rules.looks_like_version(text) is looks


@pytest.mark.parametrize(
    ("header", "json", "events"),
    [
        (None, True, True),
        ("", False, False),
        ("*/*", True, True),
        ("application/json, text/event-stream", True, True),
        ("text/event-stream,application/json", True, True),
        ("Application/JSON;q=0.9, TEXT/event-stream ; q=0.1", True, True),
        ("application/json", True, False),
        ("text/event-stream", False, True),
        ("application/*, text/*;q=0.5", True, True),
        ("text/html", False, False),
        ("application/json;q=0, */*", False, True),
        ("text/event-stream;q=0.0, text/*", False, False),
        ("application/json;q=0, application/json;q=1", True, False),
        ("application/json;q=high", True, False),
        ("application/json;charset=utf-8;q=1", True, False),
        ("application/jsonx", False, False),
        ("*/*;q=0", False, False),
    ],
)
def test_accept_is_read_with_ranges_and_qualities(header: str | None, json: bool, events: bool) -> None:
    assert (accepts(header, JSON), accepts(header, EVENTS)) == (json, events)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("application/json;charset=UTF-8", True),
        ('Application/JSON ; Charset="utf-8"', True),
        ("application/json; charset=utf8; x=y", True),
        ("application/json; boundary=x", True),
        ("application/json; charset=iso-8859-1", False),
        ("text/plain", False),
        ("text/plain; a=application/json", False),
        ("application/json-patch+json", False),
        ("", False),
        (None, False),
    ],
)
def test_a_body_is_json_in_utf_8(header: str | None, expected: bool) -> None:
    assert is_json(header) is expected


@pytest.mark.parametrize(
    ("length", "large"), [(None, False), ("10", False), ("11", True), ("-1", False), ("x", False), ("9" * 40, True)]
)
def test_a_declared_length_is_believed(length: str | None, large: bool) -> None:
    assert declared_too_large(length, 10) is large


@pytest.mark.parametrize(("version", "expected"), [("2025-11-25", True), ("2025-06-18", False), ("2024-11-05", False)])
def test_streams_are_primed_since_2025_11_25(version: str, expected: bool) -> None:
    assert primes(version) is expected


def test_every_refusal_has_its_status() -> None:
    found = {name: value.status for name, value in vars(http_rules).items() if isinstance(value, Refusal)}
    assert found == {
        "UNPARSABLE": 400,
        "NOT_A_MESSAGE": 400,
        "BATCH": 400,
        "NO_ANSWERS": 400,
        "BAD_VERSION": 400,
        "NO_SESSION": 400,
        "UNKNOWN_EVENT": 400,
        "UNKNOWN_SESSION": 404,
        "NOT_ALLOWED": 405,
        "POST_NOT_ACCEPTABLE": 406,
        "GET_NOT_ACCEPTABLE": 406,
        "TOO_LARGE": 413,
        "NOT_JSON": 415,
        "TOO_MANY_SESSIONS": 503,
        "STOPPING": 503,
    }
