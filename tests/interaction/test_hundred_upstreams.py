"""A hundred configured servers: started a few at a time when they are new, and not at all when they are known (D5)."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import servers
from tests.covers import covers
from tests.endpoint import Endpoint
from tests.inbox import eventually
from tests.procs import end_if_ours
from tests.rawclient import Era, RawClient
from tests.rig import Front, Rig, end

pytestmark = pytest.mark.anyio

LONG = bool(os.environ.get("WF_MCP_LONG"))
"""`make long` looks at the clock too, which takes a machine with nothing else to do."""

HUNDRED, AT_ONCE = 100, 8
NAMES = [f"s{number}" for number in range(HUNDRED)]
TOOLS = [f"{name}.echo" for name in NAMES]
PATIENCE = 90


@dataclass(frozen=True)
class Line:
    """What one of them noted."""

    event: str
    name: str
    pid: int
    at: float


class Hundred:
    """The hundred in a rig's configuration, and what they noted."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.log = rig.folder / "hundred.log"

    def add(self, name: str, *seconds: str) -> None:
        """One more."""
        script = str(servers.FIXTURES / "hundredth.py")
        self.rig.entries[name] = {"command": sys.executable, "args": ["-IS", script, name, str(self.log), *seconds]}

    def lines(self, event: str) -> list[Line]:
        """What was noted, in order."""
        found = self.log.read_text().splitlines() if self.log.exists() else []
        lines = (Line(kind, name, int(pid), float(at)) for kind, name, pid, at in map(str.split, found))
        return [line for line in lines if line.event == event]

    def most_at_once(self) -> int:
        """How many were between their start and their answer to `initialize` at the same time."""
        changes = [(line.at, 1) for line in self.lines("start")] + [(line.at, -1) for line in self.lines("ready")]
        most = now = 0
        for _, change in sorted(changes):
            now += change
            most = max(most, now)
        return most

    def close(self) -> None:
        for line in self.lines("start"):
            end_if_ours(line.pid, str(self.log))


@pytest.fixture
def hundred(rig: Rig):
    made = Hundred(rig)
    yield made
    made.close()


async def fill(rig: Rig, front: Front, era: Era) -> None:
    """The first run: everything is started and listed once, and kept."""
    served = rig.serve(front)
    async with served.raw(era) as raw:

        async def whole() -> bool:
            return await raw.names() == TOOLS

        await eventually(whole, PATIENCE)
        folder = rig.folder / "cache" / "catalogues"
        await eventually(lambda: folder.is_dir() and len(list(folder.glob("*.json"))) == HUNDRED, PATIENCE)
    stop(rig, served)


def stop(rig: Rig, served: Endpoint) -> None:
    if served.url is not None:
        end(rig.process)


@covers("hundred.first", "Of a hundred new servers at most wf.starts (8) start at the same time, and all get listed")
@covers("hundred.restart", "After a restart a hundred servers are listed whole while none runs; a call starts one")
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("front", "era"), [("stdio", "handshake"), ("http", "modern")])
async def test_a_hundred_servers(rig: Rig, hundred: Hundred, front: Front, era: Era) -> None:
    for name in NAMES:
        hundred.add(name)
    pause = Path(f"{hundred.log}.pause")
    pause.write_text("0.1")
    await fill(rig, front, era)
    assert len(hundred.lines("start")) == HUNDRED
    assert 2 <= hundred.most_at_once() <= AT_ONCE
    pause.unlink()
    took = []
    for run in range(3 if LONG else 1):
        began = time.monotonic()
        served = rig.serve(front)
        async with served.raw(era) as raw:
            assert await raw.names() == TOOLS
            took.append(time.monotonic() - began)
            assert len(hundred.lines("start")) == HUNDRED + run
            assert await raw.text(f"s{run}.echo") == f"s{run} said it"
            assert [line.name for line in hundred.lines("start")[HUNDRED:]] == NAMES[: run + 1]
        stop(rig, served)
    print(f"from the start of the process to the whole list: {sorted(took)}")
    if LONG:
        assert min(took) < 2.0, took


@covers("hundred.slow", "Servers whose start takes long, as a first npx does, hold up the others for ten seconds")
@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_slow_starts_do_not_hold_up_the_others(rig: Rig, hundred: Hundred) -> None:
    rig.settings["starts"] = 2
    for name in ("slow-a", "slow-b"):
        hundred.add(name, "25")
    quick = [f"q{number}" for number in range(5)]
    for name in quick:
        hundred.add(name)
    async with rig.serve().raw() as raw:
        await raw.notes.wait_for("notifications/tools/list_changed", 30)
        await eventually(lambda: quick_ones(raw, quick), 30)
        ready = [line.name for line in hundred.lines("ready")]
        assert sorted(ready) == quick
        # And what they have is usable though the others are still on their way.
        assert await raw.text("q4.echo") == "q4 said it"
        assert len(hundred.lines("ready")) == len(quick)


async def quick_ones(raw: RawClient, quick: list[str]) -> bool:
    return await raw.names() == [f"{name}.echo" for name in quick]
