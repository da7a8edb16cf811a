"""How long to wait before an upstream is tried again."""

FIRST = 1.0
LONGEST = 30.0


def backoff(failures: int, chance: float = 1.0) -> float:
    """Seconds to wait after `failures` attempts in a row that failed: none after the first loss, then 1, 2, 4 … 30.

    `chance`, between 0 and 1, takes up to half of that away, so that many who failed together do not come together.
    """
    if failures <= 0:
        return 0.0
    whole = min(LONGEST, FIRST * float(2 ** (min(failures, 16) - 1)))
    return max(FIRST, whole * (0.5 + 0.5 * chance))
