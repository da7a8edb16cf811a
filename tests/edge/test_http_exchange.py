"""One request served by itself: plain or as a stream, and what becomes of it when its client leaves."""

import json
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import JSONRPCRequest, JSONRPCResponse
from tests.edge.asgi import QUICK, Guest, Hit, place
from tests.inbox import JsonObject, eventually

from wf_mcp.edge.http_exchange import Exchange
from wf_mcp.edge.http_stream import Pace

pytestmark = pytest.mark.anyio


def exchange(params: JsonObject | None = None) -> Exchange:
    message = JSONRPCRequest(jsonrpc="2.0", id="x", method="test/any", params=params)
    request: Any = SimpleNamespace(headers={})
    return Exchange(message, request, QUICK)


async def waiting(guest: Guest, here: Any, **params: Any) -> Hit:
    """A call that is under way."""
    hit = guest.modern("test/wait", {"tag": "t", **params})
    await here.script.waits("t")
    return hit


async def test_an_answer_that_nothing_precedes_is_plain_with_its_nulls_and_its_id() -> None:
    async with place() as here:
        hit = await here.guest().modern("test/echo", {"a": None}, "x").end()
        assert (hit.status, hit.json["id"], hit.json["result"]["null"]) == (200, "x", None)
        assert hit.json["result"]["echo"]["a"] is None


async def test_what_precedes_the_answer_makes_it_a_stream_of_events_without_ids() -> None:
    async with place() as here:
        hit = await waiting(here.guest(), here, notes=2, more=1)
        here.script.go["t"].set()
        await hit.end()
        assert (hit.status, hit.headers["x-accel-buffering"], hit.whole) == (200, "no", True)
        assert [event.id for event in hit.events] == [""] * 4
        assert [message.get("params") for message in hit.messages] == [
            {"tag": "t", "number": 0},
            {"tag": "t", "number": 1},
            {"tag": "t", "more": 0},
            None,
        ]
        assert hit.messages[3] == {"jsonrpc": "2.0", "id": 1, "result": {"tag": "t"}}


async def test_a_silence_makes_it_a_stream_that_begins_with_a_comment() -> None:
    async with place(pace=Pace(comment=0.05)) as here:
        hit = await waiting(here.guest(), here)
        await eventually(lambda: hit.data.startswith(b": "))
        here.script.go["t"].set()
        assert [message["result"] for message in (await hit.end()).messages] == [{"tag": "t"}]


@pytest.mark.parametrize("notes", [0, 1])
async def test_a_client_that_leaves_cancels(notes: int) -> None:
    async with place() as here:
        hit = await waiting(here.guest(), here, notes=notes)
        if notes:
            await hit.message()
        hit.gone.set()
        await hit.end()
        await eventually(lambda: here.script.stopped == ["t"])
        assert len(here.front.exchanges) == 0


async def test_a_client_that_takes_nothing_is_cut_and_so_cancels() -> None:
    async with place(pace=Pace(comment=0.05, stall=0.05)) as here:
        hit = await waiting(here.guest(), here, notes=1)
        await hit.message()
        hit.reads = anyio.Event()
        await eventually(lambda: here.script.stopped == ["t"])
        assert not hit.whole


@pytest.mark.parametrize(("how", "status", "code"), [("defect", 200, -32603), ("no json", 200, -32603)])
async def test_a_defect_is_an_error_of_this_request_only(how: str, status: int, code: int) -> None:
    async with place() as here:
        hit = await here.guest().modern("test/fail", {"how": how}).end()
        assert (hit.status, hit.json["error"]["code"]) == (status, code)
        assert b"secret" not in hit.data
        assert (await here.guest().modern("test/echo").end()).status == 200


async def test_nobody_can_be_asked() -> None:
    async with place() as here:
        assert (await here.guest().modern("test/ask").end()).json["error"]["message"]
    with pytest.raises(NoBackChannelError):
        await exchange().send_raw_request("client/ask", None)


async def test_progress_is_sent_where_it_is_wanted() -> None:
    unwanted, wanted = exchange(), exchange({"_meta": {"progressToken": 0}})
    for each in (unwanted, wanted):
        await each.progress(1, message="half")
    assert not unwanted.decided.is_set()
    data = await wanted.outbox.take()
    assert data is not None
    assert json.loads(data.split(b"data: ")[1])["params"] == {"progressToken": 0, "progress": 1, "message": "half"}


async def test_nothing_follows_the_answer_and_the_first_one_counts() -> None:
    each = exchange()
    each.answer(JSONRPCResponse(jsonrpc="2.0", id="x", result={"first": None}))
    await each.notify("notifications/late", None)
    each.answer(JSONRPCResponse(jsonrpc="2.0", id="x", result={}))
    assert json.loads(each.plain or b"")["result"] == {"first": None}
    each.end()
    assert await each.outbox.take() is None


async def test_a_handler_that_ends_without_an_answer_ends_the_response() -> None:
    each, hit = exchange(), Hit("POST", {})
    hit.receive = anyio.sleep_forever
    async with anyio.create_task_group() as tasks:

        async def respond() -> None:
            await each.respond(hit.receive, hit.send, {})
            hit.done.set()

        tasks.start_soon(respond)
        each.end()
        await hit.end()
    assert (hit.status, hit.data, hit.whole) == (200, b"", True)


async def test_nothing_is_kept_for_a_client_that_has_left() -> None:
    each, hit = exchange(), Hit("POST", {})
    hit.gone.set()
    with anyio.fail_after(5):
        assert await each.respond(hit.receive, hit.send, {}) is False
        for _ in range(200):
            await each.notify("notifications/test", {})
        each.end()
        assert await each.outbox.take() is None


async def test_a_flood_lets_others_have_their_turn() -> None:
    each, turns = exchange(), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        for _ in range(1000):
            await each.notify("notifications/test", {})
        tasks.cancel_scope.cancel()
    assert turns > 10
