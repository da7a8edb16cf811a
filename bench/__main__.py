"""`python -m bench`: measure, print the table, write the results and the page."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.calls import measure_calls
from bench.lists import measure_lists
from bench.memory import measure_memory
from bench.messages import ERAS
from bench.mounts import measure_mounts
from bench.page import NOTES, page
from bench.plan import AREAS, FULL, QUICK, TINY, Plan
from bench.results import Results, machine
from bench.starts import measure_starts
from bench.table import text
from bench.targets import FRONTS

MEASURE: Final[dict[str, Callable[[Plan, Results, Path], Awaitable[None]]]] = {
    "calls": measure_calls,
    "mounts": measure_mounts,
    "lists": measure_lists,
    "start": measure_starts,
    "memory": measure_memory,
}
PLANS: Final = {"full": FULL, "quick": QUICK, "tiny": TINY}


async def run(plan: Plan, areas: list[str]) -> Results:
    """Measure these areas one after the other."""
    results = Results(machine())
    with tempfile.TemporaryDirectory(prefix="wf-mcp-bench-") as folder:
        for area in areas:
            print(f"measuring {area} …", file=sys.stderr, flush=True)
            await MEASURE[area](plan, results, Path(folder) / area)
    return results


def main(arguments: list[str] | None = None) -> int:
    """Exit code 1 where something could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="What wf-mcp costs, as ratios to direct.")
    parser.add_argument("--plan", choices=list(PLANS), default="full", help="how much is measured")
    parser.add_argument("--area", choices=AREAS, action="append", help="only this; may be repeated")
    parser.add_argument("--front", choices=FRONTS, help="only this front")
    parser.add_argument("--era", choices=ERAS, help="only this era")
    parser.add_argument("--out", type=Path, help="write the results as JSON to this file")
    parser.add_argument("--page", type=Path, help="write docs/performance.md to this file")
    options = parser.parse_args(arguments)
    plan = PLANS[options.plan]
    if options.front:
        plan = replace(plan, fronts=(options.front,), crossing=plan.crossing and options.front == "http")
    if options.era:
        plan = replace(plan, eras=(options.era,))
    results = asyncio.run(run(plan, options.area or [*AREAS]))
    print(text(results))
    if options.out:
        results.save(options.out)
    if options.page:
        options.page.write_text(page(results, NOTES.read_text(encoding="utf-8")), encoding="utf-8")
    return 1 if results.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
