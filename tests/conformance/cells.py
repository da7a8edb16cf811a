"""A client of one era, wf-mcp with a bare mount, and the fixture as an upstream of one era.

The client is the suite's: it speaks its own era to the fixture directly, and the same through wf-mcp.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests import servers
from tests.conformance.compare import Exceptions, lost, table
from tests.conformance.run import Report, run
from tests.rawclient import Era
from tests.rig import Front, Rig, end, free_port

REVISIONS: dict[Era, str] = {"handshake": "2025-11-25", "modern": "2026-07-28"}
SKILLS = ("sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest")
"""Scenarios of an extension that no revision's set names; they run at the modern wire."""

ASKING = "input-required-result-"
"""Scenarios in which the client is asked something."""

EVERY_CELL = bool(os.environ.get("WF_MCP_EVERY_CELL"))
"""Set by `make conformance`. CI runs the HTTP cells: the others show the same, and take as long again."""

WIRES: tuple[Front, ...] = ("http", "stdio") if EVERY_CELL else ("http",)
"""The upstream's transports."""


@dataclass(frozen=True)
class Declared:
    """What is otherwise in a cell; whatever is declared and not so fails the test."""

    otherwise: Exceptions = field(default_factory=dict)
    """Checks with another status, each with the clause or decision behind it."""

    impossible: Mapping[str, str] = field(default_factory=dict)
    """Scenarios that cannot pass there at all, each with its clause."""


def whole(url: str, era: Era) -> Report:
    """The set of the era's revision, scored or not, and the extensions that go with it."""
    report = run(url, REVISIONS[era])
    return report if era == "handshake" else report | run(url, REVISIONS[era], SKILLS)


def fixture(rig: Rig, era: Era, wire: Front, name: str = "fixture", **settings: str) -> str:
    """Adds the fixture as an upstream with wf-mcp's `settings`, and gives its URL when it has one."""
    if wire == "stdio":
        rig.command(name, servers.conformance("stdio", "--era", era), wf=settings)
        return ""
    url = f"http://127.0.0.1:{(port := free_port())}/mcp"
    rig.server(name, servers.conformance("http", str(port), "--era", era), url)
    rig.entries[name]["wf"] = settings
    return url


def through(rig: Rig, era: Era, upstream: Era, wire: Front) -> Report:
    """The set of `era` through a bare mount of the fixture in era `upstream`.

    The suite leaves calls waiting for an answer. On a stdio session that all modern clients share nobody else can be
    asked meanwhile (matrix D.4.8, design D4), so there each scenario that asks gets a wf-mcp of its own.
    """
    fixture(rig, upstream, wire, namespace="")
    report = whole(rig.serve("http").url or "", era)
    if (era, upstream, wire) == ("modern", "handshake", "stdio"):
        for scenario in [name for name in report if name.startswith(ASKING)]:
            end(rig.process)
            report |= run(rig.serve("http").url or "", REVISIONS[era], [scenario])
    return report


def worse(direct: Report, proxied: Report, declared: Declared) -> list[str]:
    """What was lost on the way, and what was declared in vain."""
    possible = [name for name in direct if name not in declared.impossible]
    found = lost(direct, proxied, possible, declared.otherwise)
    in_vain = [name for name in declared.impossible if name not in proxied or not proxied[name].told()]
    return found + [f"{name}: passes, though it is declared not to" for name in in_vain]


def show(direct: Report, proxied: Report) -> str:
    """The two reports side by side."""
    return "\n" + table({"direct": direct, "wf-mcp": proxied}, direct)
