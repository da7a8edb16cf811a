"""Reported faults of other proxies: names, URIs and templates that come out wrong (tests/field_cases.py)."""

import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.rawclient import RawClient, RawError
from tests.rig import FRONTS, Rig

pytestmark = pytest.mark.anyio
OBJECT = {"type": "object"}


def tools(*names: str) -> JsonObject:
    """A server with these tools and no others."""
    return {"builtins": False, "tools": [{"name": name, "inputSchema": OBJECT} for name in names]}


async def templates(raw: RawClient) -> list[str]:
    return [item["uriTemplate"] for item in await raw.items("resources/templates/list", "resourceTemplates")]


TEMPLATES = {
    "data://{id}{?format,lang}": "data://alpha/{id}{?format,lang}",
    "repo://{owner}/{path*}": "repo://alpha/{owner}/{path*}",
    "file:///{+path}": "file:///alpha/{+path}",
}
EXPANSIONS = {
    "data://alpha/7": "data://7",
    "data://alpha/7?format=a%26b%3Dc": "data://7?format=a%26b%3Dc",
    "data://alpha/7?lang=de&format=x": "data://7?lang=de&format=x",
    "repo://alpha/me/a/b/c.txt": "repo://me/a/b/c.txt",
    "repo://alpha/me/dir/": "repo://me/dir/",
    "file:///alpha/a/b/c.txt": "file:///a/b/c.txt",
    "file:///alpha/a/": "file:///a/",
    "file:///alpha/": "file:///",
}


@covers("field.templates", "Templates with a query or several segments are listed whole; expansions arrive as expanded")
@pytest.mark.parametrize("front", FRONTS)
async def test_expansions_of_templates(rig: Rig, front) -> None:
    rig.upstream("alpha", {"templates": [{"name": uri, "uriTemplate": uri} for uri in TEMPLATES]})
    async with rig.serve(front).raw() as raw:
        assert await templates(raw) == [*TEMPLATES.values()]
        for public, own in EXPANSIONS.items():
            (content,) = (await raw.read(public))["contents"]
            assert content == {"uri": public, "mimeType": "text/plain", "text": f"alpha read {own}"}
    assert [read["params"]["uri"] for read in rig["alpha"].events("request", method="resources/read")] == [
        *EXPANSIONS.values()
    ]


@covers("field.labels-in-uris", "Resources of upstreams with any name are read by the same URIs after a restart")
async def test_uris_of_oddly_named_upstreams(rig: Rig) -> None:
    names = ("my_srv", "Srv2", "9lives", "a.b", "我的")
    offer = {
        "resources": [{"name": "y", "uri": "res://x/y"}],
        "templates": [{"name": "t", "uriTemplate": "res://x/{id}"}],
    }
    for name in names:
        rig.upstream(name, offer)
    async with rig.serve().raw() as raw:
        first = [item["uri"] for item in await raw.items("resources/list", "resources")]
        expanded = [template.replace("{id}", "z") for template in await templates(raw)]
    assert len({*first, *expanded}) == 2 * len(names)
    async with rig.serve().raw() as raw:
        for uris, own in ((first, "res://x/y"), (expanded, "res://x/z")):
            texts = [(await raw.read(uri))["contents"][0]["text"] for uri in uris]
            assert texts == [f"{name} read {own}" for name in names]


@covers("field.read-uris", "A content for the URI that was read has it again; the URIs of others read, too")
async def test_uris_inside_a_read_result(rig: Rig) -> None:
    contents = [{"uri": "res://x/1", "text": "one"}, {"uri": "res://x/1/part", "text": "two"}]
    rig.upstream("alpha", {"results": {"read:res://x/1": {"contents": contents}}})
    async with rig.serve().raw() as raw:
        first, second = (await raw.read("res://alpha/x/1"))["contents"]
        assert (first["uri"], first["text"], second["text"]) == ("res://alpha/x/1", "one", "two")
        (part,) = (await raw.read(second["uri"]))["contents"]
        assert part["text"] == "alpha read res://x/1/part"


@covers("field.odd-uris", "URIs that are no URLs are listed and read, and disturb no other entry of the list")
async def test_uris_that_are_no_urls(rig: Rig) -> None:
    uris = ["users/me", "urn:isbn:0451450523", "mailto:x@example.org", "custom:opaque", "res://x/y"]
    rig.upstream("alpha", {"resources": [{"name": uri, "uri": uri} for uri in uris]})
    async with rig.serve().raw() as raw:
        listed = [item["uri"] for item in await raw.items("resources/list", "resources")]
        texts = [(await raw.read(uri))["contents"][0]["text"] for uri in listed]
    assert texts == [f"alpha read {uri}" for uri in uris]


@covers("field.odd-names", "Tools with any characters in their names can be called, in both forms")
@pytest.mark.parametrize("form", ["dotted", "safe"])
async def test_tools_with_odd_names(rig: Rig, form: str) -> None:
    odd = ("admin.tools.list", "user/update", "say hi", "naïve", "x" * 128)
    for name in ("my server", "我的", "a.b"):
        rig.upstream(name, tools(*odd))
    async with rig.serve("stdio", "--names", form).raw() as raw:
        texts = [await raw.text(name) for name in await raw.names()]
    assert texts == [f"{name} ran {tool}" for name in ("my server", "我的", "a.b") for tool in odd]


@covers("field.prefixes", "Where one upstream's label begins another's, a name never changes from one tool to another")
@pytest.mark.parametrize("form", ["dotted", "safe"])
@pytest.mark.parametrize("order", [("web", "web_scraper"), ("web_scraper", "web")], ids=["short-first", "long-first"])
async def test_one_name_begins_another(rig: Rig, form: str, order: tuple[str, str]) -> None:
    offers = {"web": "scraper_search", "web_scraper": "search"}
    rig.upstream(order[0], tools(offers[order[0]]))
    async with rig.serve("stdio", "--names", form).raw() as raw:
        (before,) = await raw.names()
        ran = f"{order[0]} ran {offers[order[0]]}"
        assert await raw.text(before) == ran
        rig.upstream(order[1], tools(offers[order[1]]))
        rig.write()
        await raw.call("wf.admin.reload_config")
        after = await raw.names()
        assert [await raw.text(name) for name in after] == [f"{name} ran {offers[name]}" for name in order]
        try:
            assert await raw.text(before) == ran
        except RawError as error:
            assert (form, error.code) == ("safe", -32602)


@covers("field.names-stay", "Adding an upstream leaves the names and URIs of those before it as they are")
@pytest.mark.parametrize("form", ["dotted", "safe"])
async def test_a_second_upstream_renames_nothing(rig: Rig, form: str) -> None:
    offer = {**tools("t", "u"), "prompts": [{"name": "p"}], "resources": [{"name": "r", "uri": "res://r"}]}

    async def seen(raw: RawClient) -> list[str]:
        uris = [item["uri"] for item in await raw.items("resources/list", "resources")]
        return [*await raw.names(), *await raw.names("prompts"), *uris]

    rig.upstream("alpha", offer)
    async with rig.serve("stdio", "--names", form).raw() as raw:
        before = await seen(raw)
        rig.upstream("beta", offer)
        rig.write()
        await raw.call("wf.admin.reload_config")
        after = await seen(raw)
    assert len(after) == 2 * len(before) == 8
    assert set(before) < set(after)
