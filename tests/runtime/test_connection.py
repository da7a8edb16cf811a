"""A connection that sleeps: opened by whoever needs it, closed when told, and never in the way of a call."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinConnector, TwinLink, tool
from tests.runtime.stage import Ear, running, session_of

from wf_mcp.core.errors import RelayedError, UpstreamUnavailable
from wf_mcp.core.events import UpstreamAsleep, UpstreamReady, UpstreamStarting
from wf_mcp.core.failures import Failure
from wf_mcp.core.trouble import Trouble
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


async def test_three_failures_of_the_connection_in_a_row_open_another_one() -> None:
    twin = Twin("up", tools=[tool("echo")])
    async with running(session_of(twin)) as session:
        first = await session.link()
        twin.fail("tools/call", reset())
        for _ in range(2):
            with pytest.raises(RelayedError):
                await session.request("tools/call", {"name": "echo"})
        await session.request("tools/list", {})  # an answer in between, and it starts to count anew
        for _ in range(3):
            with pytest.raises(RelayedError):
                await session.request("tools/call", {"name": "echo"})
        assert await session.link() is not first
        assert session.connection.failure == Failure(
            "reset", "3 calls in a row failed, the last one like this: it broke off"
        )
        assert len(twin.of("tools/call")) == 5  # none was sent again


async def test_what_an_upstream_says_itself_never_closes_its_connection() -> None:
    twin = Twin("up", tools=[tool("echo")])
    async with running(session_of(twin)) as session:
        first = await session.link()
        twin.fail("tools/call", RelayedError(-32603, "no"))
        for _ in range(9):
            with pytest.raises(RelayedError):
                await session.request("tools/call", {"name": "echo"})
        assert session.connection.current is first


async def test_between_two_trials_calls_fail_at_once_and_say_when_the_next_one_is() -> None:
    twin = Twin("up", tools=[tool("echo")])
    twin.starts.extend(["no such command", "no such command"])
    async with running(session_of(twin)) as session:
        await session.settled()
        await anyio.wait_all_tasks_blocked()
        for _ in range(100):
            with pytest.raises(UpstreamUnavailable, match=r"no such command \(it is tried again in 1 s\)$"):
                await session.request("tools/call", {"name": "echo"})
        assert session.connection.failures == 1


async def test_a_hundred_calls_wait_for_one_trial() -> None:
    twin = Twin("up", tools=[tool("echo")])
    opened = twin.slow_start()
    async with running(session_of(twin)) as session, anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(session.request, "tools/call", {"name": "echo"})
        await anyio.wait_all_tasks_blocked()
        opened.set()
    assert (len(twin.links), len(twin.of("tools/call"))) == (1, 100)


async def test_who_wants_a_login_is_left_alone_for_a_quarter_of_an_hour() -> None:
    twin = Twin("up")

    class Refuses(TwinConnector):
        @asynccontextmanager
        async def open(self, *args: Any) -> AsyncIterator[TwinLink]:
            error = UpstreamUnavailable("HTTP 401")
            error.trouble = Trouble("needs_auth", "HTTP 401")
            raise error
            yield

    session = session_of(twin)
    session.connection._connector = Refuses(twin)
    async with running(session):
        await session.settled()
        await anyio.wait_all_tasks_blocked()
        assert session.connection.failure == Failure("needs_auth", "HTTP 401")
        assert session.connection.next_start is not None
        assert 890 < session.connection.next_start - time.monotonic() <= 900
        session.connection._connector = TwinConnector(twin)
        session.adopt(session.upstream, session.inbox.translation)  # as a reload of the configuration does
        with anyio.fail_after(5):
            await session.request("tools/call", {"name": "echo"})


async def test_one_that_keeps_being_lost_is_waited_for_by_nobody() -> None:
    twin = Twin("up", tools=[tool("echo")])
    async with running(session_of(twin)) as session:
        for number in range(2):
            await session.link()
            twin.link.lose("it left")
            with anyio.fail_after(10):
                await twin.arrivals.wait_for(lambda item, number=number: len(twin.links) == number + 2)
        session.connection.failures = 5
        await session.link()
        twin.link.lose("it left")
        await anyio.wait_all_tasks_blocked()
        assert session.state is State.FAILED
        with pytest.raises(UpstreamUnavailable, match=r"it left \(it is tried again in \d+ s\)$"):
            await session.request("tools/call", {"name": "echo"})
        session.connection.retry()
        with anyio.fail_after(5):
            await session.request("tools/call", {"name": "echo"})


def reset() -> RelayedError:
    error = RelayedError(-32603, "it broke off")
    error.trouble = Trouble("reset", "it broke off", started=True)
    return error
