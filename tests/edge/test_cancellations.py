"""The reason of a cancellation, for whoever ends the request: before or after the request's task is told."""

import anyio
import pytest

from wf_mcp.edge.cancellations import REMEMBERED, Cancellations

pytestmark = pytest.mark.anyio


async def test_the_reason_is_that_of_the_request() -> None:
    said = Cancellations()
    said.note(1, "enough")
    said.note("1", "other")
    assert (await said.reason("1"), await said.reason(1)) == ("other", "enough")


async def test_a_reason_that_is_on_its_way_is_waited_for() -> None:
    said = Cancellations()
    got: list[str | None] = []

    async def wait() -> None:
        got.append(await said.reason(7))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        said.note(7, "late")
    assert got == ["late"]


async def test_a_cancellation_without_a_reason_has_none() -> None:
    said = Cancellations()
    said.note(1, None)
    said.note(2, {"not": "text"})
    assert (await said.reason(1), await said.reason(2)) == (None, None)


async def test_what_never_comes_is_not_waited_for_long() -> None:
    with anyio.fail_after(5):
        assert await Cancellations().reason(1) is None


@pytest.mark.parametrize("odd", [None, [1], {"a": 1}])
async def test_an_id_that_is_none_is_ignored(odd: object) -> None:
    said = Cancellations()
    said.note(odd, "x")
    said.note(1, "y")
    assert await said.reason(1) == "y"


async def test_only_so_many_are_remembered() -> None:
    said = Cancellations()
    for number in range(REMEMBERED + 1):
        said.note(number, str(number))
    assert await said.reason(REMEMBERED) == str(REMEMBERED)
    assert await said.reason(0) is None
