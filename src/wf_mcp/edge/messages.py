"""JSON-RPC messages as bytes, both ways, for every transport of ours: each is parsed once and written once.

Knows nothing of where the bytes come from or go to.
"""

import json
from typing import Any

import orjson
from mcp_types import (
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json

from wf_mcp.core.framing import replace_lone_surrogates
from wf_mcp.core.wire import JsonObject, Written

_ROOM = 65_536
"""Bytes up to which a text is copied to where it takes no more than its own length."""

_Message = type[JSONRPCRequest] | type[JSONRPCNotification] | type[JSONRPCResponse]


def parse_message(line: bytes) -> JSONRPCMessage:
    """The JSON-RPC message in `line`, built once; invalid UTF-8 and lone surrogates become U+FFFD.

    Raises:
        ValidationError: it is not JSON (`json_invalid`), or not a JSON-RPC message.
    """
    try:
        found = from_json(line)
    except ValueError:
        # Only now is it worth looking at the bytes; nearly every line never comes here.
        line = replace_lone_surrogates(line.decode("utf-8", "replace").encode())
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    shape = _shape(found)
    # The SDK's union tries each kind of message on the whole text, which takes a long one's parsing several times.
    if shape is None:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    return shape.model_validate(found, by_name=False)


def _shape(found: Any) -> _Message | None:
    """What kind of message `found` plainly is; `None` for errors, and for whatever has to be judged field by field."""
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0" or "error" in found:
        return None
    answers = "result" in found
    if "id" not in found:
        return JSONRPCNotification if _asks(found) and not answers else None
    if type(found["id"]) not in (int, str):
        return None
    if answers:
        return JSONRPCResponse if isinstance(found["result"], dict) and "method" not in found else None
    return JSONRPCRequest if _asks(found) else None


def _asks(found: JsonObject) -> bool:
    return isinstance(found.get("method"), str) and isinstance(found.get("params", {}), dict)


def result_object(result: Any) -> JsonObject:
    """A result that came out of the SDK's handlers, a model or JSON already, as JSON."""
    if isinstance(result, BaseModel):
        return dict(result.model_dump(by_alias=True, mode="json", exclude_none=True))
    return dict(result or {})


def message_bytes(message: JSONRPCMessage, *, line: bool = False) -> bytes:
    """`message` as JSON, with a newline after it where it is a `line`: what was set, nulls included, and nothing else.
    Lists whose text is kept are not written anew.

    Numbers that JSON cannot hold become null; a lone surrogate, which it can hold as an escape only, stays one.
    """
    match message:
        case JSONRPCResponse(id=request_id, result=result):
            if any(type(value) is Written for value in result.values()):
                return _with_kept_text(request_id, result, b"\n" if line else b"")
            return _json({"jsonrpc": "2.0", "id": request_id, "result": result}, line=line)
        case JSONRPCRequest(id=request_id, method=method, params=dict() as params):
            return _json({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}, line=line)
        case JSONRPCNotification(method=method, params=dict() as params):
            return _json({"jsonrpc": "2.0", "method": method, "params": params}, line=line)
        case _:
            return _json(message.model_dump(by_alias=True, exclude_unset=True), line=line)


def _with_kept_text(request_id: RequestId, result: JsonObject, end: bytes) -> bytes:
    fields = b",".join(b"%b:%b" % (_json(key), _text(value)) for key, value in result.items())
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}%b' % (_json(request_id), fields, end)


def _text(value: Any) -> bytes:
    if type(value) is not Written:
        return _json(value)
    if value.text is None:
        value.text = _json(value)
    return value.text


def _json(value: Any, *, line: bool = False) -> bytes:
    try:
        data = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE if line else None)
    except orjson.JSONEncodeError:  # an integer of more than 64 bits, say: the other one is slower and takes them
        return _any_json(value) + (b"\n" if line else b"")
    # What it returns keeps the room that it took to write in, for a message that waits in a queue thirty times its own.
    return data if len(data) > _ROOM else b"%b" % data


def _any_json(value: Any) -> bytes:
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:  # a lone surrogate
        return json.dumps(value).encode()
