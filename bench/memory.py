"""Memory: what an idle client costs, and what a mounted upstream costs. Linux only: it reads /proc."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from bench.client import connected
from bench.plan import Plan
from bench.results import WF_MCP, Figure, Results
from bench.targets import Front, echo, entry, wf_mcp
from bench.waiting import whole_list

PROC: Final = Path("/proc")
SETTLING: Final = 1.0
"""Seconds in which what starting needed is given back."""


async def measure_memory(plan: Plan, results: Results, folder: Path) -> None:
    """Both, or a note that this system does not tell."""
    if not PROC.joinpath("self/status").is_file():
        results.failed.append("memory: this system has no /proc")
        return
    try:
        await _clients(plan, results, folder / "clients")
        for front, count in plan.upstreams:
            await _upstreams(results, front, count, folder / f"upstreams-{front}")
    except Exception as error:
        results.failed.append(f"memory: {error!r}")


async def _clients(plan: Plan, results: Results, folder: Path) -> None:
    """Handshake clients with equal capabilities, each with its session and one listed, then silent."""
    async with AsyncExitStack() as stack:
        behind = stack.enter_context(echo("http", "handshake"))
        front = stack.enter_context(wf_mcp("http", {"echo": entry(behind)}, folder))
        assert front.pid is not None
        first = await stack.enter_async_context(connected(front, "handshake"))
        await whole_list(first, 1)
        before = await _settled(front.pid)
        for _ in range(plan.clients):
            client = await stack.enter_async_context(connected(front, "handshake"))
            await client.tools()
        each = 1024 * (await _settled(front.pid) - before) / plan.clients
    results.figures += [
        Figure("memory", "with one client and one upstream", WF_MCP, "http", round(before, 1), "MB"),
        Figure("memory", f"each of {plan.clients} idle clients", WF_MCP, "http", round(each, 1), "kB"),
    ]


async def _upstreams(results: Results, upstream: Front, count: int, folder: Path) -> None:
    """One stdio client in front of one and of many upstreams, all of them in use; their own processes not counted."""
    sizes = []
    for number in (1, count):
        async with AsyncExitStack() as stack:
            behind = stack.enter_context(echo(upstream, "handshake"))
            servers = {f"one{index}": entry(behind) for index in range(number)}
            front = stack.enter_context(wf_mcp("stdio", servers, folder / str(number)))
            client = await stack.enter_async_context(connected(front, "handshake"))
            await whole_list(client, number)
            assert client.wire.pid is not None
            sizes.append(await _settled(client.wire.pid))
    each = 1024 * (sizes[1] - sizes[0]) / (count - 1)
    what = f"each of {count} upstreams over {upstream}"
    results.figures.append(Figure("memory", what, WF_MCP, "stdio", round(each, 1), "kB"))


async def _settled(pid: int) -> float:
    await asyncio.sleep(SETTLING)
    return resident(pid)


def resident(pid: int) -> float:
    """Megabytes of one process that are in memory."""
    for line in PROC.joinpath(str(pid), "status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
