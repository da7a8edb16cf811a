"""Where URIs are mapped and where not (matrix C.1, C.4; field cases F27, F28)."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.rewrite import (
    map_block,
    map_call_result,
    map_error_data,
    map_prompt_result,
    map_read_result,
    map_tool_meta,
    web_uris,
)

U = "res://x/1"
P = f"pub:{U}"

Mapping = Callable[[Any, Callable[[str], str]], Any]


def pub(uri: str) -> str:
    return f"pub:{uri}"


def same(uri: str) -> str:
    return f"{uri}"


def read(result: Any, uri: Callable[[str], str]) -> Any:
    return map_read_result(result, uri, None)


MAPPINGS: list[Mapping] = [
    map_block,
    map_tool_meta,
    map_call_result,
    map_prompt_result,
    read,
    map_error_data,
]

LINK: dict[str, Any] = {
    "type": "resource_link",
    "uri": U,
    "name": U,
    "title": "T",
    "description": U,
    "mimeType": "text/plain",
    "size": 3,
    "icons": [{"src": U}],
    "annotations": {"audience": ["user"], "priority": 0.5},
    "_meta": {"uri": U, "ui": {"resourceUri": U}},
    "x-unknown": {"uri": U, "deep": [None, 1.0, {"uri": U}]},
}
EMBEDDED: dict[str, Any] = {
    "type": "resource",
    "resource": {"uri": U, "mimeType": "a/b", "blob": "AA==", "_meta": {"uri": U}, "x-unknown": [U]},
    "annotations": {"priority": 1},
    "uri": U,
}
TEXT = {"type": "text", "text": U, "uri": U}

PLACES: list[tuple[str, Mapping, Any, Any]] = [
    ("link", map_block, LINK, LINK | {"uri": P}),
    ("embedded", map_block, EMBEDDED, EMBEDDED | {"resource": EMBEDDED["resource"] | {"uri": P}}),
    (
        "tool result",
        map_block,
        {
            "type": "tool_result",
            "toolUseId": U,
            "content": [TEXT, {"type": "resource_link", "uri": U}],
            "structuredContent": {"uri": U},
        },
        {
            "type": "tool_result",
            "toolUseId": U,
            "content": [TEXT, {"type": "resource_link", "uri": P}],
            "structuredContent": {"uri": U},
        },
    ),
    (
        "tool",
        map_tool_meta,
        {
            "name": U,
            "inputSchema": {"$id": U},
            "_meta": {
                "ui": {"resourceUri": U, "domain": U, "csp": [U]},
                "ui/resourceUri": U,
                "openai/outputTemplate": U,
                "uri": U,
            },
        },
        {
            "name": U,
            "inputSchema": {"$id": U},
            "_meta": {
                "ui": {"resourceUri": P, "domain": U, "csp": [U]},
                "ui/resourceUri": P,
                "openai/outputTemplate": P,
                "uri": U,
            },
        },
    ),
    (
        "call",
        map_call_result,
        {
            "content": [TEXT, {"type": "resource", "resource": {"uri": U}}],
            "structuredContent": {"content": [LINK]},
            "isError": True,
            "_meta": {"ui": {"resourceUri": U}},
        },
        {
            "content": [TEXT, {"type": "resource", "resource": {"uri": P}}],
            "structuredContent": {"content": [LINK]},
            "isError": True,
            "_meta": {"ui": {"resourceUri": P}},
        },
    ),
    (
        "prompt",
        map_prompt_result,
        {
            "description": U,
            "messages": [
                {"role": "user", "content": {"type": "resource_link", "uri": U}, "x": U},
                {"role": "user", "content": TEXT},
            ],
        },
        {
            "description": U,
            "messages": [
                {"role": "user", "content": {"type": "resource_link", "uri": P}, "x": U},
                {"role": "user", "content": TEXT},
            ],
        },
    ),
    (
        "prompt with a list",
        map_prompt_result,
        {"messages": [{"role": "user", "content": [TEXT, {"type": "resource_link", "uri": U}]}]},
        {"messages": [{"role": "user", "content": [TEXT, {"type": "resource_link", "uri": P}]}]},
    ),
    (
        "read",
        read,
        {
            "contents": [{"uri": U, "text": U, "_meta": {"uri": U}}, {"uri": f"{U}/sub", "blob": "AA=="}],
            "_meta": {"uri": U},
        },
        {
            "contents": [{"uri": P, "text": U, "_meta": {"uri": U}}, {"uri": f"{P}/sub", "blob": "AA=="}],
            "_meta": {"uri": U},
        },
    ),
    ("error", map_error_data, {"uri": U, "more": {"uri": U}}, {"uri": P, "more": {"uri": U}}),
]
places = pytest.mark.parametrize(("mapping", "given_", "expected"), [p[1:] for p in PLACES], ids=[p[0] for p in PLACES])


@places
def test_what_is_mapped_and_nothing_else(mapping: Mapping, given_: Any, expected: Any) -> None:
    before = copy.deepcopy(given_)
    mapped = mapping(given_, pub)
    assert mapped == expected
    assert list(mapped) == list(given_)  # fields keep their order
    assert given_ == before


@places
def test_the_same_object_comes_back_when_no_uri_changes(mapping: Mapping, given_: Any, expected: Any) -> None:
    assert mapping(given_, same) is given_


def test_untouched_parts_are_shared_not_copied() -> None:
    result = {"content": [TEXT, LINK], "structuredContent": {"a": 1}}
    mapped = map_call_result(result, pub)
    assert mapped["content"][0] is TEXT
    assert mapped["content"][1]["_meta"] is LINK["_meta"]
    assert mapped["structuredContent"] is result["structuredContent"]


@pytest.mark.parametrize(
    "block",
    [
        None,
        "text",
        7,
        [LINK],
        {},
        {"uri": U},
        {"type": ["resource_link"], "uri": U},
        {"type": "resource_link"},
        {"type": "resource_link", "uri": None},
        {"type": "resource_link", "uri": {"uri": U}},
        {"type": "resource"},
        {"type": "resource", "resource": U},
        {"type": "resource", "resource": {"uri": 7}},
        {"type": "tool_result"},
        {"type": "tool_result", "content": None},
        {"type": "tool_result", "content": LINK},
        {"type": "hologram", "uri": U, "resource": {"uri": U}, "content": [LINK]},
        {"type": "image", "data": "AA==", "uri": U},
    ],
)
def test_unknown_and_malformed_blocks_pass_untouched(block: Any) -> None:
    assert map_block(block, pub) is block
    call = {"content": [block]}
    assert map_call_result(call, pub) is call
    prompt = {"messages": [{"content": block}]} if not isinstance(block, list) else {"messages": [block]}
    assert map_prompt_result(prompt, pub) is prompt


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"content": None, "messages": None, "contents": None, "_meta": None, "uri": None},
        {"content": LINK, "messages": {"content": LINK}, "contents": {"uri": U}, "_meta": [U], "uri": [U]},
        {"messages": [None, "x", {}, {"content": None}], "contents": [None, U, {}, {"uri": 7}]},
        {"_meta": {"ui": U, "ui/resourceUri": 7, "openai/outputTemplate": [U]}},
        {"_meta": {"ui": {"resourceUri": {"uri": U}}}},
    ],
)
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_malformed_results_pass_untouched(mapping: Mapping, result: dict[str, Any]) -> None:
    assert mapping(result, pub) is result


@pytest.mark.parametrize("data", [None, "text", 7, [U], True])
def test_error_data_may_be_anything(data: Any) -> None:
    assert map_error_data(data, pub) is data


def test_the_requested_uri_comes_back_as_the_client_wrote_it() -> None:
    result = {"contents": [{"uri": U}, {"uri": f"{U}/sub"}, {"uri": U}]}
    mapped = map_read_result(result, pub, (U, "wf://as/written"))
    assert mapped == {"contents": [{"uri": "wf://as/written"}, {"uri": f"{P}/sub"}, {"uri": "wf://as/written"}]}


def test_tool_results_inside_tool_results_are_followed_but_not_to_any_depth() -> None:
    block: dict[str, Any] = {"type": "resource_link", "uri": U}
    two_levels = {"type": "tool_result", "content": [{"type": "tool_result", "content": [block]}]}
    assert map_block(two_levels, pub)["content"][0]["content"] == [block | {"uri": P}]
    for _ in range(5_000):
        block = {"type": "tool_result", "content": [block]}
    assert map_block(block, pub) is block


def test_the_webs_uris_are_found_in_link_positions_only() -> None:
    web = "https://w/"
    result = {
        "content": [
            {"type": "resource_link", "uri": f"{web}1", "icons": [{"src": f"{web}no"}]},
            {"type": "resource", "resource": {"uri": f"{web}2", "text": f"{web}no"}},
            {"type": "resource_link", "uri": "demo://x"},
            {"type": "resource_link", "uri": f"{web}1"},
            {"type": "text", "text": f"{web}no"},
        ],
        "messages": [{"content": {"type": "resource_link", "uri": "HTTP://w/3"}}],
        "contents": [{"uri": f"{web}4"}, {"uri": "file:///x"}],
        "structuredContent": {"uri": f"{web}no"},
    }
    assert list(web_uris(result)) == [f"{web}1", f"{web}2", "HTTP://w/3", f"{web}4"]
    assert list(web_uris({"content": None})) == []


keys = st.sampled_from(
    ["type", "uri", "resource", "content", "contents", "messages", "_meta", "ui", "resourceUri", "ui/resourceUri", "z"]
)
leaves = st.sampled_from([U, "resource", "resource_link", "tool_result", "text", None, True, 1, 0.5])
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=25
)


def without_prefix(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_prefix(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_prefix(inner) for inner in value]
    return value.removeprefix("pub:") if isinstance(value, str) else value


@given(json_values, st.sampled_from(MAPPINGS))
def test_any_json_comes_back_whole_and_the_given_one_is_never_changed(value: Any, mapping: Mapping) -> None:
    before = copy.deepcopy(value)
    mapped = mapping(value, pub)
    assert value == before
    assert without_prefix(mapped) == value
    assert mapping(value, same) is value
    if mapped is not value:
        assert mapped != value
