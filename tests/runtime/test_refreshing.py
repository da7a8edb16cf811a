"""Remembered lists are loaded anew behind everybody's back: of processes when they are old, of others always."""

import time

import anyio
import pytest
from tests.runtime.memory import Twin, tool
from tests.runtime.shelf import Shelf, stored
from tests.runtime.stage import Stage, config, stage, upstream

from wf_mcp.core.config import HttpTransport
from wf_mcp.core.errors import RelayedError
from wf_mcp.core.events import ToolsChanged, UpstreamAsleep, UpstreamReady
from wf_mcp.runtime.connection import State

pytestmark = pytest.mark.anyio

A, B = tool("a"), tool("b")
DAY = 86_400.0


def shelf_of(*ids: str, age: float = 0.0) -> Shelf:
    shelf = Shelf()
    for each in ids or ("alpha",):
        shelf.put(stored(A, at=time.time() - age), each)
    return shelf


async def listed(s: Stage, *names: str) -> None:
    assert await s.listed() == list(names)


async def test_a_process_whose_lists_are_young_is_left_asleep() -> None:
    shelf = shelf_of(age=DAY - 60)
    async with stage(Twin("alpha", tools=[B]), catalogues=shelf) as s:
        await listed(s, "alpha.a")
        await anyio.wait_all_tasks_blocked()
        assert (s.session("alpha").state, s.twin("alpha").links) == (State.ASLEEP, [])


async def test_old_lists_are_loaded_anew_and_the_process_sleeps_again() -> None:
    shelf = shelf_of(age=DAY + 60)
    async with stage(Twin("alpha", tools=[A, B]), catalogues=shelf) as s:
        await listed(s, "alpha.a")
        await s.ear.hears(UpstreamAsleep("alpha"))
        await listed(s, "alpha.a", "alpha.b")
        assert s.session("alpha").state is State.ASLEEP
        assert s.ear.of(ToolsChanged) != []
        kept = shelf.of()
        assert kept is not None and (kept.lists["tools"].items, time.time() - kept.at < 60) == ((A, B), True)


async def test_with_no_age_set_they_are_not() -> None:
    shelf = shelf_of(age=1000 * DAY)
    async with stage(Twin("alpha"), catalogues=shelf, refresh=None) as s:
        await listed(s, "alpha.a")
        await anyio.wait_all_tasks_blocked()
        assert s.twin("alpha").links == []


async def test_an_upstream_over_http_is_asked_after_every_start_and_stays() -> None:
    web = upstream("alpha", transport=HttpTransport("http://h/"))
    async with stage(Twin("alpha", tools=[B]), config_of=config(web), catalogues=shelf_of()) as s:
        await listed(s, "alpha.a")
        await s.ear.hears(ToolsChanged)
        await listed(s, "alpha.b")
        await anyio.wait_all_tasks_blocked()
        assert s.session("alpha").state is State.READY


async def test_one_that_is_used_meanwhile_stays() -> None:
    async with stage(Twin("alpha", tools=[A]), catalogues=shelf_of(age=2 * DAY)) as s:
        gate = s.twin("alpha").hold("tools/list")
        await listed(s, "alpha.a")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(s.call, "alpha.a")
            await s.twin("alpha").asked("tools/list")
            gate.set()
        await anyio.wait_all_tasks_blocked()
        assert (s.session("alpha").state, len(s.twin("alpha").links)) == (State.READY, 1)


async def test_one_that_cannot_list_is_not_put_to_sleep_and_what_is_remembered_stands() -> None:
    async with stage(Twin("alpha", tools=[B]), catalogues=shelf_of(age=2 * DAY)) as s:
        s.twin("alpha").fail("tools/list", RelayedError(-1, "no"))
        await listed(s, "alpha.a")
        await s.ear.hears(UpstreamReady)
        await anyio.wait_all_tasks_blocked()
        await listed(s, "alpha.a")
        assert s.session("alpha").state is State.READY


async def test_half_of_the_places_are_left_to_those_that_somebody_waits_for() -> None:
    ids = tuple(f"u{number}" for number in range(6))
    async with stage(*(Twin(each, tools=[A]) for each in ids), catalogues=shelf_of(*ids, age=2 * DAY), starts=4) as s:
        gates = [s.twin(each).slow_start() for each in ids]
        await listed(s, *(f"{each}.a" for each in ids))
        await anyio.wait_all_tasks_blocked()
        assert [s.session(each).state for each in ids] == [State.STARTING] * 2 + [State.ASLEEP] * 4
        gates[5].set()
        await s.call("u5.a")
        for gate in gates:
            gate.set()
        for each in ids[:5]:
            await s.ear.hears(UpstreamAsleep(each))
        assert s.session("u5").state is State.READY


async def test_a_session_that_ended_meanwhile_is_left_alone() -> None:
    ids = ("alpha", "beta")
    async with stage(*map(Twin, ids), catalogues=shelf_of(*ids, age=2 * DAY), starts=1) as s:
        gate = s.twin("alpha").slow_start()
        await listed(s, "alpha.a", "beta.a")
        s.mounts.pool.end(s.mounts["beta"], "a")
        gate.set()
        await s.ear.hears(UpstreamAsleep("alpha"))
        await anyio.wait_all_tasks_blocked()
        assert s.twin("beta").links == []
