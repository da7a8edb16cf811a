"""Sets up one upstream, directly and behind wf-mcp, and plays a script on both; every run is recorded once."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
from tests import servers
from tests.differential.compare import Scrub
from tests.differential.script import HELLO, Run, Step, answer
from tests.differential.tap import Entry, Recording, Tape, tapped, wire_of
from tests.endpoint import Endpoint
from tests.inbox import JsonObject
from tests.rawclient import Era
from tests.rig import FRONTS, Front, Rig, free_port

LABEL, OTHER = "lab.one", "beta"
PAIRINGS: tuple[tuple[Front, Front], ...] = (("stdio", "stdio"), ("stdio", "http"), ("http", "stdio"), ("http", "http"))
"""(how the client reaches wf-mcp, how wf-mcp reaches the upstream)."""
FULL = [sys.executable, str(servers.FIXTURES / "full.py")]
WIRETAP = [sys.executable, str(servers.FIXTURES / "wiretap.py")]
OF_CONTROL = ("initialize", "notifications/initialized", "ping", "tools/list", "prompts/list", "resources/list")
NEIGHBOUR: JsonObject = {
    "tools": [{"name": "contents", "inputSchema": {"type": "object"}}],
    "resources": [{"name": "one", "uri": "demo://item/2"}],
    "templates": [{"name": "item", "uriTemplate": "demo://item/{id}"}],
    "prompts": [{"name": "brief"}],
}
Kind = Literal["full", "everything"]


@dataclass(frozen=True)
class Scenario:
    """A script for one kind of upstream; `scrub` and `unordered` as for `compare`."""

    kind: Kind
    steps: dict[str, Step]
    scrub: Scrub
    unordered: tuple[str, ...] = ()


class Stage:
    """One upstream over one transport, alone and behind wf-mcp with a neighbour; `folder` has the recordings."""

    def __init__(self, folder: Path, kind: Kind, transport: Front, era: Era = "handshake") -> None:
        self._folder, self._kind, self._transport, self.era = folder, kind, transport, era
        self._rigs: list[Rig] = []

    def endpoint(self, front: Front | None) -> tuple[Endpoint, Path]:
        """Where a client connects, directly (`None`) or through a front; and what is recorded at the upstream."""
        folder = self._folder / (front or "direct")
        folder.mkdir()
        rig = Rig(folder)
        self._rigs.append(rig)
        record = rig.folder / "wire.jsonl"
        if self._transport == "http":
            # A server of its own for every run: server-everything lets its sessions disturb each other.
            url = tapped_url(rig, self._start(rig), record)
            direct, entry = Endpoint([], url=url), {"type": "http", "url": url}
        else:
            argv = [*WIRETAP, "--record", str(record), "--", *self._command("stdio")]
            direct = Endpoint(argv, log=rig.folder / "direct.log", patience=5)
            entry = {"command": argv[0], "args": argv[1:]}
        if front is None:
            return direct, record
        rig.settings = {"admin": False}
        rig.entries = {LABEL: entry}
        if self.era == "modern":  # asked as it is asked directly: what wf-mcp adds, the handshake era's scripts show
            entry["wf"] = {"attribution": "off", "include_context": "relay"}
            rig.full(OTHER, "modern")
        else:
            rig.upstream(OTHER, NEIGHBOUR)
        return rig.serve(front), record

    def close(self) -> None:
        """Ends what was started."""
        for rig in reversed(self._rigs):
            rig.close()

    def _command(self, transport: str) -> list[str]:
        if self._kind == "full":
            return [*FULL, transport, "--era", self.era]
        return servers.everything("stdio" if transport == "stdio" else "streamableHttp")

    def _start(self, rig: Rig) -> str:
        if self._kind == "full":
            return f"http://127.0.0.1:{printed_port(rig, self._command('http'), 'full')}/mcp"
        port = free_port()
        url = f"http://127.0.0.1:{port}/mcp"
        rig.server("unused", self._command("http"), url, PORT=str(port))
        return url


def tapped_url(rig: Rig, url: str, record: Path) -> str:
    """A URL of a wiretap before the server at `url`."""
    port = printed_port(rig, [*WIRETAP, "--record", str(record), "--forward", url], "tap")
    return f"http://127.0.0.1:{port}/mcp"


def printed_port(rig: Rig, argv: list[str], name: str) -> int:
    """Starts a process that prints its port."""
    process = rig.spawn(argv, name, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return int(process.stdout.readline())


@asynccontextmanager
async def running(stage: Stage, front: Front | None) -> AsyncIterator[Run]:
    """A scripted client, connected, and its run."""
    endpoint, record = stage.endpoint(front)
    async with tapped(endpoint, HELLO, answer, stage.era) as client:
        yield Run(client, None if front is None else LABEL, record)


async def record(stage: Stage, front: Front | None, steps: dict[str, Step]) -> Recording:
    """Plays the steps."""
    async with running(stage, front) as run:
        for name, step in steps.items():
            await run.play(name, step)
    return recorded(run)


def recorded(run: Run) -> Recording:
    """Both wires of a run, up to now. Sessions of the upstream that only list are the proxy's own (design D4)."""
    tapes = wire_of(run.record, run.client.tap)
    mine = max(tapes.values(), key=lambda tape: sum(not of_control(entry) for entry in tape.entries), default=Tape())
    for tape in tapes.values():
        strange = [entry.message for entry in tape.entries if tape is not mine and not of_control(entry)]
        mine.problems += [f"a message on a session of the proxy's own: {message}" for message in strange]
    return Recording(run.client.tap.tape, mine, run.label)


def of_control(entry: Entry) -> bool:
    """Whether a message may pass on a session that belongs to no client: lists, notices, and opening it.

    Servers ask for roots once they are told that they may; there such a session refuses (design D4).
    """
    method: str = entry.message.get("method", "")
    return (
        "method" not in entry.message
        or method in (*OF_CONTROL, "resources/templates/list", "roots/list")
        or method.endswith("list_changed")
    )


@dataclass(frozen=True)
class Recorded:
    """A scenario's runs over one kind of upstream: directly, and through each front."""

    direct: Recording
    through: dict[Front, Recording]


class Recordings:
    """Every recording that was asked for, made once; the three runs of one go side by side."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._made: dict[tuple[Kind, Front], Recorded] = {}

    def of(self, scenario: Scenario, upstream: Front) -> Recorded:
        """The recordings of a scenario."""
        key = (scenario.kind, upstream)
        if key not in self._made:
            self._made[key] = anyio.run(self._make, scenario, upstream)
        return self._made[key]

    async def _make(self, scenario: Scenario, upstream: Front) -> Recorded:
        stage = Stage(self._new_folder(f"{scenario.kind}-{upstream}"), scenario.kind, upstream)
        made: dict[Front | None, Recording] = {}

        async def make(front: Front | None) -> None:
            made[front] = await record(stage, front, scenario.steps)

        try:
            async with anyio.create_task_group() as tasks:
                for front in (None, *FRONTS):
                    tasks.start_soon(make, front)
        finally:
            stage.close()
        return Recorded(made[None], {front: made[front] for front in FRONTS})
