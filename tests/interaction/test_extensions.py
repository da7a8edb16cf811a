"""The tasks and skills extensions of 2026-07-28 end to end: a modern client, wf-mcp, a modern upstream, each a process
(ext-tasks; ext-skills; matrix B.1).
"""

import json
from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.interaction.test_listen import ACKNOWLEDGED, TASKS, listening
from tests.rawclient import ALL_CAPABILITIES, RawClient, RawError
from tests.rig import FRONTS, Front, Rig

pytestmark = pytest.mark.anyio

EXTENSION: JsonObject = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ABLE: JsonObject = {**ALL_CAPABILITIES, **EXTENSION}
EVERY_FRONT = pytest.mark.parametrize("front", FRONTS)
EVERY_LEG = pytest.mark.parametrize("leg", FRONTS)


async def refused(raw: RawClient, method: str, params: JsonObject) -> tuple[int, str, Any]:
    """Code, message and data of the error that answers a request."""
    with pytest.raises(RawError) as caught:
        await raw.request(method, params)
    return caught.value.code, caught.value.message, caught.value.data


def two_people(rig: Rig) -> tuple[JsonObject, JsonObject]:
    """Configures two tokens; the options of a client for each."""
    tokens = {name: f"token-of-{name}-0123456789abcdef" for name in ("alice", "bob")}
    rig.env |= {f"TOKEN_{name.upper()}": token for name, token in tokens.items()}
    rig.settings["auth"] = {"tokens": {name: f"${{TOKEN_{name.upper()}}}" for name in tokens}}
    alice, bob = ({"headers": {"authorization": f"Bearer {token}"}, "capabilities": ABLE} for token in tokens.values())
    return alice, bob


# -- tasks -----------------------------------------------------------------------------------------------------------


async def driven(raw: RawClient, tool: str) -> list[JsonObject]:
    """Every answer on the way of a task that asks once, by a client that polls."""
    made = await raw.call(tool, {"stages": ["working", "ask", "working", "done"]})
    task = {"taskId": made["taskId"]}
    steps = [made, *[await raw.request("tasks/get", task) for _ in range(2)]]
    (key,) = steps[-1]["inputRequests"]
    steps.append(
        await raw.request("tasks/update", {**task, "inputResponses": {key: raw.answers["elicitation/create"]}})
    )
    return [*steps, *[await raw.request("tasks/get", task) for _ in range(3)]]


@covers(
    "extensions.task",
    "A task from its start over a question to its result: each answer is the upstream's own but for its id and links",
)
@EVERY_FRONT
@EVERY_LEG
async def test_a_task_from_its_start_to_its_result(rig: Rig, front: Front, leg: Front) -> None:
    upstream = rig.full("alpha", "modern", leg)
    async with upstream.direct().raw("modern", capabilities=ABLE) as direct:
        expected = await driven(direct, "research")
    async with rig.serve(front).raw("modern", capabilities=ABLE) as raw:
        assert "io.modelcontextprotocol/tasks" in raw.hello["capabilities"]["extensions"]
        steps = await driven(raw, "alpha.research")
    statuses = ["working", "working", "input_required", None, "working", "completed", "completed"]
    assert [step.get("status") for step in steps] == statuses
    assert {step["taskId"].startswith("alpha:task/") for step in steps if "taskId" in step} == {True}
    ended = steps[-1]["result"]
    assert [block.get("uri") for block in ended["content"]] == [None] * 4 + ["demo://alpha/item/1?q=ä b#f"]
    steps = json.loads(json.dumps(steps).replace("demo://alpha/", "demo://"))
    for step, same in zip(steps, expected, strict=True):
        step["_meta"].pop("io.modelcontextprotocol/serverInfo")
        same["_meta"].pop("io.modelcontextprotocol/serverInfo")
        assert {**step, "taskId": ""} == {**same, "taskId": ""}


@covers(
    "extensions.task-ends", "A task that is cancelled, that fails, or that nobody made, is told as the upstream does"
)
@EVERY_FRONT
async def test_other_ends_of_a_task(rig: Rig, front: Front) -> None:
    rig.full("alpha")
    async with rig.serve(front).raw("modern", capabilities=ABLE) as raw:
        cancelled = {"taskId": (await raw.call("alpha.must_be_task"))["taskId"]}
        assert (await raw.request("tasks/cancel", cancelled))["resultType"] == "complete"
        assert (await raw.request("tasks/get", cancelled))["status"] == "cancelled"
        failed = {"taskId": (await raw.call("alpha.research", {"stages": ["fail"]}))["taskId"]}
        found = await raw.request("tasks/get", failed)
        assert (found["status"], found["error"]) == snapshot(
            ("failed", {"code": -32603, "message": "it failed ü", "data": {"uri": "demo://alpha/item/1", "k": None}})
        )
        assert await refused(raw, "tasks/get", {"taskId": "alpha:task/ü:99"}) == snapshot(
            (-32602, "no such task", {"k": 1})
        )
        assert await refused(raw, "tasks/get", {"taskId": "nobody:1"}) == snapshot(
            (-32602, "Unknown task: nobody:1", None)
        )


@covers("extensions.task-undeclared", "A request about a task that does not declare the extension is -32021")
@EVERY_FRONT
async def test_a_request_that_does_not_declare_the_extension(rig: Rig, front: Front) -> None:
    rig.full("alpha")
    async with rig.serve(front).raw("modern") as raw:
        assert await raw.text("alpha.research") == "researched at once"
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            code, _, data = await refused(raw, method, {"taskId": "alpha:task/ü:0"})
            assert (code, data) == (-32021, {"requiredCapabilities": EXTENSION})


@covers(
    "extensions.task-home",
    "A task is asked about, answered, heard of and cancelled where it was made, whatever else a request declares",
)
@EVERY_LEG
async def test_a_task_is_found_by_requests_with_other_capabilities(rig: Rig, leg: Front) -> None:
    """Over HTTP, modern requests with other capabilities are served by another session, with another process."""
    upstream = rig.full("alpha", "modern", leg)
    front = rig.serve("http")
    async with front.raw("modern", capabilities=ABLE) as maker, front.raw("modern", capabilities=EXTENSION) as other:
        await other.call("alpha.contents")
        made = await maker.call("alpha.research", {"stages": ["ask", "working"]})
        task = {"taskId": made["taskId"]}
        found = await other.request("tasks/get", task)
        assert found["status"] == "input_required"
        answers = dict.fromkeys(found["inputRequests"], maker.answers["elicitation/create"])
        await other.request("tasks/update", {**task, "inputResponses": answers})
        assert (await maker.request("tasks/get", task))["status"] == "working"
        async with listening(other, taskIds=[made["taskId"]]) as stream:
            assert stream.heard == [(ACKNOWLEDGED, {"notifications": {"taskIds": [made["taskId"]]}})]
            local = made["taskId"].removeprefix("alpha:")
            await eventually(
                lambda: [local] in [item["notifications"].get("taskIds") for item in upstream.events("listen")]
            )
            await other.request("tasks/cancel", task)
            told = (await other.notes.wait_for(TASKS))["params"]
            assert (told["taskId"], told["status"]) == (made["taskId"], "cancelled")
        assert (await maker.request("tasks/get", task))["status"] == "cancelled"
    assert len(upstream.pids) == (2 if leg == "stdio" else 1)


@covers("extensions.task-principal", "A task is its principal's: whoever has another token cannot see, hear or end it")
@EVERY_LEG
async def test_a_task_of_another_principal(rig: Rig, leg: Front) -> None:
    upstream = rig.full("alpha", "modern", leg)
    alice, bob = two_people(rig)
    front = rig.serve("http")
    async with front.raw("modern", **alice) as hers, front.raw("modern", **bob) as his:
        await his.call("alpha.contents")  # his own session, and over stdio his own process, is there already
        made = await hers.call("alpha.research", {"stages": ["ask", "working"]})
        task = {"taskId": made["taskId"]}
        (key,) = (await hers.request("tasks/get", task))["inputRequests"]
        answers = {"inputResponses": {key: his.answers["elicitation/create"]}}
        for method, more in (("tasks/get", {}), ("tasks/update", answers), ("tasks/cancel", {})):
            assert await refused(his, method, {**task, **more}) == (-32602, f"Unknown task: {made['taskId']}", None)
        async with (
            listening(his, taskIds=[made["taskId"]], toolsListChanged=True) as deaf,
            listening(hers, taskIds=[made["taskId"]]) as stream,
        ):
            assert deaf.heard == [(ACKNOWLEDGED, {"notifications": {"toolsListChanged": True}})]
            assert stream.heard == [(ACKNOWLEDGED, {"notifications": {"taskIds": [made["taskId"]]}})]
            local = made["taskId"].removeprefix("alpha:")
            await eventually(
                lambda: [local] in [item["notifications"].get("taskIds") for item in upstream.events("listen")]
            )
            await hers.request("tasks/cancel", task)
            await hers.notes.wait_for(TASKS)
            await his.call("alpha.change", {"kinds": ["tools"], "name": "grown"})
            await his.notes.wait_for("notifications/tools/list_changed")
            assert his.notes.of(TASKS) == []
    asked = [item["method"] for item in upstream.events("request") if item["method"].startswith("tasks/")]
    assert asked == ["tasks/get", "tasks/cancel"]


@covers("extensions.task-namesakes", "Tasks to which two processes gave one id are each the one of whoever made it")
async def test_tasks_of_two_principals_under_one_id(rig: Rig) -> None:
    rig.full("alpha")
    alice, bob = two_people(rig)
    front = rig.serve("http")
    async with front.raw("modern", **alice) as hers, front.raw("modern", **bob) as his:
        ids = [(await raw.call("alpha.research", {"stages": ["working"]}))["taskId"] for raw in (hers, his)]
        assert ids == ["alpha:task/ü:0"] * 2
        await hers.request("tasks/cancel", {"taskId": ids[0]})
        states = [(await raw.request("tasks/get", {"taskId": ids[0]}))["status"] for raw in (hers, his)]
        assert states == ["cancelled", "working"]


# -- skills ----------------------------------------------------------------------------------------------------------


@covers(
    "extensions.skills",
    "Skills of all upstreams in one list, each got, read and browsed under its public URI, digests as they were",
)
@EVERY_FRONT
@EVERY_LEG
async def test_skills(rig: Rig, front: Front, leg: Front) -> None:
    rig.full("alpha", "modern", leg)
    rig.full("beta")
    rig.upstream("old")
    async with rig.serve(front).raw("modern") as raw:
        assert "io.modelcontextprotocol/skills" in raw.hello["capabilities"]["extensions"]
        listed = await raw.request("skills/list")
        assert [each["uri"] for each in listed["skills"]] == [
            f"skill://{name}/{skill}/SKILL.md" for name in ("alpha", "beta") for skill in ("pdf-tools", "notes")
        ]
        assert "nextCursor" not in listed
        pdf, notes = listed["skills"][:2]
        assert pdf == snapshot(
            {
                "uri": "skill://alpha/pdf-tools/SKILL.md",
                "frontmatter": {
                    "name": "pdf-tools",
                    "description": "Fill ü PDFs",
                    "metadata": {"uri": "skill://stays"},
                },
                "resources": [
                    {
                        "uri": "skill://alpha/pdf-tools/SKILL.md",
                        "digest": "sha256:4619402f6ae265cf8f863cb2a1c9e5b49423d8aaadc7b538a119fa7b3821a35a",
                        "size": 82,
                        "vendor": None,
                    },
                    {
                        "uri": "skill://alpha/pdf-tools/references/FORMS.md",
                        "digest": "sha256:d460274218ba39fa119d528ce937feae83e5238d34198940813d2218ba02221b",
                        "size": 24,
                        "vendor": None,
                    },
                ],
                "vendor": 1,
            }
        )
        assert notes["resources"] == "dynamic"
        assert (await raw.request("skills/get", {"uri": pdf["uri"]}))["skill"] == pdf
        (read,) = (await raw.read(pdf["resources"][1]["uri"]))["contents"]
        assert (read["uri"], read["text"]) == snapshot(
            ("skill://alpha/pdf-tools/references/FORMS.md", "Forms, see demo://stays\n")
        )
        folder: JsonObject = {"uri": "skill://alpha/notes"}
        first = await raw.request("resources/directory/read", folder)
        second = await raw.request("resources/directory/read", {**folder, "cursor": first["nextCursor"]})
        assert [*first["resources"], *second["resources"]] == snapshot(
            [
                {"uri": "skill://alpha/notes/parts", "name": "parts", "mimeType": "inode/directory"},
                {"uri": "skill://alpha/notes/SKILL.md", "name": "SKILL.md", "mimeType": "text/markdown", "size": 45},
            ]
        )
        assert await refused(raw, "skills/get", {"uri": "skill://alpha/nothing/SKILL.md"}) == snapshot(
            (-32602, "Unknown skill", {"uri": "skill://alpha/nothing/SKILL.md"})
        )
        assert await refused(raw, "resources/directory/read", {"uri": "skill://old/x"}) == snapshot(
            (-32601, "resources/directory/read: upstream 'old' does not offer that", None)
        )


@covers("extensions.skills-none", "Where no upstream has skills, none are promised and the methods are -32601")
@EVERY_FRONT
async def test_no_skills(rig: Rig, front: Front) -> None:
    rig.upstream("old")
    async with rig.serve(front).raw("modern") as raw:
        await raw.names()
        assert "extensions" not in (await raw.request("server/discover"))["capabilities"]
        for method, params in (("skills/list", {}), ("skills/get", {"uri": "skill://old/x"})):
            assert (await refused(raw, method, params))[0] == -32601
