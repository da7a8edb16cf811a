"""Messages as bytes: what the SDK's own models would read and write, without their cost."""

import json
import math
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import BaseModel, ValidationError

from wf_mcp.core.wire import JsonObject, Written
from wf_mcp.edge.messages import message_bytes, parse_message, result_object

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2.0, None]),
        "id": st.sampled_from([1, 0, -7, 2**70, "a", "1", "", None, True, 1.0, 1.5, []]),
        "method": st.sampled_from(["tools/list", "", None, 1]),
        "params": st.dictionaries(st.text(max_size=5), JSON, max_size=3) | st.sampled_from([None, [], "x"]),
        "result": st.dictionaries(st.text(max_size=5), JSON, max_size=3) | st.sampled_from([None, [], 1]),
        "error": st.sampled_from([{"code": 1, "message": "m"}, {"code": 1, "message": "m", "data": None}, None, {}]),
        "more": JSON,
    },
)


def as_the_sdk_reads(line: bytes) -> JSONRPCMessage | list[str]:
    """The message by the SDK's own adapter, or the kinds of its complaints."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        return [each["type"] for each in error.errors()]


def as_we_read(line: bytes) -> JSONRPCMessage | list[str]:
    try:
        return parse_message(line)
    except ValidationError as error:
        return [each["type"] for each in error.errors()]


@given(FIELDS)
def test_a_line_is_read_as_the_sdk_reads_it(fields: JsonObject) -> None:
    line = json.dumps(fields).encode()
    ours, theirs = as_we_read(line), as_the_sdk_reads(line)
    assert ours == theirs
    assert type(ours) is type(theirs)
    if isinstance(ours, BaseModel) and isinstance(theirs, BaseModel):
        assert ours.model_fields_set == theirs.model_fields_set


@pytest.mark.parametrize("line", [b"", b"[]", b"nothing", b'{"jsonrpc":"2.0","id":1,', b'"x"', b"null"])
def test_what_is_no_message_is_told_as_the_sdk_tells_it(line: bytes) -> None:
    assert as_we_read(line) == as_the_sdk_reads(line)
    assert isinstance(as_we_read(line), list)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"id":2,"result":{"a":1,"a":2},"result":{"b":3,"b":4}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b'{"a":' * 150 + b"1" + b"}" * 150 + b"}",
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b'{"a":' * 250 + b"1" + b"}" * 250 + b"}",
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1e999,"b":-Infinity}}',
        b' \t{"jsonrpc":"2.0","id":1,"result":{}} \r',
    ],
    ids=["twice the same key", "deep", "too deep", "no numbers", "blanks around it"],
)
def test_odd_lines_are_read_as_the_sdk_reads_them(line: bytes) -> None:
    assert as_we_read(line) == as_the_sdk_reads(line)


def test_invalid_bytes_and_half_characters_cost_no_message() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff","b":"\\ud83d","c":"\\ud83d\\ude00"}}'
    assert parse_message(line) == JSONRPCResponse(jsonrpc="2.0", id=1, result={"a": "�", "b": "�", "c": "😀"})


@pytest.mark.parametrize("text", ["1" + "0" * 40, "-0.0", "1e-400", "12345678901234567890", "0.1", "1.0", "1E2"])
def test_numbers_pass_as_they_are(text: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":1,"result":{{"n":{text}}}}}'.encode()
    written = json.loads(message_bytes(parse_message(line)))["result"]["n"]
    assert (type(written), repr(written)) == (type(json.loads(text)), repr(json.loads(text)))


def response(result: JsonObject) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id="i", result=result)


MESSAGES: list[JSONRPCMessage] = [
    response({}),
    response({"a": None, "b": [1, {"c": "é\n"}]}),
    JSONRPCRequest(jsonrpc="2.0", id=1, method="m"),
    JSONRPCRequest(jsonrpc="2.0", id="é", method="m", params={}),
    JSONRPCRequest(jsonrpc="2.0", id=2**80, method="m", params={"a": 2**80}),
    JSONRPCNotification(jsonrpc="2.0", method="m"),
    JSONRPCNotification(jsonrpc="2.0", method="m", params={"a": None}),
    JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=1, message="m")),
    JSONRPCError(jsonrpc="2.0", id=1, error=ErrorData(code=1, message="m", data=None)),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_written_as_the_sdk_writes_it(message: JSONRPCMessage) -> None:
    theirs = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    assert message_bytes(message) == theirs
    assert message_bytes(message, line=True) == theirs + b"\n"


@given(st.dictionaries(st.text(), JSON))
def test_any_result_is_written_and_read_again(result: JsonObject) -> None:
    assert parse_message(message_bytes(response(result))) == response(result)


def test_numbers_that_json_cannot_hold_become_null() -> None:
    assert json.loads(message_bytes(response({"a": math.inf, "b": math.nan})))["result"] == {"a": None, "b": None}
    assert json.loads(message_bytes(response({"a": math.inf, "b": 2**80})))["result"] == {"a": None, "b": 2**80}


def test_half_a_character_is_written_as_its_escape() -> None:
    assert json.loads(message_bytes(response({"text": "\ud800", "n": None})))["result"] == {"text": "\ud800", "n": None}


@pytest.mark.parametrize(
    "beside", [{}, {"nextCursor": 'c"é'}, {"_meta": {"wf-mcp/partial": ["x"]}, "ttlMs": 5, "resultType": "complete"}]
)
@pytest.mark.parametrize("line", [False, True])
def test_a_kept_text_is_put_among_the_other_fields(beside: JsonObject, line: bool) -> None:
    items: list[JsonObject] = [{"name": "é", "n": 2**80}, {"name": "b"}]
    kept = Written(items)
    plain = message_bytes(response({"tools": items, **beside}), line=line)
    for _ in range(2):
        assert message_bytes(response({"tools": kept, **beside}), line=line) == plain
    assert message_bytes(response({**beside, "tools": kept})) == message_bytes(response({**beside, "tools": items}))


def test_a_kept_text_is_written_once() -> None:
    kept = Written([{"n": 1}])
    message_bytes(response({"tools": kept}))
    kept.text = b'["as kept"]'
    assert json.loads(message_bytes(response({"tools": kept})))["result"] == {"tools": ["as kept"]}


def test_short_texts_take_no_more_room_than_they_have() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        waiting = [message_bytes(MESSAGES[6]) for _ in range(1000)]
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert used < 1000 * (len(waiting[0]) + 100)


class Model(BaseModel):
    """A result as the SDK's handlers make it."""

    a: int | None = None
    b: str = "x"


@pytest.mark.parametrize(("given", "expected"), [(Model(), {"b": "x"}), ({"a": None}, {"a": None}), (None, {})])
def test_a_result_of_the_sdk_is_an_object(given: Any, expected: JsonObject) -> None:
    assert result_object(given) == expected
