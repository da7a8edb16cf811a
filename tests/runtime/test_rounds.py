"""Multi-round-trip requests run for a handshake client (2026-07-28 basic/patterns/mrtr; matrix A.3, D.3)."""

import anyio
import pytest
from tests.runtime.memory import TwinClient, prompt, text
from tests.runtime.stage import stage
from tests.runtime.upstreams import DONE, FORM, ROOTS, SAMPLE, URL, asking, client, modern

from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime import rounds

pytestmark = pytest.mark.anyio

ACCEPT: JsonObject = {"action": "accept", "content": {"name": "anna"}}
STATE = "exact \u00e9 state=="


async def test_the_clients_answers_go_back_under_their_keys_with_the_exact_state() -> None:
    port = TwinClient(elicitation_create=ACCEPT, roots_list={"roots": []})
    async with stage(modern(asking(STATE, who=FORM, where=ROOTS), DONE)) as s:
        assert await s.call("alpha.x", client(port), arguments={"a": 1}) == text("done")
        first, second = s.twin("alpha").of("tools/call")
    assert first.params == {"name": "x", "arguments": {"a": 1}}
    assert second.params == {
        "name": "x",
        "arguments": {"a": 1},
        "requestState": STATE,
        "inputResponses": {"who": ACCEPT, "where": {"roots": []}},
    }
    assert sorted(method for method, _ in port.questions) == ["elicitation/create", "roots/list"]


async def test_a_retry_has_no_state_where_none_was_given_and_only_the_last_answers() -> None:
    port = TwinClient(elicitation_create=ACCEPT, sampling_createMessage={"role": "assistant", "content": {}})
    script = (asking("one", a=FORM), asking(b=SAMPLE), asking("three", c=FORM), DONE)
    async with stage(modern(*script)) as s:
        assert await s.call("alpha.x", client(port)) == text("done")
        sent = [request.params for request in s.twin("alpha").of("tools/call")]
    assert sent == [
        {"name": "x"},
        {"name": "x", "requestState": "one", "inputResponses": {"a": ACCEPT}},
        {"name": "x", "inputResponses": {"b": {"role": "assistant", "content": {}}}},
        {"name": "x", "requestState": "three", "inputResponses": {"c": ACCEPT}},
    ]


@pytest.mark.parametrize(
    ("method", "params"), [("prompts/get", {"name": "alpha.p"}), ("resources/read", {"uri": "demo://alpha/r"})]
)
async def test_prompts_and_resources_ask_too(method: str, params: JsonObject) -> None:
    port = TwinClient(elicitation_create=ACCEPT)
    async with stage(modern(asking(who=FORM), DONE, prompts=[prompt("p")])) as s:
        assert await s.ask(method, params, client(port)) == text("done")
        assert len(s.twin("alpha").of(method)) == 2


async def test_a_state_alone_is_brought_back_after_pauses_that_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def noted(seconds: float) -> None:
        pauses.append(seconds)

    async with stage(modern(*[asking(f"s{n}") for n in range(5)], DONE)) as s:
        await s.ready(client())
        monkeypatch.setattr(rounds.anyio, "sleep", noted)
        assert await s.call("alpha.x", client(TwinClient())) == text("done")
        states = [request.params.get("requestState") for request in s.twin("alpha").of("tools/call")]
    assert states == [None, "s0", "s1", "s2", "s3", "s4"]
    assert pauses == [0.05, 0.1, 0.2, 0.25, 0.25]


async def test_an_upstream_that_never_comes_to_an_end_is_given_up_by_name() -> None:
    port = TwinClient(elicitation_create=ACCEPT)
    async with stage(modern(asking(who=FORM))) as s:
        with pytest.raises(WfMcpError, match="'alpha' asked for input 10 times in one tools/call") as raised:
            await s.call("alpha.x", client(port))
        assert len(s.twin("alpha").of("tools/call")) == 11
    assert raised.value.code == -32603
    assert len(port.questions) == 11


@pytest.mark.parametrize("result", [asking(), {"resultType": "input_required", "inputRequests": {"a": 1}}], ids=repr)
async def test_an_upstream_that_asks_for_nothing_is_named(result: JsonObject) -> None:
    async with stage(modern(result)) as s:
        with pytest.raises(WfMcpError, match="Upstream 'alpha' needs input for tools/call and does not say which"):
            await s.call("alpha.x", client(TwinClient()))


async def test_progress_of_every_round_comes_under_the_clients_token() -> None:
    port = TwinClient(elicitation_create=ACCEPT)
    async with stage(modern(asking(who=FORM), DONE)) as s:
        await s.call("alpha.x", client(port), _meta={"progressToken": "mine"})
        tokens = [request.params["_meta"]["progressToken"] for request in s.twin("alpha").of("tools/call")]
    assert tokens == [1, 2]


async def test_a_call_that_is_cancelled_while_its_client_is_asked_is_not_sent_again() -> None:
    class Silent(TwinClient):
        async def ask(self, method: str, params: JsonObject, withdrawn: object = None) -> JsonObject:
            self.arrivals.add({"method": method})
            await anyio.sleep_forever()
            raise AssertionError

    port = Silent()
    async with stage(modern(asking(who=URL), DONE)) as s, anyio.create_task_group() as tasks:
        tasks.start_soon(s.call, "alpha.x", client(port))
        await port.hears("elicitation/create")
        tasks.cancel_scope.cancel()
    assert len(s.twin("alpha").of("tools/call")) == 1
