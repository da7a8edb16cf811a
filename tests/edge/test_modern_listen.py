"""The listen stream of a modern link: its filter, its changes, its losses (2026-07-28 basic/patterns/subscriptions)."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.edge.peer import DISCOVERED, Hearing, Peer, modern_to
from tests.inbox import JsonObject

from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamTimeout
from wf_mcp.edge import modern_listen
from wf_mcp.edge.modern_link import ModernLink
from wf_mcp.edge.modern_listen import Listening

pytestmark = pytest.mark.anyio

ALL: JsonObject = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
}
TYPES = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
LISTEN = "subscriptions/listen"


@asynccontextmanager
async def listening(
    capabilities: JsonObject, answer: Any = None, inbox: Hearing | None = None
) -> AsyncIterator[tuple[Peer, Listening]]:
    peer = Peer({"server/discover": {**DISCOVERED, "capabilities": capabilities}, LISTEN: answer})
    async with modern_to(peer, inbox) as link:
        yield peer, link.listening


def filters(peer: Peer) -> list[JsonObject]:
    return [each["params"]["notifications"] for each in peer.came.of(LISTEN)]


def cancelled(peer: Peer) -> list[Any]:
    return [each["params"]["requestId"] for each in peer.came.of("notifications/cancelled")]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses between attempts."""
    monkeypatch.setattr(modern_listen, "backoff", lambda failures: 0.0)


# -- opening -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capabilities", "wanted"),
    [
        (ALL, TYPES),
        ({"tools": {"listChanged": True}, "prompts": {}, "resources": {"listChanged": 1}}, {"toolsListChanged": True}),
        ({"prompts": {"listChanged": True}, "tools": None}, {"promptsListChanged": True}),
    ],
    ids=["all", "tools", "prompts"],
)
async def test_it_asks_for_what_the_upstream_declares(capabilities: JsonObject, wanted: JsonObject) -> None:
    async with listening(capabilities) as (peer, listen):
        assert (await peer.listened())["params"]["notifications"] == wanted
        await peer.acknowledge()
        await listen.first()


@pytest.mark.parametrize("capabilities", [{}, {"tools": {}, "resources": {"subscribe": True}}], ids=str)
async def test_without_anything_to_hear_of_no_stream_is_opened(capabilities: JsonObject) -> None:
    async with listening(capabilities) as (peer, listen):
        await listen.first()
        await anyio.wait_all_tasks_blocked()
    assert filters(peer) == []


async def test_an_upstream_that_does_not_know_the_method_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    refusal = {"error": {"code": -32601, "message": "Method not found"}}
    with caplog.at_level(logging.WARNING):
        async with listening(ALL, refusal) as (peer, listen):
            await listen.first()
            for _ in range(2):
                with pytest.raises(RelayedError) as raised:
                    await listen.subscribe("demo://a")
                assert raised.value.code == -32601
            listen.follow("t")
    assert len(filters(peer)) == 1
    assert [record.getMessage() for record in caplog.records] == ["upstream up tells no changes: Method not found"]


async def test_what_is_heard_carries_no_subscription_id_and_comes_from_open_streams_only() -> None:
    inbox = Hearing()
    async with listening(ALL, inbox=inbox) as (peer, listen):
        stream = await peer.acknowledge()
        await listen.first()
        await peer.say("notifications/tools/list_changed", on="other")
        await peer.say("notifications/prompts/list_changed", on=str(stream))
        await peer.say("notifications/tools/list_changed", {"_meta": {"k": 1}}, on=stream)
        await inbox.notes.wait_for("notifications/tools/list_changed")
    assert list(inbox.notes) == [
        {"method": "notifications/prompts/list_changed", "params": {}},
        {"method": "notifications/tools/list_changed", "params": {"_meta": {"k": 1}}},
    ]


# -- changing ------------------------------------------------------------------------------------


async def test_a_changed_filter_opens_the_new_stream_before_the_old_one_is_closed() -> None:
    inbox = Hearing()
    async with listening(ALL, inbox=inbox) as (peer, listen), anyio.create_task_group() as tasks:
        first = await peer.acknowledge(1)
        await listen.first()
        tasks.start_soon(listen.subscribe, "demo://a")
        await peer.listened(2)
        assert cancelled(peer) == []
        await peer.say("notifications/tools/list_changed", on=first)
        await inbox.notes.wait_for("notifications/tools/list_changed")
        second = await peer.acknowledge(2)
        await peer.came.wait_for("notifications/cancelled")
        assert cancelled(peer) == [first]
        listen.follow("t")
        await peer.acknowledge(3)
        await peer.came.wait_for(lambda _: len(cancelled(peer)) == 2)
        listen.unsubscribe("demo://a")
        listen.unfollow("t")
        listen.unfollow("t")
        await peer.acknowledge(4)
    assert cancelled(peer)[:2] == [first, second]
    assert filters(peer) == [
        TYPES,
        {**TYPES, "resourceSubscriptions": ["demo://a"]},
        {**TYPES, "resourceSubscriptions": ["demo://a"], "taskIds": ["t"]},
        TYPES,
    ]
    assert [note["method"] for note in inbox.notes] == ["notifications/tools/list_changed"]  # nothing is announced


async def test_what_is_not_wanted_any_more_is_not_heard_while_its_stream_is_still_open() -> None:
    """An unsubscription is answered at once; the stream that it leaves behind goes a moment later."""
    inbox = Hearing()
    async with listening(ALL, inbox=inbox) as (peer, listen), anyio.create_task_group() as tasks:
        await peer.acknowledge(1)
        await listen.first()
        tasks.start_soon(listen.subscribe, "demo://gone")
        tasks.start_soon(listen.subscribe, "demo://kept")
        await anyio.wait_all_tasks_blocked()
        number = len(filters(peer))
        stream = await peer.acknowledge(number)
        await peer.came.wait_for(lambda _: len(cancelled(peer)) >= 1)
        listen.unsubscribe("demo://gone")
        for uri in ("demo://gone", "demo://gone/child", "demo://kept/child"):
            await peer.say("notifications/resources/updated", {"uri": uri}, on=stream)
        await inbox.notes.wait_for("notifications/resources/updated")
        tasks.cancel_scope.cancel()
    assert [note["params"]["uri"] for note in inbox.notes.of("notifications/resources/updated")] == [
        "demo://kept/child"
    ]


async def test_following_a_task_declares_the_extension_and_its_news_are_heard() -> None:
    inbox = Hearing()
    async with listening({"extensions": {"x": {}}}, inbox=inbox) as (peer, listen):
        listen.follow("t")
        stream = await peer.acknowledge()
        await peer.say("notifications/tasks", {"taskId": "t", "status": "working"}, on=stream)
        heard = await inbox.notes.wait_for("notifications/tasks")
        listen.unfollow("t")
        await peer.came.wait_for("notifications/cancelled")
    assert heard["params"] == {"taskId": "t", "status": "working"}
    (asked,) = peer.came.of(LISTEN)
    assert asked["params"]["notifications"] == {"taskIds": ["t"]}
    declared = asked["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared == {"extensions": {"io.modelcontextprotocol/tasks": {}}}


async def test_a_subscription_that_is_there_already_is_not_asked_for_again() -> None:
    async with listening(ALL) as (peer, listen), anyio.create_task_group() as tasks:
        await peer.acknowledge(1)
        await listen.first()
        for _ in range(2):
            tasks.start_soon(listen.subscribe, "demo://a")
        await peer.acknowledge(2)
        await peer.came.wait_for("notifications/cancelled")
        await listen.subscribe("demo://a")
    assert len(filters(peer)) == 2


async def test_a_uri_that_is_not_honoured_is_refused_and_given_up() -> None:
    async with listening(ALL) as (peer, listen), anyio.create_task_group() as tasks:
        await peer.acknowledge(1)

        async def subscribe() -> None:
            with pytest.raises(RelayedError) as raised:
                await listen.subscribe("demo://a")
            assert (raised.value.code, raised.value.data) == (-32602, {"uri": "demo://a"})

        tasks.start_soon(subscribe)
        await peer.acknowledge(2, TYPES)
        await peer.acknowledge(3)
    assert filters(peer)[2] == TYPES


async def test_an_upstream_without_subscriptions_refuses_them() -> None:
    async with listening({"tools": {"listChanged": True}}) as (_, listen):
        with pytest.raises(RelayedError) as raised:
            await listen.subscribe("demo://a")
    assert raised.value.code == -32601


@pytest.mark.usefixtures("at_once")
async def test_a_filter_that_the_upstream_refuses_leaves_the_old_stream_open() -> None:
    def answer(params: JsonObject) -> JsonObject | None:
        bad = "resourceSubscriptions" in params["notifications"]
        return {"error": {"code": -32602, "message": "no such resource"}} if bad else None

    inbox = Hearing()
    async with listening(ALL, answer, inbox) as (peer, listen):
        first = await peer.acknowledge(1)
        await listen.first()
        for number in (2, 3):
            with pytest.raises(RelayedError, match="no such resource"):
                await listen.subscribe("demo://a")
            assert len(filters(peer)) == number  # asked anew each time
        await peer.say("notifications/tools/list_changed", on=first)
        await inbox.notes.wait_for("notifications/tools/list_changed")
        assert cancelled(peer) == []


async def test_waiting_for_an_acknowledgement_has_a_limit_and_the_wish_ends_with_it() -> None:
    async with listening(ALL) as (peer, listen):
        await peer.acknowledge(1)
        await listen.first()
        with pytest.raises(UpstreamTimeout, match="did not acknowledge"):
            await listen.subscribe("demo://a", 0.05)
        await peer.acknowledge(2)
        assert (await peer.listened(3))["params"]["notifications"] == TYPES


async def test_who_cancels_a_subscription_wishes_it_no_longer() -> None:
    async with listening(ALL) as (peer, listen):
        await peer.acknowledge(1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen.subscribe, "demo://a")
            await peer.listened(2)
            tasks.cancel_scope.cancel()
        await peer.acknowledge(2)
        assert (await peer.listened(3))["params"]["notifications"] == TYPES


# -- losing --------------------------------------------------------------------------------------

ENDINGS = ["result", "error", "cancelled"]


@pytest.mark.parametrize("how", ENDINGS)
async def test_a_lost_stream_is_opened_again_and_everything_is_assumed_changed(how: str) -> None:
    inbox = Hearing()
    async with listening(ALL, inbox=inbox) as (peer, listen), anyio.create_task_group() as tasks:
        await peer.acknowledge(1)
        await listen.first()
        tasks.start_soon(listen.subscribe, "demo://a")
        stream = await peer.acknowledge(2)
        await peer.came.wait_for("notifications/cancelled")
        if how == "result":
            await peer.answer(stream, {"resultType": "complete"})
        elif how == "error":
            await peer.answer(stream, {"error": {"code": -32000, "message": "SSE stream ended without a response"}})
        else:
            await peer.say("notifications/cancelled", {"requestId": stream})
        await peer.listened(3)
        assert list(inbox.notes) == []
        await peer.acknowledge(3, {key: True for key in TYPES if "prompts" not in key} | {"resourceSubscriptions": []})
        await inbox.notes.wait_for("notifications/resources/list_changed")
    assert [note["method"] for note in inbox.notes] == snapshot(
        ["notifications/tools/list_changed", "notifications/resources/list_changed"]
    )


async def test_after_a_loss_subscribed_resources_are_assumed_changed_too() -> None:
    inbox = Hearing()
    async with listening({"resources": {"subscribe": True}}, inbox=inbox) as (peer, listen):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen.subscribe, "demo://a")
            stream = await peer.acknowledge(1)
        await peer.answer(stream, {})
        await peer.acknowledge(2)
        heard = await inbox.notes.wait_for("notifications/resources/updated")
    assert heard["params"] == {"uri": "demo://a"}


async def test_pauses_between_attempts_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pause(failures: int) -> float:
        asked.append(failures)
        return 0.0

    monkeypatch.setattr(modern_listen, "backoff", pause)
    inbox = Hearing()
    refusal = {"error": {"code": -32603, "message": "not now"}}
    async with listening({"tools": {"listChanged": True}}, refusal, inbox) as (peer, listen):
        await listen.first()
        await peer.listened(4)
        peer.answers[LISTEN] = None
        last = len(peer.came.of(LISTEN)) + 1
        await peer.acknowledge(last)
        await inbox.notes.wait_for("notifications/tools/list_changed")  # what was missed meanwhile
    assert asked[:4] == [-1, 0, 1, 2]


async def test_a_first_acknowledgement_that_comes_late_is_followed_by_what_was_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(modern_listen, "FIRST", 0.05)
    inbox = Hearing()
    async with listening({"tools": {"listChanged": True}}, inbox=inbox) as (peer, listen):
        await listen.first()
        assert list(inbox.notes) == []
        await peer.acknowledge()
        await inbox.notes.wait_for("notifications/tools/list_changed")


async def test_a_stream_that_is_never_acknowledged_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer({"server/discover": {**DISCOVERED, "capabilities": ALL}, LISTEN: None})
    sent: list[int] = []

    async def send(request_id: int, params: JsonObject) -> JsonObject:
        sent.append(request_id)
        await anyio.sleep_forever()
        raise AssertionError

    listen = Listening("up", ALL, send, iter(range(100)).__next__, lambda method, params: None, 0.05)
    with caplog.at_level(logging.WARNING):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen.run)
            await listen.first()
            tasks.cancel_scope.cancel()
    assert "did not acknowledge subscriptions/listen within 0.05 s" in caplog.text
    assert sent[0] == 0
    peer.close()


async def test_with_the_connection_everything_ends() -> None:
    peer = Peer({"server/discover": {**DISCOVERED, "capabilities": ALL}, LISTEN: None})
    errors: list[LinkLost] = []

    async def subscribe(link: ModernLink, uri: str) -> None:
        try:
            await link.listening.subscribe(uri)
        except LinkLost as error:
            errors.append(error)

    async with modern_to(peer) as link:
        async with anyio.create_task_group() as tasks:
            await peer.acknowledge(1)
            tasks.start_soon(partial(subscribe, link, "demo://a"))
            await peer.listened(2)
            await peer.end()
        await subscribe(link, "demo://b")
    assert len(errors) == 2
