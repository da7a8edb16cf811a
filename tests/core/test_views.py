"""Typed views of components, content and results (design D10; field cases F46, F47)."""

import copy
from typing import Any

import pytest

from wf_mcp.core.views import ContentBlock, Prompt, Resource, ResourceTemplate, Result, Tool

MALFORMED: list[dict[str, Any]] = [
    {},
    {"name": None, "description": None, "uri": None, "uriTemplate": None, "inputSchema": None},
    {"name": 3, "uri": ["x"], "uriTemplate": {}, "inputSchema": [], "outputSchema": "s", "arguments": "none"},
]


def test_a_tool_gives_its_fields_typed() -> None:
    raw = {"name": "n", "title": "t", "description": "d", "inputSchema": {"type": "object"}, "outputSchema": {"x": 1}}
    tool = Tool(raw)
    assert (tool.name, tool.title, tool.description) == ("n", "t", "d")
    assert tool.input_schema is raw["inputSchema"]
    assert tool.output_schema is raw["outputSchema"]


def test_the_other_components_give_theirs() -> None:
    prompt = Prompt({"name": "p", "arguments": [{"name": "a"}, "junk"]})
    assert (prompt.name, prompt.arguments) == ("p", ({"name": "a"},))
    resource = Resource({"uri": "demo://x", "name": "r", "mimeType": "text/plain"})
    assert (resource.uri, resource.name, resource.mime_type) == ("demo://x", "r", "text/plain")
    template = ResourceTemplate({"uriTemplate": "demo://{x}", "name": "t"})
    assert (template.uri_template, template.name, template.mime_type) == ("demo://{x}", "t", None)


@pytest.mark.parametrize("raw", MALFORMED)
def test_malformed_components_read_as_empty(raw: dict[str, Any]) -> None:
    assert (Tool(raw).name, Tool(raw).description, Tool(raw).input_schema) == ("", None, {})
    assert Tool(raw).output_schema is None
    assert Prompt(raw).arguments == ()
    assert Resource(raw).uri == ""
    assert ResourceTemplate(raw).uri_template == ""


def test_replace_keeps_the_kind_and_unknown_fields() -> None:
    tool = Tool({"name": "n", "execution": {"taskSupport": "optional"}, "x-new": [1]})
    assert tool.replace(name="m") == Tool({"name": "m", "execution": {"taskSupport": "optional"}, "x-new": [1]})


TEXT = {"type": "text", "text": "one", "annotations": {"audience": ["user"]}}
IMAGE = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "demo://x", "name": "x", "description": "a link"}
EMBEDDED = {"type": "resource", "resource": {"uri": "demo://y", "text": "two", "mimeType": "text/plain"}, "_meta": {}}
BINARY = {"type": "resource", "resource": {"uri": "demo://z", "blob": "QUJD"}}


def test_blocks_of_every_type() -> None:
    assert (ContentBlock(TEXT).type, ContentBlock(TEXT).text) == ("text", "one")
    assert (ContentBlock(IMAGE).data, ContentBlock(IMAGE).mime_type) == ("QUJD", "image/png")
    assert (ContentBlock(LINK).uri, ContentBlock(LINK).name, ContentBlock(LINK).text) == ("demo://x", "x", None)
    assert (ContentBlock(EMBEDDED).uri, ContentBlock(EMBEDDED).text) == ("demo://y", "two")
    assert ContentBlock(EMBEDDED).mime_type == "text/plain"
    assert (ContentBlock(BINARY).blob, ContentBlock(BINARY).text) == ("QUJD", None)


@pytest.mark.parametrize("raw", [{}, {"type": 1}, {"type": "resource"}, {"type": "resource", "resource": None}])
def test_malformed_blocks_read_as_empty(raw: dict[str, Any]) -> None:
    block = ContentBlock(raw)
    assert (block.text, block.uri, block.blob, block.data, block.mime_type) == (None,) * 5
    assert block.type in ("", "resource")


def test_with_text_writes_where_the_text_stands() -> None:
    assert ContentBlock(TEXT).with_text("new").raw == {**TEXT, "text": "new"}
    assert ContentBlock(EMBEDDED).with_text("new").raw == {
        "type": "resource",
        "resource": {"uri": "demo://y", "text": "new", "mimeType": "text/plain"},
        "_meta": {},
    }
    block = ContentBlock(EMBEDDED)
    assert block.with_text("two") is block


def shout(block: ContentBlock) -> ContentBlock:
    return block if block.text is None else block.with_text(block.text.upper())


CALL: dict[str, Any] = {
    "content": [TEXT, IMAGE, LINK, EMBEDDED, BINARY],
    "structuredContent": {"n": 1},
    "isError": True,
    "new": 1,
}
PROMPT: dict[str, Any] = {
    "description": "d",
    "messages": [{"role": "user", "content": TEXT}, {"role": "assistant", "content": IMAGE}, {"role": "user"}],
}
READ: dict[str, Any] = {
    "contents": [{"uri": "demo://x", "text": "one"}, {"uri": "demo://y", "blob": "QUJD"}],
    "ttlMs": 5,
}


def test_content_of_all_three_kinds() -> None:
    assert [block.raw for block in Result(CALL).content] == [TEXT, IMAGE, LINK, EMBEDDED, BINARY]
    assert [block.raw for block in Result(PROMPT).content] == [TEXT, IMAGE]
    assert [block.raw for block in Result(READ).content] == READ["contents"]
    assert Result({"messages": [{"content": [TEXT, LINK]}]}).content == (ContentBlock(TEXT), ContentBlock(LINK))


@pytest.mark.parametrize("raw", [CALL, PROMPT, READ], ids=["call", "prompt", "read"])
def test_map_content_copies_only_what_changes(raw: dict[str, Any]) -> None:
    before = copy.deepcopy(raw)
    changed = Result(raw).map_content(shout).raw
    assert raw == before
    assert str(changed) == str(before).replace("'one'", "'ONE'").replace("'two'", "'TWO'")
    untouched = Result(raw)
    assert untouched.map_content(lambda block: block) is untouched


def test_blocks_that_do_not_change_stay_the_same_objects() -> None:
    changed = Result(CALL).map_content(shout).raw["content"]
    assert [new is old for new, old in zip(changed, CALL["content"], strict=True)] == [False, True, True, False, True]


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"content": None},
        {"content": {}},
        {"content": [None, "x", 3]},
        {"messages": [{"content": "text"}, {"content": None}, 5]},
        {"contents": "x"},
        {"resultType": "input_required", "inputRequests": {}},
    ],
)
def test_malformed_and_other_results_pass_untouched(raw: dict[str, Any]) -> None:
    result = Result(raw)
    assert result.content == ()
    assert result.map_content(shout) is result
    assert (result.structured_content, result.is_error) == (None, False)


def test_result_properties() -> None:
    assert (Result(CALL).structured_content, Result(CALL).is_error) == ({"n": 1}, True)
    assert Result(PROMPT).description == "d"
    assert Result({"isError": "true"}).is_error is False


def test_a_tool_error_tells_the_model_why() -> None:
    assert Result.tool_error("no").raw == {"content": [{"type": "text", "text": "no"}], "isError": True}
