"""What lasts and what comes unasked, for handshake clients: subscriptions, log levels, cancellations, roots, tasks.

A test that nothing came does not wait: it lets something else come afterwards, which would have come later.
"""

import json
from contextlib import suppress

import anyio
import pytest
from tests import servers
from tests.covers import covers
from tests.endpoint import Endpoint
from tests.inbox import JsonObject, eventually
from tests.rawclient import ALL_CAPABILITIES, RawClient, RawError
from tests.rig import FRONTS, Front, Rig

pytestmark = pytest.mark.anyio

UPDATED, MESSAGE = "notifications/resources/updated", "notifications/message"
CANCELLED, ROOTS = "notifications/cancelled", "notifications/roots/list_changed"
KINDS = pytest.mark.parametrize("kind", ["stdio", "http"])


def add(rig: Rig, kind: str, name: str = "alpha", **entry: object) -> None:
    """A raw upstream over either transport."""
    (rig.upstream if kind == "stdio" else rig.http_upstream)(name, None, **entry)


def updates(raw: RawClient) -> list[str]:
    return [note["params"]["uri"] for note in raw.notes.of(UPDATED)]


async def touched(raw: RawClient, uri: str, **more: object) -> None:
    """Have the upstream say that `uri` changed, and hear of it."""
    await raw.text("alpha.touch", {"uri": uri, **more})
    public = uri.replace("://", "://alpha/")
    await raw.notes.wait_for(lambda note: note["method"] == UPDATED and note["params"]["uri"] == public)


@covers(
    "relay.subscriptions",
    "Who subscribed hears once of each change, of what is below too, until it unsubscribes",
)
@pytest.mark.parametrize("front", FRONTS)
@KINDS
async def test_a_subscription_and_its_end(rig: Rig, front: Front, kind: str) -> None:
    add(rig, kind)
    async with rig.serve(front).raw() as raw:
        assert raw.hello["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}
        for name in ("a", "fence"):
            assert await raw.request("resources/subscribe", {"uri": f"demo://alpha/{name}"}) == {}
        await touched(raw, "demo://a", seconds=0.1)
        await touched(raw, "demo://a/below", above="demo://a")
        assert await raw.request("resources/unsubscribe", {"uri": "demo://alpha/a"}) == {}
        await raw.text("alpha.touch", {"uri": "demo://a"})
        await touched(raw, "demo://fence")
        assert updates(raw) == ["demo://alpha/a", "demo://alpha/a/below", "demo://alpha/fence"]
    asked = [item["params"] for item in rig["alpha"].events("request", method="resources/subscribe")]
    assert asked == [{"uri": "demo://a"}, {"uri": "demo://fence"}]


@covers("relay.subscription-others", "A change that another client caused reaches who subscribed and nobody else")
async def test_a_change_by_another_client_on_a_shared_session(rig: Rig) -> None:
    rig.upstream("alpha", wf={"isolation": "shared"})
    front = rig.serve("http")
    async with front.raw() as one, front.raw() as other:
        for raw, name in ((one, "a"), (other, "fence")):
            await raw.request("resources/subscribe", {"uri": f"demo://alpha/{name}"})
        await other.text("alpha.touch", {"uri": "demo://a"})
        await touched(other, "demo://fence")
        await one.notes.wait_for(UPDATED)
        await one.request("ping")
        assert (updates(one), updates(other)) == (["demo://alpha/a"], ["demo://alpha/fence"])
    assert len(rig["alpha"].pids) == 1


@covers("relay.subscription-others", "A change that another client caused reaches who subscribed and nobody else")
async def test_a_change_by_another_client_at_the_same_server(rig: Rig) -> None:
    rig.http_upstream("alpha")
    front = rig.serve("http")
    async with front.raw() as one, front.raw() as other:
        await one.request("resources/subscribe", {"uri": "demo://alpha/a"})
        await eventually(lambda: len(rig["alpha"].events("http", verb="GET")) == 2)
        await other.text("alpha.touch", {"uri": "demo://a"})
        await one.notes.wait_for(UPDATED)
        assert updates(one) == ["demo://alpha/a"]


@covers(
    "relay.only-listening",
    "A client that only listed and subscribed hears of each change by others or a timer, once, and of its own only",
)
@pytest.mark.parametrize("front", FRONTS)
async def test_a_client_that_only_listens(rig: Rig, front: Front) -> None:
    alpha = rig.http_upstream("alpha", wf={"isolation": "shared"})
    async with rig.serve(front).raw() as quiet, alpha.direct().raw() as other:
        assert "alpha.grow" in await quiet.names()
        await quiet.request("resources/subscribe", {"uri": "demo://alpha/own"})
        await other.request("resources/subscribe", {"uri": "demo://others"})
        await eventually(lambda: len(alpha.events("http", verb="GET")) >= 2)
        await other.text("grow", {"name": "first"})
        await quiet.notes.wait_for("notifications/tools/list_changed")
        for count, how in enumerate(({}, {"seconds": 0.05}), 1):  # at once, and by the upstream's own timer
            await other.text("touch", {"uri": "demo://own", **how})
            await eventually(lambda count=count: len(updates(quiet)) == count)
        if front == "http":  # on stdio the session is one client's, who hears whatever the server sends to it
            await other.text("touch", {"uri": "demo://others"})
        await quiet.request("resources/unsubscribe", {"uri": "demo://alpha/own"})
        await other.text("touch", {"uri": "demo://own"})
        await other.text("grow", {"name": "last", "kinds": ["prompts"]})
        await quiet.notes.wait_for("notifications/prompts/list_changed")
        assert updates(quiet) == ["demo://alpha/own"] * 2
        changes = [note["method"] for note in quiet.notes if note["method"].endswith("list_changed")]
        assert changes == ["notifications/tools/list_changed", "notifications/prompts/list_changed"]


@covers("relay.subscription-left", "What a client alone was subscribed to on a shared session is given up when it goes")
async def test_subscriptions_end_with_their_client(rig: Rig) -> None:
    rig.upstream("alpha", wf={"isolation": "shared"})
    front = rig.serve("http")
    async with front.raw() as stays:
        await stays.request("resources/subscribe", {"uri": "demo://alpha/both"})
        async with front.raw() as goes:
            for name in ("both", "own"):
                await goes.request("resources/subscribe", {"uri": f"demo://alpha/{name}"})
            await goes.link.delete()
        await rig["alpha"].saw("request", method="resources/unsubscribe")
    given_up = [item["params"] for item in rig["alpha"].events("request", method="resources/unsubscribe")]
    assert given_up == [{"uri": "demo://own"}]


@covers("relay.asked-again", "After an upstream restarts, subscriptions and the log level are asked for again")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_restart_loses_no_subscription(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        await raw.request("resources/subscribe", {"uri": "demo://alpha/a"})
        await raw.request("logging/setLevel", {"level": "error"})
        assert (await raw.call("alpha.die", {"code": 1}))["isError"] is True
        await raw.text("alpha.who")
        await touched(raw, "demo://a", seconds=0.05)
    *listing, first, second = rig["alpha"].pids
    assert len(listing) == (0 if front == "stdio" else 1)  # over HTTP a session that only lists comes first
    for method in ("resources/subscribe", "logging/setLevel"):
        assert [item["pid"] for item in rig["alpha"].events("request", method=method)] == [first, second]


def said(raw: RawClient) -> list[str]:
    return [note["params"]["level"] for note in raw.notes.of(MESSAGE)]


@covers("relay.log-level", "`logging/setLevel` reaches every upstream that logs, those started later included")
@pytest.mark.parametrize("front", FRONTS)
async def test_the_level_reaches_every_upstream(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    rig.upstream("mute", {"capabilities": {"tools": {}}})
    rig.upstream("late", wf={"start": "lazy"})
    async with rig.serve(front).raw() as raw:
        await raw.text("alpha.who")
        assert await raw.request("logging/setLevel", {"level": "error"}) == {}
        await raw.text("late.who")
        with pytest.raises(RawError) as caught:
            await raw.request("logging/setLevel", {"level": "loud"})
        assert caught.value.code == -32602
        await raw.text("alpha.log", {"levels": ["debug", "error"], "data": "the upstream decides on its own session"})
        await raw.notes.wait_for(lambda note: note.get("params", {}).get("level") == "error")
        assert said(raw) == ["debug", "error"]
    for name, asked in (("alpha", ["error"]), ("late", ["error"]), ("mute", [])):
        levels = rig[name].events("request", method="logging/setLevel")
        assert [item["params"]["level"] for item in levels] == asked


@covers("relay.log-level-shared", "On a shared session the most verbose level wins, and each client gets its own")
async def test_levels_on_a_shared_session(rig: Rig) -> None:
    rig.upstream("alpha", wf={"isolation": "shared"})
    front = rig.serve("http")
    levels = ["debug", "info", "error", "emergency"]
    async with front.raw() as terse, front.raw() as verbose:
        for raw, level in ((terse, "error"), (verbose, "info")):
            await raw.request("logging/setLevel", {"level": level})
        await terse.text("alpha.log", {"levels": levels})  # in a call: for its caller alone
        await terse.text("alpha.alarm", {"levels": levels})  # outside: for everybody
        for raw in (terse, verbose):
            wanted = 2 if raw is terse else 1
            await eventually(lambda raw=raw, wanted=wanted: said(raw).count("emergency") == wanted)
        assert said(terse) == ["error", "emergency"] * 2
        assert said(verbose) == ["info", "error", "emergency"]
    asked = [item["params"]["level"] for item in rig["alpha"].events("request", method="logging/setLevel")]
    assert asked == ["error", "info"]


@covers(
    "relay.cancel-reason",
    "A cancel stops the call upstream within a second, with the client's reason, and no other",
)
@pytest.mark.parametrize("front", FRONTS)
@KINDS
async def test_a_cancel_with_its_reason(rig: Rig, front: Front, kind: str) -> None:
    add(rig, kind)
    async with rig.serve(front).raw() as raw:
        await raw.text("alpha.who")
        raw.ids = iter(["cancelled", "kept"])
        answers: list[str] = []

        async def kept() -> None:
            answers.append(await raw.text("alpha.slow", {"seconds": 1.5, "tag": "kept"}))

        async def cancelled() -> None:
            with suppress(RawError):  # over HTTP, its POST is answered in the end
                await raw.call("alpha.slow", {"seconds": 50, "tag": "cancelled"})

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancelled)
            await rig["alpha"].saw("slow", tag="cancelled")
            async with anyio.create_task_group() as others:
                others.start_soon(kept)
                await rig["alpha"].saw("slow", tag="kept")
                await raw.notify(CANCELLED, {"requestId": "cancelled", "reason": "changed my mind — really"})
                await rig["alpha"].saw("dropped", seconds=1)
            tasks.cancel_scope.cancel()
        assert answers == ["kept"]
    (cancel,) = rig["alpha"].events("notification", method=CANCELLED)
    (slow,) = [call for call in rig["alpha"].events("request") if "cancelled" in json.dumps(call["params"])]
    assert cancel["params"] == {"requestId": slow["id"], "reason": "changed my mind — really"}
    assert slow["id"] != "cancelled"


@covers("relay.roots-changed", "`roots/list_changed` reaches the upstreams, which then see the client's new roots")
@pytest.mark.parametrize("front", FRONTS)
async def test_changed_roots(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    rig.upstream("team", wf={"isolation": "shared"})
    async with rig.serve(front).raw() as raw:
        await raw.text("alpha.who")
        raw.answers["roots/list"] = roots = {"roots": [{"uri": "file:///new", "x-future": None}]}
        await raw.notify(ROOTS, {"_meta": {"x": 1}})
        note = await rig["alpha"].saw("notification", method=ROOTS)
        assert note["params"] == {"_meta": {"x": 1}}
        assert await raw.json("alpha.ask", {"kind": "roots"}) == {"result": roots}
        # A session that several clients may share belongs to none of them; on stdio there is only one.
        assert len(rig["team"].events("notification", method=ROOTS)) == (1 if front == "stdio" else 0)


WITH_TASKS: JsonObject = {
    **ALL_CAPABILITIES,
    "tasks": {"requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}},
}
RELATED = "io.modelcontextprotocol/related-task"
QUERY = {"topic": "python", "ambiguous": True}


async def researched(raw: RawClient, label: str) -> JsonObject:
    """What a client sees of one task of server-everything, in the words of a direct client but for ids and times."""

    def plain(seen: object) -> object:
        assert isinstance(task, str)
        return json.loads(json.dumps(seen).replace(task, "TASK"))

    await eventually(lambda: found(raw, label))
    raw.answers["elicitation/create"] = {"action": "accept", "content": {"interpretation": "snake"}}
    params = {"name": f"{label}simulate-research-query", "arguments": QUERY, "task": {"ttl": 60_000}}
    made = await raw.request("tools/call", params)
    task = made["task"]["taskId"]
    listed = await raw.request("tasks/list", {})
    got = await raw.request("tasks/get", {"taskId": task})
    result = await raw.request("tasks/result", {"taskId": task})
    ended = await raw.request("tasks/get", {"taskId": task})
    await raw.notes.wait_for(lambda note: note.get("params", {}).get("status") == "completed")
    statuses = [note["params"] for note in raw.notes.of("notifications/tasks/status")]
    (asked,) = [item["params"] for item in raw.asked.of("elicitation/create")]
    return {
        "id": task,
        "made": sorted(made["task"]),
        "listed": [each["taskId"] == task for each in listed["tasks"]],
        "got": [got["taskId"] == task, sorted(got)],
        "result": plain(result),
        "ended": ended["status"],
        "statuses": [(each["taskId"] == task, each["status"], each["statusMessage"]) for each in statuses],
        "asked": plain(asked),
    }


async def found(raw: RawClient, label: str) -> bool:
    return f"{label}simulate-research-query" in await raw.names()


async def support(raw: RawClient, label: str) -> JsonObject:
    """Which tools can be called as tasks."""
    tools = await raw.items("tools/list", "tools")
    own = [tool for tool in tools if tool["name"].startswith(label)]
    return {tool["name"].removeprefix(label): tool.get("execution") for tool in own}


@pytest.mark.node
@covers("tasks.everything", "A task of server-everything runs through the proxy as directly: status, question, result")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_research_task(rig: Rig, front: Front) -> None:
    direct = rig.command("everything", servers.everything())
    async with direct.raw(capabilities=WITH_TASKS) as there, rig.serve(front).raw(capabilities=WITH_TASKS) as here:
        assert here.hello["capabilities"]["tasks"] == there.hello["capabilities"]["tasks"]
        outcomes: dict[str, JsonObject] = {}

        async def run(raw: RawClient, label: str) -> None:
            outcomes[label] = await researched(raw, label)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, there, "")
            tasks.start_soon(run, here, "everything.")
        assert await support(here, "everything.") == await support(there, "")
        theirs, mine = outcomes[""], outcomes["everything."]
        assert mine.pop("id").startswith("everything:")
        assert not theirs.pop("id").startswith("everything:")
        assert mine["asked"]["_meta"] == {RELATED: {"taskId": "TASK"}}
        assert mine == theirs


@pytest.mark.node
@covers("tasks.owner", "A client's task is unknown (-32602) to every other client, and in nobody else's list")
async def test_a_task_is_its_owners(rig: Rig) -> None:
    rig.command("everything", servers.everything())
    front: Endpoint = rig.serve("http")
    async with front.raw(capabilities=WITH_TASKS) as one, front.raw(capabilities=WITH_TASKS) as other:
        for raw in (one, other):
            await eventually(lambda raw=raw: found(raw, "everything."))
        params = {"name": "everything.simulate-research-query", "arguments": {"topic": "x"}, "task": {}}
        task = (await one.request("tools/call", params))["task"]["taskId"]
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            with pytest.raises(RawError) as caught:
                await other.request(method, {"taskId": task})
            assert caught.value.code == -32602
        assert (await other.request("tasks/list", {}))["tasks"] == []
        assert (await one.request("tasks/get", {"taskId": task}))["taskId"] == task
        cancelled = await one.request("tasks/cancel", {"taskId": task})
        assert (cancelled["taskId"], cancelled["status"]) == (task, "cancelled")
