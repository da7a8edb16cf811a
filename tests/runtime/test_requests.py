"""What a request says of its connection, and for how long its upstream is in use; the rest is in `test_session.py`."""

from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, text
from tests.runtime.stage import running, session_of

from wf_mcp.core.errors import UpstreamTimeout, UpstreamUnavailable
from wf_mcp.core.trouble import Trouble
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.connection import State

pytestmark = pytest.mark.anyio

CALL: JsonObject = {"name": "x"}


async def refused(twin: Twin, **settings: Any) -> State:
    """The state of a connection after a call that was answered with 401."""
    error = UpstreamUnavailable("HTTP 401")
    error.trouble = Trouble("needs_auth", "HTTP 401", status=401)
    twin.fail("tools/call", error)
    async with running(session_of(twin, **settings)) as session:
        with pytest.raises(UpstreamUnavailable):
            await session.request("tools/call", CALL)
        await anyio.wait_all_tasks_blocked()
        return session.state


async def test_a_login_that_is_wanted_of_everybody_closes_the_connection_and_one_of_this_client_does_not() -> None:
    assert await refused(Twin("up")) is State.FAILED
    assert await refused(Twin("up"), forward_headers=("authorization",)) is State.READY


async def test_slow_calls_beside_others_say_nothing_of_the_connection() -> None:
    twin = Twin("up")
    twin.hold("tools/call")
    async with running(session_of(twin, timeout=0.2)) as session:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(times_out, session)
        await anyio.wait_all_tasks_blocked()
        assert session.requests.errors == 5
    assert len(twin.links) == 1


async def times_out(session: Any) -> None:
    """A call that takes too long."""
    with pytest.raises(UpstreamTimeout):
        await session.request("tools/call", CALL)


@pytest.mark.parametrize(
    ("result", "busy"),
    [
        (text("done"), False),
        ({"task": {"taskId": "t", "status": "working", "ttl": 60_000}}, True),
        ({"task": {"taskId": "t", "status": "working", "ttl": None}}, True),
        ({"task": {"taskId": "t", "status": "working", "ttl": 0}}, False),
    ],
    ids=["answer", "task", "task without end", "task that is over"],
)
async def test_an_upstream_is_in_use_while_it_keeps_a_task(result: JsonObject, busy: bool) -> None:
    twin = Twin("up")
    twin.give("tools/call", result)
    async with running(session_of(twin)) as session:
        assert not session.requests.under_way()
        await session.request("tools/call", CALL)
        assert session.requests.under_way() is busy
