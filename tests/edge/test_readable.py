"""Waiting for a descriptor: told each time that something came, by a watch that is begun only when it has to be."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from wf_mcp.edge.readable import WIDE, Readable, widen


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return ("asyncio", {"use_uvloop": request.param == "uvloop"})


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe2(os.O_NONBLOCK)
    yield ends
    for fd in ends:
        os.close(fd)


@pytest.mark.anyio
@pytest.mark.parametrize("once", [False, True])
async def test_each_thing_that_comes_is_told(pipe: tuple[int, int], once: bool) -> None:
    read, write = pipe
    readable = Readable(read, once=once)
    with anyio.fail_after(10):
        for number in range(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(readable.wait)
                await anyio.wait_all_tasks_blocked()
                os.write(write, bytes([number]))
            assert os.read(read, 10) == bytes([number])
    readable.close()


@pytest.mark.anyio
async def test_what_came_while_nobody_waited_is_told_to_the_next_one(pipe: tuple[int, int]) -> None:
    read, write = pipe
    readable = Readable(read, once=False)
    with anyio.fail_after(10):
        for _ in range(3):
            os.write(write, b"x")
            await readable.wait()
            for _ in range(5):  # the event loop looks again, and nobody waits
                await anyio.lowlevel.checkpoint()
            await readable.wait()
            assert os.read(read, 10) == b"x"
    readable.close()


@pytest.mark.anyio
async def test_a_wait_that_is_given_up_leaves_the_next_one_whole(pipe: tuple[int, int]) -> None:
    read, write = pipe
    readable = Readable(read, once=False)
    with anyio.fail_after(10):
        with anyio.move_on_after(0.01) as scope:
            await readable.wait()
        assert scope.cancelled_caught
        os.write(write, b"x")
        await readable.wait()
    readable.close()


@pytest.mark.anyio
async def test_two_cannot_wait_at_once(pipe: tuple[int, int]) -> None:
    readable = Readable(pipe[0], once=False)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(readable.wait)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(anyio.BusyResourceError):
                await readable.wait()
            tasks.cancel_scope.cancel()
    readable.close()


@pytest.mark.anyio
async def test_whoever_waits_is_told_that_it_is_closed(pipe: tuple[int, int]) -> None:
    readable = Readable(pipe[0], once=False)

    async def wait() -> None:
        with pytest.raises(anyio.ClosedResourceError):
            await readable.wait()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            readable.close()
        await wait()


@pytest.mark.anyio
async def test_after_it_is_closed_others_can_wait_for_the_same_descriptor(pipe: tuple[int, int]) -> None:
    read, write = pipe
    with anyio.fail_after(10):
        for _ in range(3):
            readable = Readable(read, once=False)
            os.write(write, b"x")
            await readable.wait()
            readable.close()
            await anyio.wait_readable(read)
            assert os.read(read, 10) == b"x"


@pytest.mark.anyio
async def test_the_end_of_the_other_side_is_told(pipe: tuple[int, int]) -> None:
    read, write = os.pipe2(os.O_NONBLOCK)
    readable = Readable(read, once=False)
    os.close(write)
    with anyio.fail_after(10):
        await readable.wait()
    assert os.read(read, 10) == b""
    readable.close()
    os.close(read)


def test_a_pipe_is_made_to_hold_more_and_a_file_stays_as_it_is(pipe: tuple[int, int], tmp_path: Path) -> None:
    widen(pipe[1])
    assert fcntl.fcntl(pipe[0], fcntl.F_GETPIPE_SZ) == WIDE
    with (tmp_path / "file").open("wb") as file:
        widen(file.fileno())
