"""A handshake client asked for what a modern upstream wants to know (matrix C.1, C.2, D.3)."""

from typing import Any

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, text, tool
from tests.runtime.stage import config, stage, upstream
from tests.runtime.upstreams import ABLE, DONE, FORM, ROOTS, SAMPLE, URL, asking, client, modern

from wf_mcp.core.errors import NotServed, RelayedError, WfMcpError
from wf_mcp.core.inputs import CannotAsk
from wf_mcp.core.wire import JsonObject

pytestmark = pytest.mark.anyio

ACCEPT: JsonObject = {"action": "accept"}
LINK: JsonObject = {"type": "resource_link", "uri": "demo://r", "name": "r"}
COMPLETE = "notifications/elicitation/complete"


async def test_who_asks_is_told_and_nested_addresses_are_mapped_both_ways() -> None:
    nested = {"role": "user", "content": {"type": "tool_result", "toolUseId": "t", "content": [LINK]}}
    public = {**LINK, "uri": "demo://alpha/r"}
    answer = {"role": "assistant", "content": [{"type": "tool_result", "toolUseId": "t", "content": [public]}]}
    port = TwinClient(elicitation_create=ACCEPT, sampling_createMessage=answer)
    script = (asking(who=FORM, what={"method": "sampling/createMessage", "params": {"messages": [nested]}}), DONE)
    async with stage(modern(*script), Twin("beta")) as s:
        await s.call("alpha.x", client(port))
        retry = s.twin("alpha").of("tools/call")[1].params["inputResponses"]
    asked = dict(port.questions)
    assert asked["elicitation/create"]["message"] == "[alpha] Who?"
    assert asked["sampling/createMessage"]["messages"][0]["content"]["content"] == [public]
    assert retry["what"]["content"][0]["content"] == [LINK]


async def test_an_accepted_visit_has_an_id_of_ours_and_is_told_to_be_complete() -> None:
    """2025-11-25 client/elicitation § URL mode: `elicitationId` is required there, and gone in 2026-07-28."""
    port = TwinClient(elicitation_create=ACCEPT)
    async with stage(modern(asking(go=URL), asking(go=URL), DONE)) as s:
        assert await s.call("alpha.x", client(port)) == text("done")
        retry = s.twin("alpha").of("tools/call")[1].params["inputResponses"]
    ids = [params["elicitationId"] for _, params in port.questions]
    assert port.questions[0][1] == {**URL["params"], "elicitationId": ids[0]}
    assert all(each.startswith("alpha:") and len(each) > 20 for each in ids)
    assert len(set(ids)) == 2
    assert port.heard == [(COMPLETE, {"elicitationId": each}) for each in ids]
    assert retry == {"go": ACCEPT}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_visit_that_was_refused_is_an_answer_and_never_complete(action: str) -> None:
    port = TwinClient(elicitation_create={"action": action})
    async with stage(modern(asking(go=URL), DONE)) as s:
        await s.call("alpha.x", client(port))
        assert s.twin("alpha").of("tools/call")[1].params["inputResponses"] == {"go": {"action": action}}
    assert port.heard == []


async def test_two_questions_are_out_at_once() -> None:
    class Patient(TwinClient):
        async def ask(self, method: str, params: JsonObject, withdrawn: Any = None) -> JsonObject:
            self.questions.append((method, params))
            self.arrivals.add({"method": method})
            await self.arrivals.wait_for(lambda _: len(self.questions) == 2)
            return {"action": "accept", "content": {"asked": len(self.questions)}}

    async with stage(modern(asking(one=FORM, two=FORM), DONE)) as s:
        await s.call("alpha.x", client(Patient()))
        answers = s.twin("alpha").of("tools/call")[1].params["inputResponses"]
    assert list(answers) == ["one", "two"]


async def test_where_one_question_is_refused_the_call_fails_so_and_the_others_are_withdrawn() -> None:
    withdrawn: list[str] = []

    class Refusing(TwinClient):
        async def ask(self, method: str, params: JsonObject, _: Any = None) -> JsonObject:
            if method == "sampling/createMessage":
                raise RelayedError(-1, "User rejected sampling request", {"x": 1})
            try:
                await anyio.sleep_forever()
            finally:
                withdrawn.append(method)
            raise AssertionError

    async with stage(modern(asking(who=FORM, what=SAMPLE), DONE)) as s:
        with pytest.raises(RelayedError) as raised:
            await s.call("alpha.x", client(Refusing()))
        assert len(s.twin("alpha").of("tools/call")) == 1
    error = raised.value
    assert (error.code, error.message, error.data) == (-1, "User rejected sampling request", {"x": 1})
    assert withdrawn == ["elicitation/create"]


def without(name: str, *features: str) -> JsonObject:
    kept = {feature: {} for feature in features}
    return {key: value for key, value in ABLE.items() if key != name} | ({name: kept} if kept else {})


TOOLED: JsonObject = {"method": "sampling/createMessage", "params": {"messages": [], "tools": []}}
LACKING = [
    (without("elicitation"), FORM, "elicitation.form", {"elicitation": {"form": {}}}),
    (without("elicitation", "form"), URL, "elicitation.url", {"elicitation": {"url": {}}}),
    (without("sampling"), SAMPLE, "sampling", {"sampling": {}}),
    (without("sampling", "context"), TOOLED, "sampling.tools", {"sampling": {"tools": {}}}),
    (without("roots"), ROOTS, "roots", {"roots": {}}),
]


@pytest.mark.parametrize(
    ("declared", "request_", "words", "required"), LACKING, ids=[words for _, _, words, _ in LACKING]
)
async def test_a_client_is_not_asked_for_what_it_did_not_declare(
    declared: JsonObject, request_: JsonObject, words: str, required: JsonObject
) -> None:
    port = TwinClient()
    async with stage(modern(asking(k=request_), DONE)) as s:
        result = await s.call("alpha.x", client(port, declared))
        assert result == {
            **text(f"Upstream 'alpha' needs what this client did not declare: {words}"),
            "isError": True,
        }
        with pytest.raises(CannotAsk) as raised:
            await s.ask("resources/read", {"uri": "demo://alpha/r"}, client(port, declared))
    assert (raised.value.code, raised.value.data) == (-32603, {"requiredCapabilities": required})
    assert port.questions == []


async def test_a_caller_that_cannot_be_asked_is_told_what_for() -> None:
    async with stage(modern(asking(who=FORM, where=ROOTS))) as s:
        result = await s.call("alpha.x", client(None))
    said = "Upstream 'alpha' needs what this client cannot be asked for: elicitation.form, roots"
    assert result == {**text(said), "isError": True}


async def test_a_client_whose_connection_carries_no_questions_is_told_why() -> None:
    port = TwinClient(roots_list=NotServed("it has no session"))
    async with stage(modern(asking(where=ROOTS))) as s:
        result = await s.call("alpha.x", client(port))
    said = "Upstream 'alpha' needs what this client cannot be asked for: roots (it has no session)"
    assert result == {**text(said), "isError": True}


async def test_a_question_that_the_specification_does_not_know_is_the_upstreams_fault() -> None:
    port = TwinClient()
    async with stage(modern(asking(k={"method": "ping"}))) as s:
        with pytest.raises(WfMcpError, match="Upstream 'alpha' asks for ping in a result"):
            await s.call("alpha.x", client(port))
    assert port.questions == []


async def test_a_bare_upstreams_tool_asks_under_its_own_ids() -> None:
    """A bare mount has no label that could stand in front of an id."""
    port = TwinClient(elicitation_create=ACCEPT)
    twin = modern(asking(go=URL), DONE, tools=[tool("x")])
    async with stage(twin, config_of=config(upstream("alpha", ""))) as s:
        await s.call("x", client(port))
    assert ":" not in port.questions[0][1]["elicitationId"]


async def test_a_progress_token_of_a_question_stays_behind() -> None:
    """No notification goes to a modern upstream, and a token of another hop could be taken for one of ours."""
    port = TwinClient(roots_list={"roots": []})
    asked = {"method": "roots/list", "params": {"_meta": {"progressToken": 1, "vendor": 2}}}
    async with stage(modern(asking(where=asked), DONE)) as s:
        await s.call("alpha.x", client(port))
    assert port.questions == [("roots/list", {"_meta": {"vendor": 2}})]
