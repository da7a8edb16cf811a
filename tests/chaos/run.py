"""The chaos suite: `python -m tests.chaos.run`, which `make chaos` runs.

A quiet phase, a chaos phase and a second quiet phase with the same clients; then everybody goes, wf-mcp ends, and the
books are compared with what the upstreams logged. Environment: `CHAOS_SECONDS`, `CHAOS_SEED`, `CHAOS_FRONT` (`http` or
`stdio`), `CHAOS_FOLDER` (logs stay there; a new one).
"""

import json
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import anyio
from tests.chaos.cast import FULL
from tests.chaos.house import House, Plan, house_in
from tests.chaos.weather import Weather
from tests.inbox import JsonObject
from tests.procs import resident
from tests.rig import Front

P99_FACTOR = 2.0
RSS_FACTOR = 1.1


@dataclass(frozen=True)
class Times:
    """Seconds of each phase."""

    warm_up: float
    quiet: float
    chaos: float


async def chaos(house: House, times: Times) -> JsonObject:
    """One run; its report, with `faults` empty when nothing was lost, doubled, crossed or left behind."""
    async with house.open() as (admin, pid), anyio.create_task_group() as tasks:
        await house.arrive(tasks, admin)
        await house.phase("warm-up", times.warm_up)
        await house.phase("quiet", times.quiet)
        house.report["memory_start"] = resident(pid)
        house.stage.phase = "chaos"
        await Weather(house.stage, house.endpoint, admin).rage(times.chaos)
        await house.phase("calm again", times.quiet)
        house.report["memory_end"] = resident(pid)
        house.stage.phase = "over"
    house.audit()
    return house.report


def judge(report: JsonObject) -> None:
    """What only a quiet machine can tell: latency of healthy upstreams, and memory."""
    report["p99_ratio"] = round(report["latency chaos"]["p99_ms"] / report["latency quiet"]["p99_ms"], 2)
    report["memory_ratio"] = round(report["memory_end"] / report["memory_start"], 3)
    if report["p99_ratio"] > P99_FACTOR:
        report["faults"].append(f"p99 of healthy upstreams: {report['p99_ratio']} times the quiet run's")
    if report["memory_ratio"] > RSS_FACTOR:
        report["faults"].append(f"memory: {report['memory_ratio']} times that of the start")


async def main() -> int:
    """The long form."""
    seed = os.environ.get("CHAOS_SEED") or str(random.randrange(10**6))
    seconds = float(os.environ.get("CHAOS_SECONDS", "600"))
    front: Front = "stdio" if os.environ.get("CHAOS_FRONT") == "stdio" else "http"
    quiet = min(60.0, seconds / 4)
    print(f"chaos: {front} front, {seconds:g} s, CHAOS_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="wf-mcp-chaos-", ignore_cleanup_errors=True) as temporary:
        folder = Path(os.environ.get("CHAOS_FOLDER", temporary))
        folder.mkdir(exist_ok=folder == Path(temporary))  # an old run's logs would be taken for this one's
        async with house_in(folder, Plan(front, seed, FULL, clients=20, pause=0.2)) as house:
            report = await chaos(house, Times(min(10.0, quiet), quiet, seconds))
    judge(report)
    print(json.dumps(report, indent=2))
    print(f"chaos: {len(report['faults'])} faults, CHAOS_SEED={seed}")
    return 1 if report["faults"] else 0


if __name__ == "__main__":
    sys.exit(anyio.run(main))
