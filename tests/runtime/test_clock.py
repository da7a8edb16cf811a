"""Time as the runtime sees it."""

import time

import anyio
import pytest

from wf_mcp.runtime.clock import SystemClock

pytestmark = pytest.mark.anyio


async def test_it_is_the_machines_time_and_passes() -> None:
    clock = SystemClock()
    began = time.time()
    with anyio.fail_after(5):
        await clock.sleep(0.01)
    assert began + 0.009 <= clock.now() <= time.time()
