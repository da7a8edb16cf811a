"""wf-mcp as a client: the suite's client scenarios are its upstream, and their client is driven from in front of it."""

import pytest
from tests.conformance.cells import EVERY_CELL, REVISIONS
from tests.conformance.client_driver import ERA_OF, SCRIPTS
from tests.conformance.run import drive, scored
from tests.covers import covers
from tests.rawclient import Era

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.timeout(120)]

EXCUSED = "auth/"
"""OAuth toward upstreams is not served: a token is configured (design D13), nobody is sent to sign in."""

SKILLS = "sep-2640-client-no-prefetch"
"""Of the skills extension, which a handshake client does not have; its other scenarios try the host, not the client."""

SCENARIOS: dict[str, tuple[str, ...]] = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
        SKILLS,
    ),
}
"""Every client scenario of a revision, those that are not scored included."""

NO_HANDSHAKE = "2026-07-28 has no handshake: basic/lifecycle of 2025-11-25 is removed (changelog, major item 1)"
UNEXERCISED = {
    ("http-standard-headers", "ClientMcpMethodHeader_initialize"): NO_HANDSHAKE,
    ("http-standard-headers", "ClientMcpMethodHeader_notifications_initialized"): NO_HANDSHAKE,
}
"""Checks that have nothing to look at, and why."""

CASES = [
    (era, revision, name)
    for revision in SCENARIOS
    for era in REVISIONS
    for name in SCENARIOS[revision]
    if era == ERA_OF[revision] or (EVERY_CELL and name != SKILLS)
]
"""The client in front speaks the upstream's era; in every cell also the other one."""


def test_every_scored_scenario_is_driven() -> None:
    for revision in REVISIONS.values():
        wanted = [name for name in scored(revision, "Client") if not name.startswith(EXCUSED)]
        assert set(wanted) <= set(SCENARIOS[revision]) <= set(SCRIPTS)


@covers("conformance.client", "As a client, wf-mcp passes the client scenarios of both revisions, OAuth excepted")
@pytest.mark.parametrize(("era", "revision", "scenario"), CASES)
def test_the_upstream_leg_passes(era: Era, revision: str, scenario: str) -> None:
    outcome = drive(era, revision, scenario)
    unexercised = [name for each, name in UNEXERCISED if each == scenario]
    told = {name: status for name, status in outcome.told()}
    assert told == dict.fromkeys(unexercised, "SKIPPED"), f"{outcome}\n{outcome.output}"
    assert outcome.passed, outcome.output
