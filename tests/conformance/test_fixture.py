"""What the comparison stands on: the fixture passes everything when it is served directly, in each of its forms."""

import pytest
from tests import servers
from tests.conformance.cells import REVISIONS, SKILLS, whole
from tests.conformance.compare import table
from tests.conformance.run import scored
from tests.covers import covers
from tests.rawclient import Era
from tests.rig import Rig, free_port

pytestmark = [pytest.mark.node, pytest.mark.timeout(200)]

UNSCORED: dict[Era, set[str]] = {
    "handshake": {"server-session-lifecycle", "json-schema-2020-12", "server-sse-polling"},
    "modern": {
        "json-schema-2020-12",
        "http-header-validation",
        "http-custom-header-server-validation",
        "tasks-lifecycle",
        "tasks-capability-negotiation",
        "tasks-wire-fields",
        "tasks-request-state-removal",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-dispatch-and-envelope",
        "tasks-required-task-error",
        "tasks-mrtr-composition",
        *SKILLS,
    },
}
"""What a revision runs and reports without counting it, and the extensions; the fixture passes it all the same."""

UNWRITTEN = "tasks-status-notifications"
"""A scenario that the suite itself skips, whatever the server does: "the harness needs a rewrite"."""

FORMS = [("handshake", "handshake"), ("modern", "modern"), ("handshake", "both")]


@covers("conformance.fixture", "Served directly, the conformance fixture passes both sets, tasks and skills included")
@pytest.mark.parametrize(("era", "form"), FORMS)
def test_the_fixture_passes_everything_directly(rig: Rig, era: Era, form: str) -> None:
    url = f"http://127.0.0.1:{(port := free_port())}/mcp"
    rig.server("fixture", servers.conformance("http", str(port), "--era", form), url)
    report = {name: outcome for name, outcome in whole(url, era).items() if name != UNWRITTEN}
    assert set(report) == {*scored(REVISIONS[era]), *UNSCORED[era]}
    assert [name for name, outcome in report.items() if not outcome.spotless] == [], table({"direct": report}, report)
