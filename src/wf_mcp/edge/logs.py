"""Logging to stderr, without secrets: stdout belongs to the protocol."""

import logging
import sys
from collections.abc import Callable


class _Masked(logging.Formatter):
    """A formatter whose every line, tracebacks included, goes through `mask`."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S")
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        return self._mask(super().format(record))


def log_to_stderr(verbosity: int, mask: Callable[[str], str]) -> None:
    """Send logs to stderr through `mask`: warnings by default, with `verbosity` 1 info, with 2 debug."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Masked(mask))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name in ("fastmcp", "uvicorn", "uvicorn.error", "uvicorn.access", "mcp"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    for name in ("mcp", "client", "httpx2", "httpcore2", "fastmcp", "uvicorn.access"):
        logging.getLogger(name).setLevel(level if verbosity >= 2 else max(level, logging.ERROR))
