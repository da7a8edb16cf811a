"""Whose session is whose: several handshake clients of the HTTP front with the same upstreams at once."""

import json
import random
from contextlib import AsyncExitStack

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.procs import gone
from tests.rawclient import ALL_CAPABILITIES, HANDSHAKE, RawClient
from tests.rig import FRONTS, Front, Rig

pytestmark = pytest.mark.anyio

PROGRESS, MESSAGE, CHANGED = "notifications/progress", "notifications/message", "notifications/tools/list_changed"
ROUNDS = 20


def answering(name: str) -> dict[str, JsonObject]:
    """Answers that say whose they are."""
    return {
        "roots/list": {"roots": [{"uri": f"file:///{name}", "name": name}]},
        "sampling/createMessage": {"role": "assistant", "model": name, "content": {"type": "text", "text": name}},
        "elicitation/create": {"action": "accept", "content": {"name": name}},
    }


def equal_ids(chance: random.Random) -> list[int | str]:
    """Ids for one client's requests after `initialize`, of every kind, none twice."""
    pool: list[int | str] = [1, "1", "", 0, "0", -5, 2**53 + 1, "x" * 200, "ü→", *range(100, 100 + ROUNDS)]
    chance.shuffle(pool)
    return pool


async def one_round(raw: RawClient, name: str, token: int | str, steps: int, tag: str) -> None:
    """One call that does everything; whatever belongs to it came here, in order, and nothing of anybody else's."""
    for arrivals in (raw.notes, raw.asked):
        arrivals.items.clear()
    params = {
        "name": "alpha.busy",
        "arguments": {"tag": tag, "steps": steps},
        "_meta": {"progressToken": token},
    }
    result = json.loads((await raw.request("tools/call", params))["content"][0]["text"])
    kinds = ("elicitation/create", "roots/list", "sampling/createMessage")
    answers = answering(name)
    assert result == {"tag": tag, "answers": [{"result": answers[kinds[step % 3]]} for step in range(steps)]}
    heard = raw.notes.of(PROGRESS)
    assert [note["params"] for note in heard] == [
        {"progressToken": token, "progress": step + 1, "message": tag} for step in range(steps)
    ]
    assert all(type(note["params"]["progressToken"]) is type(token) for note in heard)
    assert [note["params"]["data"] for note in raw.notes.of(MESSAGE)] == [tag] * steps
    assert [(item["method"], item["params"]["_meta"]["tag"]) for item in raw.asked] == [
        (kinds[step % 3], tag) for step in range(steps)
    ]


@covers(
    "sessions.equal-ids",
    "Clients with equal request ids and progress tokens, all at once: each answer, question, value at its own client",
)
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_nothing_of_one_client_reaches_another(rig: Rig, kind: str) -> None:
    (rig.upstream if kind == "stdio" else rig.http_upstream)("alpha")
    front = rig.serve("http")
    async with front.raw(name="one") as one, front.raw(name="other") as other:
        for raw in (one, other):
            await raw.text("alpha.who")
            raw.answers |= answering(raw.name)
        chance = random.Random(3)
        ids = equal_ids(chance)
        for raw in (one, other):
            raw.ids = iter(ids)
        for number in range(ROUNDS):
            token = chance.choice([1, "1", "", 2**53 + 1, 0])
            with anyio.fail_after(30):
                async with anyio.create_task_group() as tasks:
                    for raw in (one, other):
                        tag = f"{raw.name} {number}"
                        tasks.start_soon(one_round, raw, raw.name, token, chance.randint(1, 6), tag)


@covers(
    "sessions.shared-progress",
    "On a shared session each client gets its own progress; while two have calls in flight, nobody is asked",
)
async def test_on_a_shared_session_nobody_is_asked_while_it_could_be_two(rig: Rig) -> None:
    rig.upstream("alpha", wf={"isolation": "shared"})
    front = rig.serve("http")
    async with front.raw(name="one") as one, front.raw(name="other") as other:
        for raw in (one, other):
            await raw.text("alpha.who")
        assert "result" in await one.json("alpha.ask", {"kind": "roots"})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.call, "alpha.slow", {"seconds": 3, "tag": "in flight"})
            await rig["alpha"].saw("slow")
            params = {"name": "alpha.progress", "arguments": {"steps": 5}, "_meta": {"progressToken": 1}}
            await other.request("tools/call", params)
            answer = await other.json("alpha.ask", {"kind": "sampling"})
        assert "none of them is asked" in answer["error"]["message"]
        assert (len(other.notes.of(PROGRESS)), one.notes.of(PROGRESS)) == (5, [])
        assert (other.asked.items, len(one.asked.items)) == ([], 1)


@covers("sessions.state", "What a client leaves at an upstream is seen by nobody else, unless the config says `shared`")
@pytest.mark.parametrize(("isolation", "seen"), [("client", None), ("shared", "mine")])
async def test_state_is_not_shared(rig: Rig, isolation: str, seen: str | None) -> None:
    rig.upstream("alpha", wf={"isolation": isolation})
    front = rig.serve("http")
    async with front.raw() as one, front.raw() as other:
        assert await one.json("alpha.remember", {"value": "mine"}) is None
        assert await other.json("alpha.remember", {"value": "theirs"}) == seen
        assert await one.json("alpha.remember") == ("mine" if isolation == "client" else "theirs")
    assert len(rig["alpha"].pids) == (3 if isolation == "client" else 1)  # one of the three lists for both


@covers("sessions.principal", "With `isolation: principal` the clients of one token share a session")
async def test_clients_of_one_principal_share(rig: Rig) -> None:
    rig.upstream("alpha", wf={"isolation": "principal"})
    rig.with_token()
    rig.env["WF_TEST_OTHER"] = "token-of-another-0123456789abcdef"
    rig.settings["auth"]["tokens"]["another"] = "${WF_TEST_OTHER}"
    front = rig.serve("http")
    stranger = {"authorization": f"Bearer {rig.env['WF_TEST_OTHER']}"}
    async with front.raw() as one, front.raw() as again, front.raw(headers=stranger) as other:
        assert await one.json("alpha.remember", {"value": "ours"}) is None
        assert await again.json("alpha.remember", {"value": "ours still"}) == "ours"
        assert await other.json("alpha.remember") is None
    assert len(rig["alpha"].pids) == 2


UNUSUAL: JsonObject = {
    **ALL_CAPABILITIES,
    "experimental": {"vendor/x": {"a": None}},
    "tasks": {"list": {}},
    "x-future": {"b": []},
}


@covers("sessions.identity", "An upstream sees each client's exact name and capabilities, unknown fields included")
@pytest.mark.parametrize("front", FRONTS)
async def test_an_upstream_sees_who_is_there(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    rig.upstream("proxy", wf={"identity": "proxy"})
    endpoint = rig.serve(front)
    async with endpoint.raw(name="claude-code", capabilities=UNUSUAL) as one, endpoint.raw(capabilities={}) as other:
        for raw in (one, other):
            for name in ("alpha", "proxy"):
                await raw.text(f"{name}.who")
    opened = [item["params"] for item in rig["alpha"].events("request", method="initialize")]
    ours = [each for each in opened if each["clientInfo"]["name"] == "wf-mcp"]
    seen = [each for each in opened if each not in ours]
    # Over HTTP what lists for all who declare the same is wf-mcp's own session, and declares it too.
    assert [each["capabilities"] for each in ours] == ([] if front == "stdio" else [UNUSUAL, {}])
    assert seen == [
        {"protocolVersion": HANDSHAKE, "capabilities": capabilities, "clientInfo": {"name": name, "version": "1.0"}}
        for name, capabilities in (("claude-code", UNUSUAL), ("raw-client", {}))
    ]
    hidden = [item["params"] for item in rig["proxy"].events("request", method="initialize")]
    assert {each["clientInfo"]["name"] for each in hidden} == {"wf-mcp"}
    each_way = 1 if front == "stdio" else 2
    assert [sum(one["capabilities"] == way for one in hidden) for way in (UNUSUAL, {})] == [each_way] * 2


@covers("sessions.opened-once", "Requests of one client that come at once open one session with each upstream")
@pytest.mark.parametrize("front", FRONTS)
async def test_one_session_for_one_client(rig: Rig, front: Front) -> None:
    for name in ("alpha", "beta"):
        rig.upstream(name, None, wf={"start": "lazy"})
    async with rig.serve(front).raw() as raw, anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(raw.text, f"{('alpha', 'beta')[number % 2]}.who")
    sessions = 1 if front == "stdio" else 2  # over HTTP the lists have one of their own
    assert [len(rig[name].pids) for name in ("alpha", "beta")] == [sessions] * 2


@covers("sessions.end", "When a client's session ends, the upstream processes that it alone used end, and no others")
async def test_a_session_ends_with_its_client(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.upstream("team", wf={"isolation": "shared"})
    front = rig.serve("http")
    async with front.raw() as one, front.raw() as other:
        mine, theirs = [(await raw.json("alpha.who"))["pid"] for raw in (one, other)]
        shared = (await one.json("team.who"))["pid"]
        assert await one.link.delete() == 200
        await gone(mine)
        assert (await other.json("alpha.who"))["pid"] == theirs
        assert (await other.json("team.who"))["pid"] == shared
    assert (len(rig["alpha"].pids), len(rig["team"].pids)) == (3, 1)


@covers("sessions.quiet-listener", "A client that only connected hears a change that another client caused, once")
@pytest.mark.parametrize("isolation", ["client", "shared"])
async def test_a_client_that_only_connected_hears_changes(rig: Rig, isolation: str) -> None:
    rig.http_upstream("alpha", wf={"isolation": isolation})
    front = rig.serve("http")
    async with front.raw() as quiet, front.raw() as busy:
        await eventually(lambda: len(rig["alpha"].events("http", verb="GET")) == 1)
        await busy.text("alpha.grow")
        await quiet.notes.wait_for(CHANGED)
        assert "alpha.grown" in await quiet.names()
        assert len(quiet.notes.of(CHANGED)) == 1


@covers("sessions.control", "Many idle HTTP clients with equal capabilities: one session with each upstream, no other")
async def test_idle_clients_share_one_session_for_lists(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.http_upstream("beta")
    front = rig.serve("http")
    async with AsyncExitStack() as clients:
        listed = []
        for _ in range(50):
            raw = await clients.enter_async_context(front.raw())
            listed.append(await raw.names())
        assert all(each == listed[0] for each in listed)
        assert len(rig["alpha"].pids) == 1
        assert len(rig["beta"].events("request", method="initialize")) == 1


@covers("sessions.own-changes", "A change in one client's own session is told to that client alone")
async def test_a_change_of_ones_own_is_not_told_to_others(rig: Rig) -> None:
    rig.upstream("alpha")
    front = rig.serve("http")
    async with front.raw() as one, front.raw() as other:
        for raw in (one, other):
            await raw.names()
        await one.text("alpha.grow", {"name": "mine"})
        await one.notes.wait_for(CHANGED)
        await other.text("alpha.grow", {"name": "theirs", "kinds": ["prompts"]})
        await other.notes.wait_for("notifications/prompts/list_changed")
        assert other.notes.of(CHANGED) == []
        assert ("alpha.mine" in await one.names(), "alpha.mine" in await other.names()) == (True, False)
