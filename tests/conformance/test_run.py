"""The comparison notices what it is there for."""

import pytest
from tests.conformance.cells import Declared, worse
from tests.conformance.compare import lost, table
from tests.conformance.run import Outcome, Report, run
from tests.rig import free_port

GOOD: Report = {"ping": Outcome({"ping": "SUCCESS", "traffic": "INFO"})}


@pytest.mark.node
def test_a_server_that_is_not_there_fails_with_its_reason() -> None:
    report = run(f"http://127.0.0.1:{free_port()}/mcp", "2025-11-25", ["ping", "tools-list"])
    assert {name: outcome.passed for name, outcome in report.items()} == {"ping": False, "tools-list": False}
    assert "fetch failed" in str(report["ping"])


def test_the_worst_of_several_equal_checks_counts() -> None:
    outcome = Outcome()
    for status in ("SUCCESS", "FAILURE", "SUCCESS"):
        outcome.add({"id": "same", "status": status, "errorMessage": f"was {status}"})
    assert (outcome.passed, str(outcome)) == (False, "same: FAILURE was FAILURE")


def test_a_scenario_in_which_nothing_was_checked_has_not_passed() -> None:
    assert not Outcome({"traffic": "INFO"}).passed


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({}, "not made"),
        ({"ping": Outcome({"traffic": "INFO"})}, "not made"),
        ({"ping": Outcome({"ping": "WARNING"})}, "WARNING"),
        ({"ping": Outcome({"ping": "SKIPPED"})}, "SKIPPED"),
        ({"ping": Outcome({"ping": "INFO"})}, "INFO"),
    ],
)
def test_a_check_that_is_worse_or_missing_is_lost(after: Report, told: str) -> None:
    assert lost(GOOD, after, GOOD, {}) == [f"ping: ping: {told} instead of SUCCESS"]


def test_a_failure_of_a_check_that_was_not_made_directly_is_lost() -> None:
    after = {"ping": Outcome({"ping": "SUCCESS", "new": "FAILURE"}, {"new": "no answer"})}
    assert lost(GOOD, after, GOOD, {}) == ["ping: new: FAILURE instead of not made no answer"]


def test_an_exception_is_needed_or_reported() -> None:
    exceptions = {("ping", "ping"): ("INFO", "for a reason")}
    assert lost(GOOD, {"ping": Outcome({"ping": "INFO"})}, GOOD, exceptions) == []
    assert lost(GOOD, GOOD, GOOD, exceptions) == ["ping: ping: SUCCESS instead of INFO"]


def test_the_table_has_a_line_per_scenario_and_the_reasons_below() -> None:
    bad = {"ping": Outcome({"ping": "FAILURE"}, {"ping": "no answer"})}
    assert table({"direct": GOOD, "wf-mcp": bad}, ["ping"]).splitlines() == [
        "scenario  direct  wf-mcp",
        "ping      pass    FAIL",
        "wf-mcp: ping: ping: FAILURE no answer",
    ]


def test_an_exception_from_a_check_that_nobody_made_is_needed_or_reported() -> None:
    exceptions = {("ping", "new"): ("FAILURE", "for a reason")}
    after = {"ping": Outcome({"ping": "SUCCESS", "new": "FAILURE"})}
    assert lost(GOOD, after, GOOD, exceptions) == []
    assert lost(GOOD, GOOD, GOOD, exceptions) == ["ping: new: not made instead of FAILURE"]


def test_a_scenario_declared_impossible_that_passes_is_reported() -> None:
    declared = Declared(impossible={"ping": "for a reason"})
    assert worse(GOOD, {"ping": Outcome({"ping": "FAILURE"})}, declared) == []
    assert worse(GOOD, GOOD, declared) == ["ping: passes, though it is declared not to"]
