"""What is counted beside requests: starts and losses from the bus, and what there is at the moment (design D9).

An SDK reads what there is from a thread of its own, so that everything that changes is copied before it is looked at.
"""

from collections.abc import Callable, Iterable

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from wf_mcp.core.events import Event, UpstreamFailed, UpstreamGone, UpstreamStarting
from wf_mcp.core.telemetry import (
    CLIENTS,
    DROPPED,
    FAILURES,
    LOSSES,
    PARKED,
    RESTARTS,
    SESSIONS,
    STARTS,
    STREAMS,
    UPSTREAM,
)
from wf_mcp.runtime.mounts import Mounts

Count = Callable[[], int]


class LifeMetrics:
    """The sink that counts how upstreams come and go."""

    name = "metrics"

    def __init__(self, meter: Meter) -> None:
        self._starts, self._restarts, self._failures, self._losses = (
            meter.create_counter(each.name, each.unit, each.description)
            for each in (STARTS, RESTARTS, FAILURES, LOSSES)
        )
        self._missed: set[str] = set()

    def offer(self, event: Event) -> None:
        """Count a start, a failure or a loss; a start after one of these is a restart."""
        said = {UPSTREAM: event.mount}
        match event:
            case UpstreamStarting():
                self._starts.add(1, said)
                if event.mount in self._missed:
                    self._missed.discard(event.mount)
                    self._restarts.add(1, said)
            case UpstreamFailed():
                self._missed.add(event.mount)
                self._failures.add(1, said)
            case UpstreamGone():
                self._missed.add(event.mount)
                self._losses.add(1, said)
            case _:
                pass


def observe(meter: Meter, mounts: Mounts, *, clients: Count, streams: Count, parked: Count, dropped: Count) -> None:
    """Let `meter` read what there is, whenever somebody wants to know."""

    def sessions(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(opened, {UPSTREAM: upstream}) for upstream, opened in open_sessions(mounts).items()]

    meter.create_observable_gauge(SESSIONS.name, [sessions], SESSIONS.unit, SESSIONS.description)
    for instrument, count in ((CLIENTS, clients), (STREAMS, streams), (PARKED, parked)):
        meter.create_observable_gauge(instrument.name, [_reading(count)], instrument.unit, instrument.description)
    meter.create_observable_counter(DROPPED.name, [_reading(dropped)], DROPPED.unit, DROPPED.description)


def open_sessions(mounts: Mounts) -> dict[str, int]:
    """How many sessions of each upstream are connected."""
    return {
        mount.id: sum(session.state.value == "ready" for session in list(mount.sessions.values()))
        for mount in list(mounts)
    }


def _reading(count: Count) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _: [Observation(count())]
