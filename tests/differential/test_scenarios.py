"""One script over all message kinds, directly and through wf-mcp: equal at both wires, but for the tolerated table."""

import pytest
from tests.covers import covers
from tests.differential.compare import Difference, compare
from tests.differential.scenarios import EVERYTHING, FULL
from tests.differential.stage import OTHER, PAIRINGS, Recordings, Scenario
from tests.differential.tolerated import LIMIT, TOLERATED, Row, judge
from tests.rig import FRONTS, Front

pytestmark = pytest.mark.timeout(120)


def judged(recordings: Recordings, scenario: Scenario, front: Front, upstream: Front) -> tuple[list[str], set[Row]]:
    made = recordings.of(scenario, upstream)
    differences: list[Difference] = compare(
        made.direct, made.through[front], scenario.scrub, (OTHER,), unordered=scenario.unordered
    )
    left, used = judge(differences)
    return [str(difference) for difference in left], used


@covers("differential.full", "Every message kind of the handshake era is the same as directly, at both wires")
@pytest.mark.parametrize(("front", "upstream"), PAIRINGS)
def test_an_upstream_that_can_do_everything(recordings: Recordings, front: Front, upstream: Front) -> None:
    assert judged(recordings, FULL, front, upstream)[0] == []


@covers("differential.everything-wires", "server-everything shows the same as directly, at both wires")
@pytest.mark.node
@pytest.mark.parametrize(("front", "upstream"), PAIRINGS)
def test_server_everything(recordings: Recordings, front: Front, upstream: Front) -> None:
    assert judged(recordings, EVERYTHING, front, upstream)[0] == []


@covers("differential.tolerated", "At most twelve differences are tolerated, each by method, path and clause")
def test_the_tolerated_table_is_short_exact_and_used(recordings: Recordings) -> None:
    used = set().union(*(judged(recordings, FULL, front, upstream)[1] for front, upstream in PAIRINGS))
    assert [row for row in TOLERATED if row not in used] == []
    assert len(TOLERATED) <= LIMIT
    assert len({(row.wires, row.method, row.path) for row in TOLERATED}) == len(TOLERATED)
    assert all(row.path.startswith("$") and "*" not in row.path and row.clause for row in TOLERATED)


@pytest.mark.parametrize("upstream", FRONTS)
def test_the_taps_miss_nothing(recordings: Recordings, upstream: Front) -> None:
    """Without a proxy both wires are one: each message that one side recorded, the other did too."""
    direct = recordings.of(FULL, upstream).direct
    here, there = (sorted(f"{e.toward} {e.message}" for e in tape.entries) for tape in (direct.client, direct.upstream))
    assert here == there
    assert direct.client.problems == direct.upstream.problems == []
