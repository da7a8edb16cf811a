"""The soak: `python -m tests.chaos.soak`, which `make soak` runs.

Mixed load over `SOAK_SECONDS` (an hour by default): calls small and large, with progress, given up, in both eras;
lists and reads; clients that come and go. Memory, file descriptors and tasks of wf-mcp must not grow. Prints the
figures, and as its last line one JSON object for docs/performance.md, which `SOAK_JSON` names a file for.
"""

import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import anyio
from tests.chaos.cast import FULL
from tests.chaos.clients import ChaosClient, structured
from tests.chaos.flat import trend
from tests.chaos.house import House, Plan, house_in
from tests.inbox import JsonObject

CLIENTS = 12
FIGURES = {
    # figure: (share of its median that it may grow by, growth that is always allowed)
    "memory_bytes": (0.05, 4_000_000),
    "open_files": (0.2, 8),  # these two vary with the clients that are just there
    "tasks": (0.2, 12),
    "threads": (0.05, 4),
}


@dataclass
class Soak:
    """One soak."""

    house: House
    seconds: float
    samples: list[JsonObject] = field(default_factory=list)

    async def go(self) -> JsonObject:
        """Loads, samples, and judges; the report, with `faults` empty when all stayed flat."""
        async with self.house.open() as (admin, _), anyio.create_task_group() as tasks:
            await self.house.arrive(tasks, admin)
            self.house.stage.phase = "soak"
            await self._sample(admin)
            self.house.stage.phase = "over"
        self.house.audit()
        return self.house.report | {"seconds": self.seconds, "samples": len(self.samples), "figures": self._figures()}

    async def _sample(self, admin: ChaosClient) -> None:
        """A look at the process every few seconds."""
        started = time.monotonic()
        every = min(10.0, self.seconds / 60)
        while (now := time.monotonic() - started) < self.seconds:
            status = structured(await admin.call("wf.admin.status", {}))
            sessions = sum(len(each["sessions"]) for each in status["upstreams"])
            self.samples.append(
                {"at": now, **status["process"], "sessions": sessions, "clients": len(status["clients"])}
            )
            if len(self.samples) % 30 == 0:
                print(f"{now:7.0f} s  {self.samples[-1]}", flush=True)
            await anyio.sleep(every)

    def _figures(self) -> JsonObject:
        """The trend of each figure; one that grows is a fault."""
        times = [sample["at"] for sample in self.samples]
        figures: JsonObject = {}
        for name, (share, least) in FIGURES.items():
            found = trend(times, [float(sample[name]) for sample in self.samples])
            figures[name] = {key: round(value, 1) for key, value in asdict(found).items()}
            if not found.flat(share, least):
                self.house.ledger.fault(f"{name} is not flat: {figures[name]}")
        return figures


async def main() -> int:
    """The command."""
    seconds = float(os.environ.get("SOAK_SECONDS", "3600"))
    seed = os.environ.get("CHAOS_SEED", "1")
    rows = tuple(row for row in FULL if row[3] == "steady")
    print(f"soak: {seconds:g} s, {len(rows)} upstreams, {CLIENTS} clients, CHAOS_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="wf-mcp-soak-", ignore_cleanup_errors=True) as folder:
        async with house_in(Path(folder), Plan("http", seed, rows, CLIENTS, pause=0.25)) as house:
            report = await Soak(house, seconds).go()
    for name, found in report["figures"].items():
        print(f"{name:14} {found}")
    for fault in report["faults"]:
        print(f"fault: {fault}")
    text = json.dumps(report)
    if "SOAK_JSON" in os.environ:
        Path(os.environ["SOAK_JSON"]).write_text(text + "\n", encoding="utf-8")
    print(text)
    return 1 if report["faults"] else 0


if __name__ == "__main__":
    sys.exit(anyio.run(main))
