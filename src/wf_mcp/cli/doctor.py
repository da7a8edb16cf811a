"""What `wf-mcp check` says of each upstream: how it is, or what it has and what to do about it."""

import time
from collections.abc import Callable
from typing import Final

from rich.table import Table

from wf_mcp.core.events import Event, UpstreamReady, UpstreamStarting
from wf_mcp.core.reports import SessionStatus, UpstreamInventory, UpstreamStatus

GOOD: Final = frozenset({"ready", "disabled"})
COLUMNS: Final = (
    *("upstream", "names", "state", "transport", "era", "start", "server", "tools", "prompts", "resources"),
)
STDERR: Final = 3
"""Lines of a process's stderr that are shown."""


class StartTimes:
    """The sink that measures how long upstreams take from their start to the end of their handshake."""

    name = "start times"

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: dict[str, float] = {}
        self._took: dict[str, float] = {}

    def offer(self, event: Event) -> None:
        """Note when an upstream starts, and when it is there."""
        if isinstance(event, UpstreamStarting):
            self._begun[event.mount] = self._clock()
        elif isinstance(event, UpstreamReady) and event.mount in self._begun:
            self._took[event.mount] = self._clock() - self._begun[event.mount]

    def of(self, upstream: str) -> str:
        """How long it took, in words; empty for one that is not there."""
        return f"{self._took[upstream]:.1f} s" if upstream in self._took else ""


def table_of(upstreams: list[UpstreamStatus], found: dict[str, UpstreamInventory], starts: StartTimes) -> Table:
    """One row for each upstream."""
    table = Table(*COLUMNS, box=None, pad_edge=False)
    for upstream in upstreams:
        offered, session = found[upstream.id], _session(upstream)
        era = " ".join(filter(None, (session.era, session.protocol_version))) if session is not None else ""
        server = " ".join(filter(None, (session.server_name, session.server_version))) if session is not None else ""
        counts = (offered.tools, offered.prompts, [*offered.resources, *offered.templates])
        table.add_row(
            upstream.id,
            f"{upstream.label}.*" if upstream.label else "(bare)",
            upstream.state,
            upstream.transport,
            era,
            starts.of(upstream.id),
            server,
            *(str(len(items)) for items in counts),
        )
    return table


def diagnosis(upstream: UpstreamStatus, wait: float) -> tuple[str, str] | None:
    """What is wrong with an upstream, its class first, and what to do about it; `None` for one that is well."""
    if upstream.state in GOOD:
        return None
    session = _session(upstream)
    if session is None:
        return f"not started: {upstream.reason or upstream.state}", "correct its entry in the configuration"
    if upstream.state == "starting":
        what = f"unanswered: it has not answered initialize within {wait:g} s"
        return what + _stderr(session, what), "wait longer (--wait), or look at what it does"
    failure = session.last_failure
    what = f"{failure.kind if failure is not None else upstream.state}: {upstream.reason or 'no reason is known'}"
    advice = failure.advice if failure is not None else "look at the server's own log"
    return what + _stderr(session, what), advice


def _stderr(session: SessionStatus, said: str) -> str:
    """The end of a process's stderr, where it is not told already."""
    tail = session.stderr_tail[-STDERR:]
    return f"; stderr: {' | '.join(tail)}" if tail and "stderr" not in said else ""


def _session(upstream: UpstreamStatus) -> SessionStatus | None:
    return upstream.sessions[0] if upstream.sessions else None
