"""The comparison is tested too: whatever a proxy might lose, double, delay or change, it sees."""

import pytest
from tests.covers import covers
from tests.differential.compare import Difference, Wire, compare
from tests.differential.mutations import MUTATIONS, Mutation, passed_on
from tests.differential.scenarios import FULL
from tests.differential.stage import LABEL, OTHER, Recorded, Recordings
from tests.differential.tap import Recording
from tests.differential.tolerated import judge

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def made(recordings: Recordings) -> Recorded:
    return recordings.of(FULL, "stdio")


@pytest.fixture(scope="module")
def perfect(made: Recorded) -> Recording:
    return passed_on(made.direct, LABEL)


def left(made: Recorded, proxied: Recording, on: tuple[Wire, ...] = ("client", "upstream")) -> list[Difference]:
    return judge(compare(made.direct, proxied, others=(OTHER,), on=on))[0]


def test_a_perfect_proxy_differs_in_nothing(made: Recorded, perfect: Recording) -> None:
    assert left(made, perfect) == []


@covers("differential.mutations", "Each fault of a long list, one dropped or changed message or field, is noticed")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_fault_is_noticed(made: Recorded, perfect: Recording, mutation: Mutation) -> None:
    assert left(made, mutation.of(perfect), (mutation.wire,)) != []


def test_faults_are_noticed_in_what_wf_mcp_relayed_too(made: Recorded) -> None:
    proxied = made.through["stdio"]
    before = left(made, proxied)
    known = {str(difference) for difference in before}
    # A message that wf-mcp loses by itself cannot be lost once more: that it does is what the scenarios say.
    absent = {(d.wire, d.step, d.method) for d in before if d.path == "$"}
    mutations = [m for m in MUTATIONS if (m.wire, m.step, m.method) not in absent]
    missed = [str(m) for m in mutations if {str(d) for d in left(made, m.of(proxied), (m.wire,))} <= known]
    assert missed == []


def test_the_list_is_long_and_has_every_kind_of_message() -> None:
    assert len(MUTATIONS) >= 30
    assert len({str(mutation) for mutation in MUTATIONS}) == len(MUTATIONS)
    kinds = {(mutation.toward, mutation.what) for mutation in MUTATIONS}
    assert kinds >= {(side, what) for side in ("client", "server") for what in ("request", "result", "error", "note")}
