"""`${VAR}` references in a text of the configuration.

One rule for every field: `${VAR}`, `${VAR:-default}`, `$$` for `$`; VS Code's `${env:VAR}` means `${VAR}`. Any other
`$` is itself. What a variable holds is not expanded again, nor is a default. The default stands in only for a variable
that is not set: one set to nothing is nothing, as hosts do it. Whoever calls decides what a missing variable costs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_REFERENCE: Final = re.compile(r"\$(?:\$|\{([^}]*)\})")
_VARIABLE: Final = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_OTHER_FORM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,60}(?::[A-Za-z0-9_.-]{0,60})?")

HOST_VARIABLES: Final = frozenset(
    {
        "cwd",
        "extensionPath",
        "file",
        "fileBasename",
        "fileDirname",
        "fileWorkspaceFolder",
        "pathSeparator",
        "relativeFile",
        "userHome",
        "workspaceFolder",
        "workspaceFolderBasename",
        "workspaceRoot",
    }
)
"""Names that only an editor can fill in; they look like environment variables but are none."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A text with its references replaced, and what happened on the way."""

    text: str
    used: tuple[tuple[str, str], ...] = ()
    """(variable, value) for each reference that the environment answered."""
    missing: tuple[str, ...] = ()
    """Variables that are not set and have no default; each is replaced by nothing."""
    unsupported: tuple[str, ...] = ()
    """References that wf-mcp cannot resolve, as they may be shown to the user."""


def expand(text: str, env: Mapping[str, str]) -> Expanded:
    """Replace the references in `text` from `env`; never raises."""
    used: list[tuple[str, str]] = []
    missing: list[str] = []
    unsupported: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        body = match.group(1)
        if body is None:
            return "$"
        variable = _VARIABLE.fullmatch(body)
        if variable is None:
            unsupported.append(_showable(body))
            return ""
        name, default = variable.groups()
        if name in env:
            used.append((name, env[name]))
            return env[name]
        if default is None and name in HOST_VARIABLES:
            unsupported.append(f"${{{name}}}")
        elif default is None:
            missing.append(name)
        elif "${" in default:
            unsupported.append(f"a reference inside the default of {name}")
        return default or ""

    result = _REFERENCE.sub(replaced, text)
    return Expanded(result, tuple(used), tuple(missing), tuple(unsupported))


def _showable(body: str) -> str:
    # Only a body that reads like a name is repeated: a password may hold "${" by accident.
    return f"${{{body}}}" if _OTHER_FORM.fullmatch(body) else "a ${...} that is no variable"
