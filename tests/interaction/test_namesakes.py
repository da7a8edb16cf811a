"""Two upstreams with identical tools, prompts and URIs; each item reaches its own server."""

import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.mapping import uri_back
from tests.rig import ERAS, FRONTS, Rig

pytestmark = pytest.mark.anyio
OBJECT = {"type": "object"}
WEB = "https://example.org/shared.txt"
URIS = ["demo://x/1", "DEMO://x/1", "file:///x", "urn:isbn:1", "ui://app/main", "mailto:a@b", "wf://other/x", "x/y"]
TWIN: JsonObject = {
    "tools": [{"name": "hello", "inputSchema": OBJECT}, {"name": "a.b", "inputSchema": OBJECT}],
    "prompts": [{"name": "ask"}],
    "resources": [{"name": uri, "uri": uri} for uri in URIS],
    "templates": [{"name": "note", "uriTemplate": "note://{id}"}, {"name": "any", "uriTemplate": "{+uri}"}],
    "builtins": False,
}
TWINS = ("one", "two")


def mount_twins(rig: Rig, **more: object) -> None:
    for name in TWINS:
        rig.upstream(name, {**TWIN, **more})


@covers("namesakes.tools", "Identical tools and prompts of two upstreams each reach their own server")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_identical_tools_and_prompts(rig: Rig, front, era) -> None:
    mount_twins(rig)
    async with rig.serve(front).raw(era) as raw:
        for name in TWINS:
            for tool in ("hello", "a.b"):
                assert await raw.text(f"{name}.{tool}") == f"{name} ran {tool}"
            prompt = await raw.request("prompts/get", {"name": f"{name}.ask"})
            assert prompt["messages"][0]["content"]["text"] == f"{name} prompt ask"


@covers("namesakes.resources", "Identical URIs of two upstreams are two entries; each reads its own server")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_identical_uris(rig: Rig, front, era) -> None:
    mount_twins(rig)
    async with rig.serve(front).raw(era) as raw:
        listed = [item["uri"] for item in await raw.items("resources/list", "resources")]
        assert len(set(listed)) == len(listed) == len(URIS) * len(TWINS)
        for position, uri in enumerate(listed):
            owner, original = TWINS[position // len(URIS)], URIS[position % len(URIS)]
            assert uri_back(owner, uri) == original
            (content,) = (await raw.read(uri))["contents"]
            assert content["text"] == f"{owner} read {original}"
            assert content["uri"] == uri


@covers("namesakes.unlisted", "A namespaced URI that no list ever showed reads at its own server")
async def test_unlisted_uris(rig: Rig) -> None:
    mount_twins(rig)
    async with rig.serve().raw() as raw:
        for name in TWINS:
            for public, original in (
                (f"demo://{name}/other/ü?q=1#f", "demo://other/ü?q=1#f"),
                (f"file:///{name}/a%20b", "file:///a%20b"),
                (f"wf://{name}/tag:x,2026:y", "tag:x,2026:y"),
                (f"note://{name}/42", "note://42"),
                (f"s3://{name}/user@[::1]:80//x", "s3://user@[::1]:80//x"),
            ):
                (content,) = (await raw.read(public))["contents"]
                assert (content["text"], content["uri"]) == (f"{name} read {original}", public)


@covers("namesakes.web", "An identical https resource belongs to the first in config order, and status says so")
async def test_the_first_owns_an_identical_web_resource(rig: Rig) -> None:
    mount_twins(rig, resources=[{"name": "web", "uri": WEB}])
    async with rig.admin() as raw:
        listed = [item["uri"] for item in await raw.items("resources/list", "resources")]
        assert WEB in listed
        assert (await raw.read(WEB))["contents"][0]["text"] == f"one read {WEB}"
        status = (await raw.call("wf.admin.status"))["structuredContent"]
    (conflict,) = status["web_conflicts"]
    assert WEB in conflict and "one" in conflict and "two" in conflict


@covers("namesakes.web-linked", "An https URI is routed to the upstream that listed or linked it")
async def test_a_web_uri_is_routed_by_who_listed_or_linked_it(rig: Rig) -> None:
    linked = "https://example.org/linked"
    link = {"content": [{"type": "resource_link", "uri": linked, "name": "l"}]}
    rig.upstream("one", {"builtins": False, "resources": [{"name": "own", "uri": "https://example.org/one"}]})
    rig.upstream("two", {"tools": [{"name": "link", "inputSchema": OBJECT}], "results": {"tool:link": link}})
    async with rig.serve().raw() as raw:
        await raw.items("resources/list", "resources")
        assert (await raw.read("https://example.org/one"))["contents"][0]["text"] == "one read https://example.org/one"
        assert await raw.call("two.link") == link
        assert (await raw.read(linked))["contents"][0]["text"] == f"two read {linked}"


@covers("namesakes.bare", "An upstream with an empty namespace keeps its own names and URIs")
async def test_a_bare_mount(rig: Rig) -> None:
    rig.upstream("one", TWIN, wf={"namespace": ""})
    rig.upstream("two", TWIN)
    async with rig.serve().raw() as raw:
        assert await raw.text("hello") == "one ran hello"
        assert await raw.text("two.hello") == "two ran hello"
        assert (await raw.read("demo://x/1"))["contents"][0]["text"] == "one read demo://x/1"
        assert (await raw.read("demo://two/x/1"))["contents"][0]["text"] == "two read demo://x/1"


@covers("names.labels", "Any key in use in the wild is a legal connection id with a label made from it")
async def test_labels_of_odd_keys(rig: Rig) -> None:
    labels = {"GitHub": "github", "my server": "my-server", "@scope/name": "scope-name", "9lives": "u-9lives"}
    for name in labels:
        rig.upstream(name, {**TWIN, "name": name})
    async with rig.serve().raw() as raw:
        for name, label in labels.items():
            assert await raw.text(f"{label}.hello") == f"{name} ran hello"


@covers("names.hash", "Two tools that become equal in the safe form both carry a hash, and check and status say so")
async def test_clashing_safe_names_carry_a_hash(rig: Rig) -> None:
    tools = [{"name": name, "inputSchema": OBJECT} for name in ("get-x", "get_x", "get_y")]
    rig.upstream("alpha", {"tools": tools, "builtins": False})
    async with rig.serve("stdio", "--names", "safe").raw() as raw:
        first, second, third = await raw.names()
        assert third == "alpha_get_y"
        assert first != second and first.startswith("alpha_get_x_") and second.startswith("alpha_get_x_")
        assert await raw.text(first) == "alpha ran get-x"
        assert await raw.text(second) == "alpha ran get_x"
        status = (await raw.call("wf.admin.status"))["structuredContent"]
    assert status["name_clashes"]


@covers("names.nested", "An upstream that is itself a wf-mcp keeps every name and URI reachable through both")
async def test_a_wf_mcp_behind_a_wf_mcp(rig: Rig) -> None:
    mount_twins(rig)
    inner = rig.folder / "inner.json"
    inner.write_text(rig.write().read_text())
    rig.entries = {}
    argv = rig.serve().argv
    argv[argv.index("--config") + 1] = str(inner)
    state = {key: f"{rig.env[key]}-inner" for key in ("WF_MCP_STATE_DIR", "WF_MCP_CONFIG_DIR", "WF_MCP_CACHE_DIR")}
    rig.command("inner", argv, env=state)
    async with rig.serve().raw() as raw:
        assert await raw.text("inner.two.hello") == "two ran hello"
        uris = [item["uri"] for item in await raw.items("resources/list", "resources")]
        assert len(uris) == len(set(uris)) == len(URIS) * len(TWINS)
        texts = [(await raw.read(uri))["contents"][0]["text"] for uri in uris]
        assert texts == [f"{name} read {uri}" for name in TWINS for uri in URIS]
