"""One handshake session over HTTP: whose answer is whose, which stream a message takes, and what ends what."""

import json
from contextvars import ContextVar
from typing import Any

import anyio
import pytest
from mcp_types import JSONRPCResponse
from tests.edge.asgi import Pace, place
from tests.inbox import eventually

from wf_mcp.edge.http_sessions import HttpLimits
from wf_mcp.edge.messages import message_bytes

pytestmark = pytest.mark.anyio

IDS: list[Any] = [1, "1", "0", "init-1", "", -5, 9007199254740993, 0, "ä"]


def test_a_message_goes_out_as_it_was_given_nulls_and_all() -> None:
    result = {"content": [{"x": None, "unknown": [None]}], "ä": "\u2028"}
    message = JSONRPCResponse(jsonrpc="2.0", id="", result=result)
    assert json.loads(message_bytes(message)) == {"jsonrpc": "2.0", "id": "", "result": result}


def test_a_lone_surrogate_goes_out_as_an_escape() -> None:
    message = JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "\ud800", "n": None})
    assert json.loads(message_bytes(message))["result"] == {"text": "\ud800", "n": None}
    assert b"\\ud800" in message_bytes(message)


async def test_every_answer_gives_back_its_own_id_in_value_and_type() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        hits = [guest.ask(request_id, "test/wait", {"tag": index}) for index, request_id in enumerate(IDS)]
        await here.script.waits(*map(str, range(len(IDS))))
        for index in reversed(range(len(IDS))):
            here.script.go[str(index)].set()
        for index, (request_id, hit) in enumerate(zip(IDS, hits, strict=True)):
            answer = (await hit.end()).json
            assert (answer["id"], answer["result"]) == (request_id, {"tag": str(index)})
            assert type(answer["id"]) is type(request_id)


async def test_two_requests_with_one_id_both_get_their_answer() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        hits = [guest.ask(7, "test/wait", {"tag": tag}) for tag in "ab"]
        await here.script.waits("a", "b")
        for tag, hit in zip("ab", hits, strict=True):
            here.script.go[tag].set()
            assert (await hit.end()).json == {"jsonrpc": "2.0", "id": 7, "result": {"tag": tag}}


async def test_params_and_results_pass_with_nulls_and_unknown_fields() -> None:
    params = {"a": None, "b": [None, {"c": None}], "_meta": {"x": None}}
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        answer = (await guest.ask(1, "test/echo", params).end()).json
    assert answer["result"] == {"echo": params, "null": None}


async def test_what_middleware_around_the_front_sets_is_seen_by_the_handler() -> None:
    """FastMCP's request and authentication reach its tools in this way, whichever task runs them."""
    whose: ContextVar[str] = ContextVar("whose")
    async with place() as here:
        guest = here.guest()

        async def around(scope: Any, receive: Any, send: Any) -> None:
            whose.set(dict(scope["headers"]).get(b"x-whose", b"").decode())
            await here.front(scope, receive, send)

        guest.front = around
        await guest.hello(x_whose="hello")
        for name in ("a", "b"):
            await guest.ask(1, "test/look", x_whose=name).end()
            assert here.script.seen[-1][whose] == name


async def test_an_answer_is_plain_until_something_precedes_it() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        for notes in (0, 2):
            hit = guest.ask("x", "test/wait", {"tag": f"t{notes}", "notes": notes, "more": notes})
            await here.script.waits(f"t{notes}")
            if notes:
                await hit.message(1)
            here.script.go[f"t{notes}"].set()
            await hit.end()
            assert hit.whole and hit.status == 200
            if not notes:
                assert hit.json["id"] == "x"
        assert [m.get("params") for m in hit.messages[:4]] == [
            *({"tag": "t2", "number": n} for n in range(2)),
            *({"tag": "t2", "more": n} for n in range(2)),
        ]
        assert hit.messages[4:] == [{"jsonrpc": "2.0", "id": "x", "result": {"tag": "t2"}}]
        assert hit.events[0].data is None and hit.events[0].retry == "1000"


async def test_older_revisions_get_no_primer() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello("2025-06-18")
        hit = guest.ask(1, "test/wait", {"tag": "t", "notes": 1})
        await hit.message()
        here.script.go["t"].set()
        await hit.end()
        assert len(hit.events) == len(hit.messages) == 2


async def test_a_call_that_takes_long_becomes_a_stream() -> None:
    async with place(pace=Pace(patience=0.01, comment=0.02)) as here:
        guest = here.guest()
        await guest.hello()
        hit = guest.ask(1, "test/wait", {"tag": "t"})
        await hit.streams()
        await eventually(lambda: b": " in hit.data)
        here.script.go["t"].set()
        assert (await hit.end()).messages == [{"jsonrpc": "2.0", "id": 1, "result": {"tag": "t"}}]


async def test_a_cancellation_reaches_the_request_that_the_client_means() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        number, text = guest.ask(1, "test/wait", {"tag": "n"}), guest.ask("1", "test/wait", {"tag": "s"})
        await here.script.waits("n", "s")
        for unknown in (99, "x", None, True, [1]):
            await guest.tell("notifications/cancelled", {"requestId": unknown, "reason": "r"})
        await guest.tell("notifications/cancelled", {"requestId": "1", "reason": "enough", "x": None})
        ended = await text.end()  # without an answer, as basic/utilities/cancellation asks
        assert (ended.status, ended.messages) == (200, [])
        assert here.script.stopped == ["s"] and not number.done.is_set()
        told = [params for method, params in here.script.came if method == "notifications/cancelled"]
        assert {"requestId": here.script.contexts[1].request_id, "reason": "enough", "x": None} in told
        here.script.go["n"].set()
        assert (await number.end()).json["result"] == {"tag": "n"}


async def test_a_question_rides_the_stream_of_its_request_and_a_later_post_answers_it() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        standing = guest.listen()
        hit = guest.ask("call", "test/ask", {"what": None})
        question = await hit.message()
        assert (question["method"], question["params"]) == ("client/ask", {"what": None})
        answered = await guest.post({"jsonrpc": "2.0", "id": question["id"], "result": {"n": None}}).end()
        assert (answered.status, answered.data) == (202, b"")
        assert (await hit.end()).messages[1] == {"jsonrpc": "2.0", "id": "call", "result": {"answer": {"n": None}}}
        assert standing.messages == []


async def test_what_belongs_to_no_request_goes_to_the_newest_get() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        connection = here.script.connections[guest.session["mcp-session-id"]]
        await connection.outbound.notify("notifications/early", None)
        first = guest.listen()
        assert (await first.message())["method"] == "notifications/early"
        second = guest.listen()
        await second.streams()
        await first.end()
        assert first.whole
        await connection.outbound.notify("notifications/late", {"a": None})
        assert (await second.message())["params"] == {"a": None}
        assert len(first.messages) == 1


async def test_a_frozen_get_is_replaced_and_the_next_one_works() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        frozen = guest.listen()
        await frozen.streams()
        frozen.reads = anyio.Event()
        second = guest.listen()
        await second.streams()
        second.gone.set()
        await second.end()
        third = guest.listen()
        await third.streams()
        await here.script.connections[guest.session["mcp-session-id"]].outbound.notify("notifications/x", None)
        assert (await third.message())["method"] == "notifications/x"


async def test_a_call_survives_its_post_and_is_resumed_from_where_the_client_was() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        other = guest.ask(8, "test/wait", {"tag": "other", "notes": 2})
        hit = guest.ask(7, "test/wait", {"tag": "t", "notes": 3, "more": 1})
        await hit.message(2)
        await other.message(1)
        hit.gone.set()
        await hit.end()
        resumed = guest.listen(hit.events[1].id)
        await resumed.message(1)
        here.script.go["t"].set()
        await resumed.end()
        assert here.script.stopped == []
        assert [message.get("params", message.get("result")) for message in resumed.messages] == [
            {"tag": "t", "number": 1},
            {"tag": "t", "number": 2},
            {"tag": "t", "more": 0},
            {"tag": "t"},
        ]
        assert resumed.messages[-1]["id"] == 7 and resumed.whole
        again = await guest.listen(hit.events[0].id).end()
        assert [event.id for event in again.events[3:]] == [event.id for event in resumed.events[2:]]


async def test_an_answer_given_while_nobody_listened_is_kept() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        hit = guest.ask(7, "test/wait", {"tag": "t", "notes": 1})
        await hit.message()
        hit.gone.set()
        await hit.end()
        here.script.go["t"].set()
        resumed = guest.listen(hit.events[-1].id)
        await resumed.end()
        assert resumed.messages == [{"jsonrpc": "2.0", "id": 7, "result": {"tag": "t"}}]


@pytest.mark.parametrize("last", ["x", "0-99", "99-1", "1-99"])
async def test_what_cannot_be_resumed_is_refused(last: str) -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        assert (await guest.listen(last).end()).status == 400


async def test_a_tool_may_end_its_stream_and_go_on() -> None:
    async with place() as here:
        guest = here.guest()
        await guest.hello()
        hit = await guest.ask(1, "test/suspend").end()
        assert hit.whole and hit.messages == [] and hit.events[0].retry
        here.script.go["suspend"].set()
        assert (await guest.listen(hit.events[0].id).end()).messages[0]["result"] == {"resumed": True}


async def test_delete_ends_the_session_and_its_calls() -> None:
    ended: list[str] = []
    async with place() as here:
        guest, bystander = here.guest(), here.guest()
        await guest.hello()
        await bystander.hello()
        here.script.connections[guest.session["mcp-session-id"]].exit_stack.callback(ended.append, "guest")
        plain, standing = guest.ask(1, "test/wait", {"tag": "p"}), guest.listen()
        events = guest.ask(2, "test/wait", {"tag": "e", "notes": 1})
        other = bystander.ask(1, "test/wait", {"tag": "o"})
        await here.script.waits("p", "e", "o")
        await standing.streams()
        assert (await guest.hit("DELETE", guest.session).end()).status == 200
        assert (await plain.end()).json["error"]["code"] == -32000
        assert (await events.end()).messages[-1]["error"]["code"] == -32000
        assert (await standing.end()).whole and events.whole
        await eventually(lambda: ended == ["guest"])
        assert sorted(here.script.stopped) == ["e", "p"]
        assert (await guest.hit("DELETE", guest.session).end()).status == 404
        here.script.go["o"].set()
        assert (await other.end()).json["result"] == {"tag": "o"}


async def test_an_idle_session_ends_and_one_in_use_does_not() -> None:
    async with place(HttpLimits(session_idle=0.2)) as here:
        idle, calling, listening = (here.guest() for _ in range(3))
        for guest in (idle, calling, listening):
            await guest.hello()
        call, standing = calling.ask(1, "test/wait", {"tag": "t"}), listening.listen()
        await here.script.waits("t")
        await eventually(lambda: len(here.front.sessions) == 2)
        assert (await idle.ask(1, "test/echo").end()).status == 404
        await anyio.sleep(0.5)  # the idle time of the two others, twice over
        assert len(here.front.sessions) == 2
        here.script.go["t"].set()
        assert (await call.end()).status == 200
        standing.gone.set()
        await eventually(lambda: len(here.front.sessions) == 0)


async def test_a_slow_reader_costs_only_its_own_response() -> None:
    async with place(pace=Pace(patience=5, max_frames=5)) as here:
        guest = here.guest()
        await guest.hello()
        slow = guest.listen()
        await slow.streams()
        slow.reads = anyio.Event()
        connection = here.script.connections[guest.session["mcp-session-id"]]
        with anyio.fail_after(5):
            for number in range(50):
                await connection.outbound.notify("notifications/x", {"n": number})
            assert (await guest.ask(1, "test/echo").end()).status == 200
        await slow.end()
        assert not slow.whole
        again = guest.listen(slow.events[0].id)
        assert (await again.message(49))["params"] == {"n": 49}
