"""Log levels: their order, and the one that suits several clients of one session (2025-11-25
server/utilities/logging).
"""

from collections.abc import Iterable
from typing import Final

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Severities of RFC 5424, the most verbose first."""


def most_verbose(levels: Iterable[str]) -> str | None:
    """The level that shows everything that any of `levels` shows; `None` of none."""
    known = [level for level in LEVELS if level in set(levels)]
    return known[0] if known else None


def shows(wanted: str | None, level: object) -> bool:
    """Whether a client that asked for `wanted` (or for nothing) is to get a message of `level`; unknown levels pass."""
    if wanted not in LEVELS or level not in LEVELS:
        return True
    return LEVELS.index(str(level)) >= LEVELS.index(wanted)
