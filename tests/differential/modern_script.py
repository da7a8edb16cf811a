"""The script of 2026-07-28, over every message kind of that era: what a call asks is answered by calling again."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import anyio
from tests.differential.scenarios import (
    CALL_PROGRESS,
    CHANGED,
    LINK,
    TRACE,
    UPDATED,
    arguments,
    completing_all,
    contents,
    failing,
    prompting,
    reading,
    several_at_once,
    structured,
)
from tests.differential.script import HELLO, Run, Step, answer, calling, everything_listed
from tests.differential.stage import Stage
from tests.differential.story import CANCELLED
from tests.differential.tap import Entry, Recording, Tape, tapped, wire_of
from tests.inbox import JsonObject
from tests.rawclient import META
from tests.rig import Front

TASKS = {"io.modelcontextprotocol/tasks": {}}
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
CONTROL = (
    "server/discover",
    "subscriptions/listen",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "skills/list",
)
"""Requests that wf-mcp makes for all its clients: lists are kept and changes heard once (design D4, D5)."""


class ModernRun(Run):
    """Answers what is asked, round by round."""

    async def request(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """A request to its end."""
        result = await super().request(method, params)
        for _ in range(6):
            if result.get("resultType") != "input_required":
                return result
            asked = result.get("inputRequests") or {}
            answers = await self.answers(asked)
            more: JsonObject = {"inputResponses": answers} if asked else {}
            more |= {"requestState": result["requestState"]} if "requestState" in result else {}
            result = await super().request(method, {**(params or {}), **more})
        return result

    async def answers(self, asked: JsonObject) -> JsonObject:
        """The script's answer to each question; a question inside a result has no progress of its own."""
        return {key: await self.client.said(without_token(question)) for key, question in asked.items()}

    @asynccontextmanager
    async def hearing(self, *uris: str, **more: object) -> AsyncIterator[None]:
        """For the time of the block a listen stream for every list and these resources."""
        lists = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        wanted = {**lists, "resourceSubscriptions": [self.uri(uri) for uri in uris], **more}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.client.request, "subscriptions/listen", {"notifications": wanted})
            await self.heard(ACKNOWLEDGED)
            asked = [
                e.message["id"] for e in self.client.tap.now() if e.message.get("method") == "subscriptions/listen"
            ]
            yield
            await self.client.cancel(asked[-1], "heard enough")
            tasks.cancel_scope.cancel()


def without_token(question: JsonObject) -> JsonObject:
    """A question without the progress token in its `_meta`."""
    params = question.get("params") or {}
    meta = {key: value for key, value in (params.get("_meta") or {}).items() if key != "progressToken"}
    return {**question, "params": {**params, "_meta": meta}}


def hearing(*steps: Step, uris: tuple[str, ...] = (), heard: tuple[str, ...] = ()) -> Step:
    """Steps while a stream listens, until it has heard so many of each method."""

    async def step(run: Run) -> None:
        assert isinstance(run, ModernRun)
        async with run.hearing(*uris):
            for each in steps:
                await each(run)
            await run.heard(*heard)

    return step


def asking(*names: str, **arguments: object) -> Step:
    """Tools that ask."""

    async def step(run: Run) -> None:
        for name in names:
            await run.call(name, dict(arguments), token=True)

    return step


async def logs(run: Run) -> None:
    for level in ("error", "debug"):
        await run.call("logs", meta={f"{META}/logLevel": level})
    await run.call("logs")


async def asked_elsewhere(run: Run) -> None:
    await run.prompt("asking")
    await run.read("demo://asking")


async def tasks(run: Run) -> None:
    assert isinstance(run, ModernRun)
    declared = {f"{META}/clientCapabilities": {**HELLO["capabilities"], "extensions": TASKS}}
    made = await run.call("research", {"stages": ["ask_two", "working", "done"]}, meta=declared)
    task: JsonObject = {"taskId": made.get("taskId", "none"), "_meta": declared}
    for _ in range(4):
        found = await run.request("tasks/get", task)
        asked = found.get("inputRequests") or {}
        if asked:
            await run.request("tasks/update", {**task, "inputResponses": await run.answers(asked)})
    other = await run.call("research", {"stages": ["working"]}, meta=declared)
    await run.request("tasks/cancel", {**task, "taskId": other.get("taskId", "none")})
    await run.request("tasks/get", {**task, "taskId": other.get("taskId", "none")})
    await run.request("tasks/get", {**task, "taskId": run.id("task/ü:99")})
    failed = await run.call("research", {"stages": ["fail"]}, meta=declared)
    await run.request("tasks/get", {**task, "taskId": failed.get("taskId", "none")})


async def skills(run: Run) -> None:
    await run.pages("skills/list")
    for name in ("pdf-tools", "notes", "none"):
        uri = run.uri(f"skill://{name}/SKILL.md")
        await run.request("skills/get", {"uri": uri})
        await run.request("resources/read", {"uri": uri})
        await run.request("resources/directory/read", {"uri": run.uri(f"skill://{name}")})


STEPS: dict[str, Step] = {
    "first call": calling("empty"),
    "lists": everything_listed,
    "contents": contents,
    "arguments": arguments,
    "structured content": structured,
    "errors": failing,
    "reads": reading,
    "prompts": prompting,
    "completions": completing_all,
    "progress": CALL_PROGRESS,
    "progress unasked": calling("progress"),
    "logs": logs,
    "envelope": calling("envelope", {}, meta=TRACE),
    "sampling": asking("sample", "sample_plainly"),
    "elicitation": asking("elicit", message="Who? see demo://stays"),
    "elicitation declined": asking("elicit", message="decline"),
    "elicitation by url": asking("elicit_url"),
    "roots": asking("roots"),
    "three in a row": asking("three_in_a_row"),
    "two at once": asking("two_at_once"),
    "state alone": asking("state_only"),
    "no state": asking("stateless_question"),
    "asked elsewhere": asked_elsewhere,
    "tasks": tasks,
    "skills": skills,
    "changes": hearing(calling("change", {"kinds": ["tools", "prompts", "resources"]}), heard=CHANGED, uris=(LINK,)),
    "lists after changes": everything_listed,
    "updates": hearing(
        calling("touch", {"uri": LINK}),
        calling("touch", {"uri": LINK, "as": f"{LINK}/child"}),
        calling("touch", {"uri": "demo://item/2"}),
        uris=(LINK, "urn:isbn:1"),
        heard=(UPDATED, UPDATED),
    ),
    "at once": several_at_once,
}


async def record(stage: Stage, front: Front | None) -> Recording:
    """Plays the script."""
    endpoint, wire = stage.endpoint(front)
    async with tapped(endpoint, HELLO, answer, "modern") as client:
        run = ModernRun(client, None if front is None else "lab.one", wire)
        for name, step in STEPS.items():
            await run.play(name, step)
        return Recording(client.tap.tape, of_calls(wire_of(wire, client.tap).values()), run.label)


def of_calls(tapes: Collection[Tape]) -> Tape:
    """What passed at the upstream's wire for calls: without lists, discovery and listening, which are for everybody."""
    entries: list[Entry] = sorted((entry for tape in tapes for entry in tape.entries), key=lambda entry: entry.t)
    problems = [problem for tape in tapes for problem in tape.problems]
    control = {key_of(entry.message) for entry in entries if entry.message.get("method") in CONTROL}
    kept = [entry for entry in entries if not for_everybody(entry.message, control)]
    return Tape(kept, problems)


def for_everybody(message: JsonObject, control: set[object]) -> bool:
    """Whether a message belongs to one of the requests in `control`."""
    params = message.get("params") or {}
    if message.get("method") == CANCELLED:
        return (type(params.get("requestId")), params.get("requestId")) in control
    heard = f"{META}/subscriptionId" in (params.get("_meta") or {})
    return heard or key_of(message) in control


def key_of(message: JsonObject) -> object:
    """A request's id, and that of its answer; `1` is not `"1"`."""
    return type(message.get("id")), message.get("id")
