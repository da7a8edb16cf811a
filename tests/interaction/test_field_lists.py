"""Reported faults of other proxies: lists that lag, loop or lie, and reloads (tests/field_cases.py)."""

import socket
import time
from contextlib import AsyncExitStack

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.rawclient import RawClient, RawError
from tests.rig import FRONTS, Front, Rig

pytestmark = pytest.mark.anyio
OBJECT = {"type": "object"}
CHANGED = "notifications/tools/list_changed"
LISTS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}


async def reload(rig: Rig, raw: RawClient) -> JsonObject:
    rig.write()
    report: JsonObject = (await raw.call("wf.admin.reload_config"))["structuredContent"]
    return report


@covers("field.strict-cursors", "A client that follows cursors to their end gets each item of each list once")
@pytest.mark.parametrize("size", [None, 1, 2])
async def test_a_client_that_follows_cursors(rig: Rig, size: int | None) -> None:
    numbers = range(5)
    offer = {
        "builtins": False,
        "tools": [{"name": f"t{n}", "inputSchema": OBJECT} for n in numbers],
        "prompts": [{"name": f"p{n}"} for n in numbers],
        "resources": [{"name": f"r{n}", "uri": f"res://r/{n}"} for n in numbers],
        "templates": [{"name": f"u{n}", "uriTemplate": f"res://u/{n}/{{x}}"} for n in numbers],
        "pages": {"size": 2},
    }
    rig.settings["admin"] = False
    if size is not None:
        rig.settings["page_size"] = size
    for name in ("one", "two"):
        rig.upstream(name, offer)
    async with rig.serve().raw() as raw:
        for method, (kind, key) in LISTS.items():
            seen, cursor, pages = [], None, 0
            while pages < 100:
                page = await raw.request(method, {} if cursor is None else {"cursor": cursor})
                pages += 1
                seen += [item[key] for item in page[kind]]
                if (cursor := page.get("nextCursor")) is None:
                    break
            assert len(seen) == len(set(seen)) == 10
            assert pages == (1 if size is None else 10 // size)


@covers("field.storm", "500 notices in a row cost a few lists and a few notices, and then the list is the new one")
async def test_a_storm_of_notices(rig: Rig) -> None:
    rig.upstream("alpha", wf={"isolation": "shared"})
    front = rig.serve("http")
    async with front.raw() as one, front.raw() as two:
        for raw in (one, two):
            await raw.names()
        before = len(rig["alpha"].events("request", method="tools/list"))
        await one.text("alpha.storm", {"times": 500})
        await one.text("alpha.grow")
        for raw in (one, two):
            await raw.notes.wait_for(CHANGED)
            assert "alpha.grown" in await raw.names()
            await raw.request("ping")
            assert 1 <= len(raw.notes.of(CHANGED)) <= 100
        assert len(rig["alpha"].events("request", method="tools/list")) - before <= 10


@covers("field.restless", "An upstream that says that its list changed whenever it is listed causes no endless loop")
async def test_an_upstream_that_is_never_content(rig: Rig) -> None:
    rig.upstream("alpha", {"restless": True})
    async with rig.serve().raw() as raw:
        for _ in range(5):
            assert "alpha.echo" in await raw.names()
        # Three more calls: whatever the notices started by themselves has been sent by then.
        for _ in range(3):
            await raw.text("alpha.slow", {"seconds": 0.3})
        assert len(rig["alpha"].events("request", method="tools/list")) <= 20
        assert len(raw.notes.of(CHANGED)) <= 20


@covers("field.promises", "Only what an upstream has is promised; what a reload adds can be used by clients of before")
async def test_what_is_promised(rig: Rig) -> None:
    rig.upstream("alpha", {"capabilities": {"tools": {}}})
    async with rig.serve().raw() as raw:
        assert set(raw.hello["capabilities"]) == {"tools"}
        rig.upstream("beta", {"prompts": [{"name": "p"}]})
        await reload(rig, raw)
        assert await raw.names("prompts") == ["beta.p"]
        assert (await raw.request("prompts/get", {"name": "beta.p"}))["messages"]
    async with rig.serve().raw() as raw:
        assert {"tools", "prompts"} <= set(raw.hello["capabilities"])


@covers("field.told", "Idle clients of either front hear of an upstream that a reload adds and takes away")
@pytest.mark.parametrize("front", FRONTS)
async def test_idle_clients_hear_of_a_reload(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    if front == "http":
        rig.with_token()
    endpoint = rig.serve(front)
    async with AsyncExitStack() as stack:
        listeners = [await stack.enter_async_context(endpoint.raw()) for _ in range(1 if front == "stdio" else 2)]
        raw = listeners[0]
        for listener in listeners:
            assert "beta.who" not in await listener.names()
        for present in (True, False):
            if present:
                rig.upstream("beta")
            else:
                del rig.entries["beta"]
            for listener in listeners:
                listener.notes.items.clear()
            await reload(rig, raw)
            for listener in listeners:
                await listener.notes.wait_for(CHANGED, 5)
                assert ("beta.who" in await listener.names()) is present


@covers("field.toggled", "A reload that switches an upstream off and on stops and starts it, and tells clients")
async def test_an_upstream_is_switched_off_and_on(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.upstream("beta", disabled=True)
    async with rig.serve().raw() as raw:
        for disabled in (False, True, False):
            raw.notes.items.clear()
            rig.entries["beta"]["disabled"] = disabled
            await reload(rig, raw)
            await raw.notes.wait_for(CHANGED)
            assert ("beta.who" in await raw.names()) is not disabled
    assert len(rig["beta"].pids) == 2
    assert len(rig["alpha"].pids) == 1


@covers("field.replaced", "A call in flight on an upstream that a reload replaces ends at once, and says so")
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_a_call_on_an_upstream_that_is_replaced(rig: Rig, kind: str) -> None:
    (rig.upstream if kind == "stdio" else rig.http_upstream)("alpha")
    ended: list[str] = []

    async def call(raw: RawClient) -> None:
        try:
            result = await raw.call("alpha.slow", {"seconds": 40}, seconds=15)
        except RawError as error:
            ended.append(error.message)
        else:
            assert result["isError"]
            ended.append(result["content"][0]["text"])

    async with rig.serve().raw() as raw:
        await raw.text("alpha.who")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, raw)
            await rig["alpha"].saw("slow")
            rig.entries["alpha"].update({"env": {"A": "1"}} if kind == "stdio" else {"headers": {"X-A": "1"}})
            assert (await reload(rig, raw))["restarted"] == ["alpha"]
        assert "alpha" in ended[0]
        assert (await raw.json("alpha.who"))["name"] == "alpha"


@covers(
    "field.redefined", "A tool's changed definition is seen whole once its upstream says so, odd characters included"
)
async def test_a_tool_that_changes(rig: Rig) -> None:
    first = {"name": "t", "description": "old", "inputSchema": {**OBJECT, "required": ["old"]}}
    second = {"name": "t", "description": "n\u200be\u202ew", "inputSchema": {**OBJECT, "required": ["new"]}}
    rig.upstream("alpha", {"tools": [first]})

    async def seen(raw: RawClient) -> JsonObject:
        (tool,) = [item for item in await raw.items("tools/list", "tools") if item["name"] == "alpha.t"]
        return {**tool, "name": "t"}

    async with rig.serve().raw() as raw:
        assert await seen(raw) == first
        await raw.text("alpha.redefine", {"tool": second, "tell": False})
        assert await seen(raw) == first  # kept until the upstream says that it changed
        await raw.text("alpha.redefine", {"tool": second})
        await raw.notes.wait_for(CHANGED)
        assert await seen(raw) == second
        assert await seen(raw) == second
    (line,) = [line for line in rig.log().splitlines() if "now describes otherwise" in line]
    assert "alpha" in line and "'t'" in line


@covers("field.hung", "Upstreams that never list, never initialize or never answer delay lists by list_wait, and once")
async def test_upstreams_that_hang(rig: Rig) -> None:
    rig.settings["list_wait"] = 2
    rig.upstream("good")
    rig.upstream("lists", {"silent": ["tools/list"]})
    rig.upstream("silent", None, "--silent")
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # connections are made, and nobody takes them
        rig.entries["deaf"] = {"url": f"http://127.0.0.1:{deaf.getsockname()[1]}/mcp"}
        async with rig.serve().raw() as raw:
            took = []
            for _ in range(5):
                start = time.monotonic()
                assert "good.who" in await raw.names()
                took.append(time.monotonic() - start)
        assert took[0] < 4
        assert max(took[1:]) < 1
