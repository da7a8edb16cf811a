"""What a server asks in the middle of a call: forms, URLs, the model, the roots; several times, and several at once."""

from tests.inbox import JsonObject
from tests.matrix.cells import Table
from tests.matrix.features import feature
from tests.matrix.person import Person
from tests.rawclient import ANSWERS

FORM = ANSWERS["elicitation/create"]
GONE = "the mode, its id and -32042 are removed in 2026-07-28 (changelog minor item 11): asked as url-mode elicitations"


async def answers(person: Person, tool: str, **arguments: object) -> list[JsonObject]:
    """What a tool that asks was answered, as its upstream saw it."""
    found = (await person.call(tool, arguments))["structuredContent"]["answers"]
    return [each.get("result", each) for each in found]


def last(person: Person, method: str) -> JsonObject:
    """The parameters of the last question of `method`."""
    params: JsonObject = [each["params"] for each in person.asked if each["method"] == method][-1]
    return params


@feature("elicitation, form")
async def _form(table: Table, person: Person) -> None:
    assert await answers(person, "elicit") == [FORM]
    asked = last(person, "elicitation/create")
    assert asked["message"] == "Who? see demo://stays"
    assert asked["requestedSchema"]["properties"]["n"]["maximum"] == 2**53 + 1


@feature("elicitation, declined")
async def _declined(table: Table, person: Person) -> None:
    person.client.answers["elicitation/create"] = {"action": "decline"}
    try:
        assert await answers(person, "elicit") == [{"action": "decline"}]
    finally:
        person.client.answers["elicitation/create"] = FORM


@feature("elicitation, URL")
async def _url(table: Table, person: Person) -> None:
    assert await answers(person, "elicit_url") == [FORM]
    asked = last(person, "elicitation/create")
    assert (asked["mode"], asked["url"]) == ("url", "https://example.org/sign?uri=demo://stays")
    assert ("elicitationId" in asked) == (not person.modern)


@feature("sampling, with tools and nested tool results")
async def _sampling(table: Table, person: Person) -> None:
    assert await answers(person, "sample") == [ANSWERS["sampling/createMessage"]]
    asked = last(person, "sampling/createMessage")
    assert asked["toolChoice"]["mode"] == "auto"
    assert asked["tools"][0]["_meta"]["ui"]["resourceUri"] == "ui://full/app/view"
    nested = asked["messages"][2]["content"][0]["content"]
    assert nested[0]["uri"] == "demo://full/item/1?q=ä b#f"
    assert nested[1]["resource"]["uri"] == "wf://full/urn:isbn:1"


@feature("URIs in a sampling answer go back as the upstream's")
async def _sampled_uris(table: Table, person: Person) -> None:
    link = {"type": "resource_link", "name": "n", "uri": "demo://full/item/2"}
    block = {"type": "tool_result", "toolUseId": "u", "content": [link]}
    person.client.answers["sampling/createMessage"] = {"role": "user", "model": "m", "content": [block]}
    try:
        (answer,) = await answers(person, "sample")
        assert answer["content"][0]["content"][0]["uri"] == "demo://item/2"
    finally:
        person.client.answers["sampling/createMessage"] = ANSWERS["sampling/createMessage"]


@feature("roots")
async def _roots(table: Table, person: Person) -> None:
    assert await answers(person, "roots") == [ANSWERS["roots/list"]]


@feature("three questions in a row")
async def _three(table: Table, person: Person) -> None:
    before = len(person.asked)
    assert len(await answers(person, "three_in_a_row")) == 3
    assert len(person.asked) == before + 3


@feature("two questions at once")
async def _two(table: Table, person: Person) -> None:
    before = len(person.asked)
    found = await answers(person, "two_at_once")
    assert sorted(found, key=str) == sorted([FORM, ANSWERS["sampling/createMessage"]], key=str)
    assert {each["method"] for each in person.asked[before:]} == {"elicitation/create", "sampling/createMessage"}


@feature("a client that cannot be asked is told what is missing")
async def _cannot(table: Table, person: Person) -> None:
    async with table.person({}) as mute:
        del mute.client.answers["elicitation/create"]  # a client that did not declare it answers -32601
        params: JsonObject = {"name": "full.elicit", "arguments": {}}
        if table.cell.eras == "modern→modern":
            refused = await mute.refusal("tools/call", params)
            assert (refused.code, refused.data["requiredCapabilities"]) == (-32021, {"elicitation": {"form": {}}})
            return
        result = await mute.client.request("tools/call", params)
        if table.cell.upstream == "handshake":  # it is answered -32601, and says so in its result
            assert result["structuredContent"]["answers"][0]["error"]["code"] == -32601
        else:
            assert result["isError"] is True
            assert "elicitation" in result["content"][0]["text"]


@feature("URLs that have to be opened first (-32042)", hs_modern=GONE, modern_modern=GONE)
async def _url_first(table: Table, person: Person) -> None:
    params = {"name": "full.needs_url", "arguments": {}}
    if table.cell.upstream == "modern":
        asked = len(person.asked)
        await person.call("elicit_url")
        assert [each["params"]["mode"] for each in person.asked[asked:]] == ["url"]
    elif person.modern:
        result = await person.client.request("tools/call", params)
        wanted = result["inputRequests"].values()
        assert [each["params"]["url"] for each in wanted] == ["https://example.org/1", "https://example.org/2"]
    else:
        refused = await person.refusal("tools/call", params)
        assert refused.code == -32042
        assert refused.data["elicitations"][0]["elicitationId"] == "full:el/ü 1"


NOT_THERE = "a handshake server asks in the middle of a call only (2025-11-25): what it asks is bridged all the same"


@feature("a question in prompts/get", hs_hs=NOT_THERE, modern_hs=NOT_THERE)
async def _prompt_asks(table: Table, person: Person) -> None:
    if table.cell.upstream == "modern":
        got = await person.do("prompts/get", {"name": "full.asking"})
        assert '"accept"' in got["messages"][0]["content"]["text"]
    else:
        assert (await person.do("prompts/get", {"name": "full.brief"}))["messages"]


@feature("a question in resources/read", hs_hs=NOT_THERE, modern_hs=NOT_THERE)
async def _resource_asks(table: Table, person: Person) -> None:
    if table.cell.upstream == "modern":
        got = await person.do("resources/read", {"uri": "demo://full/asking"})
        assert '"accept"' in got["contents"][0]["text"]
    else:
        assert (await person.do("resources/read", {"uri": "demo://full/item/2"}))["contents"] is not None
