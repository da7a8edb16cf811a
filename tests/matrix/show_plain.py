"""Lists, calls, reads, prompts, completion and errors."""

from itertools import count

import anyio
from tests.fixtures.fullserver.offer import CONTENT, RESULT
from tests.inbox import JsonObject
from tests.matrix.cells import Table
from tests.matrix.features import feature
from tests.matrix.person import Person
from tests.rawclient import META

ONE = "demo://full/item/1?q=ä b#f"


def names(items: list[JsonObject], key: str = "name") -> list[str]:
    """The names of what is listed."""
    return [item[key] for item in items]


@feature("server identity and capabilities")
async def _identity(table: Table, person: Person) -> None:
    hello = person.client.hello
    info = hello["_meta"][f"{META}/serverInfo"] if person.modern else hello["serverInfo"]
    assert info["name"] == "wf-mcp"
    assert {"tools", "prompts", "resources", "completions"} <= hello["capabilities"].keys()
    assert hello["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}


@feature("instructions, merged")
async def _instructions(table: Table, person: Person) -> None:
    async with table.person() as late:  # the first to come may be answered before the upstream has said anything
        assert "Call contents first." in late.client.hello["instructions"]


@feature("tools/list")
async def _tools(table: Table, person: Person) -> None:
    tools = {tool["name"]: tool for tool in await person.client.items("tools/list", "tools")}
    rich = tools["full.contents"]
    assert rich["inputSchema"]["x-vendor"] == 2**53 + 1
    assert rich["vendor"] == [1]
    assert "$defs" in rich["inputSchema"]
    assert rich["_meta"]["ui"]["resourceUri"] == "ui://full/app/view"


@feature("prompts/list")
async def _prompts(table: Table, person: Person) -> None:
    prompts = await person.client.items("prompts/list", "prompts")
    assert names(prompts)[:2] == ["full.brief", "full.odd name/with.dots"]
    assert names(prompts[0]["arguments"]) == ["uri", "x"]


@feature("resources/list")
async def _resources(table: Table, person: Person) -> None:
    uris = names(await person.client.items("resources/list", "resources"), "uri")
    assert uris[:2] == [ONE, "demo://full/item/2"]
    assert "ui://full/app/view" in uris
    assert "https://example.org/page" in uris


@feature("resources/templates/list")
async def _templates(table: Table, person: Person) -> None:
    templates = await person.client.items("resources/templates/list", "resourceTemplates")
    assert names(templates, "uriTemplate")[:2] == ["demo://full/item/{id}{?q*}", "file:///full/{+path}"]


@feature("tools/call, every kind of content")
async def _content(table: Table, person: Person) -> None:
    content = (await person.call("contents"))["content"]
    assert len(content) == len(CONTENT)
    assert content[:4] == CONTENT[:4]
    assert [block["uri"] for block in content[4:6]] == [ONE, "wf://full/urn:isbn:1"]


@feature("structuredContent, `_meta` and unknown fields")
async def _structured(table: Table, person: Person) -> None:
    result = await person.call("contents")
    assert result["structuredContent"] == RESULT["structuredContent"]
    assert result["vendor"] == RESULT["vendor"]
    assert result["_meta"]["vendor/x"] == {"resourceUri": "ui://stays"}


@feature(
    "structuredContent that is no object",
    hs_modern="a handshake wire holds objects only (2025-11-25 server/tools § Structured Content): text stays",
)
async def _not_an_object(table: Table, person: Person) -> None:
    result = await person.call("structured", {"value": [1, None]})
    if table.cell.eras == "hs→modern":
        assert "structuredContent" not in result
        assert result["content"]
    else:
        assert result["structuredContent"] == [1, None]


@feature("an error result (`isError`)")
async def _is_error(table: Table, person: Person) -> None:
    result = await person.call("is_error")
    assert result["isError"] is True
    assert result["content"][0] == CONTENT[0]


@feature("a JSON-RPC error: code, message, data")
async def _error(table: Table, person: Person) -> None:
    error = {"code": -31999, "message": "no ü", "data": {"deep": [None, 2**53 + 1]}}
    refused = await person.refusal("tools/call", {"name": "full.fail", "arguments": {"error": error}})
    assert refused.error == error


@feature("an unknown tool is -32602")
async def _unknown_tool(table: Table, person: Person) -> None:
    assert (await person.refusal("tools/call", {"name": "full.nobody"})).code == -32602


@feature("a link in a result reads")
async def _link(table: Table, person: Person) -> None:
    (link,) = [each for each in (await person.call("contents"))["content"] if isinstance(each, dict)][4:5]
    assert (await person.client.read(link["uri"]))["contents"][0]["uri"] == link["uri"]


@feature("resources/read, text and blob")
async def _read(table: Table, person: Person) -> None:
    contents = (await person.client.read(ONE))["contents"]
    assert [each["uri"] for each in contents[:2]] == [ONE, "demo://full/item/1/part"]
    assert (contents[0]["text"], contents[1]["blob"]) == ("demo://stays", "AAE=")


@feature("a missing resource is the era's own error")
async def _missing(table: Table, person: Person) -> None:
    refused = await person.refusal("resources/read", {"uri": "demo://full/missing"})
    assert refused.code == (-32602 if person.modern else -32002)
    assert refused.data["uri"] == "demo://full/missing"


@feature("prompts/get")
async def _prompt(table: Table, person: Person) -> None:
    got = await person.do("prompts/get", {"name": "full.brief", "arguments": {}})
    assert got["messages"][0] == {"role": "user", "content": CONTENT[0], "vendor": 1}
    assert got["messages"][4]["content"]["uri"] == ONE


@feature("completion/complete for prompts and templates")
async def _complete(table: Table, person: Person) -> None:
    refs = (
        {"type": "ref/prompt", "name": "full.brief"},
        {"type": "ref/resource", "uri": "demo://full/item/{id}{?q*}"},
    )
    own = ("brief", "demo://item/{id}{?q*}")
    for ref, local in zip(refs, own, strict=True):
        params = {"ref": ref, "argument": {"name": "x", "value": "v"}, "context": {"arguments": {"a": "b"}}}
        values = (await person.client.request("completion/complete", params))["completion"]["values"]
        assert local in values[0]
        assert values[1] == "demo://stays"


@feature("equal ids of several clients")
async def _ids(table: Table, person: Person) -> None:
    async with table.person() as other:
        results: dict[str, JsonObject] = {}

        async def ask(who: Person, tag: str) -> None:
            who.client.ids = count(7_000)
            results[tag] = await who.call("seen", {"tag": tag})

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, person, "one")
            tasks.start_soon(ask, other, "two")
        for tag in ("one", "two"):
            assert results[tag]["structuredContent"]["arguments"] == {"tag": tag}


@feature("trace context in `_meta` reaches the upstream")
async def _trace(table: Table, person: Person) -> None:
    sent = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor/k": [None]}
    meta = (await person.call("seen", **sent))["structuredContent"]["_meta"]
    assert meta["vendor/k"] == [None]
    assert meta["traceparent"].split("-")[1] == sent["traceparent"].split("-")[1]


@feature("an era's own marks")
async def _marks(table: Table, person: Person) -> None:
    for result in (await person.call("contents"), await person.client.request("tools/list", {})):
        assert (result.get("resultType") == "complete") == person.modern
        assert (f"{META}/serverInfo" in result.get("_meta", {})) == person.modern
    listed = await person.client.request("tools/list", {})
    assert ({"ttlMs", "cacheScope"} <= listed.keys()) == person.modern
