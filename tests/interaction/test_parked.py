"""A modern client's calls at handshake upstreams that ask (matrix D.4): parked, resumed, given up, refused."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest
from tests import servers
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.matrix.person import Person
from tests.rawclient import ALL_CAPABILITIES, ANSWERS, META, RawClient, RawError
from tests.rawmodern import ModernGuest, modern_guest
from tests.rig import FRONTS, Front, Rig, end

pytestmark = pytest.mark.anyio

each_front = pytest.mark.parametrize("front", FRONTS)
CANNOT = "this requestState cannot be used: "
ASKED = {"name": "full.elicit", "arguments": {}}


def answered(result: JsonObject) -> list[JsonObject]:
    """What the upstream's tool was answered."""
    return [each["result"] for each in result["structuredContent"]["answers"]]


def retry(asked: JsonObject, params: JsonObject | None = None) -> JsonObject:
    """The request that answers everything that a result asks."""
    answers = {key: ANSWERS[each["method"]] for key, each in asked["inputRequests"].items()}
    return {**(params or ASKED), "inputResponses": answers, "requestState": asked["requestState"]}


def modern(rig: Rig, front: Front, upstream: Front = "stdio", **parked: Any) -> AbstractAsyncContextManager[RawClient]:
    """A modern client of wf-mcp in front of the handshake upstream that can do everything."""
    rig.full("full", "handshake", upstream)
    if parked:
        rig.settings["parked"] = parked
    return rig.serve(front).raw("modern")


@covers(
    "parked.everything",
    "A modern client lists all 17 tools of the handshake server-everything and completes those that ask",
)
@each_front
async def test_server_everything(rig: Rig, front: Front) -> None:
    rig.command("everything", servers.everything())
    async with rig.serve(front).raw("modern") as client:
        assert len(await client.names()) == 17
        person = Person(client)
        form = await person.do("tools/call", {"name": "everything.trigger-elicitation-request", "arguments": {}})
        assert form["content"][1]["text"] == "User inputs:\n- Name: Raw"
        prompt = {"name": "everything.trigger-sampling-request", "arguments": {"prompt": "x"}}
        assert "raw-model" in (await person.do("tools/call", prompt))["content"][0]["text"]
        roots = await person.do("tools/call", {"name": "everything.get-roots-list", "arguments": {}})
        assert "file:///raw/root" in roots["content"][0]["text"]
        assert {each["method"] for each in person.asked} == set(ANSWERS) - {"ping"}


@covers("parked.several", "A parked call asks three times in a row, or two things at once, and runs once")
@each_front
@pytest.mark.parametrize("upstream", FRONTS)
async def test_several_questions(rig: Rig, front: Front, upstream: Front) -> None:
    form, sampled, roots = (ANSWERS[each] for each in ("elicitation/create", "sampling/createMessage", "roots/list"))
    async with modern(rig, front, upstream) as client:
        person = Person(client)
        assert answered(await person.call("three_in_a_row")) == [form, sampled, roots]
        asked = await client.call("full.two_at_once", {})
        assert [each["method"] for each in asked["inputRequests"].values()] == [
            "elicitation/create",
            "sampling/createMessage",
        ]
        params = {"name": "full.two_at_once", "arguments": {}}
        assert answered(await client.request("tools/call", retry(asked, params))) == [form, sampled]
    assert [len(rig["full"].calls(name)) for name in ("three_in_a_row", "two_at_once")] == [1, 1]


@covers(
    "parked.url", "A URL elicitation reaches a modern client without its elicitationId, and its completion is consumed"
)
async def test_a_url_to_open(rig: Rig) -> None:
    async with modern(rig, "stdio") as client:
        person = Person(client)
        await person.call("elicit_url")
        assert [{key: value for key, value in each["params"].items() if key != "vendor"} for each in person.asked] == [
            {"mode": "url", "message": "Open", "url": "https://example.org/sign?uri=demo://stays"}
        ]
        assert client.notes.of("notifications/elicitation/complete") == []
        wanted = await client.call("full.needs_url")
        assert [(key, each["params"]["url"]) for key, each in wanted["inputRequests"].items()] == [
            ("url-1", "https://example.org/1"),
            ("url-2", "https://example.org/2"),
        ]
        await client.request("tools/call", retry(wanted, {"name": "full.needs_url"}))
    assert len(rig["full"].calls("needs_url")) == 2


@covers("parked.progress", "Progress of a parked call goes on under the retry's own token, and rises")
@each_front
async def test_progress_across_parking(rig: Rig, front: Front) -> None:
    async with modern(rig, front) as client:
        params = {"name": "full.sample", "arguments": {}}
        asked = await client.request("tools/call", {**params, "_meta": {"progressToken": "one"}})
        await client.request("tools/call", {**retry(asked, params), "_meta": {"progressToken": 2}})
        said = [each["params"] for each in client.notes.of("notifications/progress")]
    assert [(each["progressToken"], each["progress"]) for each in said] == [("one", 1), (2, 2)]


@covers("parked.expiry", "A parked call that nobody goes on with is answered and cancelled upstream, and refused then")
@each_front
@pytest.mark.parametrize("upstream", FRONTS)
async def test_an_abandoned_call(rig: Rig, front: Front, upstream: Front) -> None:
    async with modern(rig, front, upstream, expiry=0.5) as client:
        params = {"name": "full.three_in_a_row", "arguments": {}}
        asked = await client.request("tools/call", params)
        cancelled = await rig["full"].saw("notification", method="notifications/cancelled")
        assert cancelled["params"]["reason"] == "the client brought no answer within 0.5 s"
        first = next(each for each in rig["full"].events("response") if each["result"] != {})
        assert first["result"] == {"action": "cancel"}
        with pytest.raises(RawError, match=CANNOT + "it has expired"):
            await client.request("tools/call", retry(asked, params))
    assert len(rig["full"].calls("three_in_a_row")) == 1


@covers("parked.left", "A modern client that closes its request before it is parked cancels the call upstream")
async def test_a_client_that_leaves(rig: Rig) -> None:
    async with modern(rig, "http") as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call, "full.slow", {"tag": "x"})
        await rig["full"].saw("request", method="tools/call")
        await client.cancel(client.last_id, "")
        await rig["full"].saw("notification", method="notifications/cancelled")
        tasks.cancel_scope.cancel()


@covers("parked.logs", "Over HTTP what an upstream logs during a call reaches that call's client among several")
async def test_whose_log_it_is(rig: Rig) -> None:
    asks_for_logs = {f"{META}/logLevel": "emergency"}
    async with modern(rig, "http", "http") as client, anyio.create_task_group() as tasks:
        for tag in ("a", "b"):
            params = {"name": "full.slow", "arguments": {"tag": tag}, "_meta": asks_for_logs}
            tasks.start_soon(client.request, "tools/call", params)
        for tag in ("a", "b"):
            await client.notes.wait_for(lambda note, tag=tag: note.get("params", {}).get("data") == f"begun {tag}")
        assert len(client.notes.of("notifications/message")) == 2
        tasks.cancel_scope.cancel()


def guest(url: str, token: str) -> AbstractAsyncContextManager[ModernGuest]:
    return modern_guest(url, authorization=f"Bearer {token}")


async def ask(guest: ModernGuest, params: JsonObject) -> Any:
    """The JSON-RPC answer to a call by a client that can be asked everything."""
    return await guest.ask("tools/call", params, clientCapabilities=ALL_CAPABILITIES)


async def refused(guest: ModernGuest, params: JsonObject) -> str:
    error = (await ask(guest, params))["error"]
    assert error["code"] == -32602
    message: str = error["message"]
    return message


@covers(
    "parked.state",
    "A requestState that was changed, used before, or is another principal's or request's is -32602, and nothing runs",
)
async def test_states_that_are_not_good(rig: Rig) -> None:
    rig.full("full", "handshake", "stdio")
    tokens = {"alice": "alice-0123456789abcdef", "bob": "bob-0123456789abcdef"}
    rig.settings["auth"] = {"tokens": tokens}
    url = rig.serve("http").url
    assert url is not None
    async with guest(url, tokens["alice"]) as alice, guest(url, tokens["bob"]) as bob:
        asked = (await ask(alice, ASKED))["result"]
        good = retry(asked)
        state = asked["requestState"]
        assert await refused(bob, good) == CANNOT + "it belongs to another client"
        other = await refused(alice, {**good, "arguments": {"message": "x"}})
        assert other == CANNOT + "it belongs to a request with other parameters"
        changed = state[:10] + ("A" if state[10] != "A" else "B") + state[11:]
        for bad in (changed, state + "A", "", "x"):
            assert (await refused(alice, {**good, "requestState": bad})).startswith(CANNOT)
        partial = (await ask(alice, {**good, "inputResponses": {}}))["result"]
        assert partial["inputRequests"] == asked["inputRequests"]
        done = (await ask(alice, good))["result"]
        assert answered(done) == [ANSWERS["elicitation/create"]]
        assert await refused(alice, good) == (
            CANNOT + "the server was restarted or the call expired; it was not run again"
        )
    assert len(rig["full"].calls("elicit")) == 1


@covers("parked.restart", "After a restart a parked call is refused with a reason, and not run again")
async def test_a_restart(rig: Rig) -> None:
    async with modern(rig, "http") as client:
        asked = await client.request("tools/call", ASKED)
    end(rig.process)
    async with rig.serve("http").raw("modern") as client:
        with pytest.raises(RawError) as raised:
            await client.request("tools/call", retry(asked))
    gone = "the server was restarted or the call expired; it was not run again"
    assert (raised.value.code, raised.value.message) == (-32602, CANNOT + gone)
    assert len(rig["full"].calls("elicit")) == 1


@covers(
    "parked.attribution", "Over HTTP the response stream says whose call a question belongs to, however many there are"
)
async def test_whose_question_it_is(rig: Rig) -> None:
    names = [f"guest {number}" for number in range(12)]
    asked: dict[str, JsonObject] = {}
    async with modern(rig, "http", "http") as client:

        async def one(name: str) -> None:
            params = {"name": "full.elicit", "arguments": {"message": name}}
            result = await client.request("tools/call", params)
            asked[name] = result
            await eventually(lambda: len(asked) == len(names))
            (key, question), *more = result["inputRequests"].items()
            assert (question["params"]["message"], more) == (name, [])
            mine = {"action": "accept", "content": {"name": name}}
            again = {**params, "inputResponses": {key: mine}, "requestState": result["requestState"]}
            assert answered(await client.request("tools/call", again)) == [mine]

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(one, name)
    assert len(rig["full"].calls("elicit")) == len(names)


@covers("parked.spares", "Over stdio, while a call waits for its user, other clients' calls get a session of their own")
async def test_questions_of_several_clients_over_stdio(rig: Rig) -> None:
    names = [f"guest {number}" for number in range(3)]
    async with modern(rig, "http", "stdio") as client:
        asked = {name: await client.call("full.elicit", {"message": name}) for name in names}
        assert [[q["params"]["message"] for q in asked[name]["inputRequests"].values()] for name in names] == [
            [name] for name in names
        ]
        for name in reversed(names):
            params = {"name": "full.elicit", "arguments": {"message": name}}
            await client.request("tools/call", retry(asked[name], params))
        assert (await client.call("full.seen"))["resultType"] == "complete"
    assert len(rig["full"].pids) == len(names)
    assert len(rig["full"].calls("elicit")) == len(names)


@covers("parked.at-once", "One client's calls that ask at once over stdio all complete, each with its own answer")
async def test_several_calls_of_one_client_at_once(rig: Rig) -> None:
    names = [f"call {number}" for number in range(8)]
    async with modern(rig, "stdio", "stdio") as client:

        async def complete(params: JsonObject) -> JsonObject:
            """Whichever result has a question, its answer reaches the call that asked."""
            result = await client.request("tools/call", params)
            while result["resultType"] == "input_required":
                answers = {
                    key: {"action": "accept", "content": {"name": each["params"]["message"].removeprefix("[full] ")}}
                    for key, each in result["inputRequests"].items()
                }
                again = {**params, "inputResponses": answers, "requestState": result["requestState"]}
                result = await client.request("tools/call", again)
            return result

        async def one(name: str) -> None:
            result = await complete({"name": "full.elicit", "arguments": {"message": name}})
            assert answered(result) == [{"action": "accept", "content": {"name": name}}]

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(one, name)
                tasks.start_soon(complete, {"name": "full.seen", "arguments": {}})
    assert len(rig["full"].calls("elicit")) == len(names)
    assert len(rig["full"].pids) == 1
