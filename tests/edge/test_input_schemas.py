"""`Mcp-Param-*` headers against the schema of the tool that the caller is offered (matrix A.2)."""

from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers, QueryParams
from tests.edge.wire import MODERN, Face, Visitor, envelope, face, handshake, modern
from tests.inbox import JsonObject
from tests.runtime.memory import Twin

from wf_mcp.edge.input_schemas import ParamHeaderCheck

pytestmark = pytest.mark.anyio

REGION: JsonObject = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
NUMBER: JsonObject = {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}}
WRONG: JsonObject = {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}
TOOLS = [
    {"name": "region", "inputSchema": REGION},
    {"name": "number", "inputSchema": NUMBER},
    {"name": "wrong", "inputSchema": WRONG},
    {"name": "bare"},
]


def twin() -> Twin:
    return Twin("alpha", tools=TOOLS)


async def sent(
    f: Face, visitor: Visitor, name: object, arguments: object, *headers: tuple[str, str], **more: Any
) -> int:
    """The code with which a call is refused before it goes on; 0 if it goes on."""
    request = SimpleNamespace(
        headers=Headers(raw=[(key.encode(), value.encode()) for key, value in headers]),
        scope={},
        query_params=QueryParams(more.get("query", "")),
    )
    params = {"name": name, "arguments": arguments, "_meta": envelope()}
    context = visitor.context("tools/call", params, request=None if more.get("stdio") else request)
    went: list[Any] = []

    async def onward(ctx: Any) -> Any:
        went.append(ctx)

    try:
        await ParamHeaderCheck(f.lane._stage.callers, f.stage.listings)(context, onward)
    except MCPError as error:
        assert went == []
        return error.error.code
    assert went == [context]
    return 0


@pytest.mark.parametrize("name", ["alpha.region", "alpha_region"])
async def test_a_header_has_to_say_what_the_argument_says_from_the_first_call_on(name: str) -> None:
    async with face(twin(), kind="http") as f:
        client = modern()
        assert [
            await sent(f, client, name, {"region": "eu"}),
            await sent(f, client, name, {"region": "eu"}, ("mcp-param-region", "eu")),
            await sent(f, client, name, {"region": "eu"}, ("mcp-param-region", "us")),
            await sent(f, client, name, {"region": "eu"}, ("mcp-param-region", "eu"), ("mcp-param-region", "eu")),
            await sent(f, client, name, {"region": "ü"}, ("mcp-param-region", "=?base64?w7w=?=")),
            await sent(f, client, name, {"region": None}),
            await sent(f, client, name, None, ("mcp-param-region", "eu")),
            await sent(f, client, name, {"other": 1}, ("mcp-param-other", "2")),
        ] == [-32020, 0, -32020, -32020, 0, 0, -32020, 0]


async def test_integers_are_compared_as_numbers_and_a_schema_that_is_wrong_says_nothing() -> None:
    async with face(twin(), kind="http") as f:
        client = modern()
        assert [
            await sent(f, client, "alpha.number", {"n": 7}, ("mcp-param-n", "7.0")),
            await sent(f, client, "alpha.number", {"n": 7}, ("mcp-param-n", "8")),
            await sent(f, client, "alpha.wrong", {"a": 1.5}),
            await sent(f, client, "alpha.bare", {"a": 1}),
        ] == [0, -32020, 0, 0]


async def test_what_cannot_be_checked_goes_on() -> None:
    async with face(twin(), kind="http") as f:
        client, header = modern(), ("mcp-param-region", "us")
        assert [
            await sent(f, client, "no.such", {"region": "eu"}, header),
            await sent(f, client, "wf.admin.status", {"region": "eu"}, header),
            await sent(f, client, 3, {"region": "eu"}, header),
            await sent(f, client, "alpha.region", [], header),
            await sent(f, client, "alpha.region", {"region": "eu"}, header, stdio=True),
            await sent(f, client, "alpha.region", {"region": "eu"}, header, query="names=odd"),
            await sent(f, handshake("s"), "alpha.region", {"region": "eu"}, header),
        ] == [0] * 7


async def test_other_methods_are_not_looked_at() -> None:
    async with face(twin(), kind="http") as f:
        check = ParamHeaderCheck(f.lane._stage.callers, f.stage.listings)
        context = modern().context("prompts/get", {"name": "alpha.region", "arguments": {"region": "eu"}})
        assert context.protocol_version == MODERN
        assert await check(context, f._next) == {"answered": "by FastMCP"}
