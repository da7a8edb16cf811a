"""Calls: payload, calls at a time, front, era; direct, through wf-mcp, and through FastMCP's mounted proxy."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.blocks import Block, Side, calling, paired
from bench.client import connected
from bench.messages import Era
from bench.plan import MANY, SMALL, Plan
from bench.results import BARE, FASTMCP, WF_MCP, Results, compared
from bench.targets import Front, Target, bare_relay, echo, entry, fastmcp, wf_mcp
from bench.waiting import whole_list

LIMIT_SECONDS = 180.0
"""What one cell may take: a target that hangs must not hold up the others."""

OPENING_SECONDS = 20.0

DIRECT = "direct"

SHARE = 0.1
"""Of the calls of a block, those that the slowest side gets."""


async def measure_calls(plan: Plan, results: Results, folder: Path) -> None:
    """Every cell; one that fails is noted, and the next ones are measured all the same."""
    ways: list[tuple[Front, Front]] = [(front, front) for front in plan.fronts]
    if plan.crossing:
        ways.append(("http", "stdio"))
    for front, upstream in ways:
        for era in plan.eras:
            async with _sides(plan, front, upstream, era, folder / f"{front}-{upstream}-{era}", results) as sides:
                for payload in plan.payloads:
                    for concurrency in plan.concurrency:
                        cell = f"calls {front} over {upstream}, {era}, {payload} B × {concurrency}"
                        try:
                            async with asyncio.timeout(LIMIT_SECONDS):
                                await _cell(plan, results, (front, upstream, era), sides, payload, concurrency)
                        except Exception as error:
                            results.failed.append(f"{cell}: {error!r}")


@asynccontextmanager
async def _sides(
    plan: Plan, front: Front, upstream: Front, era: Era, folder: Path, results: Results
) -> AsyncIterator[list[Side]]:
    """The sides of one front and era; the direct connection has the transport of the front."""
    async with AsyncExitStack() as stack:
        behind = stack.enter_context(echo(upstream, era))
        base = behind if front == upstream else stack.enter_context(echo(front, era))
        servers = {"echo": entry(behind)}
        ours = stack.enter_context(wf_mcp(front, servers, folder / "wf"))
        sides = [
            Side(DIRECT, await stack.enter_async_context(connected(base, era))),
            await _through(stack, WF_MCP, ours, era),
        ]
        if plan.peers and front == upstream:
            for name, share, start in ((FASTMCP, SHARE, fastmcp), (BARE, 1.0, bare_relay)):
                peer = stack.enter_context(start(front, servers, folder / name))
                try:
                    sides.append(replace(await _through(stack, name, peer, era), share=share))
                except Exception as error:
                    results.failed.append(f"{name}, {front}, {era}: {error!r}")
        yield sides


async def _through(stack: AsyncExitStack, name: str, target: Target, era: Era) -> Side:
    client = await stack.enter_async_context(connected(target, era))
    return Side(name, client, (await whole_list(client, 1, OPENING_SECONDS))[0])


async def _cell(
    plan: Plan, results: Results, where: tuple[Front, Front, Era], sides: list[Side], payload: int, concurrency: int
) -> None:
    compared_too = payload == SMALL and concurrency in (1, MANY)
    taking = [side for side in sides if side.name in (DIRECT, WF_MCP) or compared_too]
    turn = partial(_turn, "x" * payload, concurrency, plan.calls(payload, concurrency))
    await paired(taking, plan.rounds, turn)
    base, ours, *peers = taking
    for side in (ours, *peers):
        row = compared("calls", *where, side, base, payload=payload, concurrency=concurrency)
        mounted = next((peer for peer in peers if peer.name == FASTMCP), None)
        if side is ours and mounted is not None:
            row = replace(row, over_fastmcp=round(ours.kept(mounted), 2))
        results.rows.append(row)


async def _turn(message: str, concurrency: int, calls: int, side: Side) -> Block:
    return await calling(side, message, concurrency, max(concurrency, int(calls * side.share)))
