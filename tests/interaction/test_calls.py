"""Calls while they run, upstreams that are lost, and what a modern client cannot have yet."""

import json
import os
import signal
from collections.abc import Awaitable, Callable

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.procs import gone
from tests.rawclient import RawClient, RawError
from tests.rig import ERAS, FRONTS, Rig

pytestmark = pytest.mark.anyio
OBJECT = {"type": "object"}


@covers("relay.progress", "Progress of an upstream reaches the caller, in order, before the result")
@pytest.mark.parametrize("front", FRONTS)
async def test_progress_comes_before_the_result(rig: Rig, front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        params = {"name": "alpha.progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "mine"}}
        await raw.request("tools/call", params)
        seen = [note["params"] for note in raw.notes.of("notifications/progress")]
        assert seen == [{"progressToken": "mine", "progress": n, "total": 3} for n in (1, 2, 3)]


@covers("relay.questions", "What an upstream asks in a call reaches the caller, and the answer goes back")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("kind", ["roots", "sampling", "elicitation"])
async def test_questions_of_an_upstream(rig: Rig, front, kind: str) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        answer = await raw.json("alpha.ask", {"kind": kind})
        (asked,) = raw.asked
        assert answer == {"result": raw.answers[asked["method"]]}


@covers("modern.cannot-be-asked", "A question for what a modern client did not declare is -32601 to its upstream")
@pytest.mark.parametrize("capabilities", [{}, {"roots": {}}], ids=["nothing declared", "something else declared"])
async def test_a_modern_client_s_question_is_an_error_not_a_silence(rig: Rig, capabilities) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw("modern", capabilities=capabilities) as raw:
        answer = await raw.json("alpha.ask", {"kind": "sampling"})
    assert answer["error"]["code"] == -32601
    assert "sampling/createMessage" in answer["error"]["message"]


@covers("modern.stamps", "Results for a modern client carry resultType, serverInfo and, on lists, ttlMs and cacheScope")
async def test_modern_results_are_stamped(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw("modern") as raw:
        assert raw.hello["supportedVersions"]
        for result in (raw.hello, await raw.request("tools/list", {}), await raw.call("alpha.echo", {})):
            assert result["resultType"] == "complete"
            assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "wf-mcp"
        listed = await raw.request("tools/list", {})
        assert isinstance(listed["ttlMs"], int) and listed["cacheScope"] in ("public", "private")


@covers("calls.parallel", "Calls to one upstream run side by side; each reply belongs to its own call")
@pytest.mark.parametrize("front", FRONTS)
async def test_ten_calls_at_once_take_the_time_of_one(rig: Rig, front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).client() as probe:
        await probe.text("alpha.who")
        tags = [f"tag-{n}" for n in range(10)]
        answers = await many(probe.text, "alpha.slow", [{"seconds": 1, "tag": tag} for tag in tags], seconds=5)
    assert answers == tags


async def many(
    call: Callable[[str, JsonObject], Awaitable[str]], name: str, arguments: list[JsonObject], *, seconds: float
) -> list[str]:
    """All the calls at once, within `seconds`."""
    answers = [""] * len(arguments)

    async def one(index: int) -> None:
        answers[index] = await call(name, arguments[index])

    with anyio.fail_after(seconds):
        async with anyio.create_task_group() as tasks:
            for index in range(len(arguments)):
                tasks.start_soon(one, index)
    return answers


@covers("calls.cancel", "A client's cancel reaches the upstream with the upstream's own request id")
async def test_a_cancel_is_passed_on(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        await raw.text("alpha.who")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raw.call, "alpha.slow", {"seconds": 50})
            started = await rig["alpha"].saw("slow")
            assert started
            # The request before this one had the id 2 (initialize 1, who 2): slow is 3.
            await raw.notify("notifications/cancelled", {"requestId": 3, "reason": "changed my mind"})
            await rig["alpha"].saw("dropped")
            tasks.cancel_scope.cancel()
    (cancel,) = rig["alpha"].events("notification", method="notifications/cancelled")
    (slow,) = [item for item in rig["alpha"].events("request", method="tools/call") if item["params"]["name"] == "slow"]
    assert cancel["params"]["requestId"] == slow["id"]


@covers("upstream.down", "A call to an upstream that is gone says so with its name and reason, not unknown tool")
@pytest.mark.parametrize("era", ERAS)
async def test_a_lost_upstream_is_not_an_unknown_tool(rig: Rig, era) -> None:
    rig.upstream("alpha", {"prompts": [{"name": "p"}]})
    async with rig.serve().raw(era) as raw:
        await raw.names()
        # From now on the command cannot start any more: its spec is not there.
        os.unlink(rig["alpha"].argv[rig["alpha"].argv.index("--spec") + 1])
        said = str(await failure(raw, "tools/call", {"name": "alpha.die", "arguments": {"code": 3}}))
        assert "alpha" in said
        for method, params in (
            ("tools/call", {"name": "alpha.echo"}),
            ("prompts/get", {"name": "alpha.p"}),
            ("resources/read", {"uri": "demo://alpha/x"}),
        ):
            said = await failure(raw, method, params)
            assert "alpha" in said and "nknown" not in said, said


async def failure(raw: RawClient, method: str, params: JsonObject) -> str:
    """What a request that must not succeed says: as an error, or as a result with isError."""
    try:
        result = await raw.request(method, params, seconds=15)
    except RawError as error:
        return str(error)
    assert result.get("isError") is True, result
    return json.dumps(result["content"])


@covers("upstream.restart", "After an upstream dies, the next calls use a new process; one per death")
async def test_an_upstream_that_died_is_started_again(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        first = (await raw.json("alpha.who"))["pid"]
        os.kill(first, signal.SIGKILL)
        await gone(first)
        pids = set()
        failures = 0
        for _ in range(4):
            try:
                pids.add((await raw.json("alpha.who"))["pid"])
            except (RawError, json.JSONDecodeError):
                failures += 1
    assert failures <= 1
    assert len(pids) == 1 and first not in pids
    assert len(rig["alpha"].pids) == 2


@covers("process.environment", "A child gets a safe base environment and what its entry names, and no secret of ours")
async def test_the_parent_s_environment_does_not_leak(rig: Rig) -> None:
    rig.env |= {"CANARY_SECRET": "canary-1", "AWS_SECRET_ACCESS_KEY": "canary-2", "LANG": "C.UTF-8"}
    rig.upstream("bare")
    rig.upstream("own", env={"A": "1"})
    rig.upstream("named", env={"B": "${CANARY_SECRET}", "PATH": "/usr/bin:/custom"})
    async with rig.serve().raw() as raw:
        bare, own, named = [await raw.json(f"{name}.env") for name in ("bare", "own", "named")]
    for env in (bare, own):
        assert not {"CANARY_SECRET", "AWS_SECRET_ACCESS_KEY"} & env.keys()
        assert env["PATH"] == rig.env["PATH"] and env["LANG"] == "C.UTF-8" and "HOME" in env
    assert own["A"] == "1"
    assert named["B"] == "canary-1" and named["PATH"] == "/usr/bin:/custom" and "CANARY_SECRET" not in named
