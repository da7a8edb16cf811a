"""`subscriptions/listen` end to end, over both fronts (2026-07-28 basic/patterns/subscriptions; matrix A.4, B.5)."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged, listen
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.rawclient import META, RawClient, RawError
from tests.rig import FRONTS, Front, Rig, Upstream

pytestmark = pytest.mark.anyio

SUBSCRIPTION = f"{META}/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
TASKS = "notifications/tasks"
TOOLS, PROMPTS, RESOURCES = (f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources"))
SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
LISTS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
EVERY_FRONT = pytest.mark.parametrize("front", FRONTS)


@dataclass
class Stream:
    """One open listen request of a raw client."""

    raw: RawClient
    id: int | str
    outcome: list[Any] = field(default_factory=list)
    over: anyio.Event = field(default_factory=anyio.Event)

    @property
    def heard(self) -> list[tuple[str, JsonObject]]:
        """What came on this stream, without the stamp that every message on it carries."""
        mine = [note for note in self.raw.notes if _subscription(note) == self.id]
        return [(note["method"], _bare(note["params"])) for note in mine]

    @property
    def updates(self) -> list[str]:
        """The URIs of which it heard that they changed."""
        return [params["uri"] for method, params in self.heard if method == UPDATED]

    async def hears(self, method: str, **params: Any) -> None:
        """Waits for a message, also one that came earlier."""
        await self.raw.notes.wait_for(lambda note: _subscription(note) == self.id and (method, params) in self.heard)


def _subscription(note: JsonObject) -> Any:
    return note.get("params", {}).get("_meta", {}).get(SUBSCRIPTION)


def _bare(params: JsonObject) -> JsonObject:
    return {key: value for key, value in params.items() if key != "_meta"}


@asynccontextmanager
async def listening(raw: RawClient, **wanted: Any) -> AsyncIterator[Stream]:
    """A stream for the time of the block; then the client closes it."""
    before = {_subscription(note) for note in raw.notes}
    stream = Stream(raw, 0)

    async def listen() -> None:
        try:
            stream.outcome.append(await raw.request("subscriptions/listen", {"notifications": wanted}, seconds=60))
        except RawError as error:
            stream.outcome.append(error.error)
        stream.over.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        first = await raw.notes.wait_for(
            lambda note: note["method"] == ACKNOWLEDGED and _subscription(note) not in before
        )
        stream.id = _subscription(first)
        yield stream
        if not stream.over.is_set():
            await raw.cancel(stream.id, "enough")
        tasks.cancel_scope.cancel()


async def touched(raw: RawClient, uri: str, name: str = "alpha", **above: str) -> None:
    """Has an upstream say that `uri` changed, which it does if somebody subscribed to it, or to what is `above`."""
    await raw.text(f"{name}.touch", {"uri": uri, **above})


@covers(
    "modern.listens",
    "subscriptions/listen acknowledges first what it honours, in the client's URIs; every message carries its id",
)
@EVERY_FRONT
async def test_a_stream_begins_with_what_it_honours(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    rig.upstream("mute", {"capabilities": {"tools": {}, "resources": {}}})
    wanted = [f"demo://{name}/r" for name in ("alpha", "mute", "nobody")]
    async with rig.serve(front).raw("modern") as raw:
        capabilities = raw.hello["capabilities"]
        assert capabilities["tools"] == {"listChanged": True}
        assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
        async with listening(raw, **LISTS, resourceSubscriptions=wanted) as stream:
            await raw.text("alpha.grow", {"kinds": ["tools", "prompts", "resources"]})
            await touched(raw, "demo://r")
            for method in (TOOLS, PROMPTS, RESOURCES):
                await stream.hears(method)
            await stream.hears(UPDATED, uri="demo://alpha/r")
            assert stream.heard[0] == (
                ACKNOWLEDGED,
                {"notifications": {**LISTS, "resourceSubscriptions": ["demo://alpha/r"]}},
            )
        assert type(stream.id) is int
        assert [note for note in raw.notes if _subscription(note) is None] == []


@covers("modern.listens-types", "Nothing that was not asked for comes on a stream, and progress and logs never do")
@EVERY_FRONT
async def test_nothing_comes_that_was_not_asked_for(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw("modern") as raw, listening(raw, promptsListChanged=True) as stream:
        await raw.text("alpha.grow", {"kinds": ["tools", "resources"]})
        await touched(raw, "demo://r")
        params = {"name": "alpha.progress", "_meta": {"progressToken": "mine", f"{META}/logLevel": "debug"}}
        await raw.request("tools/call", params)
        await raw.request("tools/call", {**params, "name": "alpha.log"})
        await raw.text("alpha.grow", {"kinds": ["prompts"], "name": "last"})
        await stream.hears(PROMPTS)
        assert [method for method, _ in stream.heard] == [ACKNOWLEDGED, PROMPTS]


@covers("modern.listens-updates", "A stream hears of its resources and of those below them, until it ends")
@EVERY_FRONT
async def test_resources_are_watched_until_the_stream_ends(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw("modern") as raw:
        async with listening(raw, resourceSubscriptions=["demo://alpha/r", "demo://alpha/fence"]) as stream:
            for uri in ("demo://r/child", "demo://other", "demo://fence"):
                await touched(raw, uri, above="demo://r")
            await touched(raw, "demo://r")
            await stream.hears(UPDATED, uri="demo://alpha/r")
        assert stream.updates == ["demo://alpha/r/child", "demo://alpha/fence", "demo://alpha/r"]
        await rig["alpha"].saw("request", method=UNSUBSCRIBE, params={"uri": "demo://r"})
        async with listening(raw, resourceSubscriptions=["demo://alpha/fence"]) as second:
            await touched(raw, "demo://r", above="demo://fence")
            await touched(raw, "demo://fence")
            await second.hears(UPDATED, uri="demo://alpha/fence")
            assert second.updates == ["demo://alpha/fence"]
        assert len(stream.updates) == 3


@covers("modern.listens-twice", "Several streams of one client hear each what it asked for, once")
@EVERY_FRONT
async def test_two_streams_at_once(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with (
        rig.serve(front).raw("modern") as raw,
        listening(raw, toolsListChanged=True, resourceSubscriptions=["demo://alpha/r"]) as one,
    ):
        async with listening(raw, resourceSubscriptions=["demo://alpha/r", "demo://alpha/x"]) as other:
            await touched(raw, "demo://r")
            await touched(raw, "demo://x")
            await raw.text("alpha.grow")
            for stream in (one, other):
                await stream.hears(UPDATED, uri="demo://alpha/r")
            await one.hears(TOOLS)
            await other.hears(UPDATED, uri="demo://alpha/x")
            assert (one.updates, other.updates) == (["demo://alpha/r"], ["demo://alpha/r", "demo://alpha/x"])
        await rig["alpha"].saw("request", method=UNSUBSCRIBE, params={"uri": "demo://x"})
        await touched(raw, "demo://r/again", above="demo://r")
        await one.hears(UPDATED, uri="demo://alpha/r/again")
    asked = [item["params"]["uri"] for item in rig["alpha"].events("request", method=SUBSCRIBE)]
    assert sorted(asked) == ["demo://r", "demo://x"]


@covers("modern.listens-reload", "A stream hears of upstreams that a reload brings and takes away")
@EVERY_FRONT
async def test_a_reload_is_heard(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    if front == "http":
        rig.with_token()
    async with rig.serve(front).raw("modern") as raw:
        await raw.names()
        async with listening(raw, **LISTS) as stream:
            rig.upstream("beta", {"capabilities": {"tools": {}}})
            rig.write()
            await raw.call("wf.admin.reload_config")
            await stream.hears(TOOLS)
            assert "beta.echo" in await raw.names()
            assert [method for method, _ in stream.heard] == [ACKNOWLEDGED, TOOLS]


@covers("modern.listens-restart", "A stream outlives its upstream: what may have changed meanwhile is announced")
@EVERY_FRONT
async def test_an_upstream_that_dies_is_heard_again(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw("modern") as raw:
        await raw.names()
        async with listening(raw, toolsListChanged=True, resourceSubscriptions=["demo://alpha/r"]) as stream:
            await raw.text("alpha.grow", {"name": "lost-with-the-process"})
            await stream.hears(TOOLS)
            assert "alpha.lost-with-the-process" in await raw.names()
            await raw.call("alpha.die")
            await stream.hears(UPDATED, uri="demo://alpha/r")
            await raw.notes.wait_for(lambda _: stream.heard.count((TOOLS, {})) == 2)
            assert "alpha.lost-with-the-process" not in await raw.names()
            await touched(raw, "demo://r/again", above="demo://r")
            await stream.hears(UPDATED, uri="demo://alpha/r/again")
    assert len(rig["alpha"].pids) == 2


@covers("modern.listens-end", "When wf-mcp stops, a stream ends with a result that carries its id")
@EVERY_FRONT
async def test_a_stream_ends_with_a_result_when_wf_mcp_stops(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw("modern") as raw, listening(raw, toolsListChanged=True) as stream:
        if front == "http":
            rig.process.send_signal(signal.SIGTERM)
        else:
            raw.link.process.terminate()
        with anyio.fail_after(10):
            await stream.over.wait()
        (result,) = stream.outcome
        assert result["resultType"] == "complete"
        assert result["_meta"][SUBSCRIPTION] == stream.id


@covers("modern.listens-others", "Over HTTP, a stream hears what another client's call changed at a server they share")
async def test_clients_without_sessions_share_what_happens(rig: Rig) -> None:
    rig.upstream("alpha")
    front = rig.serve("http")
    async with front.raw("modern") as one, front.raw("modern") as other:
        async with listening(one, toolsListChanged=True, resourceSubscriptions=["demo://alpha/r"]) as stream:
            await touched(other, "demo://r")
            await other.text("alpha.grow")
            await stream.hears(UPDATED, uri="demo://alpha/r")
            await stream.hears(TOOLS)
        assert list(other.notes) == []


@covers("modern.listens-badly", "A filter of another shape, and tasks without their extension, are refused by name")
@EVERY_FRONT
async def test_what_cannot_be_listened_to_is_refused(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw("modern") as raw:
        for wanted, code in (({"toolsListChanged": "yes"}, -32602), ({"taskIds": ["alpha:1"]}, -32021)):
            with pytest.raises(RawError) as caught:
                await raw.request("subscriptions/listen", {"notifications": wanted})
            assert caught.value.code == code


def _watched(upstream: Upstream) -> list[Any]:
    """The resources of each stream that wf-mcp itself had at an upstream, in order."""
    return [item["notifications"].get("resourceSubscriptions") for item in upstream.events("listen")]


def _followed(upstream: Upstream) -> list[Any]:
    """The tasks of each of those streams."""
    return [item["notifications"].get("taskIds") for item in upstream.events("listen")]


EVERY_LEG = pytest.mark.parametrize("leg", FRONTS)
ITEM, PUBLIC_ITEM = "demo://item/2", "demo://alpha/item/2"


@covers("modern.listens-modern", "What a modern upstream tells comes on the stream as it was sent, but for URI and id")
@EVERY_FRONT
@EVERY_LEG
async def test_a_modern_upstream_is_heard(rig: Rig, front: Front, leg: Front) -> None:
    upstream = rig.full("alpha", "modern", leg)
    async with rig.serve(front).raw("modern") as raw:
        async with listening(raw, **LISTS, resourceSubscriptions=[PUBLIC_ITEM]) as stream:
            await raw.call("alpha.change", {"kinds": ["tools", "prompts", "resources"], "name": "grown"})
            await raw.call("alpha.touch", {"uri": ITEM})
            for method in (TOOLS, PROMPTS, RESOURCES):
                await stream.hears(method)
            await stream.hears(UPDATED, uri=PUBLIC_ITEM, title="t")
            assert "alpha.grown" in await raw.names()
            (updated,) = raw.notes.of(UPDATED)
            assert updated["params"]["_meta"] == {"k": None, SUBSCRIPTION: stream.id}
        await eventually(lambda: _watched(upstream)[-2:] == [[ITEM], None])


@covers("modern.listens-lost", "Where an upstream's own stream broke off, everything that it tells of is announced")
@pytest.mark.parametrize(("leg", "end"), [("stdio", "stop_listening"), ("http", "lose_listening")])
async def test_an_upstream_whose_stream_breaks_off_is_listened_to_again(rig: Rig, leg: Front, end: str) -> None:
    rig.full("alpha", "modern", leg)
    async with (
        rig.serve().raw("modern") as raw,
        listening(raw, toolsListChanged=True, resourceSubscriptions=[PUBLIC_ITEM]) as stream,
    ):
        await raw.call(f"alpha.{end}")
        await stream.hears(TOOLS)
        await stream.hears(UPDATED, uri=PUBLIC_ITEM)
        await raw.call("alpha.touch", {"uri": ITEM})
        await stream.hears(UPDATED, uri=PUBLIC_ITEM, title="t")


@covers("modern.listens-refused", "A resource that its upstream does not honour is left out of the acknowledgement")
async def test_what_a_modern_upstream_does_not_honour_is_not_acknowledged(rig: Rig) -> None:
    rig.full("alpha", "modern", "stdio", "--refuse", "resourceSubscriptions")
    async with (
        rig.serve().raw("modern") as raw,
        listening(raw, promptsListChanged=True, resourceSubscriptions=[PUBLIC_ITEM]) as stream,
    ):
        assert stream.heard == [(ACKNOWLEDGED, {"notifications": {"promptsListChanged": True}})]


@covers(
    "modern.hints", "A list may be reused as its least reusable upstream allows; a read resource as its own one says"
)
async def test_cache_hints_are_merged(rig: Rig) -> None:
    rig.full("alpha")
    rig.full("beta")
    async with rig.serve("http").raw("modern") as raw:
        listed = await raw.request("tools/list")
        read = await raw.read(PUBLIC_ITEM)
        prompts = await raw.request("prompts/list")
    assert [(each["ttlMs"], each["cacheScope"]) for each in (listed, read, prompts, raw.hello)] == [
        (60000, "public"),
        (5, "private"),
        (0, "private"),
        (0, "private"),
    ]
    rig.upstream("old")
    async with rig.serve("http").raw("modern") as raw:
        listed = await raw.request("tools/list")
    assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")


@covers("modern.listens-sdk", "The Python SDK's own client listens, and sees the end of wf-mcp as a graceful one")
@EVERY_FRONT
async def test_the_sdks_client_listens(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with (
        rig.serve(front).client("modern") as probe,
        listen(
            probe.client.session, tools_list_changed=True, resource_subscriptions=["demo://alpha/r", "demo://no/x"]
        ) as stream,
    ):
        assert stream.honored.model_dump(exclude_none=True) == {
            "tools_list_changed": True,
            "resource_subscriptions": ["demo://alpha/r"],
        }
        await probe.text("alpha.touch", {"uri": "demo://r"})
        with anyio.fail_after(10):
            assert await anext(stream) == ResourceUpdated(uri="demo://alpha/r")
        await probe.text("alpha.grow")
        with anyio.fail_after(10):
            assert await anext(stream) == ToolsListChanged()
        assert "alpha.grown" in await probe.names()
        if front == "http":
            rig.process.send_signal(signal.SIGTERM)
            with anyio.fail_after(10):
                assert [event async for event in stream] == []


@covers("modern.listens-tasks", "A stream that names a task hears how it goes on, with ids and links in public form")
@EVERY_FRONT
async def test_a_task_is_heard_of(rig: Rig, front: Front) -> None:
    upstream = rig.full("alpha", "modern", "http")
    declared = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    async with (
        upstream.direct().raw("modern", capabilities=declared) as direct,
        rig.serve(front).raw("modern", capabilities=declared) as raw,
    ):
        made = await raw.call("alpha.research", {"stages": ["working", "ask", "done"]})
        local = made["taskId"].removeprefix("alpha:")
        assert made["taskId"] == f"alpha:{local}"
        async with (
            listening(raw, taskIds=[made["taskId"], "nobody:1"]) as stream,
            listening(raw, toolsListChanged=True) as other,
        ):
            assert stream.heard == [(ACKNOWLEDGED, {"notifications": {"taskIds": [made["taskId"]]}})]
            await eventually(lambda: _followed(upstream)[-1] == [local])
            await direct.request("tasks/cancel", {"taskId": local})
            told = (await raw.notes.wait_for(TASKS))["params"]
            assert (told["taskId"], told["status"], told["vendor"]) == (made["taskId"], "cancelled", None)
            assert told["_meta"] == {"k": "cancelled", SUBSCRIPTION: stream.id}
            assert [method for method, _ in other.heard] == [ACKNOWLEDGED]
        await eventually(lambda: _followed(upstream)[-1] is None)
