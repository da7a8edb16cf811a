"""The budget: what wf-mcp may cost, and whether a run kept to it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bench.messages import Era
from bench.plan import LARGE, MANY, SMALL
from bench.results import WF_MCP, Results, Row
from bench.targets import FRONTS, Front

Pick = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class Bound:
    """One line of the budget: which rows it is about, which figure of them, and the limit on either front."""

    title: str
    pick: Pick
    figure: Callable[[Row], float | None]
    limits: dict[Front, float]
    least: bool
    unit: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One limit beside what was measured."""

    title: str
    front: Front
    upstream: Front
    era: Era
    limit: str
    value: str
    reached: bool


def _call(payload: int, concurrency: int) -> Pick:
    def pick(row: Row) -> bool:
        return row.area == "calls" and (row.payload, row.concurrency) == (payload, concurrency)

    return pick


BUDGET: Final = (
    Bound("100 B, one at a time, p50", _call(SMALL, 1), lambda row: row.ratio, {"stdio": 7.0, "http": 3.5}, False, "×"),
    Bound(
        "100 B, 32 at a time, throughput kept",
        _call(SMALL, MANY),
        lambda row: 100 * row.kept,
        {"stdio": 4.0, "http": 20.0},
        True,
        " %",
    ),
    Bound("1 MB, one at a time, p50", _call(LARGE, 1), lambda row: row.ratio, {"stdio": 1.8, "http": 2.0}, False, "×"),
    Bound(
        "warm list of 510 tools over 10 upstreams, p50",
        lambda row: row.area == "lists" and row.mounts == 10,
        lambda row: row.ratio,
        {"stdio": 1.3, "http": 1.3},
        False,
        "×",
    ),
    Bound(
        "the same call with 500 mounted upstreams, against 1, p50",
        lambda row: row.area == "mounts" and row.mounts == 500,
        lambda row: row.ratio,
        {"stdio": 1.25, "http": 1.25},
        False,
        "×",
    ),
    Bound(
        "100 B, 32 at a time, throughput against FastMCP's mounted proxy",
        _call(SMALL, MANY),
        lambda row: row.over_fastmcp,
        {"stdio": 4.0, "http": 5.0},
        True,
        "×",
    ),
)


def verdicts(results: Results) -> Iterator[Verdict]:
    """Every limit that the run measured, in both eras, over each upstream transport.

    The limits of the HTTP front were set before a stdio upstream, by a client whose direct connection is HTTP; an HTTP
    upstream costs a second exchange.
    """
    for bound in BUDGET:
        for front in FRONTS:
            rows = [row for row in results.rows if row.side == WF_MCP and row.front == front]
            for row in filter(bound.pick, rows):
                value = bound.figure(row)
                if value is not None:
                    yield _verdict(bound, row, value)


def _verdict(bound: Bound, row: Row, value: float) -> Verdict:
    limit = bound.limits[row.front]
    return Verdict(
        bound.title,
        row.front,
        row.upstream,
        row.era,
        f"{'≥' if bound.least else '≤'} {limit:g}{bound.unit}",
        f"{value:.2f}{bound.unit}",
        value >= limit if bound.least else value <= limit,
    )
