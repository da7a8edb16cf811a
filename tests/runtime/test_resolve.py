"""From what a client wrote to the upstream that answers (design D6, D7)."""

from collections import deque

import anyio
import pytest
from tests.runtime.memory import Twin, prompt, resource, template, tool
from tests.runtime.stage import Stage, caller, config, stage, upstream

from wf_mcp.core.errors import RelayedError, UnknownName, UnknownResource, UpstreamUnavailable
from wf_mcp.core.kinds import PROMPTS, TOOLS, Kind
from wf_mcp.runtime import resolve as module

pytestmark = pytest.mark.anyio

WEB = "https://example.org/"


async def name(s: Stage, text: str, kind: Kind = TOOLS) -> tuple[str, str]:
    with anyio.fail_after(10):
        route = await s.resolver.name(caller(), kind, text)
    assert route.session is s.session(route.mount.id)
    return route.mount.id, route.local


async def uri(s: Stage, text: str) -> tuple[str, str]:
    with anyio.fail_after(10):
        route = await s.resolver.uri(caller(), text)
    assert route.session is s.session(route.mount.id)
    return route.mount.id, route.local


@pytest.mark.parametrize("public", ["al-pha.do-it", "al_pha_do_it"])
@pytest.mark.parametrize("kind", [TOOLS, PROMPTS], ids=lambda kind: kind.name)
async def test_either_form_of_a_name_leads_to_the_same_upstream(kind: Kind, public: str) -> None:
    async with stage(Twin("al-pha", tools=[tool("do-it")], prompts=[prompt("do-it")]), Twin("beta")) as s:
        assert await name(s, public, kind) == ("al-pha", "do-it")


async def test_a_name_is_looked_up_and_never_split() -> None:
    first = config(upstream("a", "a"), upstream("b", "a.b2"))
    async with stage(Twin("a", tools=[tool("b.c"), tool("x")]), Twin("b", tools=[tool("c")]), config_of=first) as s:
        assert await name(s, "a.b.c") == ("a", "b.c")
        assert await name(s, "a.b2.c") == ("b", "c")


@pytest.mark.parametrize("wrong", ["alpha.nope", "alpha_nope", "nope", "x", "beta.x", ""])
async def test_a_name_that_nobody_offers_is_the_callers_mistake(wrong: str) -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        with pytest.raises(UnknownName, match=f"^Unknown tool: {wrong}$"):
            await name(s, wrong)
        with pytest.raises(UnknownName, match=r"^Unknown prompt: "):
            await name(s, "alpha.x", PROMPTS)


async def test_a_tool_that_came_after_the_last_list_is_found() -> None:
    async with stage(Twin("alpha")) as s:
        await s.ready()
        s.twin("alpha").change("tools", [tool("new")])
        assert await name(s, "alpha.new") == ("alpha", "new")


async def test_a_tool_that_went_since_the_last_list_is_not_found() -> None:
    async with stage(Twin("alpha", tools=[tool("old")])) as s:
        await s.ready()
        s.twin("alpha").change("tools", [])
        with pytest.raises(UnknownName):
            await name(s, "alpha.old")


async def test_a_warm_name_asks_nobody() -> None:
    async with stage(Twin("alpha", tools=[tool("x")]), Twin("silent"), list_wait=0.1) as s:
        s.twin("silent").slow_start()
        await s.listed()
        with anyio.fail_after(0.05):
            assert await name(s, "alpha.x") == ("alpha", "x")


@pytest.mark.parametrize("public", ["slow.x", "slow_x"])
async def test_a_name_of_a_slow_upstream_is_waited_for_beyond_the_lists(public: str) -> None:
    async with stage(Twin("slow", tools=[tool("x")]), list_wait=0.3) as s, anyio.create_task_group() as tasks:
        start = s.twin("slow").slow_start()
        found: list[tuple[str, str]] = []

        async def look() -> None:
            found.append(await name(s, public))

        assert await s.listed() == []
        tasks.start_soon(look)
        await anyio.wait_all_tasks_blocked()
        assert found == []
        start.set()
    assert found == [("slow", "x")]


async def test_a_name_of_an_upstream_that_cannot_be_reached_says_so() -> None:
    first = config(upstream("down"), upstream("broken", problem="KEY is not set"))
    down = Twin("down", starts=deque(["refused"] * 9))
    async with stage(down, config_of=first) as s:
        with pytest.raises(UpstreamUnavailable, match="'down' is unavailable: refused"):
            await name(s, "down.x")
        with pytest.raises(UpstreamUnavailable, match="'broken' is unavailable: KEY is not set"):
            await name(s, "broken.x")


@pytest.mark.parametrize(
    ("public", "local"),
    [
        ("demo://alpha/x", "demo://x"),
        ("demo:///alpha/x", "demo:///x"),
        ("demo://alpha/x?q=1#f", "demo://x?q=1#f"),
        ("wf://alpha/urn:x:y", "urn:x:y"),
        ("demo://alpha/not/listed", "demo://not/listed"),
    ],
)
async def test_a_uri_belongs_to_the_label_in_it_listed_or_not(public: str, local: str) -> None:
    async with stage(Twin("alpha", resources=[resource("demo://x")]), Twin("beta")) as s:
        assert await uri(s, public) == ("alpha", local)


@pytest.mark.parametrize("wrong", ["demo://x", "demo://nobody/x", "urn:x", f"{WEB}x", "", "not a uri"])
async def test_a_uri_that_nobody_owns_is_repeated_as_it_was_written(wrong: str) -> None:
    async with stage(Twin("alpha")) as s:
        with pytest.raises(UnknownResource) as raised:
            await uri(s, wrong)
    assert (raised.value.code, raised.value.data) == (-32002, {"uri": wrong})


async def test_a_web_address_belongs_to_who_lists_it() -> None:
    async with stage(Twin("alpha"), Twin("beta", resources=[resource(f"{WEB}a")])) as s:
        assert await uri(s, f"{WEB}a") == ("beta", f"{WEB}a")


async def test_a_web_address_belongs_to_whose_template_starts_like_it_the_longest_first() -> None:
    twins = Twin("alpha", templates=[template(WEB + "{x}")]), Twin("beta", templates=[template(WEB + "docs/{x}")])
    async with stage(*twins) as s:
        assert await uri(s, f"{WEB}docs/1") == ("beta", f"{WEB}docs/1")
        assert await uri(s, f"{WEB}other") == ("alpha", f"{WEB}other")


async def test_a_web_address_belongs_to_who_handed_it_out() -> None:
    async with stage(Twin("alpha"), Twin("beta")) as s:
        s.resolver.linked(s.mounts["beta"], [f"{WEB}a"])
        assert await uri(s, f"{WEB}a") == ("beta", f"{WEB}a")
        with pytest.raises(UnknownResource):
            await uri(s, f"{WEB}b")


async def test_of_two_that_list_a_web_address_the_first_in_the_config_answers() -> None:
    shared = [resource(f"{WEB}a")]
    async with stage(Twin("beta", resources=shared), Twin("alpha", resources=shared)) as s:
        assert await uri(s, f"{WEB}a") == ("beta", f"{WEB}a")


async def test_a_web_address_from_an_upstream_that_was_removed_is_nobodys() -> None:
    async with stage(Twin("alpha"), Twin("beta")) as s:
        s.resolver.linked(s.mounts["beta"], [f"{WEB}a"])
        s.next = config(upstream("alpha"))
        await s.operator.reload()
        with pytest.raises(UnknownResource):
            await uri(s, f"{WEB}a")


async def test_links_are_remembered_up_to_a_limit_the_newest_longest() -> None:
    async with stage(Twin("alpha")) as s:
        mount = s.mounts["alpha"]
        s.resolver.linked(mount, [f"{WEB}{number}" for number in range(module.LINK_CAP)])
        s.resolver.linked(mount, [f"{WEB}0", f"{WEB}new"])
        assert await uri(s, f"{WEB}0") == ("alpha", f"{WEB}0")
        with pytest.raises(UnknownResource):
            await uri(s, f"{WEB}1")


@pytest.mark.parametrize("public", ["demo://x", "urn:x", f"{WEB}a", "file:///x"])
async def test_a_bare_mount_owns_what_no_label_claims(public: str) -> None:
    async with stage(Twin("alpha"), Twin("one"), config_of=config(upstream("alpha"), upstream("one", ""))) as s:
        assert await uri(s, public) == ("one", public)
        assert await uri(s, "demo://alpha/x") == ("alpha", "demo://x")


async def test_a_resource_of_an_upstream_that_cannot_be_started_says_so() -> None:
    async with stage(config_of=config(upstream("broken", problem="KEY is not set"))) as s:
        with pytest.raises(UpstreamUnavailable, match="'broken' is unavailable: KEY is not set"):
            await uri(s, "demo://broken/x")


async def test_a_tool_of_an_upstream_that_could_never_list_its_tools_is_not_called_unknown() -> None:
    twin = Twin("alpha")
    twin.fail("tools/list", RelayedError(-1, "no"))
    async with stage(twin) as s:
        with pytest.raises(UpstreamUnavailable, match="'alpha' is unavailable: it did not list its tools: no"):
            await s.call("alpha.x")
