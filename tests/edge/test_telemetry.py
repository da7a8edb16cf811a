"""Spans on both hops of a request, and how long they took (OpenTelemetry semantic conventions for MCP; SEP-414)."""

from functools import partial
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from mcp_types import CallToolResult
from opentelemetry import context, trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from tests.edge.peer import Hearing, Peer, hop_to
from tests.edge.wire import handshake, over_http
from tests.inbox import JsonObject
from tests.runtime.stage import upstream
from tests.telemetry import PARENT, TRACE, TRACEPARENT, Heard, ids

from wf_mcp.core.config import HttpTransport
from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.edge.error_watch import mcp_error
from wf_mcp.edge.telemetry import OTelTelemetry
from wf_mcp.edge.telemetry_front import FrontSpans
from wf_mcp.runtime.ports import PLAIN, Sending

pytestmark = pytest.mark.anyio

OTHER_TRACE = f"00-{'1' * 32}-{'2' * 16}-01"


async def relayed(
    telemetry: OTelTelemetry, peer: Peer, params: JsonObject | None = None, request: Any = None, **sending: Any
) -> Any:
    """One `tools/call` from a client through the front's watch, and over a hop to `peer`: its result, or its error."""
    params = {"name": "up.echo", "arguments": {}, **(params or {})}
    async with hop_to(peer, telemetry=telemetry) as hop:

        async def onward(ctx: Any) -> Any:
            return await hop.request("tools/call", {**ctx.params, "name": "echo"}, Sending(**sending), VERSIONED)

        context = handshake().context("tools/call", params, request=request)
        try:
            return await FrontSpans(telemetry, "tcp")(context, onward)
        except WfMcpError as error:
            return error


VERSIONED = {"mcp-protocol-version": "2025-06-18"}


def meta_of(peer: Peer) -> Any:
    """The `_meta` that reached the upstream."""
    (came,) = peer.came.of("tools/call")
    return (came["params"] or {}).get("_meta")


async def test_one_call_is_one_trace_from_the_client_s_span_to_the_upstream() -> None:
    heard, peer = Heard(), Peer({"tools/call": {"content": []}})
    await relayed(heard.telemetry, peer, {"_meta": {"traceparent": TRACEPARENT, "baggage": "who=me", "k": None}})
    sent, served = heard.named("tools/call echo", "CLIENT"), heard.named("tools/call up.echo", "SERVER")
    assert ids(served) == (TRACE, ids(served)[1], PARENT)
    assert ids(sent) == (TRACE, ids(sent)[1], ids(served)[1])
    assert meta_of(peer) == {"traceparent": f"00-{TRACE}-{ids(sent)[1]}-01", "baggage": "who=me", "k": None}
    assert len(heard.spans) == 2


async def test_spans_say_what_the_conventions_ask_for() -> None:
    heard = Heard()
    await relayed(heard.telemetry, Peer({"tools/call": {"content": []}}))
    assert [dict(span.attributes or {}) for span in heard.spans] == snapshot(
        [
            {
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "echo",
                "wf_mcp.upstream": "up",
                "network.transport": "pipe",
                "mcp.protocol.version": "2025-06-18",
            },
            {
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "up.echo",
                "network.transport": "tcp",
                "jsonrpc.request.id": "1",
                "mcp.protocol.version": "2025-11-25",
            },
        ]
    )
    assert {span.status.status_code.name for span in heard.spans} == {"UNSET"}


@pytest.mark.parametrize("wanted", [None, {"traceparent": TRACEPARENT, "baggage": "a=b"}, {"traceparent": 5}], ids=str)
async def test_where_nobody_traces_nothing_changes_on_the_wire(wanted: JsonObject | None) -> None:
    peer = Peer({"tools/call": {"content": []}})
    await relayed(OTelTelemetry(), peer, None if wanted is None else {"_meta": wanted})
    assert meta_of(peer) == wanted


async def test_where_a_trace_is_not_sampled_the_client_s_own_passes() -> None:
    heard, peer = Heard(ParentBased(ALWAYS_OFF)), Peer({"tools/call": {"content": []}})
    unsampled = TRACEPARENT[:-1] + "0"
    await relayed(heard.telemetry, peer, {"_meta": {"traceparent": unsampled}})
    assert (meta_of(peer), heard.spans) == ({"traceparent": unsampled}, [])


async def test_the_http_request_is_the_parent_where_the_message_names_none_and_is_linked_where_it_does() -> None:
    heard = Heard()
    http = over_http(traceparent=TRACEPARENT)
    await relayed(heard.telemetry, Peer({"tools/call": {"content": []}}), request=http)
    await relayed(heard.telemetry, Peer({"tools/call": {"content": []}}), {"_meta": {"traceparent": OTHER_TRACE}}, http)
    first, second = [span for span in heard.spans if span.kind.name == "SERVER"]
    assert (ids(first)[0], ids(first)[2], first.links) == (TRACE, PARENT, ())
    assert (ids(second)[0], ids(second)[2]) == ("1" * 32, "2" * 16)
    assert [f"{link.context.trace_id:032x}" for link in second.links] == [TRACE]


async def test_a_span_that_is_current_already_is_the_parent() -> None:
    heard = Heard()
    around = trace.NonRecordingSpan(trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(1)))
    token = context.attach(trace.set_span_in_context(around))
    try:
        await relayed(
            heard.telemetry, Peer({"tools/call": {"content": []}}), request=over_http(traceparent=OTHER_TRACE)
        )
    finally:
        context.detach(token)
    served = heard.named("tools/call up.echo", "SERVER")
    assert ids(served)[0::2] == (f"{1:032x}", f"{2:016x}")


@pytest.mark.parametrize("odd", [5, "x", {"traceparent": 5}, {"traceparent": "00-x"}, {"tracestate": "a=b"}], ids=str)
async def test_what_is_no_trace_context_is_no_parent(odd: Any) -> None:
    heard = Heard()
    await relayed(
        heard.telemetry, Peer({"tools/call": {"content": []}}), {"_meta": odd} if isinstance(odd, dict) else {}
    )
    assert heard.named("tools/call up.echo", "SERVER").parent is None


async def test_an_error_of_the_upstream_s_is_told_of_both_hops_without_its_secrets() -> None:
    heard = Heard(mask=lambda text: text.replace("s3cret", "***"))
    peer = Peer({"tools/call": {"error": {"code": -31000, "message": "no s3cret"}}})
    assert isinstance(await relayed(heard.telemetry, peer), RelayedError)
    told = [(span.status.status_code.name, span.status.description) for span in heard.spans]
    assert told == [("ERROR", "no ***")] * 2
    assert {(span.attributes["error.type"], span.attributes["rpc.response.status_code"]) for span in heard.spans} == {
        ("-31000", "-31000")
    }
    assert heard.points("wf_mcp.upstream.errors") == snapshot(
        {"error.type=-31000 mcp.method.name=tools/call wf_mcp.upstream=up": 1}
    )
    assert heard.points("wf_mcp.upstream.calls") == snapshot({"mcp.method.name=tools/call wf_mcp.upstream=up": 1})


@pytest.mark.parametrize(
    "result", [{"content": [], "isError": True}, CallToolResult(content=[], is_error=True)], ids=["json", "model"]
)
async def test_a_result_that_says_error_counts_as_one(result: Any) -> None:
    heard = Heard()

    async def onward(ctx: Any) -> Any:
        return result

    assert await FrontSpans(heard.telemetry, "pipe")(handshake().context("tools/call", {"name": "t"}), onward) is result
    (span,) = heard.spans
    assert (span.attributes["error.type"], span.status.status_code.name) == ("tool_error", "ERROR")
    assert heard.points("mcp.server.operation.duration") == snapshot(
        {"error.type=tool_error mcp.method.name=tools/call network.transport=pipe": 1}
    )


async def test_a_timeout_a_loss_and_a_cancellation_have_names_of_their_own() -> None:
    heard, peer = Heard(), Peer({"tools/call": None})
    assert isinstance(await relayed(heard.telemetry, peer, timeout=0.05), UpstreamTimeout)
    peer = Peer({"tools/call": None})
    async with hop_to(peer, telemetry=heard.telemetry) as hop, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(hop.request, "tools/call", {"name": "echo"}, PLAIN, {}))
        await peer.came.wait_for("tools/call")
        tasks.cancel_scope.cancel()
    peer = Peer({})
    async with hop_to(peer, telemetry=heard.telemetry) as hop:
        await peer.end()
        await hop.closed()
        with pytest.raises(LinkLost):
            await hop.request("tools/call", {"name": "echo"}, PLAIN, {})
    assert heard.points("mcp.client.operation.duration") == snapshot(
        {
            "error.type=timeout mcp.method.name=tools/call network.transport=pipe wf_mcp.upstream=up": 1,
            "error.type=cancelled mcp.method.name=tools/call network.transport=pipe wf_mcp.upstream=up": 1,
            "error.type=connection_lost mcp.method.name=tools/call network.transport=pipe wf_mcp.upstream=up": 1,
        }
    )


async def test_the_request_that_opens_an_era_is_seen_too() -> None:
    heard = Heard()
    async with hop_to(Peer({"initialize": {}}), telemetry=heard.telemetry) as hop:
        await hop.negotiate("initialize", {}, 1.0)
        with pytest.raises(UpstreamUnavailable):
            await hop.negotiate("server/discover", {}, 1.0)
    assert heard.points("mcp.client.operation.duration") == snapshot(
        {
            "mcp.method.name=initialize network.transport=pipe wf_mcp.upstream=up": 1,
            "error.type=-32601 mcp.method.name=server/discover network.transport=pipe wf_mcp.upstream=up": 1,
        }
    )


async def test_a_question_is_a_child_of_what_its_upstream_names() -> None:
    heard, hearing = Heard(), Hearing()
    peer = Peer({})
    async with hop_to(peer, hearing, telemetry=heard.telemetry):
        await peer.ask("elicitation/create", {"message": "?", "_meta": {"traceparent": TRACEPARENT}})
        await peer.came.wait_for(lambda each: "answer" in each)
    asked = heard.named("elicitation/create", "SERVER")
    assert ids(asked)[0::2] == (TRACE, PARENT)
    assert (asked.attributes or {})["wf_mcp.upstream"] == "up"


async def test_what_is_done_apart_belongs_to_no_request() -> None:
    heard = Heard()
    with heard.telemetry.sent(upstream("a"), "tools/call", {}):
        with heard.telemetry.apart(), heard.telemetry.sent(upstream("a"), "ping", None):
            assert trace.get_current_span().get_span_context().is_valid
        assert trace.get_current_span().get_span_context().is_valid
    assert not trace.get_current_span().get_span_context().is_valid
    assert heard.named("ping", "CLIENT").parent is None


def test_an_upstream_over_http_is_named_by_its_host() -> None:
    heard = Heard()
    for url in ("https://u:p@a.example/mcp?key=1", "http://127.0.0.1:81/mcp", "http://h/"):
        with heard.telemetry.sent(upstream("a", transport=HttpTransport(url)), "ping", None):
            pass
    told = [(span.attributes["server.address"], span.attributes["server.port"]) for span in heard.spans]
    assert told == [("a.example", 443), ("127.0.0.1", 81), ("h", 80)]
    assert {span.attributes["network.transport"] for span in heard.spans} == {"tcp"}


def test_a_defect_is_named_by_its_type_and_says_nothing_more() -> None:
    heard = Heard()
    for error in (KeyError("s3cret"), mcp_error(-32600, "odd", None), WfMcpError("x")):
        with pytest.raises(type(error)), heard.telemetry.sent(upstream("a"), "ping", None):
            raise error
    told = [(span.attributes["error.type"], span.status.description) for span in heard.spans]
    assert told == [("KeyError", None), ("-32600", "odd"), ("-32603", "x")]
