"""Tasks of the extension under public ids, each for whom it was made (ext-tasks; matrix B.1, C.2)."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.runtime.memory import Twin, TwinLink, tool
from tests.runtime.stage import HELLO, Stage, caller, config, stage, upstream

from wf_mcp.core.envelope import Era
from wf_mcp.core.errors import InvalidParams, MissingCapability, RelayedError
from wf_mcp.core.listen import SubscriptionFilter
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.extended_tasks import ExtendedTasks
from wf_mcp.runtime.listeners import Listeners
from wf_mcp.runtime.ports import Caller, Hello
from wf_mcp.runtime.task_owners import TaskOwners

pytestmark = pytest.mark.anyio

EXTENSION = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ABLE = Hello(EXTENSION, HELLO.client_info, HELLO.protocol_version, "modern")
TASK: JsonObject = {"taskId": "t1", "status": "working", "pollIntervalMs": 10}


def tasked(**state: Any) -> Twin:
    """A modern upstream whose one task is in this state."""
    twin = Twin("alpha", tools=[tool("x")], era="modern", capabilities={"tools": {}, **EXTENSION})
    twin.give("tools/call", {"resultType": "task", **TASK})

    async def known(link: TwinLink, params: JsonObject) -> JsonObject:
        if params["taskId"] != "t1":
            raise RelayedError(-32602, "No such task")
        return {**TASK, **state}

    twin.answers |= dict.fromkeys(ExtendedTasks.METHODS, known)
    return twin


class Desk:
    """The stage's tasks, with owners that are noted as in the app."""

    def __init__(self, s: Stage) -> None:
        self.s, self.owners = s, TaskOwners()
        s.dispatch.on_task = self.owners.made
        self.tasks = ExtendedTasks(s.mounts, s.dispatch, self.owners)

    async def ask(self, method: str, who: Caller | None = None, **params: Any) -> JsonObject:
        return await self.tasks.one(who or modern(), method, {"taskId": "alpha:t1", **params})


def modern(principal: str | None = None, hello: Hello = ABLE) -> Caller:
    return caller("c", era="modern", hello=hello, principal=principal)


async def test_a_call_answered_with_a_task_is_asked_about_under_its_public_id() -> None:
    async with stage(tasked()) as s:
        desk = Desk(s)
        made = await s.call("alpha.x", modern())
        assert made == {"resultType": "task", "taskId": "alpha:t1", "status": "working", "pollIntervalMs": 10}
        for method in ExtendedTasks.METHODS:
            assert (await desk.ask(method))["taskId"] == "alpha:t1"
            assert s.connector.twins["alpha"].of(method)[0].params["taskId"] == "t1"


async def test_what_a_task_ended_with_reads_like_the_calls_own_result() -> None:
    link = {"type": "resource_link", "uri": "demo://r", "name": "r"}
    async with stage(tasked(status="completed", result={"content": [link], "structuredContent": "demo://r"})) as s:
        assert await Desk(s).ask("tasks/get") == snapshot(
            {
                "taskId": "alpha:t1",
                "status": "completed",
                "pollIntervalMs": 10,
                "result": {
                    "content": [{"type": "resource_link", "uri": "demo://alpha/r", "name": "r"}],
                    "structuredContent": "demo://r",
                },
            }
        )


async def test_the_error_that_ended_a_task_is_in_the_clients_terms() -> None:
    error = {"code": -31000, "message": "no", "data": {"uri": "demo://r"}}
    async with stage(tasked(status="failed", error=error)) as s:
        found = await Desk(s).ask("tasks/get")
        assert found["error"] == {"code": -31000, "message": "no", "data": {"uri": "demo://alpha/r"}}


async def test_questions_and_answers_are_mapped() -> None:
    block = {"type": "tool_result", "toolUseId": "u", "content": [{"type": "resource_link", "uri": "demo://r"}]}
    asked = {"q": {"method": "sampling/createMessage", "params": {"messages": [{"role": "user", "content": [block]}]}}}
    async with stage(tasked(status="input_required", inputRequests=asked)) as s:
        desk = Desk(s)
        (message,) = (await desk.ask("tasks/get"))["inputRequests"]["q"]["params"]["messages"]
        assert message["content"][0]["content"][0]["uri"] == "demo://alpha/r"
        answer = {"role": "assistant", "model": "m", "content": message["content"]}
        await desk.ask("tasks/update", inputResponses={"q": answer})
        (sent,) = s.connector.twins["alpha"].of("tasks/update")
        assert sent.params["inputResponses"]["q"]["content"] == [block]


@pytest.mark.parametrize("method", ExtendedTasks.METHODS)
async def test_without_the_extension_on_the_request_it_is_missing(method: str) -> None:
    plain = Hello({}, HELLO.client_info, HELLO.protocol_version, "modern")
    async with stage(tasked()) as s:
        with pytest.raises(MissingCapability) as caught:
            await Desk(s).ask(method, modern(hello=plain))
    assert caught.value.data == {"requiredCapabilities": EXTENSION}


@pytest.mark.parametrize("task", ["beta:t1", "t1", "", 7, None, "alpha:t2"], ids=repr)
async def test_an_unknown_task_is_invalid(task: object) -> None:
    async with stage(tasked()) as s:
        with pytest.raises((InvalidParams, RelayedError)) as caught:
            await Desk(s).ask("tasks/get", taskId=task)
    assert caught.value.code == -32602


async def test_a_task_is_good_for_the_principal_that_it_was_made_for() -> None:
    async with stage(tasked()) as s:
        desk = Desk(s)
        await s.call("alpha.x", modern("alice"))
        assert (await desk.ask("tasks/get", modern("alice")))["status"] == "working"
        for other in ("bob", None):
            with pytest.raises(InvalidParams, match="Unknown task"):
                await desk.ask("tasks/cancel", modern(other))
        assert s.connector.twins["alpha"].of("tasks/cancel") == []


async def test_what_is_refused_to_a_principal_is_not_told_to_it_either() -> None:
    """Sessions may be shared and a server's ids known: a stream hears of the tasks of its own principal alone."""

    def who(principal: str) -> Caller:
        return caller(Audience(principal, principal, "all"), era="modern", hello=ABLE, principal=principal)

    async with stage(tasked(), config_of=config(upstream("alpha", isolation="shared"))) as s:
        desk = Desk(s)
        await s.call("alpha.x", who("alice"))
        listeners = Listeners(s.mounts, s.resolver, owners=desk.owners)
        wanted = SubscriptionFilter(tasks=("alpha:t1",))
        async with listeners.open(who("alice"), wanted) as hers, listeners.open(who("bob"), wanted) as his:
            assert (hers.honoured.tasks, his.honoured.tasks) == (("alpha:t1",), ())
            s.twin("alpha").link.say("notifications/tasks", {"taskId": "t1", "status": "completed"})
            assert await hers.take() == [("notifications/tasks", {"taskId": "alpha:t1", "status": "completed"})]
            assert his.followed == []


async def test_a_task_is_asked_about_where_it_was_made_while_that_session_lasts() -> None:
    """Other capabilities lead to another session, and over stdio so to another process."""
    asking, answering = modern("alice"), caller("d", era="modern", hello=ABLE, principal="alice")
    async with stage(tasked()) as s:
        desk = Desk(s)
        await s.call("alpha.x", asking)
        alpha, listeners = s.twin("alpha"), Listeners(s.mounts, s.resolver, owners=desk.owners)
        await desk.ask("tasks/get", answering)
        assert len(alpha.links) == 1
        async with listeners.open(answering, SubscriptionFilter(tasks=("alpha:t1",))) as stream:
            assert stream.honoured.tasks == ("alpha:t1",)
            await s.session("alpha", "d").link()
            assert [s.session("alpha", key).inbox.wishes.tasks for key in "cd"] == [("t1",), ()]
            alpha.links[0].say("notifications/tasks", {"taskId": "t1", "status": "completed"})
            assert await stream.take() == [("notifications/tasks", {"taskId": "alpha:t1", "status": "completed"})]
        assert s.session("alpha", "c").inbox.wishes.tasks == ()
        s.mounts.release(asking.audience)
        await desk.ask("tasks/get", answering)
        assert [len(alpha.of("tasks/get")), [*s.mounts["alpha"].sessions]] == [2, ["d"]]


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_an_upstream_without_the_extension_has_no_such_task(era: Era) -> None:
    plain = Twin("alpha", tools=[tool("x")], era=era)
    async with stage(plain) as s:
        with pytest.raises(InvalidParams, match="Unknown task: alpha:t1"):
            await Desk(s).ask("tasks/get")
        assert plain.of("tasks/get") == []
