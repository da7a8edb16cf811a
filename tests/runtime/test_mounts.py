"""Upstreams and the sessions that callers share, through changes of the configuration (design D4, D11)."""

import anyio
import pytest
from tests.inbox import eventually
from tests.runtime.memory import Twin, TwinClient, text, tool
from tests.runtime.stage import HELLO, IDENTITY, Stage, caller, config, stage, upstream

from wf_mcp.core.config import Config
from wf_mcp.core.events import UpstreamReady
from wf_mcp.core.merge import Offer
from wf_mcp.core.plan import plan_reload
from wf_mcp.runtime.mounts import offers
from wf_mcp.runtime.ports import Hello
from wf_mcp.runtime.session import State, UpstreamSession

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
        assert s.mounts.audiences == ("a", "b")


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


async def test_offers_say_what_is_known_of_each_upstream() -> None:
    first = config(
        upstream("alpha"), upstream("slow"), upstream("broken", problem="no"), upstream("lazy", start="lazy")
    )
    alpha = Twin("alpha", capabilities={"tools": {}}, said={"instructions": "be kind"})
    async with stage(alpha, Twin("slow"), config_of=first) as s:
        s.twin("slow").slow_start()
        s.mounts.attend(caller(), wake=False)
        await s.ear.hears(UpstreamReady)
        assert offers(s.mounts.attend(caller(), wake=False)) == [
            Offer("alpha", {"tools": {}}, "be kind"),
            Offer("slow", None),
            Offer("broken", {}),
            Offer("lazy", None),
        ]
