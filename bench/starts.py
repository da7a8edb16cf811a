"""Cold start: from the start of the process to the first answer and to the first whole list."""

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.client import connected
from bench.plan import TOOLS, Plan
from bench.results import FASTMCP, WF_MCP, Figure, Results
from bench.targets import Front, Target, echo, entry, fastmcp, wf_mcp
from bench.waiting import whole_list

Start = Callable[[Path], AbstractContextManager[Target]]


@dataclass(frozen=True, slots=True)
class Started:
    """Seconds since the start of one process: to the first answer, and to the whole list."""

    answered: float
    listed: float


async def measure_starts(plan: Plan, results: Results, folder: Path) -> None:
    """With one upstream and with those of the lists, the first time and after a restart; medians."""
    for front in plan.fronts:
        for count in (1, *plan.lists):
            where = folder / f"{front}-{count}"
            try:
                await _starts(plan, results, front, count, where)
            except Exception as error:
                results.failed.append(f"start, {front}, {count} upstreams: {error!r}")


async def _starts(plan: Plan, results: Results, front: Front, count: int, folder: Path) -> None:
    with echo("http", "handshake", TOOLS) as shared:
        behind = shared if front == "http" or count > 10 else Target(_stdio_argv())
        servers: dict[str, Any] = {f"many{number}": entry(behind) for number in range(count)}
        tools = count * (TOOLS + 1)
        first, again, peer = [], [], []
        for number in range(plan.starts):
            here = folder / str(number)
            first.append(await _start(front, lambda path: wf_mcp(front, servers, path), here, tools))
            again.append(await _start(front, lambda path: wf_mcp(front, servers, path), here, tools))
            if plan.peers and count <= 10:
                peer.append(await _start(front, lambda path: fastmcp(front, servers, path), here / "fastmcp", tools))
    upstreams = f"{count} upstream{'s' if count > 1 else ''}"
    for side, how, measured in ((WF_MCP, "first start", first), (WF_MCP, "restart", again), (FASTMCP, "start", peer)):
        if measured:
            answered = statistics.median(each.answered for each in measured)
            listed = statistics.median(each.listed for each in measured)
            what = f"{how}, {upstreams}"
            results.figures += [
                Figure("start", f"{what}: opened", side, front, round(answered, 2), "s"),
                Figure("start", f"{what}: {tools} tools listed", side, front, round(listed, 2), "s"),
            ]


def _stdio_argv() -> list[str]:
    with echo("stdio", "handshake", TOOLS) as target:
        return target.argv


async def _start(front: Front, start: Start, folder: Path, tools: int) -> Started:
    begin = time.perf_counter()
    with start(folder) as target:
        begin = target.started or begin
        async with connected(target, "handshake") as client:
            answered = time.perf_counter() - begin
            await whole_list(client, tools)
            return Started(answered, time.perf_counter() - begin)
