"""Upstreams of 2026-07-28 that ask: rounds run for handshake clients, and passed through for modern ones; their tasks
driven to the end.
"""

from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.rawclient import ANSWERS, Era, RawClient, RawError
from tests.rig import ERAS, FRONTS, Front, Rig, end

pytestmark = pytest.mark.anyio

FORM, MODEL, ROOTS = (ANSWERS[method] for method in ("elicitation/create", "sampling/createMessage", "roots/list"))
COMPLETE = "notifications/elicitation/complete"
UPSTREAMS = pytest.mark.parametrize("kind", FRONTS)
EVERY_FRONT = pytest.mark.parametrize("front", FRONTS)


def answers(result: JsonObject) -> list[JsonObject]:
    """What the upstream was answered."""
    return [each["result"] for each in result["structuredContent"]["answers"]]


def asked(raw: RawClient) -> list[str]:
    """The methods of all questions to the client, in order."""
    return [question["method"] for question in raw.asked]


def answered(result: JsonObject, **params: Any) -> JsonObject:
    """The parameters of the retry that answers everything `result` asks."""
    wanted = result.get("inputRequests", {})
    replies = {key: ANSWERS[each["method"]] for key, each in wanted.items()}
    retry = {**params, "requestState": result["requestState"]}
    return {**retry, "inputResponses": replies} if wanted else retry


def looked_at(rig: Rig) -> set[str]:
    """The tasks of `alpha` that somebody looked at."""
    return {each["params"]["taskId"] for each in rig["alpha"].events("request", method="tasks/get")}


async def to_end(raw: RawClient, name: str) -> tuple[JsonObject, int]:
    """A modern client's call answered until it is done, and how many rounds that took."""
    result = await raw.call(name)
    rounds = 0
    while result["resultType"] == "input_required":
        rounds += 1
        result = await raw.request("tools/call", answered(result, name=name))
    return result, rounds


@covers(
    "eras.rounds",
    "A handshake client is asked what a modern upstream asks in results: forms, URLs, the model, roots",
)
@EVERY_FRONT
@UPSTREAMS
async def test_a_handshake_client_is_asked_by_a_modern_upstream(rig: Rig, front: Front, kind: Front) -> None:
    rig.full("alpha", "modern", kind)
    async with rig.serve(front).raw() as raw:
        assert answers(await raw.call("alpha.elicit")) == [FORM]
        assert answers(await raw.call("alpha.sample")) == [MODEL]
        assert answers(await raw.call("alpha.roots")) == [ROOTS]
        assert answers(await raw.call("alpha.three_in_a_row")) == [FORM, MODEL, ROOTS]
        assert answers(await raw.call("alpha.two_at_once")) == [FORM, MODEL]
        assert answers(await raw.call("alpha.stateless_question")) == [FORM]
        assert (await raw.call("alpha.state_only"))["structuredContent"] == {"rounds": 2}
        questions = asked(raw)
    assert questions[:6] == [
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
    ]
    assert sorted(questions[6:]) == ["elicitation/create", "elicitation/create", "sampling/createMessage"]


@covers("eras.rounds-url", "A URL that a modern upstream asks to open has an id for a handshake client, told when done")
@EVERY_FRONT
async def test_a_url_has_an_id_and_an_end(rig: Rig, front: Front) -> None:
    rig.full("alpha")
    rig.full("beta", "modern", "http")
    async with rig.serve(front).raw() as raw:
        for name in ("alpha", "beta"):
            assert answers(await raw.call(f"{name}.elicit_url")) == [FORM]
        questions = [question["params"] for question in raw.asked]
        told = [note["params"]["elicitationId"] for note in raw.notes.of(COMPLETE)]
    ids = [question.pop("elicitationId") for question in questions]
    assert [each.partition(":")[0] for each in ids] == ["alpha", "beta"]
    assert told == ids
    assert questions[0] == snapshot(
        {
            "mode": "url",
            "message": "[alpha] Open",
            "url": "https://example.org/sign?uri=demo://stays",
            "vendor": 1,
        }
    )


@covers("eras.rounds-refused", "A handshake client's refusal ends a modern upstream's call with that very error")
@EVERY_FRONT
async def test_a_refusal_is_the_end_of_the_call(rig: Rig, front: Front) -> None:
    rig.full("alpha")
    async with rig.serve(front).raw() as raw:
        del raw.answers["sampling/createMessage"]
        with pytest.raises(RawError) as raised:
            await raw.call("alpha.two_at_once")
        raw.answers["elicitation/create"] = {"action": "decline"}
        assert answers(await raw.call("alpha.elicit")) == [{"action": "decline"}]
    assert raised.value.error == {"code": -32601, "message": "Method not found"}


@covers("eras.rounds-lacking", "A handshake client that lacks what a modern upstream needs gets a result that names it")
@EVERY_FRONT
@pytest.mark.parametrize(
    ("tool", "lacks"),
    [
        ("elicit", "elicitation.form"),
        ("elicit_url", "elicitation.url"),
        ("sample", "sampling.tools"),
        ("roots", "roots"),
        ("ask_regardless", "sampling"),
    ],
)
async def test_what_a_client_lacks_is_named(rig: Rig, front: Front, tool: str, lacks: str) -> None:
    rig.full("alpha")
    async with rig.serve(front).raw(capabilities={}) as raw:
        result = await raw.call(f"alpha.{tool}")
        assert asked(raw) == []
    said = result["content"][0]["text"]
    assert result["isError"] is True
    assert said.startswith(f"Upstream 'alpha' needs what this client did not declare: {lacks}")


@covers("eras.rounds-endless", "A modern upstream that asks without end is given up after ten rounds, by name")
async def test_an_endless_upstream_is_given_up(rig: Rig) -> None:
    rig.full("alpha")
    async with rig.serve().raw() as raw:
        with pytest.raises(RawError) as raised:
            await raw.call("alpha.never_done")
        assert answers(await raw.call("alpha.roots")) == [ROOTS]
    assert raised.value.error == snapshot(
        {
            "code": -32603,
            "message": "Upstream 'alpha' asked for input 10 times in one tools/call and was not done; wf-mcp gave up",
        }
    )
    assert len(rig["alpha"].calls("never_done")) == 11


@covers("eras.passed", "A modern client's rounds at a modern upstream pass through, its state whole inside ours")
@EVERY_FRONT
@UPSTREAMS
async def test_rounds_pass_through(rig: Rig, front: Front, kind: Front) -> None:
    rig.full("alpha", "modern", kind)
    async with rig.serve(front).raw("modern") as raw:
        for tool, given, rounds in (
            ("elicit", [FORM], 1),
            ("elicit_url", [FORM], 1),
            ("sample", [MODEL], 1),
            ("three_in_a_row", [FORM, MODEL, ROOTS], 3),
            ("two_at_once", [FORM, MODEL], 1),
            ("stateless_question", [FORM], 1),
        ):
            result, took = await to_end(raw, f"alpha.{tool}")
            assert (answers(result), took) == (given, rounds)
        assert (await to_end(raw, "alpha.state_only"))[0]["structuredContent"] == {"rounds": 2}
        assert asked(raw) == []
    stateless = rig["alpha"].calls("stateless_question")
    assert ["requestState" in params for params in stateless] == [False, False]
    assert all(params["requestState"].startswith("état→") for params in rig["alpha"].calls("elicit")[1:])


@covers("eras.passed-bound", "A state that was changed, or comes with another request, is refused and reaches nobody")
@EVERY_FRONT
async def test_a_state_is_good_for_its_request_only(rig: Rig, front: Front) -> None:
    rig.full("alpha")
    rig.full("beta")
    async with rig.serve(front).raw("modern") as raw:
        result = await raw.request("tools/call", {"name": "alpha.elicit", "arguments": {"message": "a"}})
        good = answered(result, name="alpha.elicit", arguments={"message": "a"})
        state = good["requestState"]
        refused = []
        for change in (
            {"requestState": state[:-4] + "AAAA"},
            {"requestState": "x"},
            {"arguments": {"message": "b"}},
            {"name": "alpha.two_at_once"},
            {"name": "beta.elicit"},
        ):
            with pytest.raises(RawError) as raised:
                await raw.request("tools/call", {**good, **change})
            refused.append((raised.value.code, raised.value.message))
        assert len(rig["alpha"].calls("elicit")) == 1
        assert answers(await raw.request("tools/call", good)) == [FORM]
    assert refused == snapshot(
        [
            (-32602, "this requestState cannot be used: it is not of our making, or was changed"),
            (-32602, "this requestState cannot be used: it is not of our making"),
            (-32602, "this requestState cannot be used: it belongs to a request with other parameters"),
            (-32602, "this requestState cannot be used: it belongs to a request with other parameters"),
            (-32602, "this requestState cannot be used: it belongs to another server's request"),
        ]
    )


@covers("eras.tasks-driven", "A modern upstream's task is driven to its end for a handshake client, questions included")
@EVERY_FRONT
@UPSTREAMS
async def test_a_task_is_driven_to_its_end(rig: Rig, front: Front, kind: Front) -> None:
    rig.full("alpha", "modern", kind)
    stages = ["working", "ask", "working", "ask_two", "done"]
    async with rig.serve(front).raw() as raw:
        params = {"name": "alpha.research", "arguments": {"stages": stages}, "_meta": {"progressToken": "mine"}}
        result = await raw.request("tools/call", params)
        progress = [note["params"] for note in raw.notes.of("notifications/progress")]
        questions = asked(raw)
    assert result["structuredContent"] == {"answers": {"t0 ü": FORM, "t1 ü": FORM, "t2 ü": ROOTS}}
    assert "resultType" not in result
    assert sorted(questions) == ["elicitation/create", "elicitation/create", "roots/list"]
    assert [body["progressToken"] for body in progress] == ["mine"] * len(progress)
    assert [body["progress"] for body in progress] == list(range(1, len(progress) + 1))
    assert len(progress) > 0
    assert len(rig["alpha"].calls("research")) == 1


@covers(
    "eras.tasks-ended", "A modern upstream's task that fails is an error of the call; one that is cancelled ends there"
)
@EVERY_FRONT
async def test_a_task_that_fails_or_is_cancelled(rig: Rig, front: Front) -> None:
    rig.full("alpha")
    async with rig.serve(front).raw() as raw:
        with pytest.raises(RawError) as raised:
            await raw.call("alpha.must_be_task", {"stages": ["fail"]})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raw.call, "alpha.must_be_task", {"stages": ["working"]})
            await eventually(lambda: "task/ü:1" in looked_at(rig))
            await raw.cancel(raw.last_id, "enough")
            await rig["alpha"].saw("request", method="tasks/cancel")
            tasks.cancel_scope.cancel()
    assert raised.value.error == snapshot(
        {"code": -32603, "message": "it failed ü", "data": {"uri": "demo://alpha/item/1", "k": None}}
    )
    cancelled = rig["alpha"].events("request", method="tasks/cancel")
    assert [each["params"]["taskId"] for each in cancelled] == ["task/ü:1"]


@covers("eras.log-level", "A handshake client's log level rides on each request to a modern upstream")
async def test_the_log_level_of_a_session_rides_on_each_request(rig: Rig) -> None:
    rig.full("alpha")
    async with rig.serve().raw() as raw:
        levels = []
        for level in (None, "error", "info"):
            if level is not None:
                await raw.request("logging/setLevel", {"level": level})
            seen = (await raw.call("alpha.envelope"))["structuredContent"]["envelope"]
            levels.append(seen["logLevel"])
    assert levels == ["debug", "error", "info"]
    assert seen["clientInfo"] == {"name": "raw-client", "version": "1.0"}
    assert seen["clientCapabilities"] == {
        "roots": {},
        "sampling": {"tools": {}},
        "elicitation": {"form": {}, "url": {}},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    }


@covers("eras.rounds-sdk", "A client of the framework, in either era, completes what a modern upstream asks")
@EVERY_FRONT
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_the_framework_completes_the_rounds(rig: Rig, front: Front, era: Era) -> None:
    rig.full("alpha", "modern", "http")
    async with rig.serve(front).client(era) as probe:
        for tool, kinds in (
            ("elicit", ["action"]),
            ("roots", ["roots"]),
            ("sample_plainly", ["role"]),
            ("three_in_a_row", ["action", "role", "roots"]),
            ("two_at_once", ["action", "role"]),
        ):
            result = await probe.client.call_tool(f"alpha.{tool}", {})
            given = [each["result"] for each in result.structured_content["answers"]]
            assert [kind in answer for kind, answer in zip(kinds, given, strict=True)] == [True] * len(kinds)


@covers("eras.old-revision", "A client of an older revision is told in text of content blocks that it does not know")
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_of_an_older_revision(rig: Rig, era: Era) -> None:
    rig.full("alpha", era)
    async with rig.serve().raw(greet=False) as raw:
        hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
        assert (await raw.request("initialize", hello))["protocolVersion"] == "2024-11-05"
        await raw.notify("notifications/initialized")
        content = (await raw.call("alpha.contents"))["content"]
    blocks = [block for block in content if isinstance(block, dict)]
    assert {"audio", "resource_link"}.isdisjoint(block["type"] for block in blocks)
    said = [block["text"] for block in blocks if str(block.get("text")).startswith("[")]
    assert said == snapshot(
        [
            "[audio, audio/wav: this client's protocol version cannot receive it]",
            "[resource demo://stays: demo://alpha/item/1?q=ä b#f – see demo://stays]",
            "[resource n: wf://alpha/urn:isbn:1]",
            "[resource n: file:///alpha/a/b]",
            "[resource n: ui://alpha/app/view]",
            "[resource n: https://example.org/page]",
            "[resource n: DEMO://alpha/Upper/%7Ex?a=b&c]",
            "[resource : None]",
        ]
    )


@covers("eras.rounds-own", "Questions of a modern upstream go to the client whose call it is, on a shared session too")
async def test_each_client_is_asked_for_its_own_call(rig: Rig) -> None:
    rig.full("alpha", wf={"isolation": "shared"})
    front = rig.serve("http")
    given: dict[str, list[JsonObject]] = {}

    async def run(raw: RawClient, who: str) -> None:
        raw.answers["elicitation/create"] = {"action": "accept", "content": {"name": who}}
        for _ in range(5):
            given.setdefault(who, []).append(answers(await raw.call("alpha.three_in_a_row"))[0]["content"])

    async with front.raw() as one, front.raw() as other, anyio.create_task_group() as tasks:
        tasks.start_soon(run, one, "one")
        tasks.start_soon(run, other, "other")
    assert given == {who: [{"name": who}] * 5 for who in ("one", "other")}
    assert len(rig["alpha"].pids) == 1


@covers("eras.passed-restart", "A state that passed through wf-mcp is good after wf-mcp was restarted")
@EVERY_FRONT
async def test_a_state_survives_a_restart(rig: Rig, front: Front) -> None:
    rig.full("alpha", "modern", "http")
    async with rig.serve(front).raw("modern") as raw:
        asked_for = await raw.call("alpha.elicit")
    if front == "http":
        end(rig.process)
    async with rig.serve(front).raw("modern") as raw:
        assert answers(await raw.request("tools/call", answered(asked_for, name="alpha.elicit"))) == [FORM]
