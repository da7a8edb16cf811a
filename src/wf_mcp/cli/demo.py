"""`wf-mcp demo`: plays the steps of `demo_steps.py` and prints each with its result."""

import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import typer

from wf_mcp.cli.common import err, run_async
from wf_mcp.cli.demo_steps import STEPS, Stage, Step, Unexpected
from wf_mcp.edge.logs import log_to_stderr
from wf_mcp.version import VERSION

PATIENCE = 60.0
"""Seconds that one step may take on a slow machine before the demo gives up."""

LAST_WORDS = 10
"""Lines of wf-mcp's own log that are shown when a step fails."""


def run() -> None:
    """Show every step; ends with 1 at the first one that does not give what it should."""
    # The client's own remarks would stand between the steps.
    log_to_stderr(0, lambda text: text)
    typer.echo(f"wf-mcp {VERSION}: one endpoint in front of several MCP servers. No network, no key.\n")
    with tempfile.TemporaryDirectory(prefix="wf-mcp-demo-") as folder:
        code = run_async(lambda: play(STEPS, Path(folder)))
    if code == 0:
        typer.echo("\nNext: README.md, to use your own servers and to add wf-mcp to a chat host.")
    raise typer.Exit(code)


async def play(steps: Sequence[Step], folder: Path) -> int:
    """Play `steps` one after the other, with their files in `folder`; returns the exit code."""
    async with AsyncExitStack() as stack:
        stage = Stage(folder, stack)
        for number, step in enumerate(steps, 1):
            typer.echo(f"{number:2}  {step.title}")
            try:
                with anyio.fail_after(PATIENCE):
                    result = await step.play(stage)
            except Exception as error:  # whatever it is, a person needs to know in which step it happened
                _complain(number, error, stage)
                return 1
            typer.echo(f"      {result}")
    return 0


def _complain(number: int, error: Exception, stage: Stage) -> None:
    for line in stage.log_lines()[-LAST_WORDS:]:
        err.print(f"      {line}", markup=False)
    if isinstance(error, TimeoutError):
        reason = f"nothing came of it in {PATIENCE:g} s"
    else:
        reason = str(error) if isinstance(error, Unexpected) else f"{type(error).__name__}: {error}"
    err.print(f"wf-mcp: step {number} of the demo failed: {reason}", style="red", markup=False)
