"""At most so many starts at once, in order, and a slow one does not count for ever."""

import anyio
import pytest

from wf_mcp.runtime import starts
from wf_mcp.runtime.starts import Starts, Turn

pytestmark = pytest.mark.anyio


async def test_at_most_so_many_are_under_way_and_the_others_follow_in_order() -> None:
    gate = Starts(lambda: 2)
    began: list[int] = []
    turns: dict[int, Turn] = {}
    done = anyio.Event()

    async def start(number: int) -> None:
        async with gate.turn() as turn:
            began.append(number)
            turns[number] = turn
            await done.wait()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(start, number)
            await anyio.wait_all_tasks_blocked()
            assert (began, gate.waiting) == ([0, 1], 3)
            turns[1].over()
            turns[1].over()  # said twice, it frees one place
            await anyio.wait_all_tasks_blocked()
            assert began == [0, 1, 2]
            turns[0].over()
            turns[2].over()
            await anyio.wait_all_tasks_blocked()
            assert (began, gate.waiting) == ([0, 1, 2, 3, 4], 0)
            done.set()


async def test_a_start_that_takes_long_no_longer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "SLOW", 0.05)
    gate = Starts(lambda: 1)
    with anyio.fail_after(10):
        async with gate.turn(), gate.turn():  # the second does not wait for the end of the first
            assert gate.waiting == 0


async def test_who_gives_up_waiting_holds_up_nobody() -> None:
    gate = Starts(lambda: 1)
    began = anyio.Event()

    async def start() -> None:
        async with gate.turn():
            began.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            async with gate.turn():
                with anyio.move_on_after(0.01):
                    async with gate.turn():
                        raise AssertionError("it had no turn")
                tasks.start_soon(start)
                await anyio.wait_all_tasks_blocked()
                assert not began.is_set()
            await began.wait()
