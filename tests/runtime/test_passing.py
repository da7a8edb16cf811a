"""A modern client's multi-round-trip request at a modern upstream (2026-07-28 basic/patterns/mrtr)."""

from dataclasses import dataclass, field

import pytest
from tests.runtime.memory import Twin
from tests.runtime.stage import Stage, stage
from tests.runtime.upstreams import DONE, FORM, ROOTS, SAMPLE, asking, modern, modern_client

from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.passing import LIFETIME
from wf_mcp.core.seal import Sealer
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.dispatch import TARGET
from wf_mcp.runtime.passing import PassThrough
from wf_mcp.runtime.resolve import Route

pytestmark = pytest.mark.anyio

STATE = "exact \u00e9 state=="
LINK: JsonObject = {"type": "resource_link", "uri": "demo://r", "name": "r"}
PUBLIC: JsonObject = {**LINK, "uri": "demo://alpha/r"}


@dataclass
class Clock:
    """Seconds since 1970, as a test wants them."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Way:
    """One way through, to the tool `x` of the upstream `alpha` of a stage."""

    stage: Stage
    clock: Clock = field(default_factory=Clock)
    key: bytes = bytes(32)

    async def call(
        self, params: JsonObject | None = None, method: str = "tools/call", principal: str | None = None
    ) -> JsonObject:
        """The call, or its retry with `params`."""
        await self.stage.ready(modern_client())
        route = Route(self.stage.mounts["alpha"], self.stage.session("alpha"), "x")
        way = PassThrough(Sealer(self.key), self.clock)
        onward = {TARGET[method]: "x", **(params or {})}
        return await way.call(modern_client(principal=principal), route, method, "alpha.x", onward)


def last(twin: Twin) -> JsonObject:
    return twin.requests[-1].params


async def test_questions_pass_mapped_and_answers_come_back_with_the_exact_state() -> None:
    message = {"role": "user", "content": {"type": "tool_result", "toolUseId": "t", "content": [LINK]}}
    sample = {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 9}}
    answer = {"role": "assistant", "content": {"type": "tool_result", "toolUseId": "t", "content": [PUBLIC]}}
    async with stage(modern(asking(STATE, who=FORM, what=sample, where=ROOTS), DONE), Twin("beta")) as s:
        asked = await s.call("alpha.x", modern_client(), arguments={"a": 1})
        answers = {"who": {"action": "decline"}, "what": answer, "where": {"roots": [{"uri": "file:///alpha/r"}]}}
        retry = {"arguments": {"a": 1}, "requestState": asked["requestState"], "inputResponses": answers}
        done = await s.call("alpha.x", modern_client(), **retry)
        sent = last(s.twin("alpha"))
    assert asked["requestState"] != STATE
    assert asked["inputRequests"]["who"]["params"]["message"] == "[alpha] Who?"
    assert asked["inputRequests"]["what"]["params"]["messages"][0]["content"]["content"] == [PUBLIC]
    assert asked["inputRequests"]["where"] == ROOTS
    assert done == DONE
    assert sent == {
        "name": "x",
        "arguments": {"a": 1},
        "requestState": STATE,
        "inputResponses": {
            **answers,
            "what": {"role": "assistant", "content": {"type": "tool_result", "toolUseId": "t", "content": [LINK]}},
        },
    }


async def test_an_upstream_without_a_state_gets_none_back() -> None:
    async with stage(modern(asking(who=FORM), DONE)) as s:
        way = Way(s)
        asked = await way.call()
        await way.call({"requestState": asked["requestState"], "inputResponses": {"who": {}}})
        assert last(s.twin("alpha")) == {"name": "x", "inputResponses": {"who": {}}}


async def test_a_state_alone_may_be_brought_back_at_once() -> None:
    async with stage(modern(asking("wait"), DONE)) as s:
        asked = await s.call("alpha.x", modern_client())
        assert "inputRequests" not in asked
        assert await s.call("alpha.x", modern_client(), requestState=asked["requestState"]) == DONE
        assert last(s.twin("alpha")) == {"name": "x", "requestState": "wait"}


async def test_a_request_may_ask_again_and_again() -> None:
    async with stage(modern(asking("1", a=FORM), asking("2", b=SAMPLE), asking("3", c=ROOTS), DONE)) as s:
        way = Way(s)
        result = await way.call()
        for key in ("a", "b", "c"):
            assert list(result["inputRequests"]) == [key]
            result = await way.call({"requestState": result["requestState"], "inputResponses": {key: {}}})
        states = [request.params.get("requestState") for request in s.twin("alpha").of("tools/call")]
    assert result == DONE
    assert states == [None, "1", "2", "3"]


async def test_answers_without_a_state_go_on_as_they_would_at_the_upstream_itself() -> None:
    answer = {"role": "assistant", "content": PUBLIC}
    async with stage(modern(DONE)) as s:
        assert await Way(s).call({"inputResponses": {"what": answer, "who": {"action": "accept"}}}) == DONE
        sent = last(s.twin("alpha"))["inputResponses"]
    assert sent == {"what": {"role": "assistant", "content": LINK}, "who": {"action": "accept"}}


async def test_a_state_is_good_after_a_restart_under_the_same_key_only() -> None:
    async with stage(modern(asking(STATE, who=FORM), DONE)) as s:
        asked = await Way(s).call()
        retry = {"requestState": asked["requestState"], "inputResponses": {}}
        with pytest.raises(InvalidParams, match="not of our making"):
            await Way(s, key=bytes(31) + b"x").call(retry)
        assert await Way(s).call(retry) == DONE


@pytest.mark.parametrize("state", ["", "x", STATE, None, 3, {}], ids=repr)
async def test_a_state_that_is_none_of_ours_is_refused(state: object) -> None:
    async with stage(modern(DONE)) as s:
        with pytest.raises(InvalidParams, match="this requestState cannot be used: it is n") as raised:
            await Way(s).call({"requestState": state})
        assert s.twin("alpha").of("tools/call") == []
    assert raised.value.code == -32602


async def test_a_state_is_refused_for_anything_but_its_own_request() -> None:
    async with stage(modern(asking(STATE, who=FORM), DONE)) as s:
        way = Way(s)
        state = {"requestState": (await way.call({"arguments": {"a": 1}}, principal="anna"))["requestState"]}
        good = {**state, "arguments": {"a": 1}}
        tampered = {**good, "requestState": good["requestState"][:-2] + "AA"}
        for params, method, principal, why in (
            (tampered, "tools/call", "anna", "not of our making"),
            ({**state, "arguments": {"a": 2}}, "tools/call", "anna", "other parameters"),
            (good, "prompts/get", "anna", "belongs to a tools/call request"),
            (good, "tools/call", "bob", "another client"),
            (good, "tools/call", None, "another client"),
        ):
            with pytest.raises(InvalidParams, match=why):
                await way.call(params, method, principal)
        way.clock.seconds += LIFETIME + 1
        with pytest.raises(InvalidParams, match="it has expired"):
            await way.call(good, principal="anna")
        way.clock.seconds -= 2
        assert await way.call(good, principal="anna") == DONE
        assert [len(s.twin("alpha").of(method)) for method in ("tools/call", "prompts/get")] == [2, 0]


async def test_a_name_that_leads_elsewhere_now_does_not_take_the_state_along() -> None:
    async with stage(modern(asking(STATE, who=FORM), DONE), Twin("beta", era="modern")) as s:
        asked = await Way(s).call()
        other = Route(s.mounts["beta"], s.session("beta"), "x")
        with pytest.raises(InvalidParams, match="another server's request"):
            await PassThrough(Sealer(bytes(32)), Clock()).call(
                modern_client(),
                other,
                "tools/call",
                "beta.x",
                {"name": "x", "requestState": asked["requestState"]},
            )
