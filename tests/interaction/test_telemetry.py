"""Traces and metrics of `wf-mcp serve` as a collector gets them, and that there are none unless somebody asks."""

from collections import Counter

import pytest
from tests.covers import covers
from tests.inbox import eventually
from tests.rawclient import ALL_CAPABILITIES
from tests.rig import ERAS, FRONTS, Rig
from tests.telemetry import PARENT, TRACE, TRACEPARENT, Collector, Told, collecting

pytestmark = pytest.mark.anyio

SERVER, CLIENT = 2, 3
META = {"traceparent": TRACEPARENT, "tracestate": "v=1", "baggage": "who=me", "k": [None]}
VARIABLES = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200"}


async def told(collector: Collector, name: str, kind: int) -> Told:
    """The one span of this name and kind, once it has come."""

    def found() -> list[Told]:
        return [span for span in collector.spans if (span.name, span.kind) == (name, kind)]

    (span,) = await eventually(found, 20)
    return span


@covers("telemetry.one-trace", "A call is one trace, from the client's span over both hops to the upstream")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("upstream", FRONTS)
async def test_a_call_is_one_trace(rig: Rig, front, era, upstream) -> None:
    rig.full("alpha", era, upstream)
    with collecting() as collector:
        rig.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **VARIABLES}
        async with rig.serve(front).raw(era) as raw:
            result = await raw.request("tools/call", {"name": "alpha.seen", "arguments": {}, "_meta": META})
            served = await told(collector, "tools/call alpha.seen", SERVER)
            sent = await told(collector, "tools/call seen", CLIENT)
            await eventually(lambda: "mcp.client.operation.duration" in collector.metrics, 20)
            await raw.items("tools/list", "tools")
    received = result["structuredContent"]["_meta"]
    assert (served.trace, served.parent) == (TRACE, PARENT)
    assert (sent.trace, sent.parent) == (TRACE, served.id)
    assert received["traceparent"] == f"00-{TRACE}-{sent.id}-01"
    assert {key: received[key] for key in META if key != "traceparent"} == {
        key: value for key, value in META.items() if key != "traceparent"
    }
    assert sent.attributes["wf_mcp.upstream"] == "alpha"
    assert collector.services == {"wf-mcp"}


@covers("telemetry.between-eras", "A call is one trace too where the client and the upstream are of different eras")
@pytest.mark.parametrize(("era", "other"), [("handshake", "modern"), ("modern", "handshake")])
async def test_a_call_between_the_eras_is_one_trace(rig: Rig, era, other) -> None:
    rig.full("alpha", other)
    with collecting() as collector:
        rig.env |= {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces", **VARIABLES}
        async with rig.serve().raw(era, capabilities=ALL_CAPABILITIES) as raw:
            result = await raw.request("tools/call", {"name": "alpha.seen", "arguments": {}, "_meta": META})
            served = await told(collector, "tools/call alpha.seen", SERVER)
            sent = await told(collector, "tools/call seen", CLIENT)
    assert (served.trace, served.parent, sent.trace, sent.parent) == (TRACE, PARENT, TRACE, served.id)
    assert result["structuredContent"]["_meta"]["traceparent"] == f"00-{TRACE}-{sent.id}-01"


@covers("telemetry.no-spans-twice", "One request is one span on each hop, whoever could make more of them")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_request_is_one_span_on_each_hop(rig: Rig, front) -> None:
    rig.upstream("alpha", {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
    with collecting() as collector:
        rig.env |= {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces", **VARIABLES}
        async with rig.serve(front).raw() as raw:
            await raw.call("alpha.t")
            await raw.items("tools/list", "tools")
            await raw.request("ping")
            await told(collector, "ping", SERVER)
    served = Counter(span.attributes["mcp.method.name"] for span in collector.spans if span.kind == SERVER)
    sent = Counter(span.attributes["mcp.method.name"] for span in collector.spans if span.kind == CLIENT)
    assert served == {"initialize": 1, "tools/call": 1, "tools/list": 1, "ping": 1}
    assert sent == Counter(request["method"] for request in rig["alpha"].events("request"))
    assert {span.parent for span in collector.spans if (span.name, span.kind) == ("initialize", CLIENT)} == {""}
    assert {span.scope for span in collector.spans} == {"wf_mcp"}
    assert collector.metrics == set()


@covers(
    "telemetry.off", "Where nobody asks for telemetry, a client's trace context passes untouched, and no other is made"
)
@pytest.mark.parametrize("era", ERAS)
async def test_without_telemetry_nothing_is_made_and_nothing_changes(rig: Rig, era) -> None:
    rig.full("alpha", era)
    with collecting() as collector:
        rig.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SDK_DISABLED": "true"}
        async with rig.serve().raw(era) as raw:
            result = await raw.request("tools/call", {"name": "alpha.seen", "arguments": {}, "_meta": META})
            bare = await raw.call("alpha.seen")
    received = result["structuredContent"]["_meta"]
    assert {key: received.get(key) for key in META} == META
    assert "traceparent" not in bare["structuredContent"]["_meta"]
    assert (collector.spans, collector.metrics) == ([], set())
