"""The public lists: everything merged in config order, and nobody held up by one upstream (design D5, D6)."""

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, resource, template, tool
from tests.runtime.stage import A, Stage, caller, config, stage, upstream, visitor

from wf_mcp.core.events import ToolsChanged, UpstreamReady
from wf_mcp.core.hints import NO_CACHE, Hints
from wf_mcp.core.kinds import RESOURCES, TOOLS
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.audience import Audience, alone

pytestmark = pytest.mark.anyio


async def missing(s: Stage) -> tuple[str, ...]:
    with anyio.fail_after(10):
        return (await s.listings.listing(caller(), TOOLS)).missing


async def test_lists_are_merged_in_config_order() -> None:
    async with stage(Twin("beta", tools=[tool("b"), tool("a")]), Twin("alpha", tools=[tool("a")])) as s:
        assert await s.listed() == ["beta.b", "beta.a", "alpha.a"]
        assert await missing(s) == ()


async def test_upstreams_that_are_not_there_are_named_and_hold_nobody_up() -> None:
    first = config(
        upstream("alpha"), upstream("Off", "off", problem="no"), upstream("slow"), upstream("down"), list_wait=0.1
    )
    twins = Twin("alpha", tools=[tool("x")]), Twin("slow"), Twin("down")
    twins[1].slow_start()
    twins[2].starts.extend(["refused"] * 9)
    async with stage(*twins, config_of=first) as s:
        with anyio.fail_after(2):
            assert await s.listed() == ["alpha.x"]
        assert await missing(s) == ("off", "slow", "down")


async def test_an_upstream_that_comes_late_is_announced_once_and_is_then_in_the_list() -> None:
    async with stage(Twin("alpha", tools=[tool("x")]), Twin("slow", tools=[tool("y")]), list_wait=0.1) as s:
        start = s.twin("slow").slow_start()
        assert await s.listed() == ["alpha.x"]
        start.set()
        await s.ear.hears(ToolsChanged("slow", "a"))
        assert await s.listed() == ["alpha.x", "slow.y"]
        await s.listed()
        assert s.ear.of(ToolsChanged) == [ToolsChanged("slow", "a")]


async def test_the_old_list_of_an_upstream_that_went_away_stays_and_is_named() -> None:
    async with stage(Twin("alpha", tools=[tool("x")]), list_wait=0.1) as s:
        await s.ready()
        s.twin("alpha").slow_start()
        s.twin("alpha").link.lose()
        await anyio.wait_all_tasks_blocked()
        assert await s.listed() == ["alpha.x"]
        assert await missing(s) == ("alpha",)


async def test_many_silent_upstreams_cost_no_more_time_than_one() -> None:
    twins = [Twin(f"t{number}", tools=[tool("x")]) for number in range(6)]
    async with stage(*twins, list_wait=0.3) as s:
        await s.ready()
        for twin in twins:
            twin.hold("tools/list")
            twin.link.say("notifications/tools/list_changed")
        began = anyio.current_time()
        assert len(await s.listed()) == 6
        assert anyio.current_time() - began < 1


async def test_a_list_keeps_its_state_until_something_in_it_changes() -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        first = await s.listings.listing(caller(), TOOLS)
        s.twin("alpha").change("tools", [tool("x")])
        same = await s.listings.listing(caller(), TOOLS)
        s.twin("alpha").change("tools", [tool("x", title="X")])
        other = await s.listings.listing(caller(), TOOLS)
    assert first.state == same.state != other.state


async def test_a_change_of_safe_names_is_a_change_of_the_list() -> None:
    """Clients that are given safe names must hear of it, and pages made for the old ones must not go on."""
    async with stage(Twin("alpha", tools=[tool("x" * 40)])) as s:
        before = (await s.listings.listing(caller(), TOOLS)).state
        s.next = config(upstream("alpha"), names=type(s.operator.config.names)("auto", 30))
        await s.operator.reload()
        listing = await s.listings.listing(caller(), TOOLS)
    assert len(listing.entries[0].safe) <= 30
    assert listing.state != before


async def test_a_name_that_means_two_things_stays_with_the_first_and_is_told() -> None:
    first = config(upstream("one", ""), upstream("a"))
    async with stage(Twin("one", tools=[tool("a.x")]), Twin("a", tools=[tool("x")]), config_of=first) as s:
        await s.ready()
        assert (entry := s.listings.table(A, TOOLS).find("a.x")) is not None
        assert entry.mount_id == "one"
        assert any("'a.x' is 'a.x' of 'one', not 'x' of 'a'" in clash for clash in s.listings.name_clashes())


async def test_web_addresses_belong_to_who_lists_them_and_conflicts_are_told() -> None:
    shared, own = "https://example.org/shared", "https://example.org/own"
    twins = (
        Twin("alpha", resources=[resource(shared)]),
        Twin("beta", resources=[resource(shared), resource(own)], templates=[template("https://example.org/t/{x}")]),
    )
    async with stage(*twins) as s:
        await s.ready()
        web = s.listings.web(A)
        assert [web.owner(uri) for uri in (shared, own, "https://example.org/t/1", "https://example.org/")] == [
            "alpha",
            "beta",
            "beta",
            None,
        ]
        assert s.listings.web_conflicts() == [
            f"{shared} is offered by 'alpha' and 'beta'; 'alpha' comes first in the config and answers"
        ]


async def test_a_snapshot_differs_where_clients_must_look_again() -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await s.ready()
        before = s.listings.snapshot([A])
        assert s.listings.snapshot([A]) == before
        s.twin("alpha").change("tools", [])
        await s.ready()
        after = s.listings.snapshot([A])
    assert [kind for kind in before if before[kind] != after[kind]] == ["tools"]


async def test_each_audience_sees_what_its_own_session_lists() -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        assert await s.listed(who=caller("a")) == ["alpha.x"]
        s.twin("alpha").tools = [tool("y")]
        assert await s.listed(who=caller("b")) == ["alpha.y"]
        assert await s.listed(who=caller("a")) == ["alpha.x"]
        await s.ear.hears(UpstreamReady, times=2)


async def test_who_keeps_something_for_an_audience_is_told_when_it_is_no_more() -> None:
    gone: list[Audience] = []
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        s.listings.when_released(gone.append)
        for audience in ("a", "b"):
            await s.listed(who=caller(audience))
        s.mounts.release(A)
        assert gone == [A]
        assert s.listings.table(A, TOOLS).find("alpha.x") is None
        assert s.listings.table(alone("b"), TOOLS).find("alpha.x") is not None


async def test_those_who_share_a_session_see_the_same_list_made_once() -> None:
    one, other = visitor(TwinClient("one")), visitor(TwinClient("other"))
    async with stage(Twin("alpha", tools=[tool("x")]), config_of=config(upstream("alpha", isolation="shared"))) as s:
        assert await s.listed(who=one) == await s.listed(who=other) == ["alpha.x"]
        assert len(s.twin("alpha").of("tools/list")) == 1
        shelves = [s.shelves.shelf(s.mounts["alpha"], who.audience, TOOLS) for who in (one, other)]
        assert shelves[0] is shelves[1]
        s.mounts.release(one.audience)
        assert s.shelves.shelf(s.mounts["alpha"], other.audience, TOOLS) is shelves[0]


async def test_resources_keep_what_they_are_besides_their_address() -> None:
    async with stage(Twin("alpha", resources=[resource("demo://x", size=3, _meta={"a": 1})])) as s:
        (entry,) = (await s.listings.listing(caller(), RESOURCES)).entries
    assert entry.item == {"uri": "demo://alpha/x", "name": "demo://x", "size": 3, "_meta": {"a": 1}}


def hinted(name: str, ttl: int, scope: str = "public", **capabilities: JsonObject) -> Twin:
    """A modern upstream with one tool, whose list may be reused."""
    capabilities = capabilities or {"tools": {"listChanged": True}}
    twin = Twin(name, era="modern", capabilities=dict(capabilities))
    twin.give("tools/list", {"tools": [tool("x")], "ttlMs": ttl, "cacheScope": scope})
    return twin


@pytest.mark.parametrize(
    ("twins", "expected"),
    [
        ([hinted("a", 5000), hinted("b", 3000)], Hints(3000, "public")),
        ([hinted("a", 5000), hinted("b", 3000, "private")], Hints(3000, "private")),
        ([hinted("a", 5000), Twin("b", tools=[tool("y")])], NO_CACHE),
        ([hinted("a", 5000), Twin("b", capabilities={"prompts": {}})], Hints(5000, "public")),
        ([hinted("a", 5000), hinted("b", 1, resources={})], Hints(5000, "public")),
        ([Twin("a", capabilities={})], NO_CACHE),
    ],
    ids=["two", "a private one", "a handshake one", "one without tools", "a modern one without tools", "nobody"],
)
async def test_a_list_may_be_reused_as_all_who_are_in_it_allow(twins: list[Twin], expected: Hints) -> None:
    async with stage(*twins) as s:
        with anyio.fail_after(10):
            assert (await s.listings.listing(caller(), TOOLS)).hints == expected


async def test_a_list_that_somebody_is_missing_from_may_not_be_reused() -> None:
    first = config(upstream("a"), upstream("down", problem="no"))
    async with stage(hinted("a", 5000), config_of=first) as s:
        listing = await s.listings.listing(caller(), TOOLS)
    assert (listing.missing, listing.hints) == (("down",), NO_CACHE)
