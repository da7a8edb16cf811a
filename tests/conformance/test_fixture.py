"""What the comparison stands on: the fixture passes everything when it is served directly."""

import pytest
from tests import servers
from tests.conformance.compare import table
from tests.conformance.run import run, scored
from tests.covers import covers
from tests.rig import Rig, free_port

pytestmark = [pytest.mark.node, pytest.mark.timeout(200)]

UNSCORED = {
    "2025-11-25": {"server-session-lifecycle", "json-schema-2020-12", "server-sse-polling"},
    "2026-07-28": {"json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"},
}
"""What a revision runs and reports without counting it; the fixture passes it all the same."""

EXTENSION = "tasks-"
"""Scenarios of the tasks extension, which the fixture does not offer; 2026-07-28 does not score them."""


@covers("conformance.fixture", "Served directly, the conformance fixture passes both revisions without a warning")
@pytest.mark.parametrize("revision", UNSCORED)
def test_the_fixture_passes_everything_directly(rig: Rig, revision: str) -> None:
    url = f"http://127.0.0.1:{(port := free_port())}/mcp"
    rig.server("fixture", servers.conformance("http", str(port)), url)
    report = {name: outcome for name, outcome in run(url, revision).items() if not name.startswith(EXTENSION)}
    assert set(report) == {*scored(revision), *UNSCORED[revision]}
    assert [name for name, outcome in report.items() if not outcome.spotless] == [], table({"direct": report}, report)
