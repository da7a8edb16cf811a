"""What nobody uses is closed; what a connected client has, or is in use, is not."""

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, resource, tool
from tests.runtime.stage import Stage, caller, config, stage, upstream, visitor

from wf_mcp.core.config_values import UpstreamSettings
from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.core.kinds import TOOLS
from wf_mcp.runtime import idling
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.clock import SystemClock
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.idling import Idling, limit

pytestmark = pytest.mark.anyio


def look(s: Stage) -> None:
    """A look at all sessions after hours of silence."""
    for mount in s.mounts:
        for session in mount.sessions.values():
            session.requests.used -= 10_000
    Idling(s.mounts, SystemClock()).look()


async def test_what_clients_that_are_gone_shared_is_closed_and_forgotten() -> None:
    one, passing = visitor(TwinClient("one")), caller(Audience("other", "other", "all"))
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await s.ready(one)
        await s.ready(passing)
        look(s)
        assert list(s.mounts["alpha"].sessions) == ["team", "one"]  # one is connected still
        s.mounts.release(one.audience)
        look(s)
        assert (list(s.mounts["alpha"].sessions), s.mounts.audiences, len(s.mounts.pool)) == ([], (), 0)
        assert await s.call("alpha.x", passing)  # whoever comes again is served again


async def test_what_is_in_use_stays() -> None:
    passing = caller(Audience("other", "other", "all"))
    alpha = Twin("alpha", tools=[tool("x")], resources=[resource("demo://r")])
    alpha.give("resources/subscribe", {})
    alpha.give("tools/call", {"task": {"taskId": "1", "status": "working", "ttl": 10_000}})
    async with stage(alpha, Twin("beta", tools=[tool("x")]), Twin("gamma")) as s:
        held = s.twin("beta").hold("tools/call")
        async with anyio.create_task_group() as tasks:
            await s.ready(passing)
            tasks.start_soon(s.call, "beta.x", passing)
            await s.twin("beta").asked("tools/call")
            await s.call("alpha.x", passing)
            look(s)
            assert [mount.id for mount in s.mounts if mount.sessions] == ["alpha", "beta"]
            held.set()


async def test_with_idle_set_a_connected_clients_server_sleeps_and_wakes() -> None:
    async with stage(Twin("alpha", tools=[tool("x")]), config_of=config(upstream("alpha", idle=60.0))) as s:
        client = TwinClient("a")
        who = caller(standing=client, port=client)
        await s.ready(who)
        session = s.session("alpha")
        look(s)
        assert session.state is State.ASLEEP
        assert await s.listed(who=who) == ["alpha.x"]  # a list does not wake it
        assert session.state is State.ASLEEP
        assert await s.call("alpha.x", who)
        assert (session.state, len(s.twin("alpha").links)) == (State.READY, 2)


async def test_it_looks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idling, "PERIODS", (0.01, 0.01))
    async with stage(Twin("alpha"), config_of=config(upstream("alpha", idle=0.01))) as s:
        await s.ready(caller(Audience("other", "other", "all")))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Idling(s.mounts, SystemClock()).run)
            with anyio.fail_after(10):
                while s.mounts["alpha"].sessions:
                    await anyio.wait_all_tasks_blocked()
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_beyond_the_number_that_may_be_open_the_idle_ones_go_and_then_nobody_gets_another() -> None:
    first = config(upstream("alpha", max_sessions=2))
    passing = caller(Audience("team", "team", "all"))
    one, other = visitor(TwinClient("one")), visitor(TwinClient("two"))
    async with stage(Twin("alpha", tools=[tool("x")]), config_of=first) as s:
        await s.ready(passing)
        await s.ready(one)
        assert list(s.mounts["alpha"].sessions) == ["team", "one"]
        with pytest.raises(UpstreamUnavailable, match=r"'alpha' gets no further session: 2 are open and in use"):
            await s.call("alpha.x", other)
        assert await s.listed(who=other) == ["alpha.x"]
        for session in s.mounts["alpha"].sessions.values():
            session.requests.used -= 100
        with pytest.raises(UpstreamUnavailable):  # its clients are connected, and may have state there
            await s.call("alpha.x", other)
        s.mounts.release(one.audience)
        assert await s.call("alpha.x", other)
        one_more = caller(Audience("last", "last", "all"))
        with pytest.raises(UpstreamUnavailable):
            await s.call("alpha.x", one_more)
        s.mounts.release(other.audience)
        s.session("alpha", "team").requests.used -= 100
        for _ in range(2):
            assert await s.call("alpha.x", one_more)


async def test_all_upstreams_together_have_a_bound_too() -> None:
    first = config(upstream("alpha"), upstream("beta"), max_sessions=1)
    async with stage(Twin("alpha"), Twin("beta"), config_of=first) as s:
        await s.listings.listing(caller(), TOOLS)
        assert [list(mount.sessions) for mount in s.mounts] == [["a"], []]


def test_without_a_setting_only_the_unattended_are_closed_after_a_quarter_of_an_hour() -> None:
    assert limit(UpstreamSettings()) == 900
    assert limit(UpstreamSettings(idle=5.0)) == 5
