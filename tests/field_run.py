"""Whether the tests of `field_cases.py` ran and passed: a pytest plugin that speaks up when the whole suite was run."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from tests.field_cases import CASES

TESTS = Path(__file__).parent
SELECTING = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "last_failed", "stepwise", "collectonly")
"""Options of pytest that leave tests out."""


class FieldRun:
    """Notes how each test ended, and fails a whole run in which a listed one did not pass."""

    def __init__(self, config: pytest.Config) -> None:
        self._whole = whole(config)
        self._passed: dict[str, bool] = {}
        self._missing: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test of several parameters has passed when all of them have; a skipped one has not."""
        if report.when == "call" or report.outcome != "passed":
            name = bare(report.nodeid)
            self._passed[name] = self._passed.get(name, True) and report.outcome == "passed"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A run that would have been a success is none when a listed test is missing from it."""
        if self._whole and session.exitstatus == pytest.ExitCode.OK:
            self._missing = missing({case: row.tests for case, row in CASES.items()}, self._passed)
            if self._missing:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Which cases are not shown any more."""
        if self._missing:
            terminalreporter.section("field cases whose tests did not run and pass", red=True)
            for case, tests in self._missing.items():
                terminalreporter.line(f"{case}: {', '.join(tests)} (tests/field_cases.py)")


def whole(config: pytest.Config) -> bool:
    """Whether all tests are to be run: nothing is selected or left out, and no path is named but the whole folder's."""
    if any(getattr(config.option, name, None) for name in SELECTING):
        return False
    named = [Path(config.invocation_params.dir, argument.partition("::")[0]) for argument in config.args]
    return any(TESTS.is_relative_to(path.resolve()) for path in named) and not any("::" in each for each in config.args)


def bare(node: str) -> str:
    """The id without its parameters, relative to `tests/`."""
    return node.partition("[")[0].removeprefix("tests/")


def missing(listed: Mapping[str, Iterable[str]], passed: Mapping[str, bool]) -> dict[str, list[str]]:
    """By case, the listed tests that did not run or did not pass."""
    found = {case: [test for test in tests if not passed.get(test, False)] for case, tests in listed.items()}
    return {case: tests for case, tests in found.items() if tests}
