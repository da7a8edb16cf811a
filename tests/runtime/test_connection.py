"""A connection that sleeps: opened by whoever needs it, closed when told, and never in the way of a call."""

import anyio
import pytest
from tests.runtime.memory import Twin, tool
from tests.runtime.stage import Ear, running, session_of

from wf_mcp.core.events import UpstreamAsleep, UpstreamReady, UpstreamStarting
from wf_mcp.runtime.connection import State

pytestmark = pytest.mark.anyio


async def test_asleep_nothing_is_opened_until_somebody_calls() -> None:
    ear, twin = Ear(), Twin("up", tools=[tool("echo")])
    async with running(session_of(twin, ear, asleep=True)) as session:
        await anyio.wait_all_tasks_blocked()
        assert (session.state, ear.events) == (State.ASLEEP, [])
        assert await session.settled()
        await session.request("tools/call", {"name": "echo"})
        assert session.state is State.READY
        assert ear.events[:2] == [UpstreamStarting("up"), UpstreamReady("up", "up", "1.0")]


async def test_put_to_sleep_it_closes_and_the_next_call_opens_another() -> None:
    ear, twin = Ear(), Twin("up", tools=[tool("echo")])
    async with running(session_of(twin, ear)) as session:
        first = await session.link()
        session.connection.sleep()
        assert (session.state, session.connection.current) == (State.ASLEEP, None)
        await session.request("tools/call", {"name": "echo"})  # while the first one is still closing
        assert await session.link() is not first
        session.connection.sleep()
        await ear.hears(UpstreamAsleep("up"), times=2)
        await anyio.wait_all_tasks_blocked()
        assert (session.state, len(twin.links)) == (State.ASLEEP, 2)


async def test_what_is_not_ready_is_not_put_to_sleep() -> None:
    twin = Twin("up")
    twin.starts.append("no such command")
    async with running(session_of(twin)) as session:
        await session.settled()
        session.connection.sleep()
        assert session.state is State.FAILED
