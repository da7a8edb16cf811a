"""The differences that are decided: each names one method, one JSON path, and the clause or decision behind it.

A path covers what is under it; `$` is the whole message: that it is there at all. A row that no run uses fails a test.
Names, URIs, ids, tokens and cursors are not here: they are mapped back, and their mapping is compared.
"""

import re
from dataclasses import dataclass

from tests.differential.compare import Difference, Wire

LIMIT = 12
KEPT = "design D4, D5, matrix B.1: lists are aggregated from a catalogue that is asked for once and kept"


BOTH: tuple[Wire, ...] = ("client", "upstream")


@dataclass(frozen=True)
class Row:
    """One tolerated difference; `wires` says on which side of wf-mcp it is seen."""

    wires: tuple[Wire, ...]
    method: str
    path: str
    clause: str

    def covers(self, difference: Difference) -> bool:
        """Whether a difference is this one."""
        found = re.sub(r"\[\d+\]", "[]", difference.path)
        under = self.path != "$" and found.startswith((f"{self.path}.", f"{self.path}["))
        return difference.wire in self.wires and difference.method == self.method and (under or found == self.path)


TOLERATED: tuple[Row, ...] = (
    Row(("client",), "initialize", "$.result.serverInfo", "design D16, matrix D.1: we are who answers"),
    Row(("client",), "initialize", "$.result.instructions", "design D16, matrix D.1: merged, labelled, capped"),
    Row(("client",), "initialize", "$.result.capabilities.experimental", "matrix D.1: unknown semantics do not merge"),
    Row(("client",), "elicitation/create", "$.params.message", "design D16: the user has to see who asks"),
    Row(("client",), "sampling/createMessage", "$.params.includeContext", "design D13: the context of all is for none"),
    Row(BOTH, "notifications/cancelled", "$.params._meta", "matrix B.2, B.4: each leg cancels by its own means"),
    Row(BOTH, "ping", "$", "matrix B.1, B.3: a ping is each hop's own"),
    Row(("upstream",), "tools/list", "$", KEPT),
    Row(("upstream",), "prompts/list", "$", KEPT),
    Row(("upstream",), "resources/list", "$", KEPT),
    Row(("upstream",), "resources/templates/list", "$", KEPT),
)


def judge(differences: list[Difference]) -> tuple[list[Difference], set[Row]]:
    """(what nothing tolerates, the rows that were used)."""
    used: set[Row] = set()
    left: list[Difference] = []
    for difference in without_whole(differences):
        rows = [row for row in TOLERATED if row.covers(difference)]
        used.update(rows)
        if not rows:
            left.append(difference)
    return left, used


def without_whole(differences: list[Difference]) -> list[Difference]:
    """The differences, those of order left out that only come from messages whose absence is tolerated."""
    return [d for d in differences if d.method != "order" or ordered(d) != ordered(d, proxied=True)]


def ordered(difference: Difference, *, proxied: bool = False) -> list[tuple[str, str, str]]:
    """The order of what is not tolerated to be absent."""
    absent = {row.method for row in TOLERATED if row.path == "$" and difference.wire in row.wires}
    events = difference.proxied if proxied else difference.direct
    return [event for event in events if event[2] not in absent]
