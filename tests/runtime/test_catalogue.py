"""What one upstream lists: every page, fresh when it can be, and nobody waits too long for it (matrix F.4)."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinLink, answer_as_usual, prompt, resource, template, tool
from tests.runtime.stage import HELLO, upstream

from wf_mcp.core.errors import METHOD_NOT_FOUND, RelayedError, UpstreamTimeout
from wf_mcp.core.hints import Hints
from wf_mcp.core.kinds import KINDS, PROMPTS, RESOURCES, TEMPLATES, TOOLS, Kind
from wf_mcp.core.stored import StoredList
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime import catalogue as module
from wf_mcp.runtime import kept_list
from wf_mcp.runtime.catalogue import Catalogue

pytestmark = pytest.mark.anyio

A, B, C, D, E = (tool(name) for name in "abcde")


class Deaf:
    """Nobody asks and nobody is told."""

    async def asked(self, method: str, params: Any) -> JsonObject:
        raise AssertionError(method)

    def heard(self, method: str, params: Any) -> None:
        raise AssertionError(method)


class Shown:
    """A catalogue, the kinds that it announced as late, and the upstream behind it."""

    def __init__(self, twin: Twin, list_wait: float) -> None:
        self.twin = twin
        self.late: list[Kind] = []
        self.catalogue = Catalogue(twin.id, self.late.append, list_wait)

    async def get(self, kind: Kind = TOOLS) -> tuple[tuple[JsonObject, ...], bool]:
        with anyio.fail_after(10):
            return await self.catalogue.get(kind)

    def link(self) -> TwinLink:
        link = TwinLink(self.twin, upstream(self.twin.id), HELLO, Deaf())
        self.twin.links.append(link)
        return link


@asynccontextmanager
async def shown(twin: Twin, *, list_wait: float = 5.0) -> AsyncIterator[Shown]:
    made = Shown(twin, list_wait)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.catalogue.serve, made.link())
            yield made
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 99])
async def test_a_list_follows_every_page(size: int) -> None:
    async with shown(Twin("up", tools=[A, B, C, D, E], page_size=size)) as s:
        assert await s.get() == ((A, B, C, D, E), True)


async def test_each_kind_is_listed_as_it_is_called() -> None:
    lists = {
        "tools": [A],
        "prompts": [prompt("p")],
        "resources": [resource("r://1")],
        "templates": [template("t://{x}")],
    }
    async with shown(Twin("up", **lists)) as s:
        assert {kind.name: list((await s.get(kind))[0]) for kind in KINDS} == lists


async def test_an_empty_page_and_an_empty_cursor_are_pages_like_others() -> None:
    pages: dict[str | None, JsonObject] = {
        None: {"tools": [A], "nextCursor": ""},
        "": {"tools": [], "nextCursor": "x"},
        "x": {"tools": [B], "nextCursor": None},
    }
    twin = Twin("up")
    twin.answers["tools/list"] = by_cursor(pages)
    async with shown(twin) as s:
        assert await s.get() == ((A, B), True)


def by_cursor(pages: dict[str | None, JsonObject]) -> Any:
    async def answer(link: TwinLink, params: JsonObject) -> JsonObject:
        return pages[params.get("cursor")]

    return answer


async def test_a_repeated_cursor_ends_the_list(caplog: pytest.LogCaptureFixture) -> None:
    twin = Twin("up")
    twin.answers["tools/list"] = by_cursor(
        {None: {"tools": [A], "nextCursor": "1"}, "1": {"tools": [B], "nextCursor": "1"}}
    )
    with caplog.at_level(logging.WARNING, "wf_mcp"):
        async with shown(twin) as s:
            assert await s.get() == ((A, B), True)
    assert len(twin.of("tools/list")) == 2
    assert "repeated the cursor '1'" in caplog.text


async def test_a_list_without_end_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    async def endless(link: TwinLink, params: JsonObject) -> JsonObject:
        return {"tools": [A], "nextCursor": str(int(params.get("cursor", 0)) + 1)}

    twin = Twin("up", answers={"tools/list": endless})
    with caplog.at_level(logging.WARNING, "wf_mcp"):
        async with shown(twin, list_wait=20) as s:
            items, fresh = await s.get()
    assert (len(items), fresh) == (module.PAGE_CAP, True)
    assert f"more than {module.PAGE_CAP} pages" in caplog.text


@pytest.mark.parametrize("bad", [{}, {"name": None}, {"name": 3}, "a", None, ["a"]], ids=repr)
async def test_a_malformed_entry_costs_only_itself(bad: Any) -> None:
    async with shown(Twin("up", tools=[A, bad, B])) as s:
        assert await s.get() == ((A, B), True)


@pytest.mark.parametrize("answer", [{}, {"tools": None}, {"tools": {"a": 1}}], ids=repr)
async def test_an_answer_without_a_list_is_an_empty_one(answer: JsonObject) -> None:
    twin = Twin("up")
    twin.give("tools/list", answer)
    async with shown(twin) as s:
        assert await s.get() == ((), True)


async def test_what_an_upstream_does_not_offer_is_not_asked_for() -> None:
    twin = Twin("up", capabilities={"tools": {}}, tools=[A])
    async with shown(twin) as s:
        assert await s.get(PROMPTS) == ((), True)
        assert await s.get(TEMPLATES) == ((), True)
        assert await s.get(TOOLS) == ((A,), True)
    assert {request.method for request in twin.requests} == {"tools/list"}


async def test_a_method_that_an_upstream_does_not_have_is_an_empty_list() -> None:
    """Servers that declare resources often have no templates."""
    twin = Twin("up", resources=[resource("r://1")])
    twin.fail("resources/templates/list", RelayedError(METHOD_NOT_FOUND, "Method not found"))
    async with shown(twin) as s:
        assert await s.get(TEMPLATES) == ((), True)
        assert s.catalogue.failure(TEMPLATES) is None


async def test_a_list_is_fetched_once_while_nothing_changes() -> None:
    twin = Twin("up", tools=[A])
    async with shown(twin) as s:
        first, _ = await s.get()
        second, _ = await s.get()
    assert second is first
    assert len(twin.of("tools/list")) == 1


async def test_a_stale_list_is_fetched_again_when_it_is_asked_for() -> None:
    twin = Twin("up", tools=[A])
    async with shown(twin) as s:
        await s.get()
        twin.tools = [B]
        s.catalogue.stale(TOOLS)
        assert not s.catalogue.fresh(TOOLS)
        assert s.catalogue.peek(TOOLS) == (A,)
        assert await s.get() == ((B,), True)
        assert s.catalogue.fresh(TOOLS)
    assert s.late == []


async def test_a_list_that_comes_back_equal_stays_the_same_object() -> None:
    twin = Twin("up", tools=[A])
    async with shown(twin) as s:
        first, _ = await s.get()
        s.catalogue.stale(TOOLS)
        twin.tools = [tool("a")]
        assert (await s.get())[0] is first


async def test_a_list_that_changed_while_it_was_being_fetched_is_fetched_again() -> None:
    twin = Twin("up", tools=[A])
    gate = twin.hold("tools/list")
    async with shown(twin) as s:
        await twin.asked("tools/list")
        s.catalogue.stale(TOOLS)
        async with anyio.create_task_group() as tasks:
            found: list[Any] = []

            async def get() -> None:
                found.append(await s.get())

            tasks.start_soon(get)
            await anyio.wait_all_tasks_blocked()
            twin.answers["tools/list"] = by_cursor({None: {"tools": [B]}})
            gate.set()
        assert found == [((B,), True)]
    assert len(twin.of("tools/list")) == 2


async def test_an_upstream_that_calls_its_list_changed_on_every_list_is_not_asked_for_ever() -> None:
    twin = Twin("up", tools=[A])
    async with shown(twin) as s:
        await s.get()

        async def restless(link: TwinLink, params: JsonObject) -> JsonObject:
            s.catalogue.stale(TOOLS)
            return {"tools": [A]}

        twin.answers["tools/list"] = restless
        s.catalogue.stale(TOOLS)
        for _ in range(3):
            assert (await s.get())[0] == (A,)
            await anyio.wait_all_tasks_blocked()
    assert len(twin.of("tools/list")) == 1 + 3


async def test_nobody_waits_longer_than_they_have_to_for_a_silent_upstream() -> None:
    twin = Twin("up", tools=[A])
    twin.hold("tools/list")
    async with shown(twin, list_wait=0.2) as s:
        began = anyio.current_time()
        assert await s.get() == ((), False)
        assert 0.1 < anyio.current_time() - began < 2
        again = anyio.current_time()
        for _ in range(10):
            assert await s.get() == ((), False)
        assert anyio.current_time() - again < 0.2


async def test_the_old_list_stands_in_for_one_that_does_not_come() -> None:
    twin = Twin("up", tools=[A])
    async with shown(twin, list_wait=0.1) as s:
        await s.get()
        twin.hold("tools/list")
        s.catalogue.stale(TOOLS)
        assert await s.get() == ((A,), False)


async def test_a_list_that_comes_late_is_announced_once() -> None:
    twin = Twin("up", tools=[A])
    gate = twin.hold("tools/list")
    async with shown(twin, list_wait=0.05) as s:
        for _ in range(3):
            assert await s.get() == ((), False)
        gate.set()
        await anyio.wait_all_tasks_blocked()
        assert s.late == [TOOLS]
        assert await s.get() == ((A,), True)
        s.catalogue.stale(TOOLS)
        await s.get()
        assert s.late == [TOOLS]


async def test_a_late_list_that_says_nothing_new_is_not_announced() -> None:
    twin = Twin("up")
    gate = twin.hold("tools/list")
    async with shown(twin, list_wait=0.05) as s:
        assert await s.get() == ((), False)
        gate.set()
        await anyio.wait_all_tasks_blocked()
        assert await s.get() == ((), True)
    assert s.late == []


async def test_a_list_that_somebody_was_answered_without_is_announced_when_it_comes() -> None:
    twin = Twin("up", tools=[A])
    gate = twin.hold("tools/list")
    async with shown(twin) as s:
        s.catalogue.owe(TOOLS)
        gate.set()
        await s.get()
        await s.get(RESOURCES)
    assert s.late == [TOOLS]


async def test_a_list_that_fails_is_told_with_its_reason_and_tried_again_when_asked_for() -> None:
    twin = Twin("up", tools=[A])
    usual = twin.answers.copy()
    twin.fail("tools/list", RelayedError(-32000, "not today"))
    async with shown(twin) as s:
        assert await s.get() == ((), False)
        assert s.catalogue.failure(TOOLS) == "not today"
        twin.answers = usual
        await s.get()
        await anyio.wait_all_tasks_blocked()
        assert await s.get() == ((A,), True)
        assert s.catalogue.failure(TOOLS) is None
    assert s.late == [TOOLS]


async def test_a_failing_list_holds_nobody_up() -> None:
    twin = Twin("up")
    twin.fail("tools/list", UpstreamTimeout("too slow"))
    async with shown(twin, list_wait=30) as s:
        with anyio.fail_after(5):
            for _ in range(5):
                assert await s.get() == ((), False)


async def test_a_failing_kind_leaves_the_others_alone() -> None:
    twin = Twin("up", tools=[A])
    twin.fail("prompts/list", RelayedError(-32000, "no"))
    async with shown(twin) as s:
        assert await s.get(TOOLS) == ((A,), True)
        assert await s.get(PROMPTS) == ((), False)


async def test_after_a_new_connection_every_list_is_fetched_again_and_a_difference_is_announced() -> None:
    twin = Twin("up", tools=[A], prompts=[prompt("p")])
    async with shown(twin) as s:
        for kind in KINDS:
            await s.get(kind)
    twin.tools = [B]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(s.catalogue.serve, s.link())
        await twin.asked("tools/list", times=2)
        assert await s.get() == ((B,), True)
        assert await s.get(PROMPTS) == ((prompt("p"),), True)
        tasks.cancel_scope.cancel()
    assert s.late == [TOOLS]


async def test_between_two_connections_the_old_lists_stand_in() -> None:
    twin = Twin("up", tools=[A])
    async with shown(twin, list_wait=0.1) as s:
        await s.get()
        twin.link.lose()
        s.catalogue.stale(TOOLS)
        assert await s.get() == ((A,), False)


def hinted(*hints: tuple[int, str], listen: bool = False, **options: Any) -> Twin:
    """A modern upstream whose pages carry these hints, one page each."""
    tools = [tool(str(number)) for number, _ in enumerate(hints)]
    twin = Twin(
        "up", tools=tools, page_size=1, era="modern", capabilities={"tools": {"listChanged": listen}}, **options
    )
    usual = answer_as_usual("tools/list")

    async def answer(link: TwinLink, params: JsonObject) -> JsonObject:
        ttl, scope = hints[int(params.get("cursor") or 0)]
        return {**await usual(link, params), "ttlMs": ttl, "cacheScope": scope}

    twin.answers["tools/list"] = answer
    return twin


async def test_a_lists_hints_are_those_of_its_pages_together() -> None:
    async with shown(hinted((5000, "public"), (3000, "private"), listen=True)) as s:
        assert s.catalogue.hints(TOOLS) is None
        await s.get()
        assert s.catalogue.hints(TOOLS) == Hints(3000, "private")
        assert s.catalogue.hints(PROMPTS) is None


async def test_a_handshake_upstream_has_no_hints_whatever_it_sends() -> None:
    twin = hinted((5000, "public"))
    twin.era = "handshake"
    async with shown(twin) as s:
        await s.get()
        assert s.catalogue.hints(TOOLS) is None


async def test_a_list_whose_changes_nobody_tells_is_fetched_again_once_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    for each in (module, kept_list):
        monkeypatch.setattr(each, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0]))
    twin = hinted((5000, "public"))
    async with shown(twin) as s:
        await s.get()
        for later, left, fetched in ((3.0, 2000, 1), (1.5, 500, 1), (0.5, 5000, 2)):
            now[0] += later
            s.catalogue.want(TOOLS)
            assert (await s.get())[1]
            assert s.catalogue.hints(TOOLS) == Hints(left, "public")
            assert len(twin.of("tools/list")) == fetched
        assert s.late == []
        twin.tools = [A]
        now[0] += 6
        s.catalogue.want(TOOLS)
        assert await s.get() == ((A,), True)
        assert s.late == [TOOLS]


async def test_a_list_whose_changes_are_told_stays_good_as_long_as_none_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    for each in (module, kept_list):
        monkeypatch.setattr(each, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0]))
    twin = hinted((5000, "public"), listen=True)
    async with shown(twin) as s:
        await s.get()
        now[0] += 3600
        s.catalogue.want(TOOLS)
        await s.get()
        assert s.catalogue.hints(TOOLS) == Hints(5000, "public")
    assert len(twin.of("tools/list")) == 1


async def test_what_is_wanted_by_many_while_it_is_fetched_is_fetched_once_even_if_it_expires_at_once() -> None:
    twin = hinted((0, "public"))
    async with shown(twin) as s:
        await s.get()
        gate = twin.hold("tools/list")
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                s.catalogue.want(TOOLS)
                tasks.start_soon(s.get)
            await anyio.wait_all_tasks_blocked()
            gate.set()
        assert len(twin.of("tools/list")) == 2
        assert s.catalogue.fresh(TOOLS)


async def test_what_a_modern_upstream_says_of_itself_is_not_said_of_the_list() -> None:
    """`serverInfo` in a list's `_meta` is that hop's own (matrix C.2); the merged list has ours."""
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "up"}, "vendor/k": 1}
    twin = Twin("up", tools=[tool("x")], era="modern")
    twin.give("tools/list", {"tools": [tool("x")], "_meta": meta, "resultType": "complete"})
    async with shown(twin) as s:
        await s.get()
        assert s.catalogue.meta(TOOLS) == {"vendor/k": 1}


def seeded(s: Shown, *tools: JsonObject) -> None:
    s.catalogue.seed({kind.name: StoredList(tools if kind is TOOLS else ()) for kind in KINDS}, 1000.0)


@asynccontextmanager
async def asleep(twin: Twin, *tools: JsonObject) -> AsyncIterator[tuple[Shown, anyio.abc.TaskGroup]]:
    """A catalogue with these tools from before, whose upstream sleeps; what is started ends with the block."""
    made = Shown(twin, 60)
    seeded(made, *tools)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            yield made, tasks
            tasks.cancel_scope.cancel()


async def test_what_is_remembered_is_given_out_at_once_and_is_not_fresh() -> None:
    async with asleep(Twin("up"), A) as (s, _):
        assert (s.catalogue.remembered, s.catalogue.fresh(TOOLS), s.catalogue.at) == (True, False, 1000.0)
        s.catalogue.want(TOOLS)
        assert await s.get() == ((A,), True)


async def test_whoever_wants_this_upstream_waits_for_the_list_anew() -> None:
    twin = Twin("up", tools=[B])
    gate = twin.hold("tools/list")
    async with asleep(twin, A) as (s, tasks):
        tasks.start_soon(s.catalogue.serve, s.link())
        await twin.asked("tools/list")
        assert await s.get() == ((A,), True)
        gate.set()
        assert await s.catalogue.get(TOOLS, from_now=True) == ((B,), True)
        await s.catalogue.settled()
        assert (s.catalogue.remembered, s.late, s.catalogue.completions) == (False, [TOOLS], 1)


async def test_a_change_that_the_upstream_tells_ends_what_was_remembered() -> None:
    twin = Twin("up", tools=[B])
    gate = twin.hold("tools/list")
    async with asleep(twin, A) as (s, tasks):
        tasks.start_soon(s.catalogue.serve, s.link())
        await twin.asked("tools/list")
        s.catalogue.stale(TOOLS)
        tasks.start_soon(_after, anyio.wait_all_tasks_blocked, gate.set)
        assert await s.get() == ((B,), True)


async def _after(wait: Any, act: Any) -> None:
    await wait()
    act()


async def test_a_list_that_fails_is_what_was_remembered_and_marked() -> None:
    twin = Twin("up")
    twin.fail("tools/list", RelayedError(-1, "no"))
    async with asleep(twin, A) as (s, tasks):
        tasks.start_soon(s.catalogue.serve, s.link())
        assert await s.catalogue.get(TOOLS, from_now=True) == ((A,), False)
        assert await s.get() == ((A,), False)
        assert (s.catalogue.completions, s.catalogue.failure(TOOLS)) == (0, "no")


async def test_another_connection_can_list_in_its_place() -> None:
    twin = Twin("up", tools=[A, B])
    async with asleep(twin, A) as (s, _):
        await s.catalogue.confirm(s.link())
        assert await s.get() == ((A, B), True)
        assert (s.catalogue.fresh(TOOLS), s.late, s.catalogue.completions) == (True, [TOOLS], 1)
        await s.catalogue.confirm(s.link())
        assert (s.late, s.catalogue.completions) == ([TOOLS], 2)


async def test_where_that_connection_breaks_off_what_was_remembered_stands() -> None:
    twin = Twin("up", tools=[B])
    twin.hold("tools/list")
    async with asleep(twin, A) as (s, tasks):
        link = s.link()
        tasks.start_soon(s.catalogue.confirm, link)
        await twin.asked("tools/list")
        link.lose()
        await anyio.wait_all_tasks_blocked()
        assert await s.get() == ((A,), True)
        assert s.catalogue.remembered
