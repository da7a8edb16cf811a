"""The strings of one server entry as they will be used: variables, `~`, relative paths.

Collects why an entry cannot be started (a variable that is not set, a form that only an editor resolves) instead of
failing: the other entries are fine. Messages name the variable and the field, never the text around it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from wf_mcp.core.config_problems import Findings
from wf_mcp.core.config_secrets import variable_secret
from wf_mcp.core.expand import expand
from wf_mcp.core.positions import JsonPath, json_path

_UNUSABLE: Final = re.compile("[\0\ud800-\udfff]")
"""What neither a process nor an HTTP request can be given."""


@dataclass(slots=True)
class Resolver:
    """Resolves the strings of the entry at `at`; `reasons` fills with why it cannot be started."""

    at: JsonPath
    env: Mapping[str, str]
    base: str
    findings: Findings
    reasons: list[str] = field(default_factory=list)

    def text(self, inside: JsonPath, raw: str) -> str:
        """`raw` with its variables, for the field at `inside` of the entry."""
        expanded = expand(raw, self.env)
        self.findings.secrets.update(value for name, value in expanded.used if variable_secret(name, value))
        for name in expanded.missing:
            self.refuse(inside, f"the environment variable {name} is not set")
        for form in expanded.unsupported:
            self.refuse(inside, f"wf-mcp cannot resolve {form}")
        if _UNUSABLE.search(expanded.text):
            self.refuse(inside, "it holds a NUL character or half of a surrogate pair")
        return expanded.text

    def path(self, inside: JsonPath, raw: str) -> str:
        """Like `text`, with `~` or `~/` at the start (written in the file, not in a variable) as the home folder."""
        if raw != "~" and not raw.startswith("~/"):
            return self.text(inside, raw)
        home = self.env.get("HOME")
        if home is None:
            self.refuse(inside, 'it starts with "~" and the environment variable HOME is not set')
        return (home or "") + self.text(inside, raw[1:])

    def command(self, raw: str) -> str:
        """A program: a bare name is left to PATH, a relative path starts at the file's folder."""
        found = self.path(("command",), raw)
        return self.under_base(found) if "/" in found else found

    def cwd(self, raw: str) -> str:
        """A working folder; a relative one starts at the file's folder."""
        return self.under_base(self.path(("cwd",), raw))

    def under_base(self, path: str) -> str:
        """`path` seen from the file's folder. `..` stays: behind a link it is not what it seems."""
        return str(PurePath(self.base, path))

    def header(self, name: str, raw: str) -> str:
        """A header's value; surrounding white space, as files with secrets end, is dropped (RFC 9110 § 5.5)."""
        value = self.text(("headers", name), raw).strip(" \t\r\n")
        if "\r" in value or "\n" in value:
            self.refuse(("headers", name), "it holds a line break")
        return value

    def refuse(self, inside: JsonPath, reason: str) -> None:
        """Record why this entry is not started, and where that stands."""
        message = f"{reason} ({json_path(inside)[2:] or 'entry'})"
        if message not in self.reasons:
            self.reasons.append(message)
            self.findings.note((*self.at, *inside), f"{reason}; this server is not started")

    @property
    def problem(self) -> str | None:
        """Every reason in one text; None where there is none."""
        return "; ".join(self.reasons) or None
