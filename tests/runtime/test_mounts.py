"""Upstreams and the sessions that callers share, through changes of the configuration (design D4, D11)."""

import anyio
import pytest
from tests.inbox import eventually
from tests.runtime.memory import Twin, TwinClient, resource, text, tool
from tests.runtime.stage import HELLO, IDENTITY, Stage, caller, config, stage, upstream, visitor

from wf_mcp.core.config import Config
from wf_mcp.core.config_values import Isolation
from wf_mcp.core.events import UpstreamReady
from wf_mcp.core.plan import plan_reload
from wf_mcp.runtime.audience import Audience, alone
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.ports import Hello
from wf_mcp.runtime.session import UpstreamSession

pytestmark = pytest.mark.anyio


def apply(s: Stage, new: Config) -> list[UpstreamSession]:
    """What the operator does with a new configuration, without waiting for anybody."""
    started = s.mounts.apply(s.mounts.prepare(new), new, plan_reload(s.operator.config, new))
    s.operator.config = new
    return started


async def test_nothing_is_started_before_somebody_asks() -> None:
    async with stage(Twin("alpha")) as s:
        await anyio.wait_all_tasks_blocked()
        assert s.ear.events == []
        assert s.mounts.audiences == ()


async def test_one_audience_shares_one_session_with_each_upstream() -> None:
    async with stage(Twin("alpha"), Twin("beta")) as s:
        first = [session for _, session in s.mounts.attend(caller("a"))]
        second = [session for _, session in s.mounts.attend(caller("a"))]
        await s.ready()
    assert [each is again for each, again in zip(first, second, strict=True)] == [True, True]
    assert [len(twin.links) for twin in s.connector.twins.values()] == [1, 1]


async def test_another_audience_has_sessions_of_its_own_under_its_own_name() -> None:
    other = Hello({"roots": {}}, {"name": "other", "version": "2"}, "2025-06-18")
    async with stage(Twin("alpha")) as s:
        await s.ready(caller("a"))
        await s.ready(caller("b", hello=other))
        assert [link.hello for link in s.twin("alpha").links] == [HELLO, other]
        assert s.mounts.audiences == (alone("a"), alone("b"))


async def test_an_upstream_that_shall_know_the_proxy_hears_its_name_and_the_clients_capabilities() -> None:
    hello = Hello({"roots": {}}, {"name": "client", "version": "2"}, "2025-06-18")
    first = config(upstream("alpha", identity="proxy"), upstream("beta"))
    async with stage(Twin("alpha"), Twin("beta"), config_of=first) as s:
        await s.ready(caller(hello=hello))
        assert s.twin("alpha").link.hello == Hello({"roots": {}}, IDENTITY, "2025-06-18")
        assert s.twin("beta").link.hello == hello


async def test_an_upstream_that_cannot_be_started_has_no_session() -> None:
    first = config(upstream("alpha", problem="KEY is not set"), upstream("beta", enabled=False), upstream("gamma"))
    async with stage(Twin("alpha"), Twin("gamma"), config_of=first) as s:
        attended = [(mount.id, session is not None) for mount, session in s.mounts.attend(caller())]
    assert attended == [("alpha", False), ("gamma", True)]


async def test_a_lazy_upstream_sleeps_until_it_is_needed() -> None:
    alpha = Twin("alpha", tools=[tool("x")])
    async with stage(alpha, config_of=config(upstream("alpha", start="lazy"))) as s:
        assert [session for _, session in s.mounts.attend(caller(), wake=False)] == [None]
        assert s.twin("alpha").links == []
        assert await s.call("alpha.x") == text("alpha ran x")


async def test_a_mount_is_called_by_its_label_or_else_by_its_id() -> None:
    first = config(upstream("Alpha", "alpha"), upstream("Bare", ""))
    async with stage(config_of=first) as s:
        assert [mount.called for mount in s.mounts] == ["alpha", "Bare"]
        assert set(s.mounts.labels) == {"alpha", ""}
        assert s.mounts.bare is s.mounts["Bare"]
        assert s.mounts.by_label("").id == "Bare"


async def test_a_session_that_stays_is_the_same_object_over_the_same_connection() -> None:
    first = config(upstream("alpha"), upstream("beta"))
    async with stage(Twin("alpha"), Twin("beta"), Twin("gamma"), config_of=first) as s:
        await s.ready()
        kept = s.session("alpha")
        started = apply(s, config(upstream("alpha"), upstream("gamma")))
        assert s.session("alpha") is kept
        assert [session.upstream.id for session in started] == ["gamma"]
        assert kept.state is State.READY
        assert len(s.twin("alpha").links) == 1


async def test_a_changed_label_or_setting_keeps_the_connection_and_takes_effect() -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await s.ready()
        kept = s.session("alpha")
        apply(s, config(upstream("alpha", "renamed", timeout=3.0)))
        assert await s.listed() == ["renamed.x"]
        await s.call("renamed.x")
        assert s.session("alpha") is kept
    (request,) = s.twin("alpha").of("tools/call")
    assert request.timeout == 3.0


async def test_what_an_upstream_asks_after_a_change_of_label_is_in_the_new_terms() -> None:
    client = TwinClient()
    async with stage(Twin("alpha")) as s:
        await s.ready(caller(standing=client))
        apply(s, config(upstream("alpha", "renamed")))
        s.twin("alpha").link.say("notifications/resources/updated", {"uri": "demo://a"})
        await client.hears("notifications/resources/updated")
    assert client.heard[0][1] == {"uri": "demo://renamed/a"}


async def test_prepared_mounts_change_nothing_before_they_are_applied() -> None:
    async with stage(Twin("alpha"), Twin("beta"), config_of=config(upstream("alpha"))) as s:
        await s.ready()
        before = (s.mounts.version, s.mounts.changes, list(s.mounts))
        made = s.mounts.prepare(config(upstream("alpha", "renamed"), upstream("beta", enabled=False)))
        assert list(made) == ["alpha"]
        assert (s.mounts.version, s.mounts.changes, list(s.mounts)) == before


async def test_whatever_may_change_a_list_is_counted() -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        counts = [s.mounts.changes]
        await s.ready()
        counts.append(s.mounts.changes)
        await s.ready()
        assert s.mounts.changes == counts[-1]
        s.twin("alpha").change("tools", [tool("y")])
        await s.listed()
        counts.append(s.mounts.changes)
        apply(s, config(upstream("alpha", "renamed")))
        counts.append(s.mounts.changes)
    assert counts == sorted(set(counts))


async def test_a_removed_upstream_is_stopped() -> None:
    async with stage(Twin("alpha"), Twin("beta")) as s:
        await s.ready()
        gone = s.session("alpha")
        apply(s, config(upstream("beta")))
        await eventually(lambda: gone.state is State.STOPPED)
        assert [mount.id for mount in s.mounts] == ["beta"]


async def test_a_changed_upstream_is_stopped_and_started_for_every_audience() -> None:
    async with stage(Twin("alpha")) as s:
        for audience in ("a", "b"):
            await s.ready(caller(audience))
        old = [s.session("alpha", audience) for audience in ("a", "b")]
        started = apply(s, config(upstream("alpha", digest="2")))
        assert len(started) == 2
        for session in started:
            assert await session.settled()
        await eventually(lambda: [session.state for session in old] == [State.STOPPED] * 2)
        assert [session.state for session in started] == [State.READY] * 2


async def test_a_new_lazy_upstream_is_not_started_by_a_reload() -> None:
    async with stage(Twin("alpha"), Twin("beta")) as s:
        await s.ready()
        assert apply(s, config(upstream("alpha"), upstream("beta"), upstream("gamma", start="lazy"))) == []


async def test_mounts_follow_the_order_of_the_configuration() -> None:
    async with stage(Twin("alpha"), Twin("beta"), Twin("gamma")) as s:
        await s.ready()
        apply(s, config(upstream("gamma"), upstream("alpha")))
        assert [mount.id for mount in s.mounts] == ["gamma", "alpha"]


async def test_an_upstream_that_hangs_when_it_is_stopped_holds_up_nobody() -> None:
    async with stage(Twin("alpha"), Twin("beta", tools=[tool("x")])) as s:
        s.twin("alpha").slow_start()
        s.mounts.attend(caller())
        await s.ear.hears(UpstreamReady)
        apply(s, config(upstream("beta")))
        assert await s.call("beta.x") == text("beta ran x")


ROOTS = Hello({"roots": {}}, {"name": "one", "version": "1"}, "2025-11-25")


async def test_each_client_has_its_own_session_with_its_own_capabilities_and_name() -> None:
    bare = Hello({}, {"name": "other", "version": "2", "x": None}, "2025-06-18")
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await s.ready(visitor(TwinClient("one"), hello=ROOTS))
        await s.ready(visitor(TwinClient("other"), hello=bare))
        ours = Hello(ROOTS.capabilities, IDENTITY, ROOTS.protocol_version)
        assert [link.hello for link in s.twin("alpha").links] == [ours, ROOTS, bare]
        assert list(s.mounts["alpha"].sessions) == ["team", "one", "other"]


@pytest.mark.parametrize(("isolation", "key"), [("principal", "team"), ("shared", "all")])
async def test_clients_that_share_a_session_are_served_under_our_name(isolation: Isolation, key: str) -> None:
    first = config(upstream("alpha", isolation=isolation), upstream("beta"))
    async with stage(Twin("alpha"), Twin("beta"), config_of=first) as s:
        for client in ("one", "other"):
            await s.ready(visitor(TwinClient(client), hello=ROOTS))
        assert [link.hello for link in s.twin("alpha").links] == [
            Hello(ROOTS.capabilities, IDENTITY, ROOTS.protocol_version)
        ]
        assert list(s.mounts["alpha"].sessions) == [key]
        assert list(s.mounts["beta"].sessions) == ["team", "one", "other"]


async def test_principals_do_not_share_with_each_other() -> None:
    one, other = (caller(Audience(name, f"team {name}", "all", owned=True)) for name in ("one", "other"))
    async with stage(Twin("alpha"), config_of=config(upstream("alpha", isolation="principal"))) as s:
        for who in (one, other):
            await s.ready(who)
        assert list(s.mounts["alpha"].sessions) == ["team one", "team other"]


async def test_callers_that_come_at_once_open_one_session() -> None:
    alpha = Twin("alpha", tools=[tool("x")])
    async with stage(alpha, config_of=config(upstream("alpha", isolation="shared"))) as s:
        start = alpha.slow_start()
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                who = visitor(TwinClient(f"client {number % 5}"))
                tasks.start_soon(lambda who=who: s.call("alpha.x", who))
            await anyio.wait_all_tasks_blocked()
            start.set()
        assert (len(alpha.links), len(alpha.of("tools/call"))) == (1, 10)


async def test_a_client_that_goes_takes_its_own_sessions_along_and_leaves_the_shared_ones() -> None:
    first = config(upstream("alpha"), upstream("beta", isolation="shared"))
    one, other = visitor(TwinClient("one")), visitor(TwinClient("other"))
    async with stage(Twin("alpha"), Twin("beta"), config_of=first) as s:
        for who in (one, other):
            await s.ready(who)
        mine, theirs, shared = s.session("alpha", "one"), s.session("alpha", "other"), s.session("beta", "all")
        before = s.mounts.changes
        assert s.mounts.release(one.audience) == ()
        await eventually(lambda: mine.state is State.STOPPED)
        assert (theirs.state, shared.state) == (State.READY, State.READY)
        assert list(s.mounts["alpha"].sessions) == ["team", "other"]
        assert s.mounts.audiences == (Audience("team", "team", "all"),)
        assert s.mounts.changes > before
        assert s.mounts.release(one.audience) == ()


async def test_what_a_gone_client_alone_was_subscribed_to_is_named_for_giving_up() -> None:
    first = config(upstream("alpha", isolation="shared"), upstream("beta"))
    one, other = visitor(TwinClient("one")), visitor(TwinClient("other"))
    async with stage(Twin("alpha"), Twin("beta"), config_of=first) as s:
        for who in (one, other):
            await s.ready(who)
        shared, own = s.session("alpha", "all"), s.session("beta", "one")
        for session, uri, client in (
            (shared, "demo://both", "one"),
            (shared, "demo://both", "other"),
            (shared, "demo://one", "one"),
            (own, "demo://own", "one"),
        ):
            session.inbox.wishes.subscribe(uri, client)
        assert s.mounts.release(one.audience) == ((shared, ("demo://one",)),)
        assert shared.inbox.wishes.subscriptions == ("demo://both",)


async def test_sessions_of_callers_without_a_connection_stay() -> None:
    who = caller(Audience("team", "team", "all"))
    async with stage(Twin("alpha")) as s:
        await s.ready(who)
        session = s.session("alpha", "team")
        assert s.mounts.release(who.audience) == ()
        await anyio.wait_all_tasks_blocked()
        assert session.state is State.READY


async def test_a_client_that_is_gone_is_not_served_again_by_a_reload() -> None:
    one, other = visitor(TwinClient("one")), visitor(TwinClient("other"))
    twins = (Twin("alpha"), Twin("beta"), Twin("gamma"))
    async with stage(*twins, config_of=config(upstream("alpha"))) as s:
        for who in (one, other):
            await s.ready(who)
        s.mounts.release(one.audience)
        apply(s, config(upstream("alpha"), upstream("beta")))
        assert list(s.mounts["beta"].sessions) == ["team"]
        s.mounts.release(other.audience)
        apply(s, config(upstream("alpha"), upstream("beta"), upstream("gamma")))
        assert list(s.mounts["gamma"].sessions) == []


async def test_a_reload_starts_a_shared_session_once_for_all_who_share_it() -> None:
    async with stage(Twin("alpha"), Twin("beta"), config_of=config(upstream("alpha"))) as s:
        for client in ("one", "other"):
            await s.ready(visitor(TwinClient(client)))
        started = apply(s, config(upstream("alpha"), upstream("beta", isolation="shared")))
        assert started == [s.session("beta", "all")]


@pytest.mark.parametrize("isolation", ["client", "shared"])
async def test_an_upstream_that_a_reload_starts_anew_is_asked_again_for_what_clients_want(isolation: Isolation) -> None:
    alpha = Twin("alpha", resources=[resource("demo://r")], capabilities={"resources": {}, "logging": {}})
    for method in ("resources/subscribe", "logging/setLevel"):
        alpha.give(method, {})
    client = TwinClient("one")
    async with stage(alpha, config_of=config(upstream("alpha", isolation=isolation))) as s:
        await s.standing.subscribe(visitor(client), {"uri": "demo://alpha/r"})
        await s.standing.set_level(visitor(client), {"level": "error"})
        *_, session = apply(s, config(upstream("alpha", isolation=isolation, digest="2")))
        await session.settled()
        assert session is s.session("alpha", "one" if isolation == "client" else "all")
        assert len(alpha.of("resources/subscribe")) == len(alpha.of("logging/setLevel")) == 2
        session.heard("notifications/resources/updated", {"uri": "demo://r"})
        await client.hears("notifications/resources/updated")
        assert s.mounts.release(visitor(client).audience) == (
            () if isolation == "client" else ((session, ("demo://r",)),)
        )


@pytest.mark.parametrize("subscribed", [True, False])
async def test_a_lazy_upstream_is_started_anew_where_somebody_waits_for_its_updates(subscribed: bool) -> None:
    alpha = Twin("alpha", resources=[resource("demo://r")])
    alpha.give("resources/subscribe", {})
    client = TwinClient("one")
    async with stage(alpha, config_of=config(upstream("alpha", start="lazy"))) as s:
        await s.ready(visitor(client))
        if subscribed:
            await s.standing.subscribe(visitor(client), {"uri": "demo://alpha/r"})
        started = apply(s, config(upstream("alpha", digest="2", start="lazy")))
        assert [session.inbox.owned for session in started] == [True] * subscribed
        for session in started:
            await session.settled()
            alpha.link.say("notifications/resources/updated", {"uri": "demo://r"})
            await client.hears("notifications/resources/updated")


async def test_only_sessions_that_are_open_are_found_without_starting_any() -> None:
    first = config(upstream("alpha"), upstream("beta", start="lazy"))
    async with stage(Twin("alpha"), Twin("beta"), config_of=first) as s:
        assert s.mounts.open_sessions(caller()) == []
        s.mounts.attend(caller(), wake=False)
        assert [mount.id for mount, _ in s.mounts.open_sessions(caller())] == ["alpha"]
        assert s.mounts.open_sessions(caller("b")) == []


async def test_two_upstreams_are_several_and_one_is_not() -> None:
    client = TwinClient("one")
    asked = {"message": "Your name?"}
    async with stage(Twin("alpha"), Twin("beta"), config_of=config(upstream("alpha"))) as s:
        await s.ready(visitor(client))
        await s.twin("alpha").link.ask("elicitation/create", asked)
        apply(s, config(upstream("alpha"), upstream("beta")))
        await s.twin("alpha").link.ask("elicitation/create", asked)
    assert [params["message"] for _, params in client.questions] == ["Your name?", "[alpha] Your name?"]


async def test_work_that_nobody_waits_for_is_done_while_the_mounts_run() -> None:
    done = anyio.Event()

    async def work() -> None:
        done.set()

    async with stage() as s:
        s.mounts.spawn(work)
        await done.wait()
