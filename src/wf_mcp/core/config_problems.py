"""What is wrong with a configuration, and where: problems end the load, notes do not.

A value that could be a secret is never repeated; its type is said instead.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from wf_mcp.core.errors import ConfigError
from wf_mcp.core.positions import JsonPath, Positions, json_path

_LONGEST_SHOWN: Final = 40
_OPEN_KEYS: Final = frozenset({"type", "transport", "enabled", "disabled"})
"""Fields of a server entry that hold one of a few words, never a secret."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a file cannot be used; `path` is a JSON path such as `$.mcpServers["my server"].args[1]`."""

    file: str
    line: int | None
    column: int | None
    path: str
    found: str
    expected: str

    def __str__(self) -> str:
        place = "".join(f"{part}:" for part in (self.file, self.line, self.column) if part is not None)
        return f"{place} {self.path}: found {self.found}, expected {self.expected}"


class BadConfig(ConfigError):
    """A file with problems; the message has one line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass(slots=True)
class Findings:
    """What reading one file has found so far; filled while the file is read, then turned into a result or an error."""

    file: str
    positions: Positions
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)

    def problem(self, path: JsonPath, found: str, expected: str, *, key: bool = False) -> None:
        """Record that what stands at `path` (`key`: the key itself) makes the file unusable."""
        line, column = self.positions.of(path, key=key)
        self.problems.append(Problem(self.file, line, column, json_path(path), found, expected))

    def note(self, path: JsonPath, text: str) -> None:
        """Record a remark about the key at `path`."""
        line, column = self.positions.of(path, key=True)
        self.notes.append(f"{self.file}:{line}:{column}: {json_path(path)}: {text}")

    def ordered(self) -> list[Problem]:
        """The problems in the order in which they stand in the file."""
        return sorted(self.problems, key=lambda problem: (problem.line or 0, problem.column or 0))


def described(value: Any, path: JsonPath) -> str:
    """What `value` is, for a message; the value itself only where no secret can stand."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, str | int | float) and value != "" and _is_open(path):
        shown = json.dumps(value, ensure_ascii=False)
        return shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + "…"
    return _type_of(value)


def _type_of(value: Any) -> str:
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    if isinstance(value, list):
        return "an array"
    return "an object" if isinstance(value, dict) else "a number"


def _is_open(path: JsonPath) -> bool:
    if path[:1] == ("wf",):
        return path[1:2] not in (("auth",), ("plugins",))
    inside = path[2:]
    return inside[:1] == ("wf",) or (len(inside) == 1 and inside[0] in _OPEN_KEYS)
