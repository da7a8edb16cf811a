"""What passes against the fixture directly passes through wf-mcp, check by check."""

from collections.abc import Iterable, Iterator

import pytest
from tests import servers
from tests.conformance.compare import lost, table
from tests.conformance.run import Report, run
from tests.covers import covers
from tests.rig import Front, Rig, free_port

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.timeout(200)]

REVISION = "2025-11-25"
UPSTREAMS: tuple[Front, ...] = ("stdio", "http")

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
        "the broken stream is the upstream's; wf-mcp resumes it there, and the client's own stream stays whole",
    ),
}


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    """The whole set against the fixture alone."""
    rig = Rig(tmp_path_factory.mktemp("direct"))
    yield run(fixture(rig, "http", "direct"), REVISION)
    rig.close()


def fixture(rig: Rig, transport: Front, name: str, **settings: str) -> str:
    """Adds the fixture as an upstream with wf-mcp's `settings`, and gives its URL when it has one."""
    if transport == "stdio":
        rig.command(name, servers.conformance("stdio"), wf=settings)
        return ""
    url = f"http://127.0.0.1:{(port := free_port())}/mcp"
    rig.server(name, servers.conformance("http", str(port)), url)
    rig.entries[name]["wf"] = settings
    return url


def show(direct: Report, proxied: Report, scenarios: Iterable[str]) -> str:
    """The two reports side by side."""
    return "\n" + table({"direct": direct, "wf-mcp": proxied}, scenarios)


@covers("conformance.bare", "Through a bare mount the 2025-11-25 conformance set passes as it does directly")
@pytest.mark.parametrize("transport", UPSTREAMS)
def test_nothing_is_lost_through_a_bare_mount(rig: Rig, direct: Report, transport: Front) -> None:
    fixture(rig, transport, "fixture", namespace="")
    proxied = run(rig.serve("http").url or "", REVISION)
    assert lost(direct, proxied, direct, OTHERWISE) == [], show(direct, proxied, direct)


@covers("conformance.labels", "Conformance scenarios that ask for nothing by name pass under labels, too")
def test_nothing_is_lost_under_labels(rig: Rig, direct: Report) -> None:
    for name in ("one", "two"):
        fixture(rig, "http", name)
    proxied = run(rig.serve("http").url or "", REVISION, NAMELESS)
    assert lost(direct, proxied, NAMELESS, OTHERWISE) == [], show(direct, proxied, NAMELESS)
