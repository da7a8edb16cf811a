"""The headers of a modern request (2026-07-28 streamable-http § Request Metadata)."""

import logging

import pytest
from inline_snapshot import snapshot
from tests.inbox import JsonObject

from wf_mcp.edge.param_headers import ParamHeaders, routing_headers

V = "2026-07-28"


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "a", "uri": "no"}, "a"),
        ("prompts/get", {"name": " edge"}, "=?base64?IGVkZ2U=?="),
        ("resources/read", {"uri": "demo://ä"}, "=?base64?ZGVtbzovL8Ok?="),
        ("tasks/get", {"taskId": "t"}, "t"),
        ("tasks/update", {"taskId": "t"}, "t"),
        ("tasks/cancel", {"taskId": "=?base64?x?="}, "=?base64?PT9iYXNlNjQ/eD89?="),
        ("tools/list", {"name": "no"}, None),
        ("tools/call", {"name": 3}, None),
        ("tools/call", None, None),
    ],
)
def test_method_version_and_name_are_repeated(method: str, params: JsonObject | None, name: str | None) -> None:
    expected = {"mcp-protocol-version": V, "mcp-method": method} | ({} if name is None else {"mcp-name": name})
    assert routing_headers(method, params, V) == expected


def tool(name: str, **properties: JsonObject) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


REGION = {"type": "string", "x-mcp-header": "Region"}


def test_annotated_arguments_are_repeated_once_a_list_has_shown_them() -> None:
    headers = ParamHeaders("up")
    place = {"type": "object", "properties": {"zone": {"type": "integer", "x-mcp-header": "Zone"}}}
    call = ("t", {"region": "ü", "place": {"zone": 7}, "urgent": False, "other": "x"})
    assert headers.of(*call) == {}
    listed = {"tools": [tool("t", region=REGION, place=place, urgent={"type": "boolean", "x-mcp-header": "Urgent"})]}
    assert headers.usable(listed) is listed
    assert headers.of(*call) == snapshot(
        {"Mcp-Param-Region": "=?base64?w7w=?=", "Mcp-Param-Urgent": "false", "Mcp-Param-Zone": "7"}
    )
    assert headers.of("t", {"region": None}) == {}
    assert headers.of("t", None) == {}
    assert headers.of("u", {"region": "x"}) == {}
    headers.usable({"tools": [tool("t", region={"type": "string", "x-mcp-header": "Area"})]})
    assert headers.of("t", {"region": "x"}) == {"Mcp-Param-Area": "x"}


def test_a_tool_whose_annotation_is_invalid_is_left_out_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    headers = ParamHeaders("up")
    bad = tool("bad", n={"type": "number", "x-mcp-header": "N"})
    page = {"tools": [tool("good", region=REGION), bad], "nextCursor": "c", "x": None}
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert headers.usable(page) == {"tools": [tool("good", region=REGION)], "nextCursor": "c", "x": None}
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith(
        "upstream up: the tool 'bad' is left out: property 'n': x-mcp-header is only permitted on"
    )


def test_odd_lists_pass_as_they_are() -> None:
    headers = ParamHeaders("up")
    for page in ({"tools": None}, {"tools": [None, {"name": 3}, {"name": "x"}]}, {}):
        assert headers.usable(page) == page
