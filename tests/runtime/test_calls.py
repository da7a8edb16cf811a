"""The way back from an upstream to a caller: progress, logs, and whom a question is for (matrix B.3, B.4)."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import anyio
import pytest
from tests.runtime.memory import TwinClient

from wf_mcp.core.errors import INTERNAL_ERROR, NotServed, RelayedError
from wf_mcp.runtime import calls as module
from wf_mcp.runtime.attribution import sending
from wf_mcp.runtime.calls import Calls, Spawn

pytestmark = pytest.mark.anyio

PROGRESS = "notifications/progress"


@pytest.fixture
async def spawn() -> AsyncIterator[Spawn]:
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(20):

            def start(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
                tasks.start_soon(work)

            yield start
        tasks.cancel_scope.cancel()


def with_token(token: Any) -> dict[str, Any]:
    return {"name": "x", "_meta": {"progressToken": token, "other": 1}}


@pytest.mark.parametrize("token", ["abc", "7", "", 7, 0, 2**53], ids=repr)
async def test_a_caller_hears_its_own_token_with_its_own_type(spawn: Spawn, token: str | int) -> None:
    client, calls = TwinClient(), Calls()
    with calls.opened(client, with_token(token), spawn) as (call, params):
        ours = params["_meta"]["progressToken"]
        calls.progress({"progressToken": ours, "progress": 1, "message": "m"})
        await call.settled()
    assert client.heard == [(PROGRESS, {"progressToken": token, "progress": 1, "message": "m"})]
    assert type(client.heard[0][1]["progressToken"]) is type(token)


async def test_each_hop_has_a_token_of_its_own(spawn: Spawn) -> None:
    """Two clients may use the same token; upstream they differ, and each hears only its own call."""
    one, other, calls = TwinClient("one"), TwinClient("other"), Calls()
    with (
        calls.opened(one, with_token("same"), spawn) as (first, first_params),
        calls.opened(other, with_token("same"), spawn) as (second, second_params),
    ):
        tokens = [params["_meta"]["progressToken"] for params in (first_params, second_params)]
        assert len(set(tokens)) == 2
        calls.progress({"progressToken": tokens[1], "progress": 2})
        calls.progress({"progressToken": tokens[0], "progress": 1})
        await first.settled()
        await second.settled()
    assert [params["progress"] for _, params in one.heard] == [1]
    assert [params["progress"] for _, params in other.heard] == [2]


async def test_what_a_call_carries_besides_the_token_stays(spawn: Spawn) -> None:
    params = with_token("t")
    with Calls().opened(TwinClient(), params, spawn) as (_, sent):
        assert sent == {"name": "x", "_meta": {"progressToken": sent["_meta"]["progressToken"], "other": 1}}
    assert params == with_token("t")


@pytest.mark.parametrize("params", [{"name": "x"}, {"name": "x", "_meta": {}}, {"name": "x", "_meta": None}])
async def test_a_call_without_a_token_is_sent_as_it_is(spawn: Spawn, params: dict[str, Any]) -> None:
    with Calls().opened(TwinClient(), params, spawn) as (_, sent):
        assert sent is params


async def test_everything_arrives_in_order_and_before_the_call_is_settled(spawn: Spawn) -> None:
    client, calls = TwinClient(), Calls()
    with calls.opened(client, with_token("t"), spawn) as (call, params):
        for step in range(50):
            calls.progress({"progressToken": params["_meta"]["progressToken"], "progress": step})
            call.tell("notifications/message", {"data": step})
        await call.settled()
        assert [params.get("progress", params.get("data")) for _, params in client.heard] == [
            step for step in range(50) for _ in "pm"
        ]


async def test_progress_after_the_result_is_dropped(spawn: Spawn) -> None:
    client, calls = TwinClient(), Calls()
    with calls.opened(client, with_token("t"), spawn) as (_, params):
        pass
    calls.progress({"progressToken": params["_meta"]["progressToken"], "progress": 1})
    await anyio.wait_all_tasks_blocked()
    assert client.heard == []


@pytest.mark.parametrize("token", [99, "t", None, 1.5, ["t"]], ids=repr)
async def test_progress_with_a_token_that_was_never_given_is_dropped(spawn: Spawn, token: Any) -> None:
    client, calls = TwinClient(), Calls()
    with calls.opened(client, with_token("t"), spawn) as (call, _):
        calls.progress({"progressToken": token, "progress": 1})
        await call.settled()
    assert client.heard == []


async def test_a_caller_that_cannot_be_addressed_costs_nothing(spawn: Spawn) -> None:
    calls = Calls()
    with calls.opened(None, with_token("t"), spawn) as (call, params):
        calls.progress({"progressToken": params["_meta"]["progressToken"], "progress": 1})
        await call.settled()


async def test_a_client_that_is_gone_does_not_break_what_it_shares_with_others(spawn: Spawn) -> None:
    class Gone(TwinClient):
        async def tell(self, method: str, params: dict[str, Any]) -> None:
            raise anyio.ClosedResourceError

    calls = Calls()
    with calls.opened(Gone(), with_token("t"), spawn) as (call, params):
        calls.progress({"progressToken": params["_meta"]["progressToken"], "progress": 1})
        await call.settled()


async def test_a_client_that_does_not_read_costs_no_more_than_so_much(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "WAITING", 3)
    client, calls = TwinClient("slow"), Calls()
    client.patience = anyio.Event()
    with calls.opened(client, with_token("t"), spawn) as (call, params):
        ours = params["_meta"]["progressToken"]
        calls.progress({"progressToken": ours, "progress": 0})
        await anyio.wait_all_tasks_blocked()  # it is on its way, and does not get through
        for number in range(1, 9):
            calls.progress({"progressToken": ours, "progress": number})
        client.patience.set()
        await call.settled()
        calls.progress({"progressToken": ours, "progress": 9})  # once it reads again it misses nothing
        await call.settled()
    assert [params["progress"] for _, params in client.heard] == [0, 1, 2, 3, 9]
    assert [record.message for record in caplog.records] == [
        "client slow reads nothing; 3 notifications wait, more are lost"
    ]


async def test_a_lost_connection_settles_what_cannot_be_delivered_any_more(spawn: Spawn) -> None:
    client, calls = TwinClient(), Calls()
    client.patience = anyio.Event()
    with calls.opened(client, with_token("t"), spawn) as (call, params):
        calls.progress({"progressToken": params["_meta"]["progressToken"], "progress": 1})
        await anyio.wait_all_tasks_blocked()
        calls.abandon()
        await call.settled()
    assert client.heard == []


async def test_a_question_goes_to_the_client_whose_call_is_in_flight(spawn: Spawn) -> None:
    client, standing = TwinClient("one"), TwinClient("standing")
    calls = Calls()
    with calls.opened(client, {}, spawn):
        assert calls.to_ask(standing) is client


async def test_a_question_rides_the_newest_call_of_the_sole_client(spawn: Spawn) -> None:
    older, newer, calls = TwinClient("one"), TwinClient("one"), Calls()
    with calls.opened(older, {}, spawn), calls.opened(newer, {}, spawn):
        assert calls.to_ask(None) is newer
    with calls.opened(older, {}, spawn):
        assert calls.to_ask(None) is older


async def test_with_two_clients_in_flight_nobody_is_asked(spawn: Spawn) -> None:
    calls = Calls()
    with calls.opened(TwinClient("one"), {}, spawn), calls.opened(TwinClient("other"), {}, spawn):
        assert calls.sole() is None
        with pytest.raises(RelayedError, match="none of them is asked") as refused:
            calls.to_ask(TwinClient("standing"))
    assert refused.value.code == INTERNAL_ERROR


async def test_where_the_transport_tells_the_call_that_a_question_was_said_to_is_meant(spawn: Spawn) -> None:
    one, other, calls = TwinClient("one"), TwinClient("other"), Calls()
    with calls.opened(one, {}, spawn) as (first, _), calls.opened(other, {}, spawn) as (second, _):
        with sending(first):
            assert (calls.meant(), calls.to_ask(None)) == (first, one)
        with sending(second):
            assert (calls.meant(), calls.to_ask(None)) == (second, other)
    with calls.opened(one, {}, spawn) as (third, _), sending(second):  # which is over, or another session's
        assert calls.meant() is third
    nobody = pytest.raises(NotServed, match="No client can be asked now")
    with calls.opened(None, {}, spawn) as (ours, _), calls.opened(one, {}, spawn), sending(ours), nobody:
        calls.to_ask(None)


async def test_outside_any_call_the_standing_client_is_asked() -> None:
    standing = TwinClient()
    assert Calls().to_ask(standing) is standing


async def test_without_anybody_a_question_is_refused_with_the_reason(spawn: Spawn) -> None:
    with pytest.raises(NotServed, match="no client's call is in flight"):
        Calls().to_ask(None)
    calls = Calls()
    with calls.opened(None, {}, spawn), pytest.raises(NotServed):
        calls.to_ask(None)


async def test_a_call_is_counted_while_it_is_in_flight(spawn: Spawn) -> None:
    calls = Calls()
    with calls.opened(None, {}, spawn):
        assert len(calls) == 1
    assert len(calls) == 0
