"""`wf-mcp demo` as a user runs it: its output, its exit code, and nothing left behind."""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tests.covers import covers

from wf_mcp.cli.demo import play
from wf_mcp.cli.demo_steps import STEPS, Stage, Step, expect
from wf_mcp.version import VERSION

pytestmark = pytest.mark.anyio

LONGEST = 30
"""Lines that the demo may print."""


def mentioning(text: str) -> list[str]:
    """The processes that were started with `text` in their command or environment (Linux)."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if text.encode() in told:
            found.append(process.name)
    return found


@covers("demo.whole-path", "make demo lists, calls, follows a link, reloads, hears list_changed and leaves no process")
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_demo_shows_every_step(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wf_mcp", "demo"],
        # Every process of the demo has its folder in its command or, by TMPDIR, in its environment.
        env={**os.environ, "TMPDIR": str(tmp_path), "NO_COLOR": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=170,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace(VERSION, "VERSION") == snapshot("""\
wf-mcp VERSION: one endpoint in front of several MCP servers. No network, no key.

 1  Write a configuration with two servers into a temporary folder
      wf-mcp.json with "notes.home" and "Pocket Calculator"
 2  Start `wf-mcp serve` as a process and connect a client to it over stdio
      wf-mcp answers, protocol 2025-11-25
 3  List the tools
      notes.home.search, notes.home.write, pocket-calculator.add, pocket-calculator.multiply, and 4 of wf.admin
 4  Call pocket-calculator.add {"a": 2, "b": 40}
      42; the same as pocket_calculator_add, for hosts that take no dots
 5  Call notes.home.search {"word": "flour"}
      a resource_link: note://notes/home/bread (note://bread on its own server)
 6  Read that link through wf-mcp
      Bread: 500 g flour, 350 g water, 10 g salt, patience.
 7  Add a third server to the configuration, then call wf.admin.reload_config
      added: dates; unchanged, in the same processes: notes.home, Pocket Calculator
 8  Wait for notifications/tools/list_changed
      heard
 9  Call the new tool, dates.weekday {"day": "2026-07-28"}
      Tuesday
10  Disconnect the client
      wf-mcp and its 3 servers have ended

Next: README.md, to use your own servers and to add wf-mcp to a chat host.
""")
    assert len(done.stdout.splitlines()) <= LONGEST
    assert [step.title for step in STEPS if step.title not in done.stdout] == []
    assert list(tmp_path.iterdir()) == []
    assert mentioning(str(tmp_path)) == []


async def good(stage: Stage) -> str:
    return "as it should be"


async def bad(stage: Stage) -> str:
    stage.log.write_text("the last words of wf-mcp\n")
    expect("42", False, 41)
    return "never said"


async def broken(stage: Stage) -> str:
    raise OSError("no space left")


@pytest.mark.parametrize(
    ("step", "reason"), [(bad, "expected 42, got 41"), (broken, "OSError: no space left")], ids=["wrong", "raising"]
)
async def test_the_demo_ends_at_the_first_step_that_goes_wrong(
    step: Callable[[Stage], Awaitable[str]], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [Step("First", good), Step("Second", step), Step("Third", good)]
    assert await play(steps, tmp_path) == 1
    shown = capsys.readouterr()
    assert shown.out == " 1  First\n      as it should be\n 2  Second\n"
    assert f"step 2 of the demo failed: {reason}" in shown.err
    assert ("the last words of wf-mcp" in shown.err) == (step is bad)


async def test_a_step_without_a_client_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await play(STEPS[2:3], tmp_path) == 1
    assert "no client is connected" in capsys.readouterr().err
