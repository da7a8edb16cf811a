"""Results as text for a terminal, and the rows that the page shows too."""

from collections.abc import Iterable, Iterator

from bench.bounds import verdicts
from bench.results import Results, Row

MEASURED = ("side", "direct p50 / p99 ms", "p50 / p99 ms", "ratio p50 / p99", "calls/s", "kept", "n")

Cells = list[tuple[str, ...]]


def size(payload: int) -> str:
    """Bytes as people say them."""
    for factor, unit in ((2**20, "MB"), (1000, "kB")):
        if payload >= factor:
            return f"{payload // factor} {unit}"
    return f"{payload} B"


def measured(row: Row) -> tuple[str, ...]:
    """What every row shows."""
    return (
        row.side,
        f"{row.base_p50:.2f} / {row.base_p99:.2f}",
        f"{row.p50:.2f} / {row.p99:.2f}",
        f"{row.ratio:.2f}× / {row.ratio_p99:.2f}×",
        f"{row.rate:.0f} of {row.base_rate:.0f}",
        f"{100 * row.kept:.1f} %",
        str(row.count),
    )


def budget(results: Results) -> Cells:
    """Each limit: reached, or not."""
    return [
        ("limit", "front", "upstream", "era", "bound", "measured", ""),
        *(
            (each.title, each.front, each.upstream, each.era, each.limit, each.value, _said(each.reached))
            for each in verdicts(results)
        ),
    ]


def _said(reached: bool) -> str:
    return "reached" if reached else "NOT REACHED"


def calls(results: Results) -> Cells:
    """Every call."""
    head = ("front", "upstream", "era", "payload", "at a time", *MEASURED)
    rows = (row for row in results.rows if row.area == "calls")
    return [
        head,
        *((r.front, r.upstream, r.era, size(r.payload), f"× {r.concurrency}", *measured(r)) for r in rows),
    ]


def mounts(results: Results) -> Cells:
    """The same call with more mounts; the base is one mount."""
    head = ("front", "era", "mounts", *(part.replace("direct", "1 mount") for part in MEASURED))
    return [head, *((r.front, r.era, str(r.mounts), *measured(r)) for r in results.rows if r.area == "mounts")]


def lists(results: Results) -> Cells:
    """The lists."""
    head = ("front", "upstreams", "era", "tools", *MEASURED)
    return [
        head,
        *(
            (r.front, f"{r.mounts} over {r.upstream}", r.era, str(r.tools), *measured(r))
            for r in results.rows
            if r.area == "lists"
        ),
    ]


def figures(results: Results, area: str) -> Cells:
    """Single values: starts, or memory."""
    found = [each for each in results.figures if each.area == area]
    return [
        ("what", "side", "front", "value"),
        *((each.what, each.side, each.front, f"{each.value:g} {each.unit}") for each in found),
    ]


def sections(results: Results) -> Iterator[tuple[str, Cells]]:
    """Every table that has rows, with its title."""
    tables = (
        ("Budget", budget(results)),
        ("Calls", calls(results)),
        ("Mounted upstreams", mounts(results)),
        ("Warm lists", lists(results)),
        ("Cold start", figures(results, "start")),
        ("Memory", figures(results, "memory")),
    )
    return ((title, cells) for title, cells in tables if len(cells) > 1)


def text(results: Results) -> str:
    """All tables for a terminal."""
    parts = [f"{title}\n{_aligned(cells)}" for title, cells in sections(results)]
    if results.failed:
        parts.append("Could not be measured\n" + "\n".join(f"  {line}" for line in results.failed))
    return "\n\n".join(parts)


def markdown(cells: Cells) -> str:
    """One table as Markdown."""
    head, *rows = cells
    return "\n".join([_line(head), _line("---" for _ in head), *map(_line, rows)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _aligned(cells: Cells) -> str:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
