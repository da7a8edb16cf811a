"""Finding and reading the configuration file (design D11). What its text means is decided in `core/config.py`.

A file found in a project starts commands just because someone stands in its folder, so it is used only once its
bytes are approved (`trust.py`). One that the user names, as an option or in `WF_MCP_CONFIG`, is approved by that.
"""

import codecs
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from wf_mcp.core.config import BadConfig, Config, Problem, load_config
from wf_mcp.core.guard import CONFIG_VARIABLE
from wf_mcp.edge.folders import config_dir
from wf_mcp.edge.trust import is_trusted

Scope: TypeAlias = Literal["explicit", "env", "project", "user"]

PROJECT_FILES: Final = ("wf-mcp.json", ".mcp.json")
USER_FILE: Final = "wf-mcp.json"
LARGEST: Final = 4 * 1024 * 1024
"""Bytes. A configuration is written by hand; a larger file is a mistake, and parsing it would take minutes."""

_WIDE_MARKS: Final = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Found:
    """The file to serve (None: there is none), why that one, and what was passed over on the way."""

    path: Path | None
    scope: Scope | None
    trusted: bool
    looked_at: tuple[Path, ...] = ()
    untrusted: tuple[Path, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each file that was passed over, with the words that approve it."""
        return tuple(_not_approved(path) for path in self.untrusted)


def find_config(cwd: Path, env: Mapping[str, str], explicit: Path | None = None) -> Found:
    """Return the file to use: `explicit`, else `WF_MCP_CONFIG`, else an approved project file, else the user's.

    A project file is `wf-mcp.json` or `.mcp.json` in `cwd` or a folder above, nearest first. A file that was named
    is returned whether it exists or not: reading it says what is wrong.
    """
    here = Path(os.path.abspath(cwd))
    if explicit is not None:
        return _named(here / explicit.expanduser(), "explicit")
    if env.get(CONFIG_VARIABLE):
        return _named(here / Path(env[CONFIG_VARIABLE]).expanduser(), "env")
    user = config_dir(env) / USER_FILE
    looked_at: list[Path] = []
    untrusted: list[Path] = []
    for candidate in _project_files(here, user):
        looked_at.append(candidate)
        if is_trusted(candidate, env=env):
            return Found(candidate, "project", True, tuple(looked_at), tuple(untrusted))
        if candidate.is_file():
            untrusted.append(candidate)
    found = user if user.is_file() else None
    return Found(found, "user" if found else None, found is not None, (*looked_at, user), tuple(untrusted))


def _named(path: Path, scope: Scope) -> Found:
    absolute = Path(os.path.abspath(path))
    return Found(absolute, scope, True, (absolute,))


def _project_files(here: Path, user: Path) -> Iterator[Path]:
    for folder in (here, *here.parents):
        # Whoever works in the folder of the user's own file has no project there.
        yield from (folder / name for name in PROJECT_FILES if folder / name != user)


def read_config(path: Path, env: Mapping[str, str], *, approved_only: bool = False) -> Config:
    """Read and load `path`; relative paths in it start at its folder.

    With `approved_only` (a project's file, at the start and at every reload) the very bytes that are loaded have to
    be approved.

    Raises:
        BadConfig: the file cannot be read, is not approved, or does not hold a usable configuration.
    """
    file = os.path.abspath(path)
    data = _bytes(file)
    if approved_only and not is_trusted(Path(file), data, env=env):
        raise _bad(file, "a file that is not approved, or has changed since", f"approval: run {_words(Path(file))}")
    return load_config(_text(file, data), file=file, base=os.path.dirname(file), env=env)


def _bytes(file: str) -> bytes:
    expected = "a configuration file"
    if os.path.isdir(file):
        raise _bad(file, "a folder", expected)
    if os.path.exists(file) and not os.path.isfile(file):
        # Reading a pipe or a device may never end, and a reload could not read it again.
        raise _bad(file, "something that is not a regular file", expected)
    try:
        with open(file, "rb") as stream:
            data = stream.read(LARGEST + 1)
    except FileNotFoundError:
        raise _bad(file, "no such file", expected) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _bad(file, f"a file that cannot be read ({reason})", expected) from error
    if len(data) > LARGEST:
        raise _bad(file, f"more than {LARGEST} bytes", expected)
    return data


def _text(file: str, data: bytes) -> str:
    if data.startswith(_WIDE_MARKS):
        raise _bad(file, "UTF-16 or UTF-32 text", "UTF-8", (1, 1))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        good = error.object[: error.start].decode("utf-8", "replace")
        lines = good.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        place = (len(lines), len(lines[-1]) + 1)
        raise _bad(file, f"the byte 0x{error.object[error.start]:02x}", "UTF-8", place) from None


def _bad(file: str, found: str, expected: str, place: tuple[int | None, int | None] = (None, None)) -> BadConfig:
    return BadConfig([Problem(file, *place, "$", found, expected)])


def _words(path: Path) -> str:
    shown = str(path)
    return f"wf-mcp trust {shown}" if shown.isprintable() and " " not in shown else f'wf-mcp trust "{shown}"'


def _not_approved(path: Path) -> str:
    return f"{path} is not used: it could start commands and is not approved. To approve it: {_words(path)}"
