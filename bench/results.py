"""What a run found, as plain values that go to a file and come back."""

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.blocks import Side
from bench.messages import Era
from bench.targets import Front

WF_MCP = "wf-mcp"
FASTMCP = "FastMCP mounted"
BARE = "bare relay"


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison of a `side` with its base: times in milliseconds, rates in calls per second."""

    area: str
    front: Front
    upstream: Front
    era: Era
    side: str
    payload: int = 0
    concurrency: int = 1
    mounts: int = 1
    tools: int = 0
    base_p50: float = 0.0
    base_p99: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    ratio: float = 0.0
    ratio_p99: float = 0.0
    base_rate: float = 0.0
    rate: float = 0.0
    kept: float = 0.0
    count: int = 0
    over_fastmcp: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One value by itself."""

    area: str
    what: str
    side: str
    front: Front
    value: float
    unit: str


@dataclass(slots=True)
class Results:
    """Everything that one run found; `failed` says which cells could not be measured, and why."""

    machine: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Read what `save` wrote."""
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            raw["machine"],
            [Row(**row) for row in raw["rows"]],
            [Figure(**figure) for figure in raw["figures"]],
            raw["failed"],
        )


def machine() -> dict[str, str]:
    """What is told of the machine: no more than the figures need. `load` is that of everything else, at the start."""
    return {
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "system": platform.system(),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def compared(area: str, front: Front, upstream: Front, era: Era, side: Side, base: Side, **where: Any) -> Row:
    """A row from what two sides measured in turns."""
    return Row(
        area,
        front,
        upstream,
        era,
        side.name,
        **where,
        base_p50=_ms(base.percentile(0.5)),
        base_p99=_ms(base.percentile(0.99)),
        p50=_ms(side.percentile(0.5)),
        p99=_ms(side.percentile(0.99)),
        ratio=round(side.slower(base), 2),
        ratio_p99=round(side.percentile(0.99) / base.percentile(0.99), 2),
        base_rate=round(base.rate, 1),
        rate=round(side.rate, 1),
        kept=round(side.kept(base), 4),
        count=side.count,
    )


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 4)
