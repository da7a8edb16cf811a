"""What a handshake client can hold of an upstream's results (matrix A.6, D.3)."""

from typing import Any

import pytest

from wf_mcp.core.downgrade import handshake_code, held_result, held_tool
from wf_mcp.core.wire import JsonObject

LATEST = "2025-11-25"
AUDIO: JsonObject = {"type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": {"priority": 1}}
LINK: JsonObject = {"type": "resource_link", "name": "r", "uri": "demo://alpha/r", "description": "A thing"}
TEXT: JsonObject = {"type": "text", "text": "hello"}


def held(result: JsonObject, version: str = LATEST, *, modern: bool = True) -> JsonObject:
    return held_result("tools/call", result, version, modern=modern)


def test_what_only_modern_results_carry_is_gone() -> None:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "up"}, "vendor": 1}
    result = {"resultType": "complete", "ttlMs": 5, "cacheScope": "public", "content": [TEXT], "_meta": meta, "x": 1}
    assert held(result) == {"content": [TEXT], "_meta": {"vendor": 1}, "x": 1}


@pytest.mark.parametrize("structure", [[1, 2], "hello", 3, None], ids=repr)
def test_structure_that_is_no_object_becomes_a_text_block(structure: Any) -> None:
    said = {"type": "text", "text": {repr([1, 2]): "[1, 2]", "3": "3", "None": "null"}.get(repr(structure), '"hello"')}
    assert held({"content": [], "structuredContent": structure}) == {"content": [said]}
    assert held({"structuredContent": structure}) == {"content": [said]}


def test_structure_that_the_content_says_already_is_not_said_again() -> None:
    block = {"type": "text", "text": "[1,2]"}
    assert held({"content": [TEXT, block], "structuredContent": [1, 2]}) == {"content": [TEXT, block]}
    assert held({"content": [TEXT], "structuredContent": "hello"}) == {"content": [TEXT]}
    more = {"type": "text", "text": "[1, 2]"}
    assert held({"content": [TEXT], "structuredContent": [1, 2]}) == {"content": [TEXT, more]}


def test_an_object_stays() -> None:
    result = {"content": [], "structuredContent": {"a": 1}}
    assert held(result) == result


def test_a_handshake_upstreams_result_is_left_alone() -> None:
    result = {"content": [TEXT, AUDIO, LINK], "structuredContent": [1], "ttlMs": 1}
    assert held(result, modern=False) is result


@pytest.mark.parametrize(
    ("version", "audio", "link"),
    [("2024-11-05", False, False), ("2025-03-26", True, False), ("2025-06-18", True, True), (LATEST, True, True)],
)
def test_blocks_that_a_revision_does_not_know_say_what_they_were(version: str, audio: bool, link: bool) -> None:
    said = {"type": "text", "text": "[audio, audio/wav: this client's protocol version cannot receive it]"}
    shown = AUDIO if audio else {**said, "annotations": {"priority": 1}}
    linked = LINK if link else {"type": "text", "text": "[resource r: demo://alpha/r – A thing]"}
    assert held({"content": [TEXT, AUDIO, LINK]}, version, modern=False) == {"content": [TEXT, shown, linked]}
    prompt = {"messages": [{"role": "user", "content": AUDIO}, {"role": "user", "content": [LINK]}]}
    assert held_result("prompts/get", prompt, version, modern=False) == {
        "messages": [{"role": "user", "content": shown}, {"role": "user", "content": [linked]}]
    }


def test_a_block_that_says_nothing_of_itself_is_still_told() -> None:
    result = held({"content": [{"type": "audio"}, {"type": "resource_link"}, 3]}, "2024-11-05", modern=False)
    assert [block if block == 3 else block["text"] for block in result["content"]] == [
        "[audio, of unknown type: this client's protocol version cannot receive it]",
        "[resource : ]",
        3,
    ]


@pytest.mark.parametrize("odd", [{"content": "x"}, {"content": [3]}, {"messages": [1, {"content": None}]}], ids=repr)
def test_an_odd_result_is_the_same_object(odd: JsonObject) -> None:
    assert held(odd, "2024-11-05", modern=False) is odd


@pytest.mark.parametrize("schema", [{"type": "array"}, {}, True, {"type": ["object", "null"]}], ids=repr)
def test_an_output_schema_that_is_not_of_an_object_is_gone(schema: Any) -> None:
    assert held_tool({"name": "x", "outputSchema": schema, "title": "X"}) == {"name": "x", "title": "X"}


def test_other_tools_are_the_same_object() -> None:
    for tool in ({"name": "x"}, {"name": "x", "outputSchema": {"type": "object"}}):
        assert held_tool(tool) is tool


@pytest.mark.parametrize(
    ("method", "code", "data", "shown"),
    [
        ("resources/read", -32602, {"uri": "demo://r"}, -32002),
        ("resources/read", -32602, {"uri": 3}, -32602),
        ("resources/read", -32602, None, -32602),
        ("resources/read", -32603, {"uri": "demo://r"}, -32603),
        ("tools/call", -32602, {"uri": "demo://r"}, -32602),
    ],
)
def test_a_resource_that_is_not_found_has_the_handshake_eras_code(
    method: str, code: int, data: Any, shown: int
) -> None:
    assert handshake_code(method, code, data) == shown
