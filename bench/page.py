"""`docs/performance.md`: the figures of one full run, with how they were made and why they are what they are."""

from pathlib import Path
from typing import Final

from bench.bounds import verdicts
from bench.results import Results
from bench.table import markdown, sections

NOTES: Final = Path(__file__).parent / "notes.md"
"""Written by hand: the profile that explains the figures."""

BUSY: Final = 0.5
"""The load beside the benchmark above which the page says so."""

HEAD: Final = """\
# Performance

What wf-mcp costs, as ratios to the same calls made directly. This page is made by `make bench` from
[bench/results.json](../bench/results.json); only the section with the profile is written by hand.

## Method

- The upstream does nothing: [bench/echo.mjs](../bench/echo.mjs) answers JSON-RPC without any SDK, over stdio or over
  Node's own HTTP server. The client does as little: asyncio's streams and the standard library's json.
- Direct and through wf-mcp are **paired in one run**: the sides take turns in short blocks, another one first in each
  round. A ratio is the median over the pairs of blocks, so that other load of the machine meets both sides. Times are
  over all calls of all rounds; `n` is how many those were. The first block of each side is not counted.
- The direct connection has the same transport as the front. "http over stdio" is an HTTP front before a stdio upstream,
  against the same upstream's HTTP.
- wf-mcp runs as users start it, `wf-mcp serve`, with the settings that it has by itself and one upstream unless the row
  says more. Client, wf-mcp and upstream share the cores. Client and upstream speak the same era.
- *Kept* is the share of the direct connection's calls per second. *FastMCP mounted* is one `create_proxy` per server,
  mounted on one server, in the same run. *Bare relay* is what the libraries under wf-mcp cost by themselves: a program
  that passes bytes on and knows nothing of MCP ([bench/bare_relay.py](../bench/bare_relay.py)).
- Machine of these figures: {machine}.
"""

FOOT: Final = """\
## Doing it again

`make bench` takes some minutes and writes this page; `make bench QUICK=1` prints the budget and the most important rows
in less. `python -m bench --help` has the rest. Absolute times depend on the machine, ratios much less so. That no work
per call grows with the number of mounts, and that a warm list asks no upstream, is counted rather than timed, by
[tests/bench/test_constant_work.py](../tests/bench/test_constant_work.py).
"""


def page(results: Results, notes: str) -> str:
    """The whole page."""
    known = results.machine
    told = f"{known['cores']} cores, Python {known['python']}, {known['system']}"
    if float(known.get("load", 0)) > BUSY:
        told += f"; busy with other things (load {known['load']} at the start), so single rows may be off either way"
    parts = [HEAD.format(machine=told)]
    for title, cells in sections(results):
        said = f"\n{_summary(results)}\n" if title == "Budget" else ""
        parts.append(f"## {title}\n{said}\n{markdown(cells)}\n")
    if results.failed:
        parts.append("## Could not be measured\n\n" + "\n".join(f"- {line}" for line in results.failed) + "\n")
    return "\n".join([*parts, notes.rstrip() + "\n", FOOT])


def _summary(results: Results) -> str:
    found = list(verdicts(results))
    missed = sum(not each.reached for each in found)
    how = "all of them reached" if not missed else f"{missed} of them not reached"
    return f"{len(found)} limits, {how}; what explains those is under [Where the time goes](#where-the-time-goes)."
