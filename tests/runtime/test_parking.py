"""Calls of modern clients at handshake upstreams that ask (matrix D.4): parked, gone on with, expired, refused."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.inbox import eventually
from tests.runtime.clock import VirtualClock
from tests.runtime.guests import ACCEPT, FORM, KEY, answered, guest
from tests.runtime.memory import Twin, TwinClient, TwinLink, text, tool
from tests.runtime.stage import Stage, stage

from wf_mcp.core.config_values import ParkedSettings
from wf_mcp.core.errors import InvalidParams, MissingCapability, RelayedError, UpstreamUnavailable, WfMcpError
from wf_mcp.core.inputs import is_input_required
from wf_mcp.core.seal import Sealer
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.bridge import Bridge
from wf_mcp.runtime.dispatch import Dispatch
from wf_mcp.runtime.parking import Parking
from wf_mcp.runtime.ports import Caller

pytestmark = pytest.mark.anyio

SAMPLED: JsonObject = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}


class Parked:
    """The runtime with parking over one handshake upstream, and a clock."""

    def __init__(self, stage: Stage, limits: ParkedSettings) -> None:
        self.stage, self.clock = stage, VirtualClock()
        self.restart(limits)

    def restart(self, limits: ParkedSettings) -> None:
        """As after a restart: nothing is remembered but the key."""
        s = self.stage
        self.parking = Parking(Sealer(KEY), s.mounts.spawn, lambda: limits, self.clock)
        s.dispatch = Dispatch(s.resolver, lambda: (), s.plugins.report, Bridge(Sealer(KEY), self.parking))

    @property
    def twin(self) -> Twin:
        return self.stage.twin("alpha")

    def executions(self) -> int:
        return len(self.twin.of("tools/call"))

    async def call(self, who: Caller | None = None, **params: Any) -> JsonObject:
        return await self.stage.call("alpha.x", who or guest(), **{"arguments": {}, **params})

    async def answer(self, asked: JsonObject, *answers: Any, who: Caller | None = None, **params: Any) -> JsonObject:
        """The retry that answers the questions in their order."""
        given = dict(zip(asked["inputRequests"], answers, strict=False))
        return await self.call(who, inputResponses=given, requestState=asked["requestState"], **params)

    async def refused(self, asked: JsonObject, *answers: Any, who: Caller | None = None, **params: Any) -> str:
        with pytest.raises(InvalidParams) as raised:
            await self.answer(asked, *answers, who=who, **params)
        assert raised.value.code == -32602
        return raised.value.message


@asynccontextmanager
async def parked(
    script: Callable[[TwinLink, JsonObject], Awaitable[JsonObject]], limits: ParkedSettings | None = None
) -> AsyncIterator[Parked]:
    async with stage(Twin("alpha", tools=[tool("x")], answers={"tools/call": script})) as s:
        yield Parked(s, limits or ParkedSettings())


async def one(link: TwinLink, params: JsonObject) -> JsonObject:
    """Asks once."""
    return answered(await link.ask("elicitation/create", FORM))


async def three(link: TwinLink, params: JsonObject) -> JsonObject:
    """Asks three times in a row."""
    return answered(
        await link.ask("elicitation/create", FORM),
        await link.ask("sampling/createMessage", {"messages": [], "maxTokens": 1}),
        await link.ask("roots/list"),
    )


async def two(link: TwinLink, params: JsonObject) -> JsonObject:
    """Asks two things at once."""
    answers: dict[str, JsonObject] = {}
    async with anyio.create_task_group() as tasks:

        async def put(method: str, question: JsonObject) -> None:
            answers[method] = await link.ask(method, question)

        tasks.start_soon(put, "elicitation/create", FORM)
        tasks.start_soon(put, "roots/list", {})
    return answered(answers["elicitation/create"], answers["roots/list"])


async def stuck(link: TwinLink, params: JsonObject) -> JsonObject:
    """Asks, and answers the call never."""
    await link.ask("elicitation/create", FORM)
    await anyio.sleep_forever()
    raise AssertionError


async def test_three_questions_in_a_row_are_one_execution() -> None:
    async with parked(three) as p:
        first = await p.call()
        second = await p.answer(first, ACCEPT)
        third = await p.answer(second, SAMPLED)
        assert await p.answer(third, {"roots": []}) == answered(ACCEPT, SAMPLED, {"roots": []})
        assert (p.executions(), len(p.parking)) == (1, 0)
    assert [each["inputRequests"] for each in (first, second, third)] == [
        {"question-1": {"method": "elicitation/create", "params": FORM}},
        {"question-2": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}},
        {"question-3": {"method": "roots/list"}},
    ]
    assert {each["resultType"] for each in (first, second, third)} == {"input_required"}


async def test_two_questions_at_once_are_asked_at_once_and_again_what_was_not_answered() -> None:
    async with parked(two) as p:
        asked = await p.call()
        assert list(asked["inputRequests"]) == ["question-1", "question-2"]
        again = await p.answer(asked)
        assert (again["inputRequests"], again["requestState"]) == (asked["inputRequests"], asked["requestState"])
        malformed = await p.answer(again, {"action": "perhaps"}, {"roots": {}})
        assert malformed["inputRequests"] == asked["inputRequests"]
        rest = await p.answer(malformed, ACCEPT, {"roots": None})
        assert rest["inputRequests"] == {"question-2": {"method": "roots/list"}}
        assert await p.answer(rest, {"roots": []}) == answered(ACCEPT, {"roots": []})
        assert p.executions() == 1


async def test_a_client_that_can_be_asked_nothing_is_relayed_without_a_task() -> None:
    async def tries(link: TwinLink, params: JsonObject) -> JsonObject:
        with pytest.raises(WfMcpError):
            await link.ask("elicitation/create", FORM)
        return text("went without")

    async with parked(tries) as p:
        nobody = guest({})
        assert isinstance(nobody.port, TwinClient)
        nobody.port.answers["elicitation_create"] = RelayedError(-32601, "no")
        assert await p.call(nobody) == text("went without")
        assert await p.call(guest({"roots": {}})) == text("went without")


async def test_a_state_is_good_once_for_its_own_request_only() -> None:
    async with parked(three) as p:
        first = await p.call(guest(principal="alice"))
        alice = guest(principal="alice")
        cannot = "this requestState cannot be used: "
        assert await p.refused(first, ACCEPT, who=guest(principal="bob")) == cannot + "it belongs to another client"
        assert await p.refused(first, ACCEPT) == cannot + "it belongs to another client"
        assert await p.refused(first, ACCEPT, who=alice, arguments={"n": 1}) == (
            cannot + "it belongs to a request with other parameters"
        )
        state = first["requestState"]
        for changed in (state[:-2] + ("AA" if state[-2:] != "AA" else "BB"), "x", 7):
            assert (await p.refused({**first, "requestState": changed}, ACCEPT, who=alice)).startswith(cannot)
        with pytest.raises(InvalidParams, match="inputResponses without requestState"):
            await p.call(alice, inputResponses={"question-1": ACCEPT})
        second = await p.answer(first, ACCEPT, who=alice)
        assert await p.refused(first, ACCEPT, who=alice) == cannot + "what it asked for was answered already"
        third = await p.answer(second, SAMPLED, who=alice)
        await p.answer(third, {"roots": []}, who=alice)
        gone = cannot + "the server was restarted or the call expired; it was not run again"
        assert await p.refused(third, {"roots": []}, who=alice) == gone
        assert p.executions() == 1


async def test_of_two_retries_at_once_the_second_is_refused() -> None:
    async with parked(stuck) as p:
        asked = await p.call()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(p.answer, asked, ACCEPT)
            await anyio.wait_all_tasks_blocked()
            assert "answered already" in await p.refused(asked, ACCEPT)
            tasks.cancel_scope.cancel()
        assert p.executions() == 1


async def test_after_a_restart_nothing_is_run_again() -> None:
    async with parked(one) as p:
        asked = await p.call()
        p.restart(ParkedSettings())
        assert await p.refused(asked, ACCEPT) == (
            "this requestState cannot be used: the server was restarted or the call expired; it was not run again"
        )
        assert p.executions() == 1


async def test_an_abandoned_call_is_answered_and_cancelled_upstream_at_its_expiry() -> None:
    heard: list[JsonObject] = []

    async def script(link: TwinLink, params: JsonObject) -> JsonObject:
        heard.append(await link.ask("elicitation/create", FORM))
        await anyio.sleep_forever()
        raise AssertionError

    async with parked(script, ParkedSettings(expiry=60)) as p:
        asked = await p.call()
        await p.clock.advance(59)
        again = await p.answer(asked)
        await p.clock.advance(59)
        assert (len(p.parking), p.twin.cancelled) == (1, [])
        await p.clock.advance(2)
        await eventually(lambda: p.twin.cancelled)
        assert heard == [{"action": "cancel"}]
        assert p.twin.cancelled == [("tools/call", "the client brought no answer within 60 s")]
        assert (len(p.parking), len(p.stage.session("alpha", "all").inbox.calls)) == (0, 0)
        assert "it has expired" in await p.refused(again, ACCEPT)
        assert p.executions() == 1


async def test_a_result_that_comes_while_nobody_waits_is_kept_for_the_retry() -> None:
    gate = anyio.Event()

    async def script(link: TwinLink, params: JsonObject) -> JsonObject:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(link.ask, "elicitation/create", FORM)
            await gate.wait()
            tasks.cancel_scope.cancel()
        return text("went on without")

    async with parked(script) as p:
        asked = await p.call()
        gate.set()
        await anyio.wait_all_tasks_blocked()
        assert await p.answer(asked, ACCEPT) == text("went on without")
        assert (p.executions(), len(p.parking)) == (1, 0)


async def test_a_client_that_leaves_cancels_the_call_but_not_while_it_is_parked() -> None:
    async with parked(stuck) as p:
        with anyio.move_on_after(0.01):
            await p.call()
        await eventually(lambda: p.twin.cancelled == [("tools/call", None)])
        asked = await p.call()
        with anyio.move_on_after(0.001):
            await p.answer(asked)
        await anyio.wait_all_tasks_blocked()
        assert (len(p.twin.cancelled), len(p.parking)) == (1, 1)
        with anyio.move_on_after(0.2):
            await p.answer(asked, ACCEPT)
        await eventually(lambda: len(p.twin.cancelled) == 2)
        assert len(p.parking) == 0
        assert "not run again" in await p.refused(asked, ACCEPT)


async def test_a_thousand_abandoned_calls_leave_no_task_and_no_call_behind() -> None:
    async with parked(stuck, ParkedSettings(expiry=60, per_upstream=1000, per_principal=1000)) as p:
        await p.stage.ready(guest())
        await anyio.wait_all_tasks_blocked()
        before = len(anyio.get_running_tasks())
        async with anyio.create_task_group() as tasks:
            for _ in range(1000):
                tasks.start_soon(p.call)
        assert (len(p.parking), p.executions()) == (1000, 1000)
        await p.clock.advance(61)
        await eventually(lambda: len(p.twin.cancelled) == 1000)
        await eventually(lambda: len(anyio.get_running_tasks()) == before)
        assert (len(p.parking), len(p.stage.session("alpha", "all").inbox.calls)) == (0, 0)


@pytest.mark.parametrize(
    ("limits", "whose"),
    [
        (ParkedSettings(per_upstream=1), "of upstream 'alpha'"),
        (ParkedSettings(per_principal=1), "of this client"),
    ],
    ids=["upstream", "principal"],
)
async def test_one_too_many_is_cancelled_and_told_why(limits: ParkedSettings, whose: str) -> None:
    async with parked(stuck, limits) as p:
        await p.call()
        with pytest.raises(WfMcpError) as raised:
            await p.call()
        await eventually(lambda: p.twin.cancelled)
        said = f"too many calls {whose} wait for answers already (setting wf.parked); this one was cancelled"
        assert (raised.value.code, raised.value.message) == (
            -32603,
            f"Upstream 'alpha' asked a question, but {said}",
        )
        assert p.twin.cancelled == [("tools/call", said)]
        assert len(p.parking) == 1


async def test_what_the_upstream_answers_with_is_relayed_as_ever() -> None:
    async def script(link: TwinLink, params: JsonObject) -> JsonObject:
        await link.ask("roots/list")
        raise RelayedError(-32099, "odd", {"x": 1})

    async with parked(script) as p:
        asked = await p.call()
        with pytest.raises(RelayedError) as raised:
            await p.answer(asked, {"roots": []})
        assert (raised.value.code, raised.value.message, raised.value.data) == (-32099, "odd", {"x": 1})
        lost = await p.call()
        p.twin.link.lose("it crashed")
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(UpstreamUnavailable, match="it crashed"):
            await p.answer(lost, {"roots": []})
        assert p.executions() == 2


async def test_a_defect_costs_its_call_only(caplog: pytest.LogCaptureFixture) -> None:
    async def script(link: TwinLink, params: JsonObject) -> JsonObject:
        raise ZeroDivisionError

    async with parked(script) as p:
        with pytest.raises(WfMcpError, match="the call failed inside wf-mcp"):
            await p.call()
        p.twin.give("tools/call", text("fine"))
        assert await p.call() == text("fine")


URLS: JsonObject = {"elicitations": [{"mode": "url", "elicitationId": "e", "url": "https://x.test", "message": "Go"}]}


async def test_urls_that_have_to_be_opened_first_are_asked_for_and_the_call_made_again() -> None:
    runs = 0

    async def script(link: TwinLink, params: JsonObject) -> JsonObject:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise RelayedError(-32042, "Open this", URLS)
        return text("done")

    async with parked(script) as p:
        asked = await p.call()
        assert is_input_required(asked)
        assert asked["inputRequests"] == {
            "url-1": {
                "method": "elicitation/create",
                "params": {"mode": "url", "url": "https://x.test", "message": "Go"},
            }
        }
        assert "other parameters" in await p.refused(asked, {"action": "accept"}, arguments={"n": 1})
        assert await p.answer(asked, {"action": "accept"}) == text("done")
        assert p.twin.of("tools/call")[1].params == {"name": "x", "arguments": {}}
        runs = 0
        with pytest.raises(MissingCapability, match="did not declare: elicitation") as raised:
            await p.call(guest({"elicitation": {}}))
        assert raised.value.data == {"requiredCapabilities": {"elicitation": {"url": {}}}}
