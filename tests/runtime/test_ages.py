"""Old calls are named in the log, young ones are not."""

import logging

import anyio
import pytest
from tests.runtime.clock import VirtualClock
from tests.runtime.memory import Twin, tool
from tests.runtime.stage import stage

from wf_mcp.runtime import ages
from wf_mcp.runtime.ages import Ages

pytestmark = pytest.mark.anyio


async def test_a_call_is_named_once_it_is_old(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger=ages.__name__)
    async with stage(Twin("alpha", tools=[tool("x"), tool("y")])) as s:
        await s.ready()
        held = s.twin("alpha").hold("tools/call")
        async with anyio.create_task_group() as tasks:
            for name in ("alpha.x", "alpha.y"):
                tasks.start_soon(s.call, name)
            await s.twin("alpha").asked("tools/call", times=2)
            old, _ = s.session("alpha").inbox.calls
            old.began -= 31
            Ages(s.mounts, VirtualClock()).look()
            held.set()
    (said,) = [record.message for record in caplog.records if record.name == ages.__name__]
    assert said == "upstream alpha: tools/call of 'x' has been under way for 31 s"


async def test_it_looks_every_half_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger=ages.__name__)
    clock = VirtualClock()
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await s.ready()
        held = s.twin("alpha").hold("tools/call")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(s.call, "alpha.x")
            await s.twin("alpha").asked("tools/call")
            (call,) = s.session("alpha").inbox.calls
            call.began -= 31
            tasks.start_soon(Ages(s.mounts, clock).run)
            for _ in range(2):
                await clock.advance(30)
            held.set()
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert len([record for record in caplog.records if record.name == ages.__name__]) == 2
