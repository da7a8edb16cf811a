"""Lists: many upstreams of 50 tools and an `echo` each, against one upstream with as many tools; warm."""

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.blocks import Block, Side, listing, paired
from bench.client import connected
from bench.messages import Era
from bench.plan import TOOLS, Plan
from bench.results import FASTMCP, WF_MCP, Results, compared
from bench.targets import Front, echo, entry, fastmcp, wf_mcp
from bench.waiting import whole_list

CALLS = 10
FEW = 10
"""Up to so many upstreams, each has a process of its own over stdio, and FastMCP is compared."""


async def measure_lists(plan: Plan, results: Results, folder: Path) -> None:
    """Every front, era and number of upstreams."""
    for front in plan.fronts:
        for era in plan.eras:
            for count in plan.lists:
                try:
                    await _list(plan, results, (front, era), count, folder / f"{front}-{era}-{count}")
                except Exception as error:
                    results.failed.append(f"lists, {front}, {era}, {count} × {TOOLS}: {error!r}")


async def _list(plan: Plan, results: Results, where: tuple[Front, Era], count: int, folder: Path) -> None:
    front, era = where
    upstream = front if count <= FEW else "http"
    tools = count * (TOOLS + 1)
    async with AsyncExitStack() as stack:
        base = stack.enter_context(echo(front, era, tools - 1))
        behind = stack.enter_context(echo(upstream, era, TOOLS))
        servers = {f"many{number}": entry(behind) for number in range(count)}
        targets = [(WF_MCP, stack.enter_context(wf_mcp(front, servers, folder / "wf")))]
        if plan.peers and count <= FEW and era == "handshake":
            targets.append((FASTMCP, stack.enter_context(fastmcp(front, servers, folder / "fastmcp"))))
        sides = [Side("direct", await stack.enter_async_context(connected(base, era)))]
        for name, target in targets:
            client = await stack.enter_async_context(connected(target, era))
            await whole_list(client, tools)
            sides.append(Side(name, client, share=1.0 if name == WF_MCP else 0.1))
        await paired(sides, plan.rounds, partial(_turn, CALLS if count <= FEW else 3))
        for side in sides[1:]:
            row = compared("lists", front, upstream, era, side, sides[0], mounts=count, tools=tools)
            results.rows.append(row)
        if len(sides) > 2:
            results.rows[-2] = replace(results.rows[-2], over_fastmcp=round(sides[1].kept(sides[2]), 2))


async def _turn(calls: int, side: Side) -> Block:
    return await listing(side, max(1, int(calls * side.share)))
