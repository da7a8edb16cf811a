"""What the process holds, counted (Linux)."""

import os
import threading

import anyio
import pytest

from wf_mcp.runtime.vitals import vitals

pytestmark = pytest.mark.anyio


async def test_figures_of_this_process() -> None:
    found = vitals()
    assert (found.pid, found.threads) == (os.getpid(), threading.active_count())
    assert found.memory_bytes is not None and found.memory_bytes > 5_000_000
    assert vitals().uptime_seconds >= found.uptime_seconds > 0


async def test_each_open_file_and_each_task_counts() -> None:
    before = vitals()
    assert before.open_files is not None
    near, far = os.pipe()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            within = vitals()
            tasks.cancel_scope.cancel()
    finally:
        os.close(near)
        os.close(far)
    assert (within.open_files, within.tasks) == (before.open_files + 2, before.tasks + 1)
    after = vitals()
    assert (after.open_files, after.tasks) == (before.open_files, before.tasks)


async def test_without_proc_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*args: object, **options: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr("wf_mcp.runtime.vitals.Path.read_text", missing)
    monkeypatch.setattr("wf_mcp.runtime.vitals.os.listdir", missing)
    found = vitals()
    assert (found.memory_bytes, found.open_files) == (None, None)
    assert found.tasks > 0
