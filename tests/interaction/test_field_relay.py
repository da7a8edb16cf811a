"""Reported faults of other proxies: schemas, errors and parameters that change on the way (tests/field_cases.py)."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastmcp.exceptions import ToolError
from tests.covers import covers
from tests.inbox import Inbox, JsonObject
from tests.mapping import listed_back
from tests.rawclient import Era, RawClient, RawError
from tests.rawhttp import http_guest, request
from tests.rawlinks import StdioLink
from tests.rig import ERAS, FRONTS, Front, Rig

pytestmark = pytest.mark.anyio
OBJECT = {"type": "object"}
REFERENCES: JsonObject = {
    "$id": "https://example.org/root.json",
    "type": "object",
    "definitions": {"old": {"type": "string", "$anchor": "here"}},
    "properties": {
        "z": {"$ref": "#/definitions/old"},
        "a": {"$defs": {"deep": {"type": "null"}}, "$ref": "#/properties/a/$defs/deep"},
        "m": {"$ref": "other.json#here"},
    },
    "patternProperties": {"^x-": {"x-foo": [None, {"y": False}]}},
    "if": {"required": ["z"]},
    "then": {"required": ["a"]},
    "else": False,
    "x-foo": None,
}
HINTS = {"title": "T", "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
SCHEMAS: list[JsonObject] = [
    {"name": "plain", "inputSchema": OBJECT, "annotations": HINTS, "description": None},
    {"name": "references", "inputSchema": REFERENCES, "outputSchema": REFERENCES},
    {"name": "one", "inputSchema": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}},
    {"name": "any", "inputSchema": {"anyOf": [OBJECT, {"type": "null"}]}},
    {"name": "all", "inputSchema": {"allOf": [OBJECT], "if": True, "then": OBJECT}, "outputSchema": {"x": 1}},
]


@covers("field.schemas", "Schemas with references of every kind, unions at the root and odd keywords arrive as sent")
@pytest.mark.parametrize("front", FRONTS)
async def test_schemas_arrive_as_sent(rig: Rig, front: Front) -> None:
    rig.upstream("alpha", {"tools": SCHEMAS, "builtins": False})
    async with rig.serve(front).raw() as raw:
        listed = [tool for tool in await raw.items("tools/list", "tools") if tool["name"].startswith("alpha.")]
        # As text, because the order of properties counts too.
        assert json.dumps(listed_back("alpha", "tools", listed)) == json.dumps(SCHEMAS)
        for tool in SCHEMAS:
            assert await raw.text(f"alpha.{tool['name']}") == f"alpha ran {tool['name']}"


@covers("field.validating", "A client that checks results against output schemas accepts data, and sees the real error")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_client_that_checks_results(rig: Rig, front: Front) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    data = {"n": 1, "nested": {"a": [1, None]}}
    good = {"content": [{"type": "text", "text": "see data"}], "structuredContent": data}
    bad = {"content": [{"type": "text", "text": "disk full"}], "isError": True}
    tools = [{"name": name, "inputSchema": OBJECT, "outputSchema": schema} for name in ("good", "bad")]
    rig.upstream("alpha", {"tools": tools, "results": {"tool:good": good, "tool:bad": bad}})
    async with rig.serve(front).client() as probe:
        await probe.names()
        assert (await probe.client.call_tool("alpha.good", {})).structured_content == data
        with pytest.raises(ToolError, match=r"^disk full$"):
            await probe.client.call_tool("alpha.bad", {})


NO_METHOD = {"code": -32601, "message": "Method not found"}
ERROR = {"code": -32042, "message": "quota", "data": {"retry": 5, "nothing": None}}
ASKED: dict[str, JsonObject] = {
    "tools/call": {"name": "alpha.t"},
    "resources/read": {"uri": "res://alpha/x"},
    "prompts/get": {"name": "alpha.p"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "alpha.p"},
        "argument": {"name": "a", "value": ""},
    },
}


@covers("field.errors", "An upstream's error of a call, read, prompt or completion keeps its code, message and data")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", ASKED)
async def test_errors_of_every_request(rig: Rig, front: Front, era: Era, method: str) -> None:
    offer = {"tools": [{"name": "t", "inputSchema": OBJECT}], "prompts": [{"name": "p"}]}
    rig.upstream("alpha", {**offer, "errors": {method: ERROR}})
    async with rig.serve(front).raw(era) as raw:
        with pytest.raises(RawError) as caught:
            await raw.request(method, ASKED[method])
    assert caught.value.error == ERROR


@covers("field.unknown-tools", "A tool by its bare name, in another case or of a disabled upstream is -32602 by name")
async def test_tools_that_there_are_not(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.upstream("off", disabled=True)
    async with rig.serve().raw() as raw:
        await raw.names()
        for name in ("nope", "echo", "alpha.Echo", "Alpha.echo", "off.echo", "alpha", ""):
            with pytest.raises(RawError) as caught:
                await raw.call(name)
            assert caught.value.code == -32602 and name in caught.value.message
        assert rig["alpha"].events("request", method="tools/call") == rig["off"].pids == []


@covers("field.unknown-methods", "A method that nobody has is -32601 and not promised; such a notification is ignored")
@pytest.mark.parametrize("front", FRONTS)
async def test_methods_that_there_are_not(rig: Rig, front: Front) -> None:
    errors = {method: NO_METHOD for method in ("resources/subscribe", "completion/complete")}
    rig.upstream("alpha", {"capabilities": {"tools": {}}, "errors": errors})
    async with rig.serve(front).raw() as raw:
        assert "completions" not in raw.hello["capabilities"]
        assert not raw.hello["capabilities"].get("resources", {}).get("subscribe")
        await raw.notify("definitely/not/a/notification", {"x": None})
        completion = ASKED["completion/complete"] | {"ref": {"type": "ref/resource", "uri": "res://alpha/x"}}
        for method, params in (
            ("definitely/not/a/method", {}),
            ("resources/subscribe", {"uri": "res://alpha/x"}),
            ("completion/complete", completion),
        ):
            with pytest.raises(RawError) as caught:
                await raw.request(method, params)
            assert caught.value.code == -32601, method
        assert (await raw.json("alpha.who"))["name"] == "alpha"


WITHOUT = [("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/list", "resources"), ("ping", None)]


async def answers(ask: Callable[[JsonObject], Awaitable[JsonObject]]) -> None:
    """Each method with params absent, null and empty is answered alike."""
    for method, key in WITHOUT:
        seen = [await ask(request(method)), await ask(request(method, {}))]
        seen.append(await ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": None}))
        assert all("result" in answer and (key is None or key in answer["result"]) for answer in seen), seen
        assert seen[0] == seen[1] == seen[2]


@covers("field.null-params", "Lists and ping are answered alike with params absent, null and empty")
async def test_params_that_are_null_over_http(rig: Rig) -> None:
    rig.upstream("alpha", {"prompts": [{"name": "p"}]})
    async with http_guest(str(rig.serve("http").url)) as guest:
        await guest.hello()

        async def ask(message: JsonObject) -> Any:
            return (await guest.post(message)).json()

        await answers(ask)


@covers("field.null-params", "Lists and ping are answered alike with params absent, null and empty")
async def test_params_that_are_null_over_stdio(rig: Rig) -> None:
    rig.upstream("alpha", {"prompts": [{"name": "p"}]})
    front, inbox = rig.serve(), Inbox()
    async with StdioLink.open(front.argv, inbox.add, env=front.env, cwd=front.cwd, log=front.log, patience=10) as link:

        async def ask(message: JsonObject) -> JsonObject:
            inbox.items.clear()
            await link.send(message, {})
            return await inbox.wait_for(lambda item: item.get("id") == 1)

        info = {"name": "guest", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        assert "result" in await ask(request("initialize", params))
        await link.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, {})
        await answers(ask)


@covers(
    "field.progress-tokens", "Progress comes under the client's own token, with its type; without one there is none"
)
@pytest.mark.parametrize("front", FRONTS)
async def test_progress_tokens_of_any_kind(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        for token in ("tok-1", 7, 0, "", None):
            raw.notes.items.clear()
            meta = {} if token is None else {"_meta": {"progressToken": token}}
            await raw.request("tools/call", {"name": "alpha.progress", "arguments": {"steps": 5}, **meta})
            told = [note["params"] for note in raw.notes.of("notifications/progress")]
            assert [each["progress"] for each in told] == ([] if token is None else [1, 2, 3, 4, 5])
            assert all(each["progressToken"] == token and type(each["progressToken"]) is type(token) for each in told)


@covers("field.completion", "A completion of 100 values with total and hasMore is the upstream's own, context included")
async def test_completions(rig: Rig) -> None:
    values = {"completion": {"values": [f"v{n}" for n in range(100)], "total": 150, "hasMore": True, "x": None}}
    offer = {"prompts": [{"name": "p"}], "templates": [{"name": "t", "uriTemplate": "res://x/{id}"}]}
    rig.upstream("alpha", {**offer, "results": {"complete": values}})
    rig.upstream("beta", {**offer, "capabilities": {"prompts": {}}, "errors": {"completion/complete": NO_METHOD}})
    own = ({"type": "ref/prompt", "name": "p"}, {"type": "ref/resource", "uri": "res://x/{id}"})
    more = {"argument": {"name": "id", "value": "v"}, "context": {"arguments": {"other": "1"}}}
    async with rig.serve().raw() as raw:

        async def complete(name: str, uri: str) -> list[JsonObject]:
            refs = ({**own[0], "name": name}, {**own[1], "uri": uri})
            return [await raw.request("completion/complete", {"ref": ref, **more}) for ref in refs]

        assert await complete("alpha.p", "res://alpha/x/{id}") == [values, values]
        assert await refusals(complete, raw, "beta.p", "res://beta/x/{id}") == -32601
        assert await refusals(complete, raw, "alpha.q", "res://nobody/x/{id}") == -32602
    asked = [item["params"] for item in rig["alpha"].events("request", method="completion/complete")]
    assert asked == [{"ref": ref, **more} for ref in own]


async def refusals(complete: Callable[[str, str], Awaitable[Any]], raw: RawClient, name: str, uri: str) -> int:
    """The code of the error that a completion ends in."""
    with pytest.raises(RawError) as caught:
        await complete(name, uri)
    return caught.value.code
