"""One upstream's connection: started, lost, started again; what was sent to it is never sent twice (design D5)."""

from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, TwinLink, prompt, text, tool
from tests.runtime.stage import HELLO, Ear, running, session_of

from wf_mcp.core.errors import INTERNAL_ERROR, NotServed, RelayedError, UpstreamTimeout, UpstreamUnavailable
from wf_mcp.core.events import (
    PromptsChanged,
    ResourcesChanged,
    ToolsChanged,
    UpstreamFailed,
    UpstreamGone,
    UpstreamReady,
    UpstreamStarting,
)
from wf_mcp.core.kinds import PROMPTS, RESOURCES, TEMPLATES, TOOLS
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.ports import Asker
from wf_mcp.runtime.questions import Translation
from wf_mcp.runtime.session import UpstreamSession

pytestmark = pytest.mark.anyio

PROGRESS = "notifications/progress"
LOG = "notifications/message"
UPDATED = "notifications/resources/updated"
CALL: JsonObject = {"name": "x"}


async def test_it_starts_says_hello_and_is_ready() -> None:
    twin, ear = Twin("up"), Ear()
    async with running(session_of(twin, ear)) as session:
        assert await session.settled()
        assert session.state is State.READY
        assert twin.link.hello is HELLO
        assert session.initialized == twin.link.initialized
        assert ear.events == [UpstreamStarting("up"), UpstreamReady("up", "up", "1.0")]


@pytest.mark.parametrize("info", [None, {}], ids=["null", "empty"])
async def test_an_upstream_without_a_name_is_ready_too(info: Any) -> None:
    ear = Ear()
    async with running(session_of(Twin("up", said={"serverInfo": info}), ear)) as session:
        assert await session.settled()
        assert ear.events[-1] == UpstreamReady("up", "", "")


async def test_a_request_is_relayed_as_it_is() -> None:
    twin = Twin("up")
    async with running(session_of(twin, timeout=7.0)) as session:
        params = {"name": "x", "arguments": {"a": None}, "x-future": 1}
        assert await session.request("tools/call", params, Asker(headers={"h": "1"})) == text("up ran x")
        (request,) = twin.of("tools/call")
    assert (request.params, request.timeout, request.headers) == (params, 7.0, {"h": "1"})
    assert (session.requests.calls, session.requests.errors) == (1, 0)


async def test_an_error_of_the_upstream_passes_as_it_is_and_is_counted() -> None:
    twin, error = Twin("up"), RelayedError(-32000, "no", {"why": 1})
    twin.fail("tools/call", error)
    async with running(session_of(twin)) as session:
        with pytest.raises(RelayedError) as raised:
            await session.request("tools/call", CALL)
    assert raised.value is error
    assert (session.requests.calls, session.requests.errors) == (1, 1)


async def test_a_request_beyond_its_time_is_an_error() -> None:
    twin = Twin("up")
    twin.hold("tools/call")
    async with running(session_of(twin, timeout=0.05)) as session:
        with pytest.raises(UpstreamTimeout):
            await session.request("tools/call", CALL)
        assert session.state is State.READY


async def test_a_caller_waits_for_a_start_that_is_under_way() -> None:
    twin = Twin("up")
    start = twin.slow_start()
    async with running(session_of(twin)) as session, anyio.create_task_group() as tasks:
        answers: list[JsonObject] = []

        async def call() -> None:
            answers.append(await session.request("tools/call", CALL))

        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        assert session.state is State.STARTING
        start.set()
    assert answers == [text("up ran x")]


async def test_a_start_that_fails_is_told_at_once_with_its_reason() -> None:
    twin, ear = Twin("up"), Ear()
    twin.starts.extend(["no such command: x"] * 99)
    async with running(session_of(twin, ear)) as session:
        with anyio.fail_after(5):
            with pytest.raises(UpstreamUnavailable, match="Upstream 'up' is unavailable: no such command: x"):
                await session.request("tools/call", CALL)
        assert await session.settled()
        assert (session.state, session.reason) == (State.FAILED, "no such command: x")
        assert session.initialized is None
        assert ear.events == [UpstreamStarting("up"), UpstreamFailed("up", "no such command: x")]


async def test_an_unexpected_failure_of_a_start_is_told_by_its_kind() -> None:
    ear = Ear()
    twin = Twin("up")
    session = session_of(twin, ear)
    del session.connection._connector.twins["up"]
    async with running(session):
        assert await session.settled()
    assert ear.of(UpstreamFailed) == [UpstreamFailed("up", "KeyError: 'up'")]


async def test_a_failed_start_is_tried_again_after_a_pause() -> None:
    twin, ear = Twin("up"), Ear()
    twin.starts.append("not yet")
    async with running(session_of(twin, ear)) as session:
        await ear.hears(UpstreamFailed)
        began = anyio.current_time()
        await ear.hears(UpstreamReady)
        assert 0.9 < anyio.current_time() - began < 5
        assert await session.request("tools/call", CALL) == text("up ran x")


async def test_a_lost_connection_is_opened_again_at_once() -> None:
    twin, ear = Twin("up"), Ear()
    async with running(session_of(twin, ear)) as session:
        await session.settled()
        began = anyio.current_time()
        twin.link.lose("it crashed")
        await ear.hears(UpstreamReady, times=2)
        assert anyio.current_time() - began < 0.9
        assert await session.request("tools/call", CALL) == text("up ran x")
    assert ear.events[2:5] == [
        UpstreamGone("up", "it crashed"),
        UpstreamStarting("up"),
        UpstreamReady("up", "up", "1.0"),
    ]


async def test_a_connection_that_is_lost_soon_again_waits_longer() -> None:
    twin, ear = Twin("up"), Ear()
    async with running(session_of(twin, ear)) as session:
        await ear.hears(UpstreamReady, times=1)
        twin.link.lose()
        await ear.hears(UpstreamReady, times=2)
        twin.link.lose("again")
        await ear.hears(UpstreamGone, times=2)
        began = anyio.current_time()
        await anyio.wait_all_tasks_blocked()
        assert (session.state, session.reason) == (State.GONE, "again")
        await ear.hears(UpstreamReady, times=3)
        assert 0.9 < anyio.current_time() - began < 5


async def test_a_call_that_an_upstream_took_with_it_is_an_error_and_is_not_sent_again() -> None:
    twin, ear = Twin("up"), Ear()
    twin.hold("tools/call")
    async with running(session_of(twin, ear)) as session:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lose_during_the_call, twin)
            with pytest.raises(UpstreamUnavailable, match=r"it crashed.*not sent again"):
                await session.request("tools/call", CALL)
        await ear.hears(UpstreamReady, times=2)
        await anyio.wait_all_tasks_blocked()
    assert len(twin.of("tools/call")) == 1
    assert session.requests.errors == 1


async def lose_during_the_call(twin: Twin) -> None:
    await twin.asked("tools/call")
    twin.link.lose("it crashed")


async def test_a_call_that_certainly_did_not_arrive_is_sent_once_more() -> None:
    """The connection is gone, and the session's task has not noticed yet."""
    twin, ear = Twin("up"), Ear()
    async with running(session_of(twin, ear)) as session:
        await session.settled()
        twin.link.lose()
        assert await session.request("tools/call", CALL) == text("up ran x")
    assert len(twin.of("tools/call")) == 1
    assert len(twin.links) == 2
    assert session.requests.errors == 0


async def test_a_call_that_does_not_arrive_twice_is_an_error() -> None:
    twin, ear = Twin("up"), Ear()
    async with running(session_of(twin, ear)) as session:
        await session.settled()
        twin.starts.extend(["no more"] * 9)
        twin.link.lose()
        with pytest.raises(UpstreamUnavailable, match="is unavailable: no more"):
            await session.request("tools/call", CALL)
    assert twin.of("tools/call") == []


async def test_after_a_stop_nobody_waits() -> None:
    twin = Twin("up")
    twin.slow_start()
    session = session_of(twin)
    async with anyio.create_task_group() as callers:

        async def call() -> None:
            with pytest.raises(UpstreamUnavailable, match="stopped"):
                await session.request("tools/call", CALL)

        async with running(session):
            callers.start_soon(call)
            await anyio.wait_all_tasks_blocked()
    assert session.state is State.STOPPED


async def test_nobody_waits_for_a_silent_start_longer_than_list_wait() -> None:
    twin = Twin("up")
    twin.slow_start()
    async with running(session_of(twin, list_wait=0.1)) as session:
        with anyio.fail_after(2):
            assert not await session.settled()
            assert not await session.settled()


async def test_progress_comes_back_under_the_callers_token_and_before_the_result() -> None:
    twin, client = Twin("up"), TwinClient()
    twin.answers["tools/call"] = with_progress
    async with running(session_of(twin)) as session:
        params = {**CALL, "_meta": {"progressToken": "mine"}}
        await session.request("tools/call", params, Asker(port=client))
        assert client.heard == [(PROGRESS, {"progressToken": "mine", "progress": n}) for n in (1, 2, 3)]


async def with_progress(link: TwinLink, params: JsonObject) -> JsonObject:
    for step in (1, 2, 3):
        link.say(PROGRESS, {"progressToken": params["_meta"]["progressToken"], "progress": step})
    return text("done")


async def test_what_an_upstream_says_during_a_call_reaches_its_caller_in_order() -> None:
    twin, client = Twin("up"), TwinClient()

    async def talk(link: TwinLink, params: JsonObject) -> JsonObject:
        link.say(LOG, {"data": 1})
        link.say("notifications/x-vendor", {"any": "thing"})
        link.say(LOG, {"data": 2})
        return text("done")

    twin.answers["tools/call"] = talk
    async with running(session_of(twin)) as session:
        await session.request("tools/call", CALL, Asker(port=client))
    assert client.heard == [(LOG, {"data": 1}), ("notifications/x-vendor", {"any": "thing"}), (LOG, {"data": 2})]


async def test_what_an_upstream_says_outside_a_call_reaches_the_standing_client() -> None:
    twin, client = Twin("up"), TwinClient()
    async with running(session_of(twin, owner=client)) as session:
        await session.settled()
        twin.link.say(LOG, {"data": "tick"})
        await client.hears(LOG)
    assert client.heard == [(LOG, {"data": "tick"})]


async def test_what_nobody_can_be_told_is_dropped() -> None:
    twin = Twin("up")
    async with running(session_of(twin)) as session:
        await session.settled()
        twin.link.say(LOG, {"data": "tick"})
        await anyio.wait_all_tasks_blocked()
        assert session.state is State.READY


async def test_what_is_told_goes_through_the_translation() -> None:
    twin, client = Twin("up"), TwinClient()
    session = session_of(twin, owner=client, translation=Translation(Namespace("up", "was")))
    link = {"type": "resource_link", "uri": "demo://a", "name": "a"}
    client.answers["sampling_createMessage"] = {"content": {**link, "uri": "demo://now/b"}}
    async with running(session):
        await session.settled()
        twin.link.say(UPDATED, {"uri": "demo://a"})
        await client.hears(UPDATED)
        session.adopt(session.upstream, Translation(Namespace("up", "now")))
        answer = await twin.link.ask("sampling/createMessage", {"messages": [{"content": link}]})
    assert client.heard == [(UPDATED, {"uri": "demo://was/a"})]
    assert client.questions == [
        ("sampling/createMessage", {"messages": [{"content": {**link, "uri": "demo://now/a"}}]})
    ]
    assert answer == {"content": {**link, "uri": "demo://b"}}


async def test_a_question_goes_to_the_client_whose_call_is_in_flight() -> None:
    twin, client, answers = Twin("up"), TwinClient(roots_list={"roots": []}), list[JsonObject]()
    twin.answers["tools/call"] = asking(answers)
    async with running(session_of(twin)) as session:
        await session.request("tools/call", CALL, Asker(port=client))
    assert answers == [{"roots": []}]
    assert client.questions == [("roots/list", {})]


def asking(answers: list[Any]) -> Any:
    async def ask(link: TwinLink, params: JsonObject) -> JsonObject:
        answers.append(await link.ask("roots/list"))
        return text("asked")

    return ask


async def test_a_clients_refusal_is_the_answer() -> None:
    twin, refusal = Twin("up"), RelayedError(-1, "declined", {"by": "user"})
    async with running(session_of(twin, owner=TwinClient(roots_list=refusal))) as session:
        await session.settled()
        with pytest.raises(RelayedError) as raised:
            await twin.link.ask("roots/list")
    assert raised.value is refusal


async def test_a_question_without_anybody_to_ask_is_refused() -> None:
    twin = Twin("up")
    async with running(session_of(twin)) as session:
        await session.settled()
        with pytest.raises(NotServed):
            await twin.link.ask("roots/list")


async def test_a_question_is_refused_while_two_clients_have_calls_in_flight() -> None:
    twin = Twin("up")
    gate = twin.hold("tools/call")
    clients = TwinClient("one"), TwinClient("other")
    async with running(session_of(twin)) as session, anyio.create_task_group() as tasks:
        for client in clients:

            async def call(client: TwinClient = client) -> None:
                await session.request("tools/call", CALL, Asker(port=client))

            tasks.start_soon(call)
        await twin.asked("tools/call", times=2)
        with pytest.raises(RelayedError) as refused:
            await twin.link.ask("sampling/createMessage")
        gate.set()
    assert refused.value.code == INTERNAL_ERROR
    assert [client.questions for client in clients] == [[], []]


@pytest.mark.parametrize(
    ("method", "event", "stale"),
    [
        ("notifications/tools/list_changed", ToolsChanged("up"), {TOOLS}),
        ("notifications/prompts/list_changed", PromptsChanged("up"), {PROMPTS}),
        ("notifications/resources/list_changed", ResourcesChanged("up"), {RESOURCES, TEMPLATES}),
    ],
)
async def test_a_change_makes_lists_stale_before_anybody_hears_of_it(method: str, event: Any, stale: set[Any]) -> None:
    twin = Twin("up")
    seen: list[tuple[Any, set[Any]]] = []

    class Looking(Ear):
        def offer(self, event: Any) -> None:
            seen.append((event, {kind for kind in kinds if not session.catalogue.fresh(kind)}))

    kinds = (TOOLS, PROMPTS, RESOURCES, TEMPLATES)
    session = session_of(twin, Looking())
    async with running(session):
        await loaded(session)
        seen.clear()
        twin.link.say(method)
    assert seen == [(event, stale)]


async def loaded(session: UpstreamSession) -> None:
    await session.settled()
    for kind in (TOOLS, PROMPTS, RESOURCES, TEMPLATES):
        await session.catalogue.get(kind)


async def test_an_upstream_that_comes_late_announces_what_it_lists_once() -> None:
    twin, ear = Twin("up", tools=[tool("a")], prompts=[prompt("p")]), Ear()
    start = twin.slow_start()
    async with running(session_of(twin, ear, list_wait=0.05)) as session:
        assert not await session.settled()
        session.owe_everything()
        start.set()
        await ear.hears(PromptsChanged)
        await loaded(session)
        assert [event for event in ear.events if not isinstance(event, UpstreamStarting | UpstreamReady)] == [
            ToolsChanged("up"),
            PromptsChanged("up"),
        ]


async def test_what_a_new_connection_lists_differently_is_announced() -> None:
    twin, ear = Twin("up", tools=[tool("a")], prompts=[prompt("p")]), Ear()
    async with running(session_of(twin, ear)) as session:
        await loaded(session)
        twin.tools = [tool("b")]
        twin.link.lose()
        await ear.hears(ToolsChanged)
        await loaded(session)
    assert ear.of(ToolsChanged) == [ToolsChanged("up")]
    assert ear.of(PromptsChanged) == []


async def test_events_say_whose_session_changed() -> None:
    twin, ear = Twin("up", tools=[tool("a")]), Ear()
    async with running(session_of(twin, ear, key="client 1")) as session:
        await loaded(session)
        twin.change("tools", [tool("b")])
        await ear.hears(ToolsChanged("up", "client 1"))


@pytest.mark.parametrize("reason", ["changed my mind", None])
async def test_a_call_that_its_client_cancels_is_cancelled_upstream_with_the_clients_reason(reason: str | None) -> None:
    twin, client = Twin("up"), TwinClient()
    client.reason = reason
    twin.hold("tools/call")
    async with running(session_of(twin)) as session:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await session.request("tools/call", CALL, Asker(port=client))

            tasks.start_soon(call)
            await twin.asked("tools/call")
            tasks.cancel_scope.cancel()
        assert twin.cancelled == [("tools/call", reason)]
        assert len(session.inbox.calls) == 0
        assert session.state is State.READY


async def test_after_a_restart_subscriptions_and_the_level_are_asked_for_again() -> None:
    twin, ear, client = Twin("up", capabilities={"logging": {}}), Ear(), TwinClient("me")
    for method in ("resources/subscribe", "logging/setLevel"):
        twin.give(method, {})
    async with running(session_of(twin, ear, owner=client)) as session:
        await session.settled()
        session.inbox.wishes.subscribe("demo://a", "me")
        session.inbox.wishes.subscribe("demo://b", "me")
        session.inbox.wishes.set_level("me", "error")
        assert twin.requests == []
        twin.link.lose()
        await ear.hears(UpstreamReady, times=2)
        asked = [(request.method, request.params) for request in twin.requests if "list" not in request.method]
    assert asked == [
        ("resources/subscribe", {"uri": "demo://a"}),
        ("resources/subscribe", {"uri": "demo://b"}),
        ("logging/setLevel", {"level": "error"}),
    ]


async def test_an_upstream_that_refuses_what_it_is_asked_again_is_ready_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    twin = Twin("up", capabilities={"logging": {}})
    twin.fail("resources/subscribe", RelayedError(-1, "not here"))
    twin.hold("logging/setLevel")
    session = session_of(twin, init_timeout=0.05)
    session.inbox.wishes.subscribe("demo://a", "me")
    session.inbox.wishes.set_level("me", "error")
    async with running(session):
        assert await session.settled()
        assert session.state is State.READY
    assert "did not take resources/subscribe again: not here" in caplog.text
    assert "did not take logging/setLevel again" in caplog.text


async def test_an_upstream_that_does_not_log_is_asked_for_no_level() -> None:
    twin = Twin("up", capabilities={"tools": {}})
    session = session_of(twin)
    session.inbox.wishes.set_level("me", "error")
    async with running(session):
        await session.settled()
        await loaded(session)
    assert twin.of("logging/setLevel") == []


@pytest.mark.parametrize("when", ["before the handshake is done", "while it is asked again"])
async def test_what_an_upstream_says_early_is_heard_and_nothing_later_is_lost(when: str) -> None:
    twin, client = Twin("up", capabilities={"logging": {}}), TwinClient("me")

    async def talk(link: TwinLink, params: JsonObject) -> JsonObject:
        link.say(LOG, {"level": "error", "data": "early"})
        return {}

    twin.answers["logging/setLevel"] = talk
    session = session_of(twin, owner=client)
    if when == "while it is asked again":
        session.inbox.wishes.set_level("me", "error")
    else:
        session.heard(LOG, {"level": "error", "data": "early"})
    async with running(session):
        assert await session.settled()
        twin.link.say(LOG, {"level": "error", "data": "later"})
        await client.arrivals.wait_for(lambda _: len(client.heard) == 2)
    assert [params["data"] for _, params in client.heard] == ["early", "later"]


async def test_what_is_said_without_a_connection_goes_nowhere() -> None:
    twin = Twin("up")
    async with running(session_of(twin)) as session:
        await session.settled()
        await session.notify("notifications/x", {"a": None})
        assert twin.link.notes == [("notifications/x", {"a": None})]
        twin.slow_start()
        twin.link.lose()
        await anyio.wait_all_tasks_blocked()
        await session.notify("notifications/x", {})
    assert len(twin.links[0].notes) == 1


async def test_what_an_upstream_offers_is_known_once_it_answered() -> None:
    twin = Twin("up", capabilities={"tasks": {}})
    start = twin.slow_start()
    async with running(session_of(twin)) as session:
        assert not session.offers("tasks")
        start.set()
        await session.settled()
        assert [session.offers(each) for each in ("tasks", "logging")] == [True, False]
