"""The self-start guard: an entry that would start wf-mcp on a file already being served is refused (design D11).

Two lines of defence. At load, an entry whose own command serves this very file gets a `problem`. At any depth, a
wf-mcp tells its children through `WF_MCP_CHAIN` which files are being served above them, and a child that finds its
own file there refuses to start. Paths are compared as text: whoever asks about the chain resolves links first.
"""

import dataclasses
import hashlib
import os.path
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from wf_mcp.core.config_values import Config, StdioTransport, Upstream

CHAIN_VARIABLE: Final = "WF_MCP_CHAIN"
CONFIG_VARIABLE: Final = "WF_MCP_CONFIG"

_PACKAGE: Final = re.compile(r"wf[-_]mcp(?:\[[^\]]*\])?(?:(?:@|[=<>~!]=?).*)?")
_PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?")
_RUNNERS: Final = {"uvx": (), "uv": (("tool", "run"), ("run",)), "pipx": (("run",),)}
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)


def path_digest(file: str) -> str:
    """The word that stands for a served file in the chain: no path of the user is handed to child processes."""
    return hashlib.sha256(os.fsencode(os.path.normpath(file))).hexdigest()[:32]


def chain_value(previous: str | None, digest: str) -> str:
    """`WF_MCP_CHAIN` for the children of a wf-mcp that serves `digest` and was itself started with `previous`."""
    above = [each for each in (previous or "").split(",") if each and each != digest]
    return ",".join((*above, digest))


def served_already(chain: str | None, file: str) -> bool:
    """Whether `file` (a real path) is being served by a wf-mcp above this one."""
    return path_digest(file) in (chain or "").split(",")


def starts_wf_mcp(transport: StdioTransport) -> bool:
    """Whether the command is wf-mcp, directly, as a Python module, or through uv, uvx, pipx or env."""
    return wf_mcp_arguments((transport.command, *transport.args)) is not None


def wf_mcp_arguments(words: Sequence[str]) -> tuple[str, ...] | None:
    """What a command line hands to wf-mcp; None when it does not start wf-mcp."""
    if not words:
        return None
    name, rest = PurePath(words[0]).name, tuple(words[1:])
    if _PACKAGE.fullmatch(name.removesuffix(".exe")):
        return rest
    if _PYTHON.fullmatch(name):
        return _module_arguments(rest)
    if name == "env":
        return wf_mcp_arguments([word for word in _after_options(rest) if not _ASSIGNMENT.fullmatch(word)])
    return _runner_arguments(name, rest)


def _module_arguments(rest: tuple[str, ...]) -> tuple[str, ...] | None:
    for index, word in enumerate(rest):
        if word in ("-mwf_mcp", "-mwf_mcp.cli"):
            return rest[index + 1 :]
        if word == "-m":
            return rest[index + 2 :] if rest[index + 1 : index + 2] in (("wf_mcp",), ("wf_mcp.cli",)) else None
        if not word.startswith("-") and rest[index - 1 : index] not in (("-W",), ("-X",)):
            return None  # a script: whatever follows is its own
    return None


def _runner_arguments(name: str, rest: tuple[str, ...]) -> tuple[str, ...] | None:
    """`uvx [OPTIONS] wf-mcp …`: options may take values, so the first word that starts wf-mcp counts."""
    if name not in _RUNNERS:
        return None
    forms = _RUNNERS[name]
    form = next((each for each in forms if rest[: len(each)] == each), None)
    if forms and form is None:
        return None
    words = rest[len(form or ()) :]
    for index, word in enumerate(words):
        is_value = index > 0 and words[index - 1] in ("--from", "--with", "--spec", "--package")
        found = None if is_value or word.startswith("-") else wf_mcp_arguments(words[index:])
        if found is not None:
            return found
    return None


def _after_options(rest: tuple[str, ...]) -> list[str]:
    words = list(rest)
    while words and words[0].startswith("-"):
        words.pop(0)
    return words


def guarded(config: Config, chain: str | None) -> Config:
    """`config` with a `problem` on each upstream that would serve this file, or one already served above, again."""
    upstreams = tuple(_guarded(upstream, config.file, chain) for upstream in config.upstreams)
    return config if upstreams == config.upstreams else dataclasses.replace(config, upstreams=upstreams)


def _guarded(upstream: Upstream, file: str, chain: str | None) -> Upstream:
    if upstream.problem is not None or not isinstance(upstream.transport, StdioTransport):
        return upstream
    served = _would_serve(upstream.transport, file)
    if served is None or (served != os.path.normpath(file) and not served_already(chain, served)):
        return upstream
    reason = f"it would start wf-mcp on {served}, which is being served already; a proxy cannot be its own upstream"
    return dataclasses.replace(upstream, problem=reason)


def _would_serve(transport: StdioTransport, file: str) -> str | None:
    """The config file that this command would serve; `file` itself where it names none and has to search."""
    arguments = wf_mcp_arguments((transport.command, *transport.args))
    if arguments is None or "serve" not in arguments:
        return None
    named = _option(arguments, "--config") or transport.env.get(CONFIG_VARIABLE)
    base = transport.cwd or os.path.dirname(file)
    return os.path.normpath(os.path.join(base, named) if named else file)


def _option(arguments: Sequence[str], name: str) -> str | None:
    for index, word in enumerate(arguments):
        if word == name:
            return next(iter(arguments[index + 1 : index + 2]), None)
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None
