"""Server-everything under the key `everything.default`, for both eras, on both fronts."""

import re

import pytest
from tests import servers
from tests.covers import covers
from tests.endpoint import Endpoint
from tests.inbox import JsonObject, eventually
from tests.mapping import back, listed_back, uri_back
from tests.matrix.person import Person
from tests.rawclient import RawClient, RawError
from tests.rig import ERAS, FRONTS, Front, Rig

pytestmark = [pytest.mark.anyio, pytest.mark.node]

LABEL = "everything.default"
PUBLIC = "demo://everything/default/resource"
SAFE_NAME = re.compile(r"[A-Za-z](_?[A-Za-z0-9])*")
ALL_TOOLS = 17  # server-everything lists 13 to a client that can do nothing, and four more a moment after the handshake
LISTS = (
    ("tools", "tools/list", "tools"),
    ("prompts", "prompts/list", "prompts"),
    ("resources", "resources/list", "resources"),
    ("templates", "resources/templates/list", "resourceTemplates"),
)
GZIP: JsonObject = {"name": "x.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}
# Arguments that keep a call short and off the internet; every other tool is called with none.
QUICK: dict[str, JsonObject] = {
    "gzip-file-as-resource": GZIP,
    "trigger-long-running-operation": {"duration": 0.1, "steps": 1},
}


@pytest.fixture
def direct(rig: Rig) -> Endpoint:
    return rig.command(LABEL, servers.everything())


async def settled(raw: RawClient, label: str | None) -> list[JsonObject]:
    """The tools of server-everything once all are listed: some are registered after the handshake."""
    prefix = "" if label is None else f"{label}."

    async def look() -> list[JsonObject]:
        tools = await raw.items("tools/list", "tools")
        return tools if len([tool for tool in tools if tool["name"].startswith(prefix)]) >= ALL_TOOLS else []

    tools: list[JsonObject] = await eventually(look)
    return tools


@covers("everything.echo", "A tool of `everything.default` is called by its dotted name, by real clients of both eras")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_echo_by_its_dotted_name(rig: Rig, direct: Endpoint, front: Front, era) -> None:
    async with rig.serve(front).client(era) as probe:
        assert await probe.text("everything.default.echo", {"message": "hi"}) == "Echo: hi"
        assert "everything.default.echo" in await probe.names()


@covers("everything.lists", "Tools, prompts, resources and templates are listed with every field of a direct listing")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_everything_that_is_listed_directly_is_listed(rig: Rig, direct: Endpoint, front: Front, era) -> None:
    async with direct.raw() as there, rig.serve(front).raw(era) as here:
        await settled(there, None)
        await settled(here, LABEL)
        for kind, method, key in LISTS:
            listed = await here.items(method, key)
            assert listed_back(LABEL, kind, listed) == await there.items(method, key)


@covers("everything.capabilities", "A client without capabilities is listed what it would be listed directly")
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_without_capabilities_sees_fewer_tools(rig: Rig, direct: Endpoint, era) -> None:
    async with direct.raw(capabilities={}) as there, rig.serve().raw(era, capabilities={}) as here:
        names = await there.names()
        assert await here.names() == [f"{LABEL}.{n}" for n in names]
        assert len(names) < ALL_TOOLS


@covers(
    "names.safe",
    "With style `safe` every listed name is letters, digits and single underscores, at most 50 long, and callable",
)
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_safe_names_are_safe_and_callable(rig: Rig, direct: Endpoint, front: Front, era) -> None:
    endpoint = rig.serve(front, "--names", "safe")
    async with direct.raw() as there, endpoint.raw(era) as here:
        own = [tool["name"] for tool in await settled(there, None)]
        tools = [tool["name"] for tool in await eventually(lambda: listed(here, ALL_TOOLS))]
        prompts = await here.names("prompts")
        for name in tools + prompts:
            assert SAFE_NAME.fullmatch(name) and len(name) <= 50, name
        mine = [name for name in tools if not name.startswith("wf_admin_")]
        assert mine == ["everything_default_" + name.replace("-", "_") for name in own]
        for safe, name in zip(mine, own, strict=True):
            arguments = QUICK.get(name, {})
            if era == "modern" and name == TASK_ONLY:
                assert await outcome(here, safe, {"topic": "x"}) == (["text"], None)
                continue
            assert await outcome(here, safe, arguments) == await outcome(there, name, arguments), name


TASK_ONLY = "simulate-research-query"  # which wf-mcp drives to its end for a modern client (matrix D.3)


async def listed(raw: RawClient, at_least: int) -> list[JsonObject]:
    tools = [tool for tool in await raw.items("tools/list", "tools") if not tool["name"].startswith("wf_")]
    return tools if len(tools) >= at_least else []


async def outcome(raw: RawClient, name: str, arguments: JsonObject) -> object:
    """How a call ended: the types of its blocks and whether it is an error, or the error's code."""
    try:
        result = await Person(raw).do("tools/call", {"name": name, "arguments": arguments})
    except RawError as error:
        return error.code
    return [block["type"] for block in result["content"]], result.get("isError")


@covers("names.both-forms", "Dotted and safe names are both callable, whatever was listed")
@pytest.mark.parametrize("style", ["dotted", "safe"])
async def test_both_forms_are_callable(rig: Rig, direct: Endpoint, style: str) -> None:
    async with rig.serve("stdio", "--names", style).client() as probe:
        for name in ("everything.default.echo", "everything_default_echo"):
            assert await probe.text(name, {"message": "x"}) == "Echo: x"


@covers("everything.document", "A listed document reads the same bytes as directly, under the URI that was asked for")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_the_instructions_read_the_same(rig: Rig, direct: Endpoint, front: Front, era) -> None:
    public = f"{PUBLIC}/static/document/instructions.md"
    async with direct.raw() as there, rig.serve(front).raw(era) as here:
        (mine,) = (await here.read(public))["contents"]
        (theirs,) = (await there.read(uri_back(LABEL, public)))["contents"]
    assert mine == {**theirs, "uri": public}


@covers("everything.links", "Every URI that a result links or embeds reads through the proxy")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_every_linked_uri_reads(rig: Rig, direct: Endpoint, front: Front, era) -> None:
    async with rig.serve(front).raw(era) as here:
        links = await here.call(f"{LABEL}.get-resource-links", {"count": 10})
        uris = [block["uri"] for block in links["content"] if block["type"] == "resource_link"]
        for kind in ("Text", "Blob"):
            embedded = await here.call(f"{LABEL}.get-resource-reference", {"resourceType": kind, "resourceId": 3})
            uris += [block["resource"]["uri"] for block in embedded["content"] if block["type"] == "resource"]
        assert len(uris) == 12 and all(uri.startswith(f"{PUBLIC}/dynamic/") for uri in uris)
        for uri in uris:
            (content,) = (await here.read(uri))["contents"]
            assert content["uri"] == uri and (content.get("text") or content["blob"])


@covers("everything.session-link", "A link that lives in the upstream's session reads in the same client's session")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_session_resource_reads_in_the_same_session(rig: Rig, direct: Endpoint, front: Front, era) -> None:
    async with direct.raw() as there, rig.serve(front).raw(era) as here:
        (link,) = (await here.call(f"{LABEL}.gzip-file-as-resource", GZIP))["content"]
        (direct_link,) = (await there.call("gzip-file-as-resource", GZIP))["content"]
        assert back(LABEL, link) == direct_link
        (content,) = (await here.read(link["uri"]))["contents"]
        (direct_content,) = (await there.read(direct_link["uri"]))["contents"]
    assert content == {**direct_content, "uri": link["uri"]}


@covers("everything.templates", "A template keeps every expression; what a client expands it to reads")
@pytest.mark.parametrize("era", ERAS)
async def test_an_expanded_template_reads(rig: Rig, direct: Endpoint, era) -> None:
    async with rig.serve().raw(era) as here:
        templates = await here.items("resources/templates/list", "resourceTemplates")
        for template in templates:
            uri = template["uriTemplate"].replace("{resourceId}", "7")
            (content,) = (await here.read(uri))["contents"]
            assert content["uri"] == uri


@covers("everything.prompts", "A prompt with an embedded resource: its URI is public and reads")
@pytest.mark.parametrize("era", ERAS)
async def test_a_prompt_s_embedded_resource_reads(rig: Rig, direct: Endpoint, era) -> None:
    arguments = {"resourceType": "Text", "resourceId": "2"}
    async with rig.serve().raw(era) as here:
        prompt = await here.request("prompts/get", {"name": f"{LABEL}.resource-prompt", "arguments": arguments})
        uri = prompt["messages"][1]["content"]["resource"]["uri"]
        assert uri == f"{PUBLIC}/dynamic/text/2"
        assert (await here.read(uri))["contents"][0]["uri"] == uri


@covers("everything.completion", "Completions of prompt arguments and of template variables come from the upstream")
async def test_completions_are_routed(rig: Rig, direct: Endpoint) -> None:
    argument = {"name": "department", "value": ""}
    async with direct.raw() as there, rig.serve().raw() as here:
        ref = {"type": "ref/prompt", "name": "completable-prompt"}
        theirs = await there.request("completion/complete", {"ref": ref, "argument": argument})
        ref = {"type": "ref/prompt", "name": f"{LABEL}.completable-prompt"}
        assert await here.request("completion/complete", {"ref": ref, "argument": argument}) == theirs
        assert theirs["completion"]["values"]
