"""Logging to stderr, without secrets."""

import logging
from collections.abc import Iterator

import pytest

from wf_mcp.edge.logs import log_to_stderr

SECRET = "s3cr3t-canary"
NAMES = ("", "fastmcp", "uvicorn", "uvicorn.error", "uvicorn.access", "mcp", "client", "httpx2", "httpcore2")


@pytest.fixture(autouse=True)
def loggers_as_before() -> Iterator[None]:
    kept = [(logger, logger.level, logger.handlers[:], logger.propagate) for logger in map(logging.getLogger, NAMES)]
    yield
    for logger, level, handlers, propagate in kept:
        logger.setLevel(level)
        logger.handlers[:] = handlers
        logger.propagate = propagate


def mask(text: str) -> str:
    return text.replace(SECRET, "***")


@pytest.mark.parametrize(
    ("verbosity", "shown"), [(0, ["warning"]), (1, ["info", "warning"]), (2, ["debug", "info", "warning"]), (9, None)]
)
def test_more_is_said_where_more_is_wanted(
    verbosity: int, shown: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to_stderr(verbosity, mask)
    logger = logging.getLogger("wf_mcp.x")
    for level in ("debug", "info", "warning"):
        logger.log(logging.getLevelNamesMapping()[level.upper()], level)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.rsplit(" ", 1)[1] for line in err.splitlines()] == (shown or ["debug", "info", "warning"])


def test_no_line_shows_a_secret_and_no_traceback_does(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr(0, mask)
    try:
        raise RuntimeError(f"with {SECRET}")
    except RuntimeError:
        logging.getLogger("wf_mcp.x").exception("failed on %s", SECRET)
    err = capsys.readouterr().err
    assert "failed on ***" in err
    assert "RuntimeError: with ***" in err
    assert SECRET not in err


def test_libraries_are_quiet_unless_everything_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr(1, mask)
    for name in ("mcp.server", "httpx2", "fastmcp.x", "client.stdio"):
        logging.getLogger(name).warning("chatter")
    assert capsys.readouterr().err == ""
    log_to_stderr(2, mask)
    logging.getLogger("mcp.server").warning("chatter")
    assert "mcp.server: chatter" in capsys.readouterr().err


def test_calling_it_again_replaces_what_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr(0, mask)
    log_to_stderr(0, mask)
    logging.getLogger("wf_mcp.x").warning("once")
    assert capsys.readouterr().err.count("once") == 1
