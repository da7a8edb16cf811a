"""What a modern client can do with the fixture directly, it can do through wf-mcp, whatever its upstream speaks."""

from collections.abc import Iterator

import pytest
from tests.conformance.cells import REVISIONS, SKILLS, WIRES, Declared, fixture, show, through, whole, worse
from tests.conformance.compare import lost
from tests.conformance.run import Report, run
from tests.covers import covers
from tests.rawclient import Era
from tests.rig import Front, Rig

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.timeout(200)]

NAMELESS = (
    "tools-list",
    "resources-list",
    "prompts-list",
    "caching",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "sep-2164-resource-not-found",
    *SKILLS,
)
"""Scenarios that ask for nothing by its name, or only for what they found in a list: they hold under a label, too."""

NO_EXTENSION = "capabilities of 2025-11-25 have no extensions: a handshake server offers none (basic/lifecycle)"
TASKS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)
OWN_KEYS = (
    "a handshake server's question has a JSON-RPC id and no key, so the key is wf-mcp's own; "
    "the suite wants `user_name`, the specification any (basic/patterns/mrtr § InputRequiredResult)"
)
NO_STATE = (
    "a question of a handshake server always gave a requestState, so answers without one are not for it; "
    "they are refused rather than run the tool a second time (basic/patterns/mrtr § Client Requirements, matrix D.4.3)"
)
PARKED = {
    ("input-required-result-basic-elicitation", "sep-2322-elicitation-incomplete"): ("FAILURE", OWN_KEYS),
    ("input-required-result-basic-elicitation", "sep-2322-elicitation-complete"): ("not made", OWN_KEYS),
    ("input-required-result-ignore-extra-params", "sep-2322-ignore-unexpected-params"): ("WARNING", NO_STATE),
    ("input-required-result-missing-input-response", "sep-2322-missing-response-rerequests"): ("WARNING", NO_STATE),
}
IN_TIME = "sep-2575-http-server-no-independent-requests-on-stream"
STARTED_FIRST = {
    ("server-stateless", IN_TIME): (
        "FAILURE",
        "the suite waits 600 ms for an answer, and the process for a client with these capabilities "
        "is only started then (design D4)",
    ),
}
IMPOSSIBLE = dict.fromkeys((*TASKS, *SKILLS), NO_EXTENSION)
CELLS: dict[tuple[Era, Front], Declared] = {
    ("modern", "http"): Declared(),
    ("modern", "stdio"): Declared(),
    ("handshake", "http"): Declared(PARKED, IMPOSSIBLE),
    ("handshake", "stdio"): Declared(PARKED | STARTED_FIRST, IMPOSSIBLE),
}
"""What is otherwise, by the upstream's era and transport."""


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """The whole set against the fixture alone."""
    rig = Rig(tmp_path_factory.mktemp("direct"))
    yield whole(fixture(rig, "modern", "http", "direct"), "modern")
    rig.close()


@covers("conformance.2026-07-28", "The 2026-07-28 conformance set passes before upstreams of both eras")
@pytest.mark.parametrize(("upstream", "wire"), [cell for cell in CELLS if cell[1] in WIRES])
def test_nothing_is_lost_through_a_bare_mount(rig: Rig, direct: Report, upstream: Era, wire: Front) -> None:
    proxied = through(rig, "modern", upstream, wire)
    assert worse(direct, proxied, CELLS[upstream, wire]) == [], show(direct, proxied)


@covers(
    "conformance.modern-labels", "Under labels a modern client finds lists, skills and their folders conformant, too"
)
def test_nothing_is_lost_under_labels(rig: Rig, direct: Report) -> None:
    fixture(rig, "modern", "http", "one")
    fixture(rig, "handshake", "http", "two")
    proxied = run(rig.serve("http").url or "", REVISIONS["modern"], NAMELESS)
    assert lost(direct, proxied, NAMELESS, {}) == [], show(direct, proxied)
