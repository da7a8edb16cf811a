"""One list request answered: in the client's form of names, page by page (matrix F.4)."""

import anyio
import pytest
from tests.runtime.memory import Twin, prompt, resource, tool
from tests.runtime.stage import caller, config, stage, upstream

from wf_mcp.core.config import NamesSettings
from wf_mcp.core.envelope import Era
from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.kinds import PROMPTS, RESOURCES, TOOLS
from wf_mcp.core.merge import PARTIAL
from wf_mcp.core.seal import Sealer
from wf_mcp.core.wire import JsonObject, Written
from wf_mcp.edge.lists import Lists

pytestmark = pytest.mark.anyio

SEALER = Sealer(b"k" * 32)
OWN = [tool("wf.admin.status")]
ERA_OF: dict[str, Era] = {"new": "modern", "old": "handshake"}
SAFE = caller(style="safe")


def five() -> Twin:
    return Twin("alpha", tools=[tool(name) for name in "abcde"])


async def pages(lists: Lists, own: list[JsonObject]) -> list[list[str]]:
    """The names on every page."""
    found, cursor = [], None
    with anyio.fail_after(10):
        while True:
            page = await lists.answer(caller(), TOOLS, cursor, own)
            found.append([item["name"] for item in page["tools"]])
            cursor = page.get("nextCursor")
            if cursor is None:
                return found


async def test_without_a_page_size_everything_is_on_one_page() -> None:
    async with stage(five()) as s:
        page = await Lists(s.listings, lambda: None, SEALER).answer(caller(), TOOLS, None, OWN)
    assert [item["name"] for item in page["tools"]] == [*(f"alpha.{name}" for name in "abcde"), "wf.admin.status"]
    assert set(page) == {"tools"}


async def test_pages_hold_everything_once_our_own_tools_last() -> None:
    async with stage(five()) as s:
        assert await pages(Lists(s.listings, lambda: 4, SEALER), OWN) == [
            ["alpha.a", "alpha.b", "alpha.c", "alpha.d"],
            ["alpha.e", "wf.admin.status"],
        ]


async def test_a_cursor_whose_item_is_gone_is_refused() -> None:
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: 2, SEALER)
        cursor = (await lists.answer(caller(), TOOLS, None, []))["nextCursor"]
        s.twin("alpha").change("tools", [tool("z")])
        with pytest.raises(InvalidParams, match="Invalid cursor"):
            await lists.answer(caller(), TOOLS, cursor, [])


async def test_a_cursor_of_another_kind_is_refused() -> None:
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: 2, SEALER)
        cursor = (await lists.answer(caller(), TOOLS, None, []))["nextCursor"]
        with pytest.raises(InvalidParams):
            await lists.answer(caller(), PROMPTS, cursor, [])


async def test_a_cursor_is_good_at_another_process_with_the_same_key_and_no_other() -> None:
    async with stage(five()) as s:
        first = await Lists(s.listings, lambda: 2, SEALER).answer(caller(), TOOLS, None, [])
        second = await Lists(s.listings, lambda: 2, Sealer(b"k" * 32)).answer(caller(), TOOLS, first["nextCursor"], [])
        assert [item["name"] for item in second["tools"]] == ["alpha.c", "alpha.d"]
        with pytest.raises(InvalidParams):
            await Lists(s.listings, lambda: 2, Sealer(b"o" * 32)).answer(caller(), TOOLS, first["nextCursor"], [])


async def test_a_cursor_is_good_for_its_principal_alone() -> None:
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: 2, SEALER)
        cursor = (await lists.answer(caller(principal="alice"), TOOLS, None, []))["nextCursor"]
        with pytest.raises(InvalidParams):
            await lists.answer(caller(principal="bob"), TOOLS, cursor, [])


@pytest.mark.parametrize("style", ["dotted", "safe"])
async def test_our_own_tools_are_a_section_of_their_own(style: str) -> None:
    own = [tool(f"wf.admin.{name}") for name in ("a_b", "c")]
    who = caller(style=style)
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        lists = Lists(s.listings, lambda: 2, SEALER)
        first = await lists.answer(who, TOOLS, None, own)
        second = await lists.answer(who, TOOLS, first["nextCursor"], own)
    last = "wf.admin.c" if style == "dotted" else "wf_admin_c"
    assert [item["name"] for item in second["tools"]] == [last]
    assert "nextCursor" not in second


async def test_safe_names_are_listed_where_a_client_needs_them_and_addresses_stay() -> None:
    twin = Twin("al-pha", tools=[tool("a-b")], prompts=[prompt("c")], resources=[resource("demo://r")])
    async with stage(twin) as s:
        lists = Lists(s.listings, lambda: None, SEALER)
        assert (await lists.answer(SAFE, TOOLS, None, OWN))["tools"] == [tool("al_pha_a_b"), tool("wf_admin_status")]
        assert (await lists.answer(SAFE, PROMPTS, None, []))["prompts"] == [prompt("al_pha_c")]
        assert (await lists.answer(SAFE, RESOURCES, None, []))["resources"][0]["uri"] == "demo://al-pha/r"
        assert (await lists.answer(caller(), TOOLS, None, []))["tools"] == [tool("al-pha.a-b")]


async def test_safe_names_that_a_reload_changes_are_listed_anew() -> None:
    async with stage(Twin("alpha", tools=[tool("x" * 40)])) as s:
        lists = Lists(s.listings, lambda: None, SEALER)
        await lists.answer(SAFE, TOOLS, None, [])
        s.next = config(upstream("alpha"), names=NamesSettings("auto", 30))
        await s.operator.reload()
        (item,) = (await lists.answer(SAFE, TOOLS, None, []))["tools"]
        assert len(item["name"]) <= 30
        await s.call(item["name"], SAFE)


async def test_upstreams_that_are_missing_are_named_beside_the_list() -> None:
    first = config(upstream("alpha"), upstream("Down", "down", problem="no"))
    async with stage(five(), config_of=first) as s:
        page = await Lists(s.listings, lambda: 2, SEALER).answer(caller(), TOOLS, None, [])
    assert page["_meta"] == {PARTIAL: ["down"]}


async def test_a_warm_list_is_the_same_items() -> None:
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: None, SEALER)
        first, again = [(await lists.answer(SAFE, TOOLS, None, []))["tools"] for _ in range(2)]
    assert all(one is other for one, other in zip(first, again, strict=True))


async def test_an_item_of_an_upstream_is_never_changed_by_the_form_of_names() -> None:
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: None, SEALER)
        await lists.answer(SAFE, TOOLS, None, OWN)
        assert s.twin("alpha").tools == [tool(name) for name in "abcde"]
    assert [tool("wf.admin.status")] == OWN


async def test_a_handshake_client_gets_of_a_modern_upstreams_list_what_it_can_hold() -> None:
    """An output schema that is not of an object (matrix D.3), and whose server it was, are of 2026-07-28 only."""
    twins = [Twin(name, era=era, tools=[tool("x", outputSchema={"type": "array"})]) for name, era in ERA_OF.items()]
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "new"}, "vendor": 1}
    twins[0].give("tools/list", {"tools": twins[0].tools, "_meta": meta, "resultType": "complete", "ttlMs": 1})
    async with stage(*twins) as s:
        lists = Lists(s.listings, lambda: None, SEALER)
        old = await lists.answer(caller(), TOOLS, None, [])
        new = await lists.answer(caller(era="modern"), TOOLS, None, [])
        again = await lists.answer(caller(), TOOLS, None, [])
    assert [(item["name"], "outputSchema" in item) for item in old["tools"]] == [("new.x", False), ("old.x", True)]
    assert [(item["name"], "outputSchema" in item) for item in new["tools"]] == [("new.x", True), ("old.x", True)]
    assert old["_meta"] == {"vendor": 1}
    assert again == old


async def test_a_modern_client_is_told_on_every_page_how_long_the_list_holds() -> None:
    twin = Twin("alpha", era="modern", capabilities={"tools": {"listChanged": True}})
    twin.give("tools/list", {"tools": [tool("a"), tool("b")], "ttlMs": 5000, "cacheScope": "public"})
    modern = caller(era="modern")
    async with stage(twin) as s:
        lists = Lists(s.listings, lambda: 1, SEALER)
        first = await lists.answer(modern, TOOLS, None, [])
        second = await lists.answer(modern, TOOLS, first["nextCursor"], [])
        assert [(page["ttlMs"], page["cacheScope"]) for page in (first, second)] == [(5000, "public")] * 2
        with_own = await lists.answer(modern, TOOLS, None, OWN)
        assert (with_own["ttlMs"], with_own["cacheScope"]) == (5000, "private")
        assert "ttlMs" not in await lists.answer(caller(), TOOLS, None, [])


async def test_an_address_that_changed_hands_is_gone_on_from_at_its_new_owner() -> None:
    same = [resource(f"https://x/{number}") for number in range(3)]
    async with stage(Twin("alpha", resources=list(same)), Twin("beta", resources=list(same))) as s:
        lists = Lists(s.listings, lambda: 2, SEALER)
        await lists.answer(caller(), RESOURCES, None, [])
        s.next = config(upstream("beta"))
        await s.operator.reload()
        page = await lists.answer(caller(), RESOURCES, None, [])
        assert SEALER.open("cursor", page["nextCursor"])["owner"] == "beta"


async def test_while_nothing_changes_a_list_is_the_same_object_with_its_text() -> None:
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: None, SEALER)
        first = (await lists.answer(caller(), TOOLS, None, []))["tools"]
        assert isinstance(first, Written)
        assert (await lists.answer(caller(), TOOLS, None, []))["tools"] is first
        safe = (await lists.answer(SAFE, TOOLS, None, []))["tools"]
        assert safe is not first
        assert (await lists.answer(SAFE, TOOLS, None, []))["tools"] is safe
        s.twin("alpha").change("tools", [tool("z")])
        with anyio.fail_after(10):
            changed = first
            while changed is first:
                changed = (await lists.answer(caller(), TOOLS, None, []))["tools"]
                await anyio.lowlevel.checkpoint()
    assert changed == [tool("alpha.z")]


async def test_pages_are_the_same_objects_too() -> None:
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: 2, SEALER)
        first = await lists.answer(caller(), TOOLS, None, [])
        second = (await lists.answer(caller(), TOOLS, first["nextCursor"], []))["tools"]
        assert second == [tool("alpha.c"), tool("alpha.d")]
        assert (await lists.answer(caller(), TOOLS, None, []))["tools"] is first["tools"]
        assert (await lists.answer(caller(), TOOLS, first["nextCursor"], []))["tools"] is second


async def test_tools_of_our_own_are_part_of_it_until_they_are_others() -> None:
    other = [tool("wf.admin.status", description="described otherwise")]
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: None, SEALER)
        first = (await lists.answer(caller(), TOOLS, None, OWN))["tools"]
        assert (await lists.answer(caller(), TOOLS, None, list(OWN)))["tools"] is first
        bare = (await lists.answer(caller(), TOOLS, None, []))["tools"]
        assert [item["name"] for item in bare] == [f"alpha.{name}" for name in "abcde"]
        assert (await lists.answer(caller(), TOOLS, None, other))["tools"][-1] == other[0]
        more = (await lists.answer(caller(), TOOLS, None, [*OWN, tool("wf.read_resource")]))["tools"]
        assert [item["name"] for item in more[-2:]] == ["wf.admin.status", "wf.read_resource"]
        assert (await lists.answer(caller(), TOOLS, None, OWN))["tools"] == first


async def test_what_is_beside_the_list_is_made_for_each_answer() -> None:
    hints = {"ttlMs": 60_000, "cacheScope": "public"}
    asks = caller(era="modern")
    async with stage(five()) as s:
        lists = Lists(s.listings, lambda: None, SEALER)
        one, two = [await lists.answer(asks, TOOLS, None, OWN) for _ in range(2)]
    assert one["tools"] is two["tools"]
    assert one is not two
    assert set(one) == {"tools", *hints}
