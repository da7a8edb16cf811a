"""The trend of samples."""

import random

from tests.chaos.flat import trend

TIMES = [float(at) for at in range(0, 3600, 10)]


def test_a_slow_leak_is_seen_through_noise() -> None:
    rng = random.Random(1)
    leaking = trend(TIMES, [100_000_000 + at * 5_000 + rng.uniform(-2e6, 2e6) for at in TIMES])
    assert not leaking.flat(0.05, 4_000_000)
    assert 10_000_000 < leaking.growth < 14_000_000


def test_noise_and_a_warm_up_are_flat() -> None:
    rng = random.Random(2)
    warm = trend(TIMES, [100_000_000 + min(at, 900) * 40_000 + rng.uniform(-2e6, 2e6) for at in TIMES])
    assert warm.flat(0.05, 4_000_000)


def test_what_shrinks_is_flat() -> None:
    assert trend(TIMES, [1000 - at / 10 for at in TIMES]).flat(0.05, 0)
