"""What moves while a call runs and between calls: progress, logs, cancel, changes, tasks."""

import anyio
from tests.inbox import JsonObject, eventually
from tests.matrix.cells import Table
from tests.matrix.features import feature
from tests.matrix.hearing import heard, hearing
from tests.matrix.person import Person
from tests.rawclient import META

PROGRESS, MESSAGE = "notifications/progress", "notifications/message"
TASKS = "io.modelcontextprotocol/tasks"


def of_call(person: Person, method: str, since: int) -> list[JsonObject]:
    """The parameters of what was heard of `method` since then."""
    return [note["params"] for note in person.client.notes.items[since:] if note["method"] == method]


@feature("progress, in order, under the client's token")
async def _progress(table: Table, person: Person) -> None:
    since = len(person.client.notes.items)
    await person.call("progress", progressToken="mine ü")
    told = of_call(person, PROGRESS, since)
    assert [each["progress"] for each in told] == [0, 0.5, 1, 2**53 + 1]
    assert {each["progressToken"] for each in told} == {"mine ü"}
    assert told[2]["vendor"] is None


@feature("log messages, at the level that the client wants")
async def _logs(table: Table, person: Person) -> None:
    if not person.modern:
        await person.client.request("logging/setLevel", {"level": "error"})
    since = len(person.client.notes.items)
    await person.call("logs", **person.log_level("error"))
    levels = [each["level"] for each in of_call(person, MESSAGE, since)]
    assert levels == ["error", "critical", "alert", "emergency", "emergency"]


@feature("log data of any JSON")
async def _log_data(table: Table, person: Person) -> None:
    if not person.modern:
        await person.client.request("logging/setLevel", {"level": "debug"})
    since = len(person.client.notes.items)
    await person.call("logs", **person.log_level("debug"))
    told = of_call(person, MESSAGE, since)
    assert [each["data"] for each in told][:4] == ["text ü", 7, 0.25, None]
    assert told[0]["logger"] == "full.debug"


@feature("no log messages to a modern request that did not ask")
async def _no_logs(table: Table, person: Person) -> None:
    since = len(person.client.notes.items)
    await person.call("logs")
    assert bool(of_call(person, MESSAGE, since)) == (not person.modern)


@feature("cancel reaches the upstream")
async def _cancel(table: Table, person: Person) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_begun, person)
        await _abandon(person)
        tasks.cancel_scope.cancel()
    seen = await eventually(lambda: table.cancelled())
    assert seen


async def _begun(person: Person) -> None:
    await person.call("slow", {"tag": "t"}, **person.log_level("emergency"))


async def _abandon(person: Person) -> None:
    """Cancel the call as the client's era and transport have it."""
    await person.client.notes.wait_for(lambda note: note.get("params", {}).get("data") == "begun t")
    await person.client.cancel(person.client.last_id, "enough")


@feature("list changes by the upstream")
async def _list_changes(table: Table, person: Person) -> None:
    for kind in ("tools", "prompts", "resources"):
        async with hearing(person):
            await person.call("change", {"kinds": [kind], "name": f"grown-{kind}"})
            await heard(person, f"notifications/{kind}/list_changed")
        listed = await person.client.items(f"{kind}/list", kind)
        assert any(each["name"].endswith(f"grown-{kind}") for each in listed)


@feature("updates of a subscribed resource")
async def _updates(table: Table, person: Person) -> None:
    uri = "demo://full/item/2"
    async with hearing(person, uri) as granted:
        assert granted["resourceSubscriptions"] == [uri]
        await person.call("touch", {"uri": "demo://item/2"})
        await heard(person, "notifications/resources/updated", uri)


@feature("updates of a child of a subscribed resource")
async def _children(table: Table, person: Person) -> None:
    async with hearing(person, "demo://full/tree"):
        await person.call("touch", {"uri": "demo://tree", "as": "demo://tree/leaf"})
        await heard(person, "notifications/resources/updated", "demo://full/tree/leaf")


@feature("nothing more after the subscription has ended")
async def _no_more(table: Table, person: Person) -> None:
    async with hearing(person, "demo://full/ended"):
        await person.call("touch", {"uri": "demo://ended"})
        await heard(person, "notifications/resources/updated", "demo://full/ended")
    since = len(person.client.notes.items)
    await person.call("touch", {"uri": "demo://ended"})
    assert of_call(person, "notifications/resources/updated", since) == []


@feature("`ping` and other methods of the other era are refused")
async def _foreign(table: Table, person: Person) -> None:
    foreign = ("ping", "logging/setLevel", "resources/subscribe") if person.modern else ("subscriptions/listen",)
    for method in foreign:
        assert (await person.refusal(method, {})).code == -32601


@feature("a changed `requestState` is refused", hs_hs="no such thing", hs_modern="ours to keep: never at the client")
async def _tampered(table: Table, person: Person) -> None:
    if not person.modern:
        assert "requestState" not in await person.call("elicit")
        return
    params: JsonObject = {"name": "full.elicit", "arguments": {}}
    asked = await person.client.request("tools/call", params)
    state = asked["requestState"]
    changed = {**person.answers(asked), "requestState": ("B" if state[0] == "A" else "A") + state[1:]}
    assert (await person.refusal("tools/call", {**params, **changed})).code == -32602
    other = {"name": "full.elicit", "arguments": {"message": "another"}, **person.answers(asked)}
    assert (await person.refusal("tools/call", other)).code == -32602
    assert "structuredContent" in await person.do("tools/call", {**params, **person.answers(asked)})


@feature(
    "a tool that must run as a task, called plainly",
    hs_hs="-32601, as directly (2025-11-25 basic/utilities/tasks § Tool-Level Negotiation)",
    modern_modern="-32021, as directly (ext-tasks § Capability Negotiation)",
)
async def _driven(table: Table, person: Person) -> None:
    if table.cell.client == table.cell.upstream:
        refused = await person.refusal("tools/call", {"name": "full.must_be_task"})
        assert refused.code == (-32021 if person.modern else -32601)
        return
    result = await person.call("must_be_task")
    assert result["content"]
    assert "task" not in result


@feature(
    "a task that the client asked for",
    hs_modern="tasks of 2025-11-25 are not in 2026-07-28 (changelog): the server decides; driven to its end",
    modern_hs="a 2026-07-28 client cannot ask for one (ext-tasks § Task Creation): driven to its end",
)
async def _task(table: Table, person: Person) -> None:
    params: JsonObject = {"name": "full.research", "arguments": {}}
    if table.cell.eras == "hs→hs":
        made = await person.client.request("tools/call", {**params, "task": {"ttl": 60000}})
        task = made["task"]["taskId"]
        assert task.startswith("full:")
        assert (await person.client.request("tasks/result", {"taskId": task}))["content"]
    elif table.cell.eras == "modern→modern":
        declared = {**person.client.capabilities, "extensions": {TASKS: {}}}
        meta = {f"{META}/clientCapabilities": declared}
        made = await person.client.request("tools/call", {"name": "full.must_be_task", "_meta": meta})
        assert (made["resultType"], made["taskId"][:5]) == ("task", "full:")
        found = await person.client.request("tasks/get", {"taskId": made["taskId"], "_meta": meta})
        assert found["taskId"] == made["taskId"]
    else:
        assert (await person.call("research"))["content"]
