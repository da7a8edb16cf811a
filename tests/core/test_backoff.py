"""How long to wait before an upstream is tried again (design D5)."""

import pytest

from wf_mcp.core.backoff import LONGEST, backoff


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(-1, 0), (0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (7, 30), (10**9, 30)],
)
def test_pauses_double_up_to_a_limit(failures: int, seconds: float) -> None:
    assert backoff(failures) == seconds
    assert isinstance(backoff(failures), float)


def test_no_pause_is_shorter_than_the_one_before() -> None:
    pauses = [backoff(failures) for failures in range(50)]
    assert pauses == sorted(pauses)
    assert max(pauses) == LONGEST
