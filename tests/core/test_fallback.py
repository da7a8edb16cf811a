"""The fallback tools: who is offered them, what a call of one stands for, and a read as a tool's result (F87)."""

import copy

import jsonschema
import pytest

from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.fallback import CALL_TOOL, READ_RESOURCE, RESOURCE_META, Meant, as_tool_result, listed, meant, offered

BOTH = (READ_RESOURCE, CALL_TOOL)


@pytest.mark.parametrize(
    ("setting", "modern", "name", "tools"),
    [
        ("on", False, "other", BOTH),
        ("on", True, "other", BOTH),
        ("off", False, "claude-ai", ()),
        ("auto", False, "claude-ai", BOTH),
        ("auto", False, "claude-code", (CALL_TOOL,)),
        ("auto", False, "github-copilot-developer", (READ_RESOURCE,)),
        ("auto", False, "Zed", ()),
        ("auto", False, "other", ()),
        ("auto", True, "claude-ai", ()),
    ],
)
def test_they_are_offered_by_setting_and_by_need(setting, modern, name, tools) -> None:
    assert offered(setting, modern, {"name": name}) == tools


def test_what_is_listed_is_legal_and_says_what_it_takes() -> None:
    tools = listed(BOTH)
    assert [tool["name"] for tool in tools] == list(BOTH)
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] == READ_RESOURCE)
    assert listed(()) == []


@pytest.mark.parametrize("form", ["wf.read_resource", "wf_read_resource"])
def test_a_read_keeps_what_the_request_carries(form: str) -> None:
    params = {"name": form, "arguments": {"uri": "a:b", "other": 1}, "_meta": {"progressToken": 1}, "task": {}}
    before = copy.deepcopy(params)
    assert meant(params, BOTH) == Meant("resources/read", {"_meta": {"progressToken": 1}, "uri": "a:b"})
    assert params == before


@pytest.mark.parametrize("form", ["wf.call_tool", "wf_call_tool"])
def test_a_call_is_the_other_tools_with_all_that_the_request_carries(form: str) -> None:
    params = {
        "name": form,
        "arguments": {"name": "a.b", "arguments": {"x": None}},
        "_meta": {"k": 1},
        "task": {"ttl": 1},
    }
    expected = {"name": "a.b", "arguments": {"x": None}, "_meta": {"k": 1}, "task": {"ttl": 1}}
    assert meant(params, BOTH) == Meant("tools/call", expected)


def test_a_call_without_arguments_has_none() -> None:
    assert meant({"name": CALL_TOOL, "arguments": {"name": "a.b"}}, BOTH) == Meant("tools/call", {"name": "a.b"})


@pytest.mark.parametrize("name", ["a.b", "wf.admin.status", None, 3, "wf.read_resource.x"])
def test_another_tools_call_is_left_alone(name: object) -> None:
    assert meant({"name": name, "arguments": {"uri": "a:b"}}, BOTH) is None


@pytest.mark.parametrize("name", BOTH)
def test_what_is_not_offered_is_another_tools_call(name: str) -> None:
    assert meant({"name": name, "arguments": {"uri": "a:b", "name": "x"}}, ()) is None
    (other,) = set(BOTH) - {name}
    assert meant({"name": name, "arguments": {"uri": "a:b", "name": "x"}}, (other,)) is None


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (READ_RESOURCE, {}, "string 'uri'"),
        (READ_RESOURCE, {"uri": 3}, "string 'uri'"),
        (READ_RESOURCE, None, "string 'uri'"),
        (CALL_TOOL, "x", "string 'name'"),
        (CALL_TOOL, {"name": "a.b", "arguments": None}, "object 'arguments'"),
        (CALL_TOOL, {"name": "wf.call_tool"}, "not itself"),
        (CALL_TOOL, {"name": "wf_call_tool"}, "not itself"),
    ],
)
def test_arguments_that_it_does_not_take_are_refused(name: str, arguments: object, said: str) -> None:
    with pytest.raises(InvalidParams, match=said):
        meant({"name": name, "arguments": arguments}, BOTH)


def test_a_read_as_a_tools_result_loses_nothing() -> None:
    blob = {"uri": "a:c", "blob": "AA=="}
    odd = {"uri": "a:d", "text": None}
    read = {"contents": [{"uri": "a:b", "text": "t", "x": None}, blob, odd, None], "_meta": {"m": 1}, "n": 0}
    before = copy.deepcopy(read)
    assert as_tool_result(read) == {
        "_meta": {"m": 1},
        "n": 0,
        "content": [
            {"type": "text", "text": "t", "_meta": {RESOURCE_META: {"uri": "a:b", "x": None}}},
            {"type": "resource", "resource": blob},
            {"type": "resource", "resource": odd},
            {"type": "resource", "resource": None},
        ],
    }
    assert read == before


@pytest.mark.parametrize("contents", [[], None, "x"])
def test_a_read_of_nothing_is_a_result_of_nothing(contents: object) -> None:
    assert as_tool_result({"contents": contents}) == {"content": []}
