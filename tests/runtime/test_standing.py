"""Requests that change what a client's sessions do from then on: subscriptions, the level, roots (matrix B.1, B.2)."""

from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, TwinLink, resource
from tests.runtime.stage import Stage, caller, config, stage, upstream, visitor

from wf_mcp.core.config_values import Isolation
from wf_mcp.core.errors import InvalidParams, RelayedError, UnknownResource
from wf_mcp.core.events import UpstreamReady
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.standing import give_up

pytestmark = pytest.mark.anyio

SUBSCRIBE, UNSUBSCRIBE, LEVEL = "resources/subscribe", "resources/unsubscribe", "logging/setLevel"
UPDATED, MESSAGE, ROOTS = (
    "notifications/resources/updated",
    "notifications/message",
    "notifications/roots/list_changed",
)
PUBLIC = "demo://alpha/r"


def alpha(**options: Any) -> Twin:
    """An upstream with one resource, that takes subscriptions and levels."""
    twin = Twin("alpha", resources=[resource("demo://r")], **options)
    twin.capabilities = {"resources": {"subscribe": True}, "logging": {}, **twin.capabilities}
    for method in (SUBSCRIBE, UNSUBSCRIBE, LEVEL):
        twin.give(method, {"from": "upstream"})
    return twin


def isolated(isolation: Isolation) -> Any:
    return config(upstream("alpha", isolation=isolation))


def asked(s: Stage, method: str) -> list[JsonObject]:
    return [request.params for request in s.twin("alpha").of(method)]


async def test_a_subscription_reaches_the_upstream_that_owns_the_resource_with_everything_in_it() -> None:
    one = TwinClient("one")
    async with stage(alpha(), Twin("beta")) as s:
        assert await s.standing.subscribe(visitor(one), {"uri": PUBLIC, "x": None}) == {"from": "upstream"}
        assert asked(s, SUBSCRIBE) == [{"uri": "demo://r", "x": None}]
        assert await s.standing.unsubscribe(visitor(one), {"uri": PUBLIC, "x": None}) == {"from": "upstream"}
        assert asked(s, UNSUBSCRIBE) == [{"uri": "demo://r", "x": None}]
        assert s.twin("beta").of(SUBSCRIBE) == []


async def test_a_resource_that_is_not_listed_can_be_subscribed_to() -> None:
    async with stage(alpha()) as s:
        await s.standing.subscribe(visitor(TwinClient("one")), {"uri": "demo://alpha/other"})
        assert asked(s, SUBSCRIBE) == [{"uri": "demo://other"}]


@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": 3}], ids=repr)
async def test_a_subscription_to_nothing_is_the_callers_mistake(params: JsonObject) -> None:
    async with stage(alpha()) as s:
        for request in (s.standing.subscribe, s.standing.unsubscribe):
            with pytest.raises(InvalidParams):
                await request(caller(), params)


async def test_a_subscription_to_nobodys_resource_is_refused() -> None:
    async with stage(alpha()) as s:
        with pytest.raises(UnknownResource):
            await s.standing.subscribe(caller(), {"uri": "demo://nobody/x"})


async def test_an_error_names_the_resource_as_the_client_wrote_it() -> None:
    """Matrix C.1 row 12."""
    who = visitor(TwinClient("one"))
    async with stage(alpha()) as s:
        for request, method in ((s.standing.subscribe, SUBSCRIBE), (s.standing.unsubscribe, UNSUBSCRIBE)):
            s.twin("alpha").fail(method, RelayedError(-32002, "none", {"uri": "demo://r", "x": None}))
            with pytest.raises(RelayedError) as raised:
                await request(who, {"uri": PUBLIC})
            assert raised.value.data == {"uri": PUBLIC, "x": None}


async def test_on_a_session_of_ones_own_every_request_is_the_upstreams_to_answer() -> None:
    who = visitor(TwinClient("one"))
    async with stage(alpha()) as s:
        for _ in range(2):
            assert await s.standing.subscribe(who, {"uri": PUBLIC}) == {"from": "upstream"}
        s.twin("alpha").fail(UNSUBSCRIBE, RelayedError(-32602, "not subscribed"))
        with pytest.raises(RelayedError, match="not subscribed"):
            await s.standing.unsubscribe(who, {"uri": "demo://alpha/never"})
        assert len(asked(s, SUBSCRIBE)) == 2


async def test_on_a_shared_session_the_first_and_the_last_subscriber_reach_the_upstream() -> None:
    one, other = visitor(TwinClient("one")), visitor(TwinClient("other"))
    async with stage(alpha(), config_of=isolated("shared")) as s:
        for who in (one, other):
            await s.standing.subscribe(who, {"uri": PUBLIC})
        assert len(asked(s, SUBSCRIBE)) == 1
        assert await s.standing.unsubscribe(one, {"uri": PUBLIC}) == {}
        assert await s.standing.unsubscribe(one, {"uri": PUBLIC}) == {}
        assert asked(s, UNSUBSCRIBE) == []
        assert await s.standing.unsubscribe(other, {"uri": PUBLIC}) == {"from": "upstream"}
        assert len(asked(s, UNSUBSCRIBE)) == 1
        assert len(s.twin("alpha").links) == 1


async def test_on_a_shared_session_updates_reach_subscribers_only_until_they_unsubscribe() -> None:
    one, other, third = TwinClient("one"), TwinClient("other"), TwinClient("third")
    async with stage(alpha(), config_of=isolated("shared")) as s:
        for client in (one, other, third):
            await s.ready(visitor(client))
        for client in (one, other):
            await s.standing.subscribe(visitor(client), {"uri": PUBLIC})
        s.twin("alpha").link.say(UPDATED, {"uri": "demo://r/child"})
        await one.hears(UPDATED)
        await other.hears(UPDATED)
        await s.standing.unsubscribe(visitor(one), {"uri": PUBLIC})
        s.twin("alpha").link.say(UPDATED, {"uri": "demo://r"})
        await anyio.wait_all_tasks_blocked()
    child, itself = (UPDATED, {"uri": "demo://alpha/r/child"}), (UPDATED, {"uri": PUBLIC})
    assert (one.heard, other.heard, third.heard) == ([child], [child, itself], [])


async def test_a_subscription_that_the_upstream_refuses_was_never_made() -> None:
    one = TwinClient("one")
    async with stage(alpha(), config_of=isolated("shared")) as s:
        s.twin("alpha").fail(SUBSCRIBE, RelayedError(-32601, "no subscriptions here"))
        with pytest.raises(RelayedError, match="no subscriptions here"):
            await s.standing.subscribe(visitor(one), {"uri": PUBLIC})
        s.twin("alpha").link.say(UPDATED, {"uri": "demo://r"})
        await anyio.wait_all_tasks_blocked()
        assert one.heard == []
        with pytest.raises(RelayedError):
            await s.standing.subscribe(visitor(one), {"uri": PUBLIC})
        assert len(asked(s, SUBSCRIBE)) == 2


async def test_subscriptions_that_nobody_wants_any_more_are_given_up_whatever_the_upstream_says() -> None:
    one, other = TwinClient("one"), TwinClient("other")
    twin = alpha()

    async def refuse_one(link: TwinLink, params: JsonObject) -> JsonObject:
        if params["uri"] == "demo://r":
            raise RelayedError(-1, "no")
        return {}

    twin.answers[UNSUBSCRIBE] = refuse_one
    async with stage(twin, config_of=isolated("shared")) as s:
        for uri, client in ((PUBLIC, one), ("demo://alpha/s", one), ("demo://alpha/t", one), ("demo://alpha/t", other)):
            await s.standing.subscribe(visitor(client), {"uri": uri})
        ((session, unwanted),) = s.mounts.release(visitor(one).audience)
        await give_up(session, unwanted)
        assert asked(s, UNSUBSCRIBE) == [{"uri": "demo://r"}, {"uri": "demo://s"}]
        assert session.inbox.wishes.subscriptions == ("demo://t",)


async def test_a_level_goes_to_every_upstream_that_logs() -> None:
    mute = Twin("mute")
    async with stage(alpha(), mute) as s:
        await s.ready()
        assert await s.standing.set_level(caller(), {"level": "warning"}) == {}
        assert asked(s, LEVEL) == [{"level": "warning"}]
        assert mute.of(LEVEL) == []


@pytest.mark.parametrize("level", [None, "loud", 3, ["info"], "INFO"], ids=repr)
async def test_a_level_that_there_is_not_is_the_callers_mistake(level: Any) -> None:
    async with stage(alpha()) as s:
        await s.ready()
        with pytest.raises(InvalidParams, match="expected one of debug, info"):
            await s.standing.set_level(caller(), {"level": level})
        assert asked(s, LEVEL) == []


async def test_one_upstreams_refusal_costs_nobody_else_but_everybodys_is_told() -> None:
    beta = Twin("beta", capabilities={"logging": {}})
    beta.fail(LEVEL, RelayedError(-1, "not today"))
    async with stage(beta, alpha()) as s:
        await s.ready()
        assert await s.standing.set_level(caller(), {"level": "error"}) == {}
        assert asked(s, LEVEL) == [{"level": "error"}]
        s.twin("alpha").fail(LEVEL, RelayedError(-2, "neither"))
        with pytest.raises(RelayedError, match="not today"):
            await s.standing.set_level(caller(), {"level": "info"})


async def test_a_silent_upstream_keeps_the_level_from_nobody() -> None:
    beta = Twin("beta", capabilities={"logging": {}})
    gate = beta.hold(LEVEL)
    async with stage(beta, alpha()) as s:
        await s.ready()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(s.standing.set_level, caller(), {"level": "error"})
            await s.twin("alpha").asked(LEVEL)
            gate.set()


async def test_when_the_client_that_wanted_most_has_gone_the_upstream_is_asked_for_less() -> None:
    terse, verbose = visitor(TwinClient("terse")), visitor(TwinClient("verbose"))
    async with stage(alpha(), config_of=isolated("shared")) as s:
        for who, level in ((terse, "error"), (verbose, "debug")):
            await s.ready(who)
            await s.standing.set_level(who, {"level": level})
        s.mounts.release(verbose.audience)
        await s.twin("alpha").asked(LEVEL, times=3)
        s.mounts.release(terse.audience)
        await anyio.wait_all_tasks_blocked()
        assert [params["level"] for params in asked(s, LEVEL)] == ["error", "debug", "error"]


async def test_a_session_that_is_opened_later_gets_the_level() -> None:
    first = config(upstream("alpha", start="lazy"))
    async with stage(alpha(), config_of=first) as s:
        await s.standing.set_level(caller(), {"level": "error"})
        assert s.twin("alpha").links == []
        await s.ready()
        await s.twin("alpha").asked(LEVEL)
        assert asked(s, LEVEL) == [{"level": "error"}]


async def test_a_session_that_is_still_starting_gets_the_level_once_it_is_there() -> None:
    async with stage(alpha()) as s:
        start = s.twin("alpha").slow_start()
        s.mounts.attend(caller())
        await anyio.wait_all_tasks_blocked()
        await s.standing.set_level(caller(), {"level": "error"})
        start.set()
        await s.ear.hears(UpstreamReady)
        assert asked(s, LEVEL) == [{"level": "error"}]


async def test_on_a_shared_session_the_most_verbose_level_wins_and_each_client_sees_its_own() -> None:
    terse, verbose = TwinClient("terse"), TwinClient("verbose")
    async with stage(alpha(), config_of=isolated("shared")) as s:
        for client in (terse, verbose):
            await s.ready(visitor(client))
        await s.standing.set_level(visitor(terse), {"level": "error"})
        await s.standing.set_level(visitor(verbose), {"level": "info"})
        await s.standing.set_level(visitor(terse), {"level": "critical"})
        assert asked(s, LEVEL) == [{"level": "error"}, {"level": "info"}]
        for level in ("info", "error", "critical"):
            s.twin("alpha").link.say(MESSAGE, {"level": level, "data": level})
        await terse.hears(MESSAGE)
        await anyio.wait_all_tasks_blocked()
    assert [params["data"] for _, params in terse.heard] == ["critical"]
    assert [params["data"] for _, params in verbose.heard] == ["info", "error", "critical"]


async def test_who_joins_a_shared_session_brings_the_level_that_it_asked_for_before() -> None:
    early, late = TwinClient("early"), TwinClient("late")
    async with stage(alpha(), config_of=isolated("shared")) as s:
        await s.standing.set_level(visitor(late), {"level": "critical"})
        await s.ready(visitor(early))
        await s.ready(visitor(late))
        s.twin("alpha").link.say(MESSAGE, {"level": "info", "data": 1})
        await early.hears(MESSAGE)
        await anyio.wait_all_tasks_blocked()
    assert late.heard == []


@pytest.mark.parametrize("fault", [None, "refuses", "is gone"])
async def test_who_joins_with_a_more_verbose_level_has_the_upstream_asked_for_it(fault: str | None) -> None:
    early, late = visitor(TwinClient("early")), visitor(TwinClient("late"))
    async with stage(alpha(), config_of=isolated("shared")) as s:
        await s.standing.set_level(late, {"level": "debug"})
        await s.ready(early)
        await s.standing.set_level(early, {"level": "error"})
        if fault == "refuses":
            s.twin("alpha").fail(LEVEL, RelayedError(-1, "no"))
        if fault == "is gone":
            s.twin("alpha").hold(LEVEL)
        s.mounts.attend(late)
        await s.twin("alpha").asked(LEVEL, times=2)
        if fault == "is gone":
            s.twin("alpha").link.lose()
        assert asked(s, LEVEL)[:2] == [{"level": "error"}, {"level": "debug"}]
        await anyio.wait_all_tasks_blocked()
        assert len(s.mounts["alpha"].sessions) == 1


async def test_on_a_session_of_ones_own_every_level_is_asked_for() -> None:
    who = visitor(TwinClient("one"))
    async with stage(alpha()) as s:
        await s.ready(who)
        for _ in range(2):
            await s.standing.set_level(who, {"level": "error"})
        assert asked(s, LEVEL) == [{"level": "error"}] * 2


async def test_changed_roots_are_told_to_those_who_know_this_client_alone() -> None:
    one = visitor(TwinClient("one"))
    first = config(upstream("alpha"), upstream("beta", isolation="shared"), upstream("gamma", start="lazy"))
    async with stage(alpha(), Twin("beta"), Twin("gamma"), config_of=first) as s:
        await s.standing.roots_changed(one, {})
        for who in (one, visitor(TwinClient("other"))):
            for mount in ("alpha", "beta"):
                s.mounts.session(s.mounts[mount], who)
        await s.ear.hears(UpstreamReady, times=3)
        await s.standing.roots_changed(one, {"x": None})
        told = {twin.id: [link.notes for link in twin.links] for twin in s.connector.twins.values()}
    assert told == {"alpha": [[(ROOTS, {"x": None})], []], "beta": [[]], "gamma": []}
