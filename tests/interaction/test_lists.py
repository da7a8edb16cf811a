"""Lists: every page, kept until they change, and the notices that say so."""

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.rawclient import RawError
from tests.rig import ERAS, FRONTS, Rig, end

pytestmark = pytest.mark.anyio
OBJECT = {"type": "object"}


@covers("lists.all-pages", "A list follows every upstream page, empty pages and odd cursors included")
@pytest.mark.parametrize("era", ERAS)
async def test_lists_follow_every_page(rig: Rig, era) -> None:
    spec: JsonObject = {
        "builtins": False,
        "tools": [{"name": f"t{n}", "inputSchema": OBJECT} for n in range(7)],
        "prompts": [{"name": f"p{n}"} for n in range(5)],
        "resources": [{"name": f"r{n}", "uri": f"demo://r/{n}"} for n in range(6)],
        "templates": [{"name": f"u{n}", "uriTemplate": f"demo://u/{n}/{{id}}"} for n in range(4)],
        "pages": {"size": 2, "empty": True},
    }
    rig.upstream("paged", spec)
    rig.upstream("plain", {"builtins": False, "tools": [{"name": "one", "inputSchema": OBJECT}]})
    async with rig.serve().raw(era) as raw:
        assert await raw.names() == [f"paged.t{n}" for n in range(7)] + ["plain.one"]
        assert await raw.names("prompts") == [f"paged.p{n}" for n in range(5)]
        resources = await raw.items("resources/list", "resources")
        assert [item["uri"] for item in resources] == [f"demo://paged/r/{n}" for n in range(6)]
        templates = await raw.items("resources/templates/list", "resourceTemplates")
        assert [item["uriTemplate"] for item in templates] == [f"demo://paged/u/{n}/{{id}}" for n in range(4)]
        assert await raw.text("paged.t6") == "paged ran t6"


@covers("lists.repeated-cursor", "An upstream that repeats its cursor for ever costs one bounded list, and no other's")
async def test_a_cursor_that_repeats_is_noticed(rig: Rig) -> None:
    rig.upstream(
        "looping", {"tools": [{"name": "t", "inputSchema": OBJECT}], "builtins": False, "pages": {"repeat": True}}
    )
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        names = await raw.names()
        assert "good.echo" in names
        assert 1 <= names.count("looping.t") <= 2
    assert len(rig["looping"].events("request", method="tools/list")) <= 10


@covers("lists.page-size", "With `page_size` the client gets pages that together are the whole list, once each")
async def test_our_own_pages(rig: Rig) -> None:
    rig.upstream("a", {"builtins": False, "tools": [{"name": f"t{n}", "inputSchema": OBJECT} for n in range(7)]})
    rig.settings["page_size"] = 3
    async with rig.serve().raw() as raw:
        page = await raw.request("tools/list", {})
        assert len(page["tools"]) == 3
        assert await raw.names() == [f"a.t{n}" for n in range(7)]
        with pytest.raises(RawError) as caught:
            await raw.request("tools/list", {"cursor": "never given"})
        assert caught.value.code == -32602


TOOLS_OF = {"builtins": False, "tools": [{"name": f"t{n}", "inputSchema": OBJECT} for n in range(4)]}


@covers("lists.cursor-neighbours", "A cursor goes on after a reload that put other upstreams before and behind")
async def test_a_cursor_survives_its_neighbours(rig: Rig) -> None:
    rig.upstream("m", TOOLS_OF)
    rig.settings["page_size"] = 3
    rig.plain("a", TOOLS_OF)
    rig.plain("z", TOOLS_OF)
    async with rig.admin() as raw:
        page = await raw.request("tools/list", {})
        assert [tool["name"] for tool in page["tools"]] == ["m.t0", "m.t1", "m.t2"]
        entries = {name: {"command": rig[name].argv[0], "args": rig[name].argv[1:]} for name in ("a", "z")}
        rig.entries = {"a": entries["a"], "m": rig.entries["m"], "z": entries["z"]}
        rig.write()
        await raw.call("wf.admin.reload_config")
        page = await raw.request("tools/list", {"cursor": page["nextCursor"]})
        assert [tool["name"] for tool in page["tools"]] == ["m.t3", "z.t0", "z.t1"]


@covers("lists.cursor-restart", "A cursor goes on after wf-mcp was restarted")
async def test_a_cursor_survives_a_restart(rig: Rig) -> None:
    rig.upstream("a", TOOLS_OF)
    rig.settings["page_size"] = 3
    async with rig.serve("http").raw() as raw:
        cursor = (await raw.request("tools/list", {}))["nextCursor"]
    end(rig.process)
    async with rig.serve("http").raw() as raw:
        page = await raw.request("tools/list", {"cursor": cursor})
        assert [tool["name"] for tool in page["tools"]] == ["a.t3"]


@covers("lists.kept", "A list is asked for once and kept until the upstream says that it changed")
async def test_lists_are_kept(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        await raw.names()
        before = len(rig["alpha"].events("request", method="tools/list"))
        await raw.names()
        assert len(rig["alpha"].events("request", method="tools/list")) == before == 1


@covers("lists.warm", "A list that is asked for again is the same to the last field, in every form, until it changes")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("front", FRONTS)
async def test_a_warm_list_is_what_the_first_one_was(rig: Rig, front, era) -> None:
    odd: JsonObject = {"x-null": None, "n": 2**70, "text": "\u00e9\n\u2028", "_meta": {"a": [1.5, {}]}}
    tools = [{"name": f"t{n}", "inputSchema": OBJECT, **odd} for n in range(5)]
    rig.upstream("alpha", {"tools": tools})
    rig.settings["page_size"] = 4
    async with rig.serve(front).raw(era) as raw:
        cold = await raw.items("tools/list", "tools")
        assert [tool for tool in cold if tool["name"] == "alpha.t3"] == [{**tools[3], "name": "alpha.t3"}]
        first = await raw.request("tools/list", {})
        for _ in range(3):
            assert await raw.items("tools/list", "tools") == cold
            again = await raw.request("tools/list", {})
            assert list(again) == list(first)
            assert {**again, "nextCursor": ""} == {**first, "nextCursor": ""}
        await raw.text("alpha.grow", {"kinds": ["tools"]})
        names: list[str] = []
        with anyio.fail_after(10):
            while "alpha.grown" not in names:
                names = [tool["name"] for tool in await raw.items("tools/list", "tools")]
        assert len(names) == len(set(names)) == len(cold) + 1


@covers("events.list-changed", "An upstream's list_changed reaches the client, and the next list shows the change")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_changed_list_is_announced_and_shown(rig: Rig, front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        assert "alpha.grown" not in await raw.names()
        await raw.text("alpha.grow", {"kinds": ["tools", "prompts", "resources"]})
        for kind in ("tools", "prompts", "resources"):
            await raw.notes.wait_for(f"notifications/{kind}/list_changed", 5)
        assert "alpha.grown" in await raw.names()
        assert await raw.names("prompts") == ["alpha.grown"]
        assert await raw.text("alpha.grown") == "alpha ran grown"
        await raw.text("alpha.shrink")
        with pytest.raises(RawError) as caught:
            await raw.call("alpha.grown")
        assert caught.value.code == -32602


@covers("events.list-changed-fresh", "A list made as soon as list_changed is heard is never the old one")
async def test_the_list_right_after_the_notice_is_fresh(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().client() as probe:
        for number in range(5):
            await probe.names()
            probe.notes.items.clear()
            await probe.text("alpha.grow", {"name": f"g{number}"})
            await probe.wait_for("notifications/tools/list_changed", 5)
            assert f"alpha.g{number}" in await probe.names()
