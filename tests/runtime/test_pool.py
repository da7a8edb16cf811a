"""Sessions as they are opened: asleep with what an upstream listed before, or in turn with the others (design D5)."""

import time
from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, TwinLink, prompt, resource, text, tool
from tests.runtime.shelf import Shelf, stored
from tests.runtime.stage import Stage, caller, config, stage, upstream, visitor

from wf_mcp.core.config import HttpTransport
from wf_mcp.core.errors import RelayedError, UnknownName, UpstreamUnavailable
from wf_mcp.core.events import ToolsChanged, UpstreamReady, UpstreamStarting
from wf_mcp.core.hints import Hints
from wf_mcp.core.kinds import PROMPTS, TOOLS
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.mount import offers
from wf_mcp.runtime.session import UpstreamSession

pytestmark = pytest.mark.anyio

A, B = tool("a"), tool("b")


def shelf_of(*ids: str, **said: Any) -> Shelf:
    """A store that has what each of them listed a moment ago: the tool `a`."""
    shelf = Shelf()
    for each in ids or ("alpha",):
        shelf.put(stored(A, at=time.time() - 1, **said), each)
    return shelf


def states(s: Stage) -> dict[str, State]:
    return {mount.id: session.state for mount in s.mounts for session in mount.sessions.values()}


def started(s: Stage) -> list[str]:
    return [event.mount for event in s.ear.of(UpstreamStarting)]


async def confirmed(session: UpstreamSession) -> None:
    """Wait until everything was listed anew."""
    with anyio.fail_after(5):
        await session.catalogue.settled()


async def test_what_is_known_from_before_is_whole_at_once_and_starts_nothing() -> None:
    shelf = shelf_of("alpha", "beta", instructions="be kind", capabilities={"tools": {}, "logging": {}})
    async with stage(Twin("alpha", tools=[A]), Twin("beta", tools=[A]), catalogues=shelf) as s:
        known = offers(s.mounts.attend(caller(), wake=False))
        assert [(each.capabilities, each.instructions) for each in known] == [
            ({"tools": {}, "logging": {}}, "be kind")
        ] * 2
        listing = await s.listings.listing(caller(), TOOLS)
        assert ([entry.dotted for entry in listing.entries], listing.missing) == (["alpha.a", "beta.a"], ())
        await anyio.wait_all_tasks_blocked()
        assert (states(s), started(s)) == ({"alpha": State.ASLEEP, "beta": State.ASLEEP}, [])


async def test_the_first_use_starts_that_one_alone() -> None:
    async with stage(Twin("alpha", tools=[A]), Twin("beta", tools=[A]), catalogues=shelf_of("alpha", "beta")) as s:
        assert await s.listed() == ["alpha.a", "beta.a"]
        assert await s.call("beta.a") == text("beta ran a")
        await confirmed(s.session("beta"))
        assert (states(s), started(s)) == ({"alpha": State.ASLEEP, "beta": State.READY}, ["beta"])
        assert s.ear.of(ToolsChanged) == []  # it lists what was known


async def test_a_read_a_prompt_and_a_completion_wake_it_too() -> None:
    for method, params in (
        ("resources/read", {"uri": "demo://alpha/r"}),
        ("prompts/get", {"name": "alpha.p"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "alpha.p"}}),
    ):
        twin = Twin("alpha", tools=[A], prompts=[prompt("p")], resources=[resource("demo://r")])
        async with stage(twin, Twin("beta"), catalogues=shelf_of("alpha", "beta")) as s:
            await s.listed()
            ask = s.dispatch.complete(caller(), params) if method.startswith("completion") else s.ask(method, params)
            await ask
            assert states(s) == {"alpha": State.READY, "beta": State.ASLEEP}


async def test_a_list_that_is_another_one_by_now_is_announced_once_it_is_known() -> None:
    shelf = shelf_of()
    async with stage(Twin("alpha", tools=[A, B]), catalogues=shelf) as s:
        assert await s.listed() == ["alpha.a"]
        await s.call("alpha.a")
        await s.ear.hears(ToolsChanged("alpha", "a"))
        assert await s.listed() == ["alpha.a", "alpha.b"]
        await shelf.saved()
    kept = shelf.of()
    assert kept is not None and kept.lists["tools"].items == (A, B)


async def test_what_an_upstream_says_of_its_lists_as_it_wakes_is_no_news_where_they_stay_the_same() -> None:
    alpha = Twin("alpha", tools=[A])
    async with stage(alpha, catalogues=shelf_of()) as s:
        assert await s.listed() == ["alpha.a"]
        held = alpha.hold("tools/list")
        session = s.session("alpha")
        session.connection.wake()
        await alpha.asked("tools/list")
        for _ in range(3):  # it registers its tools one by one
            alpha.link.say("notifications/tools/list_changed")
        del alpha.answers["tools/list"]
        held.set()
        await confirmed(session)
        assert s.ear.of(ToolsChanged) == []
        alpha.link.say("notifications/tools/list_changed")
        await s.ear.hears(ToolsChanged("alpha", "a"))


async def test_a_tool_that_is_gone_by_now_is_unknown() -> None:
    twin = Twin("alpha", tools=[B])
    async with stage(twin, catalogues=shelf_of()) as s:
        await s.listed()
        with pytest.raises(UnknownName, match=r"Unknown tool: alpha\.a"):
            await s.call("alpha.a")
        assert twin.of("tools/call") == []


async def test_a_call_waits_for_the_upstream_that_it_is_for_and_no_other() -> None:
    silent = Twin("silent", tools=[A])
    silent.slow_start()
    async with stage(silent, Twin("alpha", tools=[A]), catalogues=shelf_of(), list_wait=60) as s:
        with anyio.fail_after(5):
            s.mounts.attend(caller())
            assert await s.call("alpha.a") == text("alpha ran a")


async def test_a_list_meanwhile_has_what_was_known_however_long_the_start_takes() -> None:
    twin = Twin("alpha", tools=[A, B])
    gate = twin.slow_start()
    async with stage(twin, catalogues=shelf_of(), list_wait=60) as s, anyio.create_task_group() as tasks:
        await s.listed()
        tasks.start_soon(s.call, "alpha.a")
        await s.ear.hears(UpstreamStarting)
        held = twin.hold("tools/list")
        with anyio.fail_after(5):
            assert await s.listed() == ["alpha.a"]
            gate.set()
            await twin.asked("tools/list")
            listing = await s.listings.listing(caller(), TOOLS)
            assert ([entry.dotted for entry in listing.entries], listing.missing) == (["alpha.a"], ())
        held.set()


async def test_one_that_does_not_start_any_more_says_so_when_it_is_used() -> None:
    twin = Twin("alpha")
    twin.starts.extend(["no such command"] * 9)
    async with stage(twin, catalogues=shelf_of()) as s:
        assert await s.listed() == ["alpha.a"]
        with pytest.raises(UpstreamUnavailable, match="no such command"):
            await s.call("alpha.a")
        assert await s.listed() == ["alpha.a"]


async def test_one_that_fails_to_list_is_marked_with_what_it_had() -> None:
    twin = Twin("alpha", tools=[A])
    twin.fail("tools/list", RelayedError(-1, "no"))
    async with stage(twin, catalogues=shelf_of()) as s:
        await s.listed()
        assert await s.call("alpha.a") == text("alpha ran a")
        listing = await s.listings.listing(caller(), TOOLS)
        assert ([entry.dotted for entry in listing.entries], listing.missing) == (["alpha.a"], ("alpha",))


async def test_an_eager_one_starts_and_is_listed_before_it_has() -> None:
    twin = Twin("alpha", tools=[A])
    twin.slow_start()
    first = config(upstream("alpha", start="eager"), list_wait=60)
    async with stage(twin, config_of=first, catalogues=shelf_of()) as s:
        with anyio.fail_after(5):
            assert await s.listed() == ["alpha.a"]
        assert states(s) == {"alpha": State.STARTING}


async def test_a_lazy_one_is_known_before_anybody_lists_it() -> None:
    first = config(upstream("alpha", start="lazy"), upstream("beta", start="lazy"))
    async with stage(Twin("alpha"), Twin("beta"), config_of=first, catalogues=shelf_of(instructions="be kind")) as s:
        known = offers(s.mounts.attend(caller(), wake=False))
        assert [each.instructions for each in known] == ["be kind", None]
        assert (states(s), started(s)) == ({"alpha": State.ASLEEP}, [])


async def test_lists_that_an_upstream_would_have_told_of_run_out_while_it_sleeps() -> None:
    shelf = Shelf()
    for each, age in (("alpha", 2.0), ("beta", 60.0)):
        shelf.put(stored(A, at=time.time() - age, hints=Hints(5000, "public")), each)
    for ids, expected in ((("alpha",), range(2500, 3001)), (("alpha", "beta"), range(1))):
        async with stage(*map(Twin, ids), catalogues=shelf) as s:
            assert (await s.listings.listing(caller(), TOOLS)).hints.ttl in expected


async def test_over_http_the_session_of_who_calls_is_the_one_that_starts() -> None:
    shelf, twin = shelf_of(), Twin("alpha", tools=[A, B])
    async with stage(twin, catalogues=shelf) as s:
        who = visitor(TwinClient("client"))
        assert await s.listed(who=who) == ["alpha.a"]
        assert await s.call("alpha.a", who=who) == text("alpha ran a")
        assert {key: session.state for key, session in s.mounts["alpha"].sessions.items()} == {
            "team": State.ASLEEP,
            "client": State.READY,
        }
        await s.ear.hears(ToolsChanged("alpha", "team"))
        assert await s.listed(who=who) == ["alpha.a", "alpha.b"]
        await shelf.saved()
        calls = len(twin.requests)
        await s.call("alpha.b", who=who)  # and nothing is listed again for that
        assert [request.method for request in twin.requests[calls:]] == ["tools/call"]
    kept = shelf.of()
    assert kept is not None and kept.lists["tools"].items == (A, B)


async def test_an_idle_one_that_was_put_to_sleep_is_listed_as_before() -> None:
    twin = Twin("alpha", tools=[A], capabilities={"tools": {"listChanged": True}})
    async with stage(twin, list_wait=60) as s:
        await s.ready()
        s.session("alpha").sleep()
        twin.slow_start()
        s.session("alpha").connection.wake()
        with anyio.fail_after(5):
            listing = await s.listings.listing(caller(), TOOLS)
        assert ([entry.dotted for entry in listing.entries], listing.missing) == (["alpha.a"], ())


async def test_a_task_list_wakes_nobody() -> None:
    shelf = shelf_of(capabilities={"tools": {}, "tasks": {"list": {}}})
    async with stage(Twin("alpha"), catalogues=shelf) as s:
        await s.listed()
        assert await s.tasks.all(caller()) == {"tasks": []}
        assert started(s) == []


async def test_what_somebody_is_subscribed_to_does_not_sleep_after_a_reload() -> None:
    twin = Twin("alpha", capabilities={"tools": {}, "resources": {"subscribe": True}}, resources=[resource("demo://r")])

    async def fine(link: TwinLink, params: JsonObject) -> JsonObject:
        return {}

    twin.answers["resources/subscribe"] = fine
    shelf = Shelf()
    shelf.put(stored(A, at=time.time()), digest="2")
    async with stage(twin, catalogues=shelf) as s:
        await s.ready()
        await s.standing.subscribe(caller(), {"uri": "demo://alpha/r"})
        s.next = config(upstream("alpha", digest="2"))
        await s.operator.reload()
        await s.ear.hears(UpstreamReady, times=2)
        await twin.asked("resources/subscribe", times=2)


async def test_who_changes_a_configuration_is_told_what_came_of_it_though_the_lists_are_known() -> None:
    shelf, twin = shelf_of("alpha"), Twin("alpha", tools=[B])
    shelf.put(stored(A, B, at=time.time()), digest="2")
    async with stage(twin, catalogues=shelf, list_wait=3) as s:
        assert await s.listed() == ["alpha.a"]
        s.next = config(upstream("alpha", digest="2"))
        report = await s.operator.reload()
        assert (report.restarted, report.failed, states(s)) == (["alpha"], {}, {"alpha": State.READY})
        assert await s.listed() == ["alpha.b"]
        twin.starts.append("no such command")
        s.next = config(upstream("alpha", digest="1"))
        report = await s.operator.reload()
        assert (report.restarted, report.failed) == (["alpha"], {"alpha": "no such command"})


async def test_no_more_processes_start_at_once_than_are_set_and_what_is_no_process_does_not_count() -> None:
    ids = [f"u{number}" for number in range(5)]
    web = [upstream(each, transport=HttpTransport("http://h/")) for each in ("w1", "w2")]
    twins = [Twin(each) for each in (*ids, "w1", "w2")]
    gates = [twin.slow_start() for twin in twins[:5]]
    async with stage(*twins, config_of=config(*map(upstream, ids), *web, starts=2, list_wait=0.1)) as s:
        await s.listed()
        await s.ear.hears(UpstreamReady, times=2)
        assert sorted(started(s)) == ["u0", "u1", "w1", "w2"]
        gates[1].set()
        await s.ear.hears(UpstreamStarting("u2"))
        await anyio.wait_all_tasks_blocked()
        assert sorted(started(s)) == ["u0", "u1", "u2", "w1", "w2"]
        for gate in gates:
            gate.set()
        await s.ear.hears(UpstreamReady, times=7)
        assert await s.listed(PROMPTS) == []
