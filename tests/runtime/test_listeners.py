"""All listen streams: what happens here and at upstreams, for each that asked for it (matrix B.5)."""

from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, prompt, resource, tool
from tests.runtime.stage import Stage, caller, config, stage, upstream

from wf_mcp.core.errors import RelayedError, WfMcpError
from wf_mcp.core.events import PromptsChanged, ToolsChanged
from wf_mcp.core.listen import UPDATED, SubscriptionFilter
from wf_mcp.core.notify import PROMPTS, RESOURCES, TOOLS
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.listener import Listener
from wf_mcp.runtime.listeners import Listeners

pytestmark = pytest.mark.anyio

SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
LISTS = SubscriptionFilter(frozenset({TOOLS, PROMPTS, RESOURCES}))
R = "demo://alpha/r"


def twin(name: str = "alpha", **options: Any) -> Twin:
    made = Twin(name, tools=[tool("x")], prompts=[prompt("p")], resources=[resource("demo://r")], **options)
    made.capabilities = {**made.capabilities, "resources": {"subscribe": True}}
    for method in (SUBSCRIBE, UNSUBSCRIBE):
        made.give(method, {})
    return made


def uris(*wanted: str) -> SubscriptionFilter:
    return SubscriptionFilter(uris=wanted)


async def next_of(stream: Listener) -> list[tuple[str, JsonObject]]:
    with anyio.fail_after(5):
        return await stream.take()


async def silent(stream: Listener) -> bool:
    """Whether nothing waits: what is offered now comes alone."""
    await anyio.wait_all_tasks_blocked()
    stream.offer("fence", {})
    return await next_of(stream) == [("fence", {})]


async def settled(s: Stage) -> None:
    await s.ready()
    await anyio.wait_all_tasks_blocked()


async def test_a_stream_wakes_the_upstreams_that_it_is_to_hear() -> None:
    lazy = Twin("lazy")
    mounts = config(upstream("alpha"), upstream("lazy", start="lazy"))
    async with stage(twin(), lazy, config_of=mounts) as s, s.listeners.open(caller(), LISTS) as stream:
        await s.twin("alpha").asked("tools/list")
        await anyio.wait_all_tasks_blocked()
        assert stream.honoured == LISTS
        assert lazy.links == []


@pytest.mark.parametrize("method", [TOOLS, PROMPTS, RESOURCES])
async def test_what_an_upstream_says_of_its_lists_is_heard_by_who_asked_for_it(method: str) -> None:
    async with (
        stage(twin()) as s,
        s.listeners.open(caller(), SubscriptionFilter(frozenset({method}))) as wanted,
        s.listeners.open(caller(), SubscriptionFilter()) as unwanted,
    ):
        await settled(s)
        for each in (TOOLS, PROMPTS, RESOURCES):
            s.twin("alpha").link.say(each)
        assert await next_of(wanted) == [(method, {})]
        assert await silent(unwanted)


async def test_sessions_of_others_are_not_heard() -> None:
    one, other = Audience("one", "p", "s"), Audience("other", "p", "s")
    async with stage(twin()) as s, s.listeners.open(caller(one), LISTS) as stream:
        await s.ready(caller(other))
        s.bus.publish(ToolsChanged("alpha", "other"))
        assert await silent(stream)
        s.bus.publish(ToolsChanged("alpha", "one"))
        assert await next_of(stream) == [(TOOLS, {})]


async def test_an_upstream_that_a_reload_brings_or_takes_away_is_heard_of() -> None:
    first, both = config(upstream("alpha")), config(upstream("alpha"), upstream("beta"))
    async with stage(twin(), twin("beta"), config_of=first) as s, s.listeners.open(caller(), LISTS) as stream:
        await settled(s)
        for following in (both, first):
            s.next = following
            await s.operator.reload()
            heard = await next_of(stream)
            assert sorted(heard) == sorted([(TOOLS, {}), (PROMPTS, {}), (RESOURCES, {})])


async def test_an_upstream_that_comes_back_with_another_list_is_heard_of_and_one_with_the_same_is_not() -> None:
    async with stage(twin()) as s, s.listeners.open(caller(), LISTS) as stream:
        await settled(s)
        alpha = s.twin("alpha")
        alpha.link.lose()
        await alpha.asked("tools/list", 2)
        assert await silent(stream)
        alpha.tools = [tool("y")]
        alpha.link.lose()
        assert await next_of(stream) == [(TOOLS, {})]


async def test_updates_reach_the_streams_that_watch_until_they_end() -> None:
    async with stage(twin()) as s:
        alpha = s.twin("alpha")
        async with s.listeners.open(caller(), uris("demo://alpha/other")) as other:
            async with s.listeners.open(caller(), uris(R)) as stream:
                assert stream.honoured == uris(R)
                alpha.link.say(UPDATED, {"uri": "demo://r/child"})
                alpha.link.say(UPDATED, {"uri": "demo://elsewhere"})
                assert await next_of(stream) == [(UPDATED, {"uri": "demo://alpha/r/child"})]
            await alpha.asked(UNSUBSCRIBE)
            alpha.link.say(UPDATED, {"uri": "demo://r"})
            assert await silent(stream)
            assert await silent(other)


async def test_what_cannot_be_watched_is_not_acknowledged_and_costs_the_others_nothing() -> None:
    beta, mute, slow = twin("beta"), Twin("mute", resources=[resource("demo://r")]), twin("slow")
    beta.fail(SUBSCRIBE, RelayedError(-32602, "no"))
    slow.hold(SUBSCRIBE)
    wanted = [f"demo://{name}/r" for name in ("slow", "beta", "alpha", "mute", "nobody")]
    async with stage(twin(), beta, mute, slow) as s:
        listeners = Listeners(s.mounts, s.resolver, patience=0.2)
        async with listeners.open(caller(), uris(*wanted)) as stream:
            assert stream.honoured == uris(R)
            assert [watch.uri for watch in stream.watches] == [R]
        assert s.session("slow").inbox.wishes.subscriptions == ()


async def test_while_an_upstream_was_away_its_watched_resources_may_have_changed() -> None:
    async with stage(twin()) as s, s.listeners.open(caller(), uris(R)) as stream:
        alpha = s.twin("alpha")
        assert await silent(stream)
        alpha.link.lose()
        assert await next_of(stream) == [(UPDATED, {"uri": R})]
        assert [each.params for each in alpha.of(SUBSCRIBE)] == [{"uri": "demo://r"}] * 2
        alpha.link.say(UPDATED, {"uri": "demo://r"})
        assert await next_of(stream) == [(UPDATED, {"uri": R})]


async def test_an_upstream_that_starts_for_somebody_else_is_no_news() -> None:
    one, other = Audience("one", "p", "s"), Audience("other", "p", "s")
    async with stage(twin()) as s, s.listeners.open(caller(one), uris(R)) as stream:
        await s.ready(caller(other))
        assert len(s.twin("alpha").links) == 2
        assert await silent(stream)


async def test_a_resource_is_watched_on_when_a_reload_restarts_its_upstream_or_brings_it_back() -> None:
    first = config(upstream("alpha"))
    async with stage(twin(), config_of=first) as s, s.listeners.open(caller(), uris(R)) as stream:
        alpha = s.twin("alpha")
        for following in (config(upstream("alpha", digest="2")), config(), first):
            s.next = following
            await s.operator.reload()
            if following.upstreams:
                assert await next_of(stream) == [(UPDATED, {"uri": R})]
                alpha.link.say(UPDATED, {"uri": "demo://r", "x": 1})
                assert await next_of(stream) == [(UPDATED, {"uri": R, "x": 1})]
        assert len(alpha.of(SUBSCRIBE)) == 3
    async with stage(twin(), config_of=first) as s:
        async with s.listeners.open(caller(), uris(R)):
            s.next = config(upstream("alpha", digest="2"))
            await s.operator.reload()
        await s.twin("alpha").asked(UNSUBSCRIBE)
        assert s.session("alpha").inbox.wishes.subscriptions == ()


async def test_no_more_streams_than_there_may_be() -> None:
    async with stage(twin()) as s:
        listeners = Listeners(s.mounts, s.resolver, streams=1)
        async with listeners.open(caller(), LISTS):
            with pytest.raises(WfMcpError, match="1 streams are open already"):
                async with listeners.open(caller(), LISTS):
                    pass
        async with listeners.open(caller(), LISTS):
            assert len(listeners) == 1


async def test_streams_that_fell_behind_are_counted() -> None:
    async with stage(twin()) as s:
        streams = Listeners(s.mounts, s.resolver, backlog=1)
        async with streams.open(caller(), LISTS), streams.open(caller(), SubscriptionFilter()):
            streams.offer(ToolsChanged("alpha"))
        assert streams.dropped == 0
        async with streams.open(caller(), LISTS), streams.open(caller(), SubscriptionFilter()):
            for event in (ToolsChanged("alpha"), PromptsChanged("alpha"), PromptsChanged("alpha")):
                streams.offer(event)
        assert streams.dropped == 1


async def test_stopping_ends_every_stream_and_waits_for_them_but_not_for_ever() -> None:
    async with stage(twin()) as s, anyio.create_task_group() as tasks:
        ended = []

        async def serve(patient: bool) -> None:
            async with s.listeners.open(caller(), LISTS) as stream:
                await stream.ended.wait()
                ended.append(stream.failure)
                if not patient:
                    await anyio.sleep_forever()

        tasks.start_soon(serve, True)
        await anyio.wait_all_tasks_blocked()
        await s.listeners.stop(5)
        assert (ended, len(s.listeners)) == ([None], 0)
        tasks.start_soon(serve, False)
        await anyio.wait_all_tasks_blocked()
        assert ended == [None, None]
        await s.listeners.stop(0.01)
        assert len(s.listeners) == 1
        tasks.cancel_scope.cancel()


TASKS = "notifications/tasks"


def tasked(name: str = "alpha", **options: Any) -> Twin:
    extension = {"io.modelcontextprotocol/tasks": {}}
    return Twin(name, era="modern", capabilities={"tools": {}, "extensions": extension}, **options)


async def test_tasks_are_followed_at_their_upstream_and_told_to_those_who_named_them_only() -> None:
    old, bare = tasked("old"), Twin("bare", era="modern")
    old.era = "handshake"
    wanted = SubscriptionFilter(tasks=("alpha:1", "old:1", "bare:1", "nobody:1"))
    async with stage(tasked(), old, bare) as s:
        await s.ready()
        link = s.twin("alpha").link
        async with s.listeners.open(caller(), SubscriptionFilter(tasks=("alpha:2",))) as other:
            async with s.listeners.open(caller(), wanted) as stream:
                assert stream.honoured == SubscriptionFilter(tasks=("alpha:1",))
                assert link.followed == ["2", "1"]
                for status in ("working", "input_required", "working"):  # none of them is a repeat
                    link.say(TASKS, {"taskId": "1", "status": status})
                await anyio.wait_all_tasks_blocked()
                assert [params["status"] for _, params in await next_of(stream)] == [
                    "working",
                    "input_required",
                    "working",
                ]
                assert await silent(other)
            assert link.followed == ["2"]
        assert link.followed == []


async def test_nobody_hears_of_a_task_in_anothers_session() -> None:
    one, other = Audience("one", "p", "s"), Audience("other", "p", "s")
    async with stage(tasked()) as s:
        await s.ready(caller(one))
        async with s.listeners.open(caller(other), SubscriptionFilter(tasks=("alpha:1",))) as stream:
            await s.ready(caller(other))
            s.twin("alpha").links[0].say(TASKS, {"taskId": "1", "status": "working"})
            assert await silent(stream)


async def test_a_task_is_followed_again_after_its_upstream_came_back() -> None:
    async with stage(tasked()) as s:
        await s.ready()
        async with s.listeners.open(caller(), SubscriptionFilter(tasks=("alpha:1",))) as stream:
            s.twin("alpha").link.lose()
            await s.twin("alpha").asked("tools/list", 2)
            assert s.twin("alpha").link.followed == ["1"]
            for following in (config(upstream("alpha", digest="2")), config(), config(upstream("alpha"))):
                s.next = following
                await s.operator.reload()
            assert s.twin("alpha").link.followed == ["1"]
            s.twin("alpha").link.say(TASKS, {"taskId": "1", "status": "completed"})
            assert await next_of(stream) == [(TASKS, {"taskId": "alpha:1", "status": "completed"})]
        assert s.twin("alpha").link.followed == []
