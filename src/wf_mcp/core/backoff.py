"""How long to wait before an upstream is tried again."""

FIRST = 1.0
LONGEST = 30.0


def backoff(failures: int) -> float:
    """Seconds to wait after `failures` attempts in a row that failed: none after the first loss, then 1, 2, 4 … 30."""
    if failures <= 0:
        return 0.0
    return float(min(LONGEST, FIRST * 2 ** (min(failures, 16) - 1)))
