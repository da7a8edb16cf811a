"""Two runs of the conformance suite side by side: the same server directly and through wf-mcp.

Stricter than the suite's own verdict: a check that succeeds directly must succeed through wf-mcp, not just not fail,
and scenarios that a revision does not score count as well.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from tests.conformance.run import Outcome, Report

Exceptions: TypeAlias = Mapping[tuple[str, str], tuple[str, str]]
"""By scenario and check: the status that is right through wf-mcp though it was SUCCESS directly, and why."""


def lost(direct: Report, proxied: Report, scenarios: Iterable[str], exceptions: Exceptions) -> list[str]:
    """Every check that is worse through wf-mcp, and every exception of these scenarios that is not needed."""
    found = []
    for scenario in scenarios:
        after = proxied.get(scenario, Outcome())
        for check, wanted in _wanted(scenario, direct[scenario], after, exceptions):
            status = after.checks.get(check, "not made")
            if status != wanted:
                found.append(
                    f"{scenario}: {check}: {status} instead of {wanted} {after.reasons.get(check, '')}".rstrip()
                )
    return found


def _wanted(scenario: str, direct: Outcome, after: Outcome, exceptions: Exceptions) -> Iterator[tuple[str, str]]:
    """The checks to look at, each with the status it should have; what the suite only notes is not looked at."""
    succeeded = [check for check, status in direct.checks.items() if status == "SUCCESS"]
    excepted = [check for each, check in exceptions if each == scenario]
    for check in dict.fromkeys([*succeeded, *(check for check, _ in after.told()), *excepted]):
        yield check, exceptions.get((scenario, check), (direct.checks.get(check, "not made"), ""))[0]


def table(columns: Mapping[str, Report], scenarios: Iterable[str]) -> str:
    """Reports side by side, one scenario a line, and below what was not in order."""
    names = list(scenarios)
    width = max(len(name) for name in ("scenario", *names))
    lines = ["  ".join(["scenario".ljust(width), *columns])]
    for name in names:
        cells = [_mark(report.get(name)).ljust(len(title)) for title, report in columns.items()]
        lines.append("  ".join([name.ljust(width), *cells]).rstrip())
    for title, report in columns.items():
        told = [(name, report.get(name)) for name in names]
        lines += [f"{title}: {name}: {found}" for name, found in told if found is None or not found.spotless]
    return "\n".join(lines)


def _mark(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not run"
    return ("pass" if outcome.spotless else "warned") if outcome.passed else "FAIL"
