"""The same call with one upstream mounted and with many: nothing about it may grow with their number."""

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bench.blocks import Side, calling, paired
from bench.client import connected
from bench.messages import Era
from bench.plan import SMALL, Plan
from bench.results import WF_MCP, Results, compared
from bench.targets import Front, Target, echo, entry, wf_mcp
from bench.waiting import whole_list


async def measure_mounts(plan: Plan, results: Results, folder: Path) -> None:
    """Sides of one, 20, 100 and 500 mounts take turns with the upstream that all of them have."""
    for front in plan.fronts:
        for era in plan.eras:
            try:
                await _front(plan, results, front, era, folder / f"{front}-{era}")
            except Exception as error:
                results.failed.append(f"mounts, {front}, {era}: {error!r}")


async def _front(plan: Plan, results: Results, front: Front, era: Era, folder: Path) -> None:
    async with AsyncExitStack() as stack:
        called = stack.enter_context(echo(front, era))
        others = stack.enter_context(echo("http", era))
        sides = []
        for count in (1, *plan.mounts):
            target = stack.enter_context(wf_mcp(front, _servers(called, others, count), folder / str(count)))
            client = await stack.enter_async_context(connected(target, era))
            await whole_list(client, count)
            sides.append(Side(WF_MCP, client, "called.echo"))
        await paired(sides, plan.rounds, partial(calling, message="x" * SMALL, concurrency=1, calls=100))
        for count, side in zip(plan.mounts, sides[1:], strict=True):
            results.rows.append(compared("mounts", front, front, era, side, sides[0], payload=SMALL, mounts=count))


def _servers(called: Target, others: Target, count: int) -> dict[str, Any]:
    """One upstream that is called, and others that share one process, so that they cost the machine nothing."""
    more = {f"other{number}": entry(others, start="lazy") for number in range(1, count)}
    return {"called": entry(called), **more}
