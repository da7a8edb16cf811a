"""What commands share: finding the configuration, saying what is wrong, running an app without a front."""

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import anyio
import typer
from rich.console import Console

from wf_mcp.app import App, Front
from wf_mcp.core.config import Config
from wf_mcp.core.errors import ConfigError, WfMcpError
from wf_mcp.core.guard import CHAIN_VARIABLE, served_already
from wf_mcp.core.secrets import Secrets
from wf_mcp.edge.configfile import Found, find_config, read_config
from wf_mcp.edge.logs import log_to_stderr

USAGE = 2
"""Exit code for a mistake in the command line or the configuration."""

out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 250)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def fail(message: str, code: int = USAGE) -> NoReturn:
    """Print what is wrong, in words, and end."""
    err.print(f"wf-mcp: {message}", style="red", markup=False)
    raise typer.Exit(code)


@contextmanager
def mistakes_in_words() -> Iterator[None]:
    """Turn every error that wf-mcp reports on purpose into its message and an exit code."""
    try:
        yield
    except ConfigError as error:
        fail(error.message)
    except WfMcpError as error:
        fail(error.message, 1)


def locate(config: Path | None) -> Found:
    """The configuration file to use; says which project files were passed over, and what to do when there is none."""
    found = find_config(Path.cwd(), os.environ, config)
    for note in found.notes:
        err.print(f"note: {note}", style="yellow", markup=False)
    if found.path is None:
        looked = "\n".join(f"  {path}" for path in found.looked_at)
        fail(f"no configuration file. Give one with --config FILE, or create one of:\n{looked}")
    return found


def reader(found: Found) -> Callable[[], Config]:
    """Reads the found file, at the start and at every reload, and refuses what would start this very proxy again."""
    path = found.path
    assert path is not None

    def read() -> Config:
        chain = os.environ.get(CHAIN_VARIABLE)
        if served_already(chain, os.path.realpath(path)) or served_already(chain, str(path)):
            raise ConfigError(
                f"{path} is already being served by the wf-mcp that started this one; "
                "a proxy cannot be its own upstream"
            )
        return read_config(path, os.environ, approved_only=found.scope == "project")

    return read


def open_config(config: Path | None, verbose: int) -> tuple[Config, Callable[[], Config]]:
    """Find and read the configuration, with logging set up so that it shows no secret."""
    found = locate(config)
    with mistakes_in_words():
        read = reader(found)
        loaded = read()
    hidden = Secrets(loaded.secrets)
    log_to_stderr(verbose, hidden.mask)
    for note in loaded.notes:
        err.print(f"note: {hidden.mask(note)}", style="yellow", markup=False)
    return loaded, read


def run_unattended(config: Path | None, wait: float, verbose: int, work: Callable[[App], Awaitable[int]]) -> NoReturn:
    """Run `work` on an app that no client is connected to, and end with the code that it returns."""
    loaded, read = open_config(config, verbose)

    async def main() -> int:
        app = App(replace(loaded, list_wait=wait), Front("stdio", "dotted"), read=read)
        async with app.running():
            return await work(app)

    with mistakes_in_words():
        code = run_async(main)
    raise typer.Exit(code)


def run_async(main: Callable[[], Awaitable[int]]) -> int:
    """Run `main` on the fastest event loop that the platform has; an interrupt ends it quietly."""
    options = {"use_uvloop": True} if _has_uvloop() else {}
    try:
        return anyio.run(partial(_unwrapped, main), backend_options=options)
    except KeyboardInterrupt:
        return 130


async def _unwrapped(main: Callable[[], Awaitable[int]]) -> int:
    """`main`, with an error that task groups wrapped brought out again."""
    try:
        return await main()
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, WfMcpError):
            raise error from group
        raise


def _has_uvloop() -> bool:
    if sys.platform == "win32":
        return False
    try:
        import uvloop
    except ImportError:
        return False
    return uvloop is not None
