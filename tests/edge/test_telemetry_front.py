"""The front's watch: outside everything, one span for each request, and FastMCP's is not a second one."""

from typing import Any

import pytest
from fastmcp.telemetry import native_spans_enabled
from tests.edge.wire import handshake, modern
from tests.telemetry import Heard

from wf_mcp.edge.telemetry import OTelTelemetry
from wf_mcp.edge.telemetry_front import FrontSpans

pytestmark = pytest.mark.anyio


async def test_fastmcp_makes_spans_only_where_we_do_not() -> None:
    seen = []

    async def onward(ctx: Any) -> Any:
        seen.append(native_spans_enabled())
        return {}

    for telemetry in (Heard().telemetry, OTelTelemetry()):
        await FrontSpans(telemetry, "pipe")(handshake().context("ping"), onward)
    assert seen == [False, True]


async def test_notifications_pass() -> None:
    heard = Heard()

    async def onward(ctx: Any) -> Any:
        return None

    spans = FrontSpans(heard.telemetry, "pipe")
    await spans(handshake().context("notifications/cancelled", request_id=None), onward)
    assert (heard.spans, heard.points("mcp.server.operation.duration")) == ([], {})


async def test_methods_that_are_none_have_one_name_for_all() -> None:
    heard = Heard()

    async def onward(ctx: Any) -> Any:
        return {}

    for method in ("x/1", "x/2", "skills/list", "tasks/update", "subscriptions/listen"):
        await FrontSpans(heard.telemetry, "tcp")(modern().context(method, request_id="ü"), onward)
    assert [span.name for span in heard.spans] == [
        "_OTHER",
        "_OTHER",
        "skills/list",
        "tasks/update",
        "subscriptions/listen",
    ]
    assert dict(heard.spans[0].attributes or {}) == {
        "mcp.method.name": "_OTHER",
        "network.transport": "tcp",
        "jsonrpc.request.id": "ü",
        "mcp.protocol.version": "2026-07-28",
    }
