"""What is counted beside requests: how upstreams come and go, and what there is at the moment."""

from collections import deque
from typing import Any

import pytest
from tests.runtime.memory import Twin
from tests.runtime.stage import stage
from tests.telemetry import Heard

from wf_mcp.core.events import ToolsChanged, UpstreamFailed, UpstreamGone, UpstreamReady, UpstreamStarting
from wf_mcp.core.telemetry import INSTRUMENTS
from wf_mcp.edge.telemetry_metrics import LifeMetrics, observe

pytestmark = pytest.mark.anyio


def counted(heard: Heard) -> dict[str, Any]:
    names = ("starts", "restarts", "failures", "losses")
    return {name: heard.points(f"wf_mcp.upstream.{name}") for name in names}


def test_starts_failures_and_losses_are_counted_and_what_follows_one_is_a_restart() -> None:
    heard = Heard()
    sink = LifeMetrics(heard.telemetry.meter)
    life = [UpstreamStarting("a"), UpstreamFailed("a", "x"), UpstreamStarting("a"), UpstreamReady("a", "s", "1")]
    for event in (*life, UpstreamGone("a", "y"), UpstreamStarting("a"), UpstreamStarting("b"), ToolsChanged("a")):
        sink.offer(event)
    a, b = "wf_mcp.upstream=a", "wf_mcp.upstream=b"
    assert counted(heard) == {"starts": {a: 3, b: 1}, "restarts": {a: 2}, "failures": {a: 1}, "losses": {a: 1}}


async def test_what_there_is_at_the_moment_is_read_when_somebody_wants_to_know() -> None:
    heard = Heard()
    twin, broken = Twin("a"), Twin("b", starts=deque(["no"]))
    async with stage(twin, broken) as runtime:
        numbers = {"clients": 2, "streams": 3, "parked": 4, "dropped": 5}
        counts: Any = {name: lambda name=name: numbers[name] for name in numbers}
        observe(heard.telemetry.meter, runtime.mounts, **counts)
        assert heard.points("wf_mcp.upstream.sessions") == {"wf_mcp.upstream=a": 0, "wf_mcp.upstream=b": 0}
        await runtime.ready()
        assert heard.points("wf_mcp.upstream.sessions") == {"wf_mcp.upstream=a": 1, "wf_mcp.upstream=b": 0}
        numbers["parked"] = 0
        read = ("wf_mcp.clients", "wf_mcp.listen.streams", "wf_mcp.calls.parked", "wf_mcp.events.dropped")
        assert [heard.points(name) for name in read] == [{"": 2}, {"": 3}, {"": 0}, {"": 5}]


def test_what_clients_ask_for_is_no_name_of_a_metric() -> None:
    assert all(each.name.startswith(("mcp.", "wf_mcp.")) for each in INSTRUMENTS)
