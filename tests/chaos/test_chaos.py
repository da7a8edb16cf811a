"""The short form of the chaos suite; `make chaos` is the long one, with 30 upstreams, 20 clients and the clock."""

import os
from pathlib import Path

import pytest
from tests.chaos.cast import SHORT
from tests.chaos.house import Plan, house_in
from tests.chaos.run import Times, chaos
from tests.covers import covers
from tests.rig import FRONTS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@covers(
    "chaos.nothing-lost",
    "Among upstreams that misbehave, are killed, restarted and reloaded, and clients that vanish, no reply is lost, "
    "doubled or crossed, healthy upstreams make no error, and at the end no process and no session is left (`make "
    "chaos`: 30 upstreams, 20 clients, latency and memory too)",
)
@pytest.mark.timeout(150)
@pytest.mark.parametrize("front", FRONTS)
async def test_nothing_is_lost_doubled_or_crossed(tmp_path: Path, front) -> None:
    seed = os.environ.get("CHAOS_SEED", "7")
    async with house_in(tmp_path, Plan(front, seed, SHORT, clients=6, pause=0.15)) as house:
        report = await chaos(house, Times(warm_up=0, quiet=2, chaos=8))
    assert report["faults"] == [], f"CHAOS_SEED={seed}"
    assert {"kills", "reloads", "result", "error"} <= {*report["counts"]}
