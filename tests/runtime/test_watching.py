"""Resource subscriptions of listen streams at the upstreams (matrix B.5)."""

from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinLink, resource
from tests.runtime.stage import A, Stage, caller, config, stage, upstream

from wf_mcp.core.errors import NotServed, RelayedError, UnknownResource, UpstreamUnavailable, WfMcpError
from wf_mcp.core.listen import SubscriptionFilter
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.listener import Listener
from wf_mcp.runtime.task_owners import TaskOwners
from wf_mcp.runtime.watching import Watching

pytestmark = pytest.mark.anyio

SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
R = "demo://alpha/r"


def alpha(**options: Any) -> Twin:
    twin = Twin("alpha", resources=[resource("demo://r")], **options)
    twin.capabilities = {**twin.capabilities, "resources": {"subscribe": True}}
    for method in (SUBSCRIBE, UNSUBSCRIBE):
        twin.give(method, {})
    return twin


def listener(number: int = 1, audience: Audience = A, **fields: Any) -> Listener:
    return Listener(f"listener {number}", caller(audience, **fields), SubscriptionFilter())


def watching(s: Stage) -> Watching:
    return Watching(s.mounts, s.resolver, TaskOwners())


def asked(s: Stage, method: str) -> list[JsonObject]:
    return [request.params for request in s.twin("alpha").of(method)]


async def test_the_first_stream_subscribes_and_the_last_one_unsubscribes() -> None:
    one, other = listener(1), listener(2)
    async with stage(alpha()) as s:
        watch = watching(s)
        for stream in (one, other):
            await watch.watch(stream, R)
        assert asked(s, SUBSCRIBE) == [{"uri": "demo://r"}]
        watch.release(one)
        await anyio.wait_all_tasks_blocked()
        assert asked(s, UNSUBSCRIBE) == []
        watch.release(other)
        await s.twin("alpha").asked(UNSUBSCRIBE)
        assert asked(s, UNSUBSCRIBE) == [{"uri": "demo://r"}]
        assert s.session("alpha").inbox.wishes.subscriptions == ()


async def test_a_subscription_says_who_asks_and_wants_no_log() -> None:
    async with stage(alpha()) as s:
        await watching(s).watch(listener(log_level="debug"), R)
        (request,) = s.twin("alpha").of(SUBSCRIBE)
    assert request.envelope is not None
    assert (request.envelope.client_info, request.envelope.log_level) == ({"name": "test", "version": "1"}, None)


@pytest.mark.parametrize("capabilities", [{}, {"resources": {}}, {"resources": {"subscribe": False}}])
async def test_an_upstream_without_subscriptions_is_not_asked(capabilities: JsonObject) -> None:
    twin = alpha()
    twin.capabilities = capabilities
    stream = listener()
    async with stage(twin) as s:
        with pytest.raises(NotServed, match="'alpha' does not tell of changes"):
            await watching(s).watch(stream, R)
        assert asked(s, SUBSCRIBE) == []
    assert stream.watches == []


async def test_a_refusal_leaves_nothing_behind() -> None:
    twin, stream = alpha(), listener()
    twin.fail(SUBSCRIBE, RelayedError(-32602, "not that one"))
    async with stage(twin) as s:
        with pytest.raises(RelayedError, match="not that one"):
            await watching(s).watch(stream, R)
        assert s.session("alpha").inbox.wishes.subscriptions == ()
    assert stream.watches == []


async def test_a_second_stream_is_refused_what_the_first_one_is() -> None:
    twin, refused = alpha(), []
    go_on = twin.hold(SUBSCRIBE)
    held = twin.answers[SUBSCRIBE]

    async def refuse(link: TwinLink, params: JsonObject) -> JsonObject:
        await held(link, params)
        raise RelayedError(-32602, "not that one")

    twin.answers[SUBSCRIBE] = refuse
    async with stage(twin) as s, anyio.create_task_group() as tasks:
        watch = watching(s)

        async def attempt(number: int) -> None:
            try:
                await watch.watch(listener(number), R)
            except WfMcpError as error:
                refused.append(error.message)

        for number in (1, 2):
            tasks.start_soon(attempt, number)
        await twin.asked(SUBSCRIBE)
        await anyio.wait_all_tasks_blocked()
        go_on.set()
    assert refused == ["not that one"] * 2


async def test_nobodys_resource_and_an_upstream_that_cannot_start_are_refused() -> None:
    twin = alpha()
    twin.starts.extend(["no such command"] * 50)
    async with stage(twin) as s:
        watch = watching(s)
        with pytest.raises(UnknownResource):
            await watch.watch(listener(), "demo://nobody/x")
        with pytest.raises(UpstreamUnavailable, match="no such command"):
            await watch.watch(listener(), R)


async def test_a_web_address_is_watched_at_the_upstream_that_lists_it() -> None:
    twin, stream = alpha(), listener()
    twin.resources.append(resource("https://example.org/x"))
    async with stage(Twin("beta"), twin) as s:
        await watching(s).watch(stream, "https://example.org/x")
        assert asked(s, SUBSCRIBE) == [{"uri": "https://example.org/x"}]
    assert [(watch.public, watch.mount_id) for watch in stream.watches] == [("https://example.org/x", "alpha")]


async def test_what_somebody_subscribed_to_again_meanwhile_is_not_given_up() -> None:
    async with stage(alpha()) as s:
        watch = watching(s)
        await watch.watch(listener(1), R)
        first = listener(2)
        await watch.watch(first, "demo://alpha/other")
        release = s.twin("alpha").hold(UNSUBSCRIBE)
        watch.release(first)
        await s.twin("alpha").asked(UNSUBSCRIBE)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.watch, listener(3), "demo://alpha/other")
            await anyio.wait_all_tasks_blocked()
            release.set()
        methods = [each.method for each in s.twin("alpha").requests if each.method in (SUBSCRIBE, UNSUBSCRIBE)]
    assert methods == [SUBSCRIBE, SUBSCRIBE, UNSUBSCRIBE, SUBSCRIBE]


async def test_what_is_subscribed_to_again_before_it_was_given_up_stays_subscribed() -> None:
    first, again = listener(1), listener(2)
    async with stage(alpha()) as s:
        watch = watching(s)
        await watch.watch(first, R)
        watch.release(first)
        await watch.watch(again, R)
        await anyio.wait_all_tasks_blocked()
        assert (len(asked(s, SUBSCRIBE)), asked(s, UNSUBSCRIBE)) == (2, [])


async def test_an_upstream_that_is_away_is_not_waited_for_when_a_stream_ends() -> None:
    twin, stream = alpha(), listener()
    async with stage(twin) as s:
        watch = watching(s)
        await watch.watch(stream, R)
        twin.slow_start()
        twin.link.lose()
        await anyio.wait_all_tasks_blocked()
        assert s.session("alpha").state is not State.READY
        watch.release(stream)
        await anyio.wait_all_tasks_blocked()
        assert asked(s, UNSUBSCRIBE) == []


async def test_a_new_session_in_the_place_of_an_ended_one_is_told_the_same() -> None:
    stream, first = listener(), config(upstream("alpha"))
    async with stage(alpha(), config_of=first) as s:
        await watching(s).watch(stream, R)
        watch = watching(s)
        s.next = config(upstream("alpha", digest="2"))
        s.mounts.on_open.append(lambda mount, key, session: watch.moved(stream, mount, session))
        await s.operator.reload()
        await s.twin("alpha").asked(SUBSCRIBE, 2)
        assert stream.sessions == {"alpha": s.session("alpha")}
        watch.release(stream)
        await s.twin("alpha").asked(UNSUBSCRIBE)
    assert [request.params for request in s.twin("alpha").of(SUBSCRIBE)] == [{"uri": "demo://r"}] * 2
