"""Tasks of 2025-11-25: under public ids, found in the very session that made them (basic/utilities/tasks)."""

from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, TwinLink, text, tool
from tests.runtime.stage import Stage, caller, config, stage, upstream, visitor

from wf_mcp.core.errors import InvalidParams, RelayedError
from wf_mcp.core.ids import RELATED_TASK
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin import CallInfo, Namespace, Result, ResultTransform, impl

pytestmark = pytest.mark.anyio

PROGRESS = "notifications/progress"
STATUS = "notifications/tasks/status"
LINK = {"type": "resource_link", "uri": "demo://r", "name": "r"}
METHODS = ("tasks/get", "tasks/result", "tasks/cancel")


def able(name: str = "alpha") -> Twin:
    """An upstream with tasks: it makes one for each call that asks for it, `t1`, `t2`, …, and knows those alone."""
    twin = Twin(name, tools=[tool("x")], capabilities={"tools": {}, "tasks": {"list": {}, "cancel": {}}})
    made: dict[TwinLink, list[str]] = {}

    async def call(link: TwinLink, params: JsonObject) -> JsonObject:
        if "task" not in params:
            return text("no task")
        mine = made.setdefault(link, [])
        mine.append(f"t{len(mine) + 1}")
        return {"task": {"taskId": mine[-1], "status": "working"}}

    def known(make: Any) -> Any:
        async def answer(link: TwinLink, params: JsonObject) -> JsonObject:
            if params["taskId"] not in made.get(link, []):
                raise RelayedError(-32602, "Task not found", {"x": 1})
            result: JsonObject = make(params["taskId"])
            return result

        return answer

    async def listed(link: TwinLink, params: JsonObject) -> JsonObject:
        ids = made.get(link, [])
        start = int(params.get("cursor", 0))
        page: JsonObject = {"tasks": [{"taskId": each, "status": "working"} for each in ids[start : start + 1]]}
        return {**page, "nextCursor": str(start + 1)} if start + 1 < len(ids) else page

    twin.answers["tools/call"] = call
    twin.answers["tasks/list"] = listed
    for method, status in (("tasks/get", "working"), ("tasks/cancel", "cancelled")):
        twin.answers[method] = known(lambda task, status=status: {"taskId": task, "status": status, "ttl": None})
    twin.answers["tasks/result"] = known(
        lambda task: {"content": [LINK], "_meta": {RELATED_TASK: {"taskId": task}, "x": 1}}
    )
    return twin


async def made(s: Stage, name: str = "alpha", who: Any = None) -> str:
    """A new task's public id."""
    result = await s.call(f"{name}.x", who, task={"ttl": 1000})
    task: str = result["task"]["taskId"]
    return task


async def test_a_call_that_asks_for_a_task_is_answered_with_one_under_a_public_id() -> None:
    async with stage(able()) as s:
        result = await s.call("alpha.x", task={"ttl": 1000})
        assert result == {"task": {"taskId": "alpha:t1", "status": "working"}}
        (request,) = s.twin("alpha").of("tools/call")
    assert request.params == {"name": "x", "task": {"ttl": 1000}}


async def test_a_result_that_happens_to_look_like_a_task_stays_where_none_was_asked_for() -> None:
    looks = {"content": [], "task": {"taskId": "mine"}}
    async with stage(able()) as s:
        s.twin("alpha").give("tools/call", looks)
        assert await s.call("alpha.x") == looks


async def test_a_task_is_got_and_cancelled_by_its_public_id() -> None:
    async with stage(able()) as s:
        task = await made(s)
        params = {"taskId": task, "x": None}
        assert await s.tasks.one(caller(), "tasks/get", params) == {"taskId": task, "status": "working", "ttl": None}
        assert (await s.tasks.one(caller(), "tasks/cancel", params))["status"] == "cancelled"
        asked = [request.params for request in s.twin("alpha").requests[-2:]]
    assert asked == [{"taskId": "t1", "x": None}] * 2


async def test_a_tasks_result_is_what_the_call_would_have_been_answered() -> None:
    seen: list[CallInfo] = []

    class Looking:
        @impl
        def wf_result_transforms(self, mount: Namespace) -> list[ResultTransform]:
            def look(result: Result, info: CallInfo) -> Result:
                seen.append(info)
                return result

            return [look]

    async with stage(able(), plugins={"looking": Looking()}) as s:
        task = await made(s)
        seen.clear()
        result = await s.tasks.one(caller(), "tasks/result", {"taskId": task})
    assert result == {
        "content": [{**LINK, "uri": "demo://alpha/r"}],
        "_meta": {RELATED_TASK: {"taskId": task}, "x": 1},
    }
    assert [info.method for info in seen] == ["tools/call"]


async def test_tasks_of_namesakes_do_not_mix() -> None:
    async with stage(able("alpha"), able("beta")) as s:
        tasks = [await made(s, name) for name in ("alpha", "beta")]
        assert tasks == ["alpha:t1", "beta:t1"]
        await s.tasks.one(caller(), "tasks/cancel", {"taskId": "beta:t1"})
        assert (len(s.twin("alpha").of("tasks/cancel")), len(s.twin("beta").of("tasks/cancel"))) == (0, 1)


async def test_tasks_of_a_bare_mount_keep_their_ids() -> None:
    first = config(upstream("one", ""), upstream("alpha"))
    async with stage(able("one"), able("alpha"), config_of=first) as s:
        task = (await s.call("x", task={}))["task"]["taskId"]
        assert task == "t1"
        assert (await s.tasks.one(caller(), "tasks/get", {"taskId": task}))["taskId"] == "t1"


@pytest.mark.parametrize("task", [None, 3, "", "t1", "alpha", "alpha:", "alpha:t9", "nobody:t1", "Alpha:t1"], ids=repr)
@pytest.mark.parametrize("method", METHODS)
async def test_a_task_that_there_is_not_is_invalid_params(method: str, task: Any) -> None:
    async with stage(able()) as s:
        await made(s)
        for params in ({"taskId": task}, {}):
            with pytest.raises((InvalidParams, RelayedError)) as raised:
                await s.tasks.one(caller(), method, params)
            assert raised.value.code == -32602


@pytest.mark.parametrize("method", METHODS)
async def test_one_clients_task_is_nobody_elses(method: str) -> None:
    one, other = visitor(TwinClient("one")), visitor(TwinClient("other"))
    async with stage(able()) as s:
        task = await made(s, who=one)
        for _ in range(2):
            with pytest.raises((InvalidParams, RelayedError)) as raised:
                await s.tasks.one(other, method, {"taskId": task})
            assert raised.value.code == -32602
            await s.ready(other)  # now it has a session of its own, which knows no such task either
        assert await s.tasks.all(other) == {"tasks": []}
        assert [each["taskId"] for each in (await s.tasks.all(one))["tasks"]] == [task]


async def test_a_request_for_a_task_starts_no_upstream() -> None:
    async with stage(able()) as s:
        with pytest.raises(InvalidParams):
            await s.tasks.one(caller(), "tasks/get", {"taskId": "alpha:t1"})
        assert await s.tasks.all(caller()) == {"tasks": []}
        assert s.twin("alpha").links == []


async def test_all_tasks_are_listed_in_config_order_over_all_pages() -> None:
    async with stage(able("beta"), Twin("without", tools=[tool("x")]), able("alpha")) as s:
        for name in ("alpha", "beta", "beta"):
            await made(s, name)
        assert await s.tasks.all(caller()) == {
            "tasks": [{"taskId": task, "status": "working"} for task in ("beta:t1", "beta:t2", "alpha:t1")]
        }
        assert s.twin("without").of("tasks/list") == []


@pytest.mark.parametrize("page", [{}, {"tasks": None}, {"tasks": [], "nextCursor": 3}], ids=repr)
async def test_a_malformed_page_ends_its_upstreams_tasks(page: JsonObject) -> None:
    async with stage(able("alpha"), able("beta")) as s:
        for name in ("alpha", "beta"):
            await made(s, name)
        s.twin("alpha").give("tasks/list", page)
        assert [each["taskId"] for each in (await s.tasks.all(caller()))["tasks"]] == ["beta:t1"]


async def test_an_upstream_that_gives_the_same_cursor_for_ever_is_left_alone() -> None:
    async with stage(able()) as s:
        await s.ready()
        s.twin("alpha").give("tasks/list", {"tasks": [], "nextCursor": "same"})
        with anyio.fail_after(5):
            assert await s.tasks.all(caller()) == {"tasks": []}
        assert len(s.twin("alpha").of("tasks/list")) == 2


@pytest.mark.parametrize("fault", ["refuses", "is gone"])
async def test_an_upstream_that_cannot_list_its_tasks_costs_the_others_nothing(fault: str) -> None:
    async with stage(able("alpha"), able("beta")) as s:
        for name in ("alpha", "beta"):
            await made(s, name)
        if fault == "refuses":
            s.twin("alpha").fail("tasks/list", RelayedError(-32601, "no list"))
        else:
            s.twin("alpha").starts.extend(["refused"] * 9)
            s.twin("alpha").link.lose()
        assert [each["taskId"] for each in (await s.tasks.all(caller()))["tasks"]] == ["beta:t1"]


async def test_where_nobody_can_list_tasks_the_reason_is_told() -> None:
    async with stage(able()) as s:
        await made(s)
        s.twin("alpha").fail("tasks/list", RelayedError(-32601, "no list"))
        with pytest.raises(RelayedError, match="no list"):
            await s.tasks.all(caller())


async def test_what_belongs_to_a_task_names_it_as_each_side_knows_it() -> None:
    async with stage(able()) as s:
        task = await made(s)
        await s.call("alpha.x", _meta={RELATED_TASK: {"taskId": task}})
        assert s.twin("alpha").of("tools/call")[-1].params["_meta"] == {RELATED_TASK: {"taskId": "t1"}}
        s.twin("alpha").give("tools/call", {"content": [], "_meta": {RELATED_TASK: {"taskId": "t1"}}})
        assert (await s.call("alpha.x"))["_meta"] == {RELATED_TASK: {"taskId": task}}


async def test_a_tasks_progress_and_status_reach_its_client_after_the_call_was_answered() -> None:
    during, standing = TwinClient("me"), TwinClient("me")
    who = visitor(during)
    who = caller(who.audience, port=during, standing=standing)
    async with stage(able()) as s:
        await s.call("alpha.x", who, task={}, _meta={"progressToken": "mine"})
        (request,) = s.twin("alpha").of("tools/call")
        token = request.params["_meta"]["progressToken"]
        s.twin("alpha").link.say(PROGRESS, {"progressToken": token, "progress": 1})
        s.twin("alpha").link.say(STATUS, {"taskId": "t1", "status": "completed"})
        await standing.hears(STATUS)
    assert standing.heard == [
        (PROGRESS, {"progressToken": "mine", "progress": 1}),
        (STATUS, {"taskId": "alpha:t1", "status": "completed"}),
    ]
    assert during.heard == []


async def test_a_call_without_a_task_has_no_progress_after_its_result() -> None:
    client = TwinClient("me")
    async with stage(able()) as s:
        await s.call("alpha.x", visitor(client), _meta={"progressToken": "mine"})
        (request,) = s.twin("alpha").of("tools/call")
        progress = {"progressToken": request.params["_meta"]["progressToken"], "progress": 1}
        s.twin("alpha").link.say(PROGRESS, progress)
        await anyio.wait_all_tasks_blocked()
    assert client.heard == []


async def test_on_a_shared_session_everybody_who_shares_it_reaches_its_tasks() -> None:
    one, other = visitor(TwinClient("one")), visitor(TwinClient("other"))
    async with stage(able(), config_of=config(upstream("alpha", isolation="shared"))) as s:
        task = await made(s, who=one)
        assert (await s.tasks.one(other, "tasks/get", {"taskId": task}))["taskId"] == task
