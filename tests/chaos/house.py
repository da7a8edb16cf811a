"""wf-mcp served for many clients: how they arrive, how they leave, and that nothing is left when it ends."""

import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from tests.chaos.cast import Cast, Row
from tests.chaos.clients import ChaosClient, Guest, Phase, Stage, connected, structured
from tests.chaos.ledger import Ledger
from tests.chaos.upstreams import marked
from tests.endpoint import Endpoint
from tests.inbox import JsonObject, eventually
from tests.procs import alive, all_gone, descendants
from tests.rig import Front, Rig

TOKENS = ("ann", "ben", "cem", "dot", "admin")
"""Principals; the last one is nobody's guest."""
ARRIVAL = 60
"""Seconds in which every client has to be at work."""
EXIT_SECONDS = 20
"""Seconds that wf-mcp may take to end, with processes below it that do not want to."""


@dataclass(frozen=True)
class Plan:
    """Who is there."""

    front: Front
    seed: str
    cast: tuple[Row, ...]
    clients: int
    pause: float
    """Seconds between two calls of one client, on average."""


@dataclass
class House:
    """wf-mcp, its upstreams, and everybody who calls. `report` has the figures."""

    rig: Rig
    plan: Plan
    report: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tokens = {name: f"token-of-{name}-0123456789abcdef" for name in TOKENS}
        self.rig.env |= {f"WF_CHAOS_{name.upper()}": token for name, token in self.tokens.items()}
        references = {name: "${WF_CHAOS_" + name.upper() + "}" for name in TOKENS}
        self.rig.settings |= {
            "session_idle": 10,
            "list_wait": 3,
            "shutdown": {"eof": 0.5, "term": 0.5},
            **({"auth": {"tokens": references}} if self.plan.front == "http" else {}),
        }
        self.ledger = Ledger()
        self.cast = Cast.of(self.rig, self.plan.cast, self.plan.seed)
        self.stage = Stage(self.cast, self.ledger, self.plan.seed, self.plan.pause)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[ChaosClient, int]]:
        """Serves; yields a client that may use admin tools, and the pid of wf-mcp. On leaving wf-mcp is ended, and
        what is left then is a fault.
        """
        self.endpoint = self.rig.serve(self.plan.front)
        async with connected(self._as("admin"), "handshake", "admin", self.ledger) as admin:
            pid = self.rig.process.pid if self.plan.front == "http" else admin.pid
            yield admin, pid
            if self.plan.front == "http":
                await self._everybody_left(admin)
            below = marked(self.rig) | dict.fromkeys(descendants(pid), "below wf-mcp")
        await self._end(pid, below)

    async def arrive(self, tasks: TaskGroup, admin: ChaosClient) -> None:
        """Lets all clients in, and waits until they are at work."""
        for number in range(self.plan.clients):
            tasks.start_soon(self._guest(number, admin).live)
        await eventually(lambda: len(self.ledger.entries) >= 10 * self.plan.clients, ARRIVAL)

    async def phase(self, phase: Phase, seconds: float) -> None:
        """Lets time pass."""
        self.stage.phase = phase
        await anyio.sleep(seconds)

    def audit(self) -> list[str]:
        """Compares the books with the upstreams' own; every fault of the run."""
        self.ledger.audit(self.cast.everybody)
        self.report |= {"counts": dict(self.ledger.counts), "errors": dict(self.ledger.errors)}
        for phase, taken in self.ledger.latencies.items():
            self.report[f"latency {phase}"] = summary(taken)
        self.report["faults"] = self.ledger.faults
        return self.ledger.faults

    def _as(self, name: str) -> Endpoint:
        if self.endpoint.url is None:
            return self.endpoint
        return replace(self.endpoint, headers={"authorization": f"Bearer {self.tokens[name]}"})

    def _guest(self, number: int, admin: ChaosClient) -> Guest:
        if self.plan.front == "stdio":
            return Lodger(self.stage, self.endpoint, admin, number)
        who = TOKENS[number % (len(TOKENS) - 1)]
        return Guest(self.stage, self._as(who), "handshake" if number % 2 else "modern", number)

    async def _everybody_left(self, admin: ChaosClient) -> None:
        """Sessions of clients go with them, or when they were idle for too long."""
        names: list[str] = []

        async def alone() -> bool:
            status = structured(await admin.call("wf.admin.status", {}))
            names[:] = [each["name"] for each in status["clients"] if each["era"] == "handshake"]
            self.report["sessions_open"] = {
                each["id"]: len(each["sessions"]) for each in status["upstreams"] if each["sessions"]
            }
            return names == ["admin"]

        try:
            await eventually(alone, 40)
        except TimeoutError:
            self.ledger.fault(f"clients that left are still there: {names}")

    async def _end(self, pid: int, below: dict[int, str]) -> None:
        """SIGTERM, or over stdio the EOF when the client left: wf-mcp ends in time, and leaves nothing."""
        started = time.monotonic()
        if self.plan.front == "http":
            os.kill(pid, signal.SIGTERM)
        if await all_gone([pid], EXIT_SECONDS):
            self.ledger.fault(f"wf-mcp is still there after {EXIT_SECONDS} s")
        self.report["exit_seconds"] = round(time.monotonic() - started, 2)
        await all_gone(below, 3)
        left = {pid: command for pid, command in below.items() if alive(pid)} | marked(self.rig)
        if left:
            self.ledger.fault(f"processes are left: {left}")
        sessions = {each.name: sorted(ids) for each in self.cast.everybody if (ids := each.open_sessions())}
        if sessions:
            self.ledger.fault(f"sessions at HTTP upstreams are left: {sessions}")


class Lodger(Guest):
    """A guest who never leaves: on a stdio front there is one client, and all of them are that one."""

    def __init__(self, stage: Stage, endpoint: Endpoint, client: ChaosClient, number: int) -> None:
        super().__init__(stage, endpoint, "handshake", number)
        self._client = client

    async def live(self) -> None:
        """Calls until the run is over."""
        while not self._stage.over:
            await self.visit(self._client)


def summary(taken: list[float]) -> JsonObject:
    """Percentiles in milliseconds."""
    ordered = sorted(taken)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 2)

    return {"calls": len(ordered), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0)}


@asynccontextmanager
async def house_in(folder: Path, plan: Plan) -> AsyncIterator[House]:
    """A house in `folder`, of which nothing is left afterwards."""
    rig = Rig(folder)
    try:
        yield House(rig, plan)
    finally:
        rig.close()
        for pid in marked(rig):
            os.kill(pid, signal.SIGKILL)
