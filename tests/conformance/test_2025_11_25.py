"""What a handshake client can do with the fixture directly, it can do through wf-mcp, whatever its upstream speaks."""

from collections.abc import Iterator

import pytest
from tests.conformance.cells import REVISIONS, WIRES, Declared, fixture, show, through, whole, worse
from tests.conformance.compare import lost
from tests.conformance.run import Report, run
from tests.covers import covers
from tests.rawclient import Era
from tests.rig import Front, Rig

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.timeout(200)]

NAMELESS = (
    "server-initialize",
    "server-session-lifecycle",
    "logging-set-level",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
"""Scenarios that ask for no tool, prompt or resource by its name: they hold under a label, too."""

OTHERWISE = {
    # (scenario, check): (status through wf-mcp, why that is no loss)
    ("server-sse-multiple-streams", "server-sse-streams-functional"): (
        "INFO",
        "wf-mcp answers a request with plain JSON until something precedes the result (design D1)",
    ),
    ("server-sse-polling", "server-sse-disconnect-resume"): (
        "INFO",
        "the broken stream is the upstream's; wf-mcp resumes it there, and the client's own stream stays whole "
        "(2026-07-28 has none to break: changelog, major item 9)",
    ),
}
UPSTREAMS: dict[Era, Declared] = {"handshake": Declared(OTHERWISE), "modern": Declared(OTHERWISE)}


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """The whole set against the fixture alone."""
    rig = Rig(tmp_path_factory.mktemp("direct"))
    yield whole(fixture(rig, "handshake", "http", "direct"), "handshake")
    rig.close()


@covers("conformance.2025-11-25", "The 2025-11-25 conformance set passes before upstreams of both eras")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_nothing_is_lost_through_a_bare_mount(rig: Rig, direct: Report, upstream: Era, wire: Front) -> None:
    proxied = through(rig, "handshake", upstream, wire)
    assert worse(direct, proxied, UPSTREAMS[upstream]) == [], show(direct, proxied)


@covers("conformance.labels", "Conformance scenarios that ask for nothing by name pass under labels, too")
def test_nothing_is_lost_under_labels(rig: Rig, direct: Report) -> None:
    fixture(rig, "handshake", "http", "one")
    fixture(rig, "modern", "http", "two")
    proxied = run(rig.serve("http").url or "", REVISIONS["handshake"], NAMELESS)
    excepted = {key: reason for key, reason in OTHERWISE.items() if key[0] in NAMELESS}
    assert lost(direct, proxied, NAMELESS, excepted) == [], show(direct, proxied)
