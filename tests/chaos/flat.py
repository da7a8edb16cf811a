"""Whether a figure stays flat: the trend of its samples, by least squares."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression, median


@dataclass(frozen=True)
class Trend:
    """How a figure developed over a stretch of time."""

    start: float
    """Where the trend line begins."""
    growth: float
    """How much it rises until the end of the stretch."""
    median: float
    lowest: float
    highest: float

    def flat(self, share: float, least: float) -> bool:
        """Whether it rises by no more than `share` of its median, or by no more than `least`."""
        return self.growth <= max(share * self.median, least)


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """The trend of the last two thirds of the samples: the first third is warming up."""
    first = len(times) // 3
    late, kept = times[first:], values[first:]
    line = linear_regression(late, kept)
    start = line.intercept + line.slope * late[0]
    return Trend(start, line.slope * (late[-1] - late[0]), median(kept), min(kept), max(kept))
