"""What a scripted client does, against a direct connection and through wf-mcp alike, and what it answers.

A step is a function of a `Run`. The steps say the upstream's own names, URIs and ids; the run translates them for a
connection through wf-mcp. Every wait is bounded, and one that is in vain raises nothing: what did not come is then
missing in the recording, and the comparison says so.
"""

import copy
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from tests.differential.compare import public_id, public_name, public_uri
from tests.differential.tap import Entry, Side, TapClient, wire_of
from tests.inbox import JsonObject, eventually
from tests.rawclient import RawError

PATIENCE = 5.0
STEP_SECONDS = 15.0
CLIENT_TASK = "client-task/ü"
TOKENS = ("ü", "", 0, 1, "1", 2**53 - 1)
CAPABILITIES: JsonObject = {
    "roots": {"listChanged": True, "vendor": 1},
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
    "tasks": {"list": {}, "cancel": {}, "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}},
    "experimental": {"vendor": {"n": None}},
    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
}
HELLO: JsonObject = {
    "capabilities": CAPABILITIES,
    "clientInfo": {
        "name": "scripted ü",
        "title": "Scripted",
        "version": "0",
        "description": "",
        "websiteUrl": "https://example.org",
        "icons": [{"src": "data:image/png;base64,aGk=", "vendor": None}],
        "vendor": {"k": None},
    },
}
Step = Callable[["Run"], Awaitable[object]]
LISTS = ("tools", "prompts", "resources", "resources/templates")


class Run:
    """One pass of the script; `label` is `None` for the direct one, `record` the tape at the upstream's wire."""

    def __init__(self, client: TapClient, label: str | None, record: Path) -> None:
        self.client, self.label, self.record = client, label, record
        self.task = ""
        self._tokens = itertools.cycle(TOKENS)

    def token(self) -> Any:
        """Another progress token; each of an awkward type or value."""
        return next(self._tokens)

    def uri(self, uri: str) -> str:
        """A URI as it is written on this connection."""
        return uri if self.label is None else public_uri(self.label, uri)

    def id(self, local: str) -> str:
        """A task's id as it is written on this connection."""
        return local if self.label is None else public_id(self.label, local)

    async def play(self, name: str, step: Step) -> None:
        """One step; what it raises is recorded by what does not happen."""
        self.client.tap.begin(name)
        with anyio.move_on_after(STEP_SECONDS):
            await step(self)

    async def request(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """A request as it stands; an error answer comes back as `{"error": …}`."""
        try:
            return await self.client.request(method, params, seconds=STEP_SECONDS)
        except RawError as error:
            return {"error": error.error}

    async def call(self, name: str, arguments: JsonObject | None = None, **more: Any) -> JsonObject:
        """`tools/call`; `token=True` asks for progress, `meta` goes into `_meta`, the rest into the params."""
        return await self.request("tools/call", self.called(name, arguments, **more))

    def called(self, name: str, arguments: JsonObject | None = None, *, token: bool = False, **more: Any) -> JsonObject:
        """The params of a call."""
        meta: JsonObject = {**more.pop("meta", {}), **({"progressToken": self.token()} if token else {})}
        params: JsonObject = {"name": name if self.label is None else public_name(self.label, name), **more}
        if arguments is not None:
            params["arguments"] = arguments
        return {**params, "_meta": meta} if meta else params

    async def prompt(self, name: str, arguments: JsonObject | None = None) -> JsonObject:
        """`prompts/get`."""
        return await self.request("prompts/get", self.called(name, arguments))

    async def read(self, uri: str, **more: Any) -> JsonObject:
        """`resources/read`."""
        return await self.request("resources/read", {"uri": self.uri(uri), **more})

    async def listed(self, kind: str) -> None:
        """A list with all its pages."""
        await self.pages(f"{kind}/list")

    async def pages(self, method: str) -> None:
        """Follows every cursor."""
        cursor: str | None = None
        for _ in range(50):
            page = await self.request(method, None if cursor is None else {"cursor": cursor})
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    async def heard(self, *methods: str) -> None:
        """Waits for as many notifications of each method, in this step, as it is named here."""
        for method in set(methods):
            await self.client.tap.until(lambda now, m=method: told(now, "client", m) >= methods.count(m), PATIENCE)

    async def arrived(self, method: str, n: int = 1) -> None:
        """Waits until the upstream got a message of this method in this step."""
        step = self.client.tap.step

        def there() -> bool:
            tapes = wire_of(self.record, self.client.tap).values()
            return any(told([e for e in tape.entries if e.step == step], "server", method) >= n for tape in tapes)

        try:
            await eventually(there, PATIENCE)
        except TimeoutError:
            return


def told(entries: list[Entry], toward: Side, method: str) -> int:
    """How many messages of a method went this way."""
    return sum(entry.toward == toward and entry.message.get("method") == method for entry in entries)


# -- the client's answers ------------------------------------------------------------------------


async def answer(client: TapClient, message: JsonObject) -> JsonObject | None:
    """What the scripted client says; it is made from the question alone, URIs in it included."""
    method, params = message["method"], message.get("params") or {}
    if method == "ping":
        return {"result": {}}
    if method == "roots/list":
        roots = [{"uri": "file:///home/ü", "name": "demo://stays", "_meta": {"k": 1}, "vendor": None}]
        return {"result": {"roots": roots, "_meta": {"k": None}}}
    if method == "sampling/createMessage":
        return await sampled(client, params)
    if method == "elicitation/create":
        return await elicited(client, params)
    if method.startswith("tasks/"):
        return hosted(method, params)
    return {"error": {"code": -32601, "message": f"the client knows no {method}", "data": {"k": None}}}


async def sampled(client: TapClient, params: JsonObject) -> JsonObject:
    """A message; with links in it where the question had some; a refusal; or a task."""
    if "task" in params:
        status = {"taskId": CLIENT_TASK, "status": "working", "createdAt": "x", "lastUpdatedAt": "x", "ttl": 1}
        client.soon("notifications/tasks/status", status)
        return {"result": {"task": {**status, "vendor": None}, "_meta": {"k": 1}}}
    if params["messages"][0]["content"].get("text") == "refuse":
        return {"error": {"code": -1, "message": "User rejected", "data": {"uri": "demo://stays"}}}
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        for progress in ({"progress": 0.5, "total": 1, "message": "ü"}, {"progress": 1, "vendor": None}):
            await client.notify("notifications/progress", {"progressToken": token, **progress})
    text = {"type": "text", "text": "hello ü", "annotations": {"priority": 0}, "vendor": 1}
    links = [
        copy.deepcopy(block)
        for asked in params["messages"]
        if isinstance(asked["content"], list)
        for block in asked["content"]
        if block["type"] == "tool_result"
    ]
    content = [text, {"type": "tool_use", "id": "t", "name": "contents", "input": {"a": None}}, *links]
    body = {"role": "assistant", "model": "m", "stopReason": "toolUse", "content": content if links else text}
    return {"result": {**body, "_meta": {"k": None}, "vendor": 1}}


async def elicited(client: TapClient, params: JsonObject) -> JsonObject | None:
    """What the message says: it may have a label in front."""
    said = params.get("message", "")
    if said.endswith("withdraw"):
        await client.notify(
            "notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": 1}
        )
        return None
    if said.endswith("decline"):
        return {"result": {"action": "decline", "vendor": 1}}
    if said.endswith("cancel"):
        return {"result": {"action": "cancel"}}
    if said.endswith("fail"):
        return {"error": {"code": -32603, "message": "", "data": None}}
    if params.get("mode") == "url":
        return {"result": {"action": "accept", "_meta": {"k": 1}}}
    content = {"name": "ü", "kind": "b", "many": ["x", "y"], "n": 2**53 + 1, "ok": False}
    return {"result": {"action": "accept", "content": content, "_meta": {"k": None}, "vendor": 1}}


def hosted(method: str, params: JsonObject) -> JsonObject:
    """The one task that the client hosts."""
    task = {"taskId": CLIENT_TASK, "status": "completed", "createdAt": "x", "lastUpdatedAt": "x", "ttl": 1, "vendor": 1}
    if method == "tasks/list":
        return {"result": {"tasks": [task], "vendor": 1}}
    if params.get("taskId") != CLIENT_TASK:
        return {"error": {"code": -32602, "message": "no such task", "data": {"k": 1}}}
    if method == "tasks/cancel":
        return {"error": {"code": -32602, "message": "already completed"}}
    if method == "tasks/get":
        return {"result": task}
    meta = {"io.modelcontextprotocol/related-task": {"taskId": CLIENT_TASK}}
    content = {"type": "text", "text": "done"}
    return {"result": {"role": "assistant", "model": "m", "content": content, "_meta": meta}}


# -- operations that several scripts use -----------------------------------------------------------


def calling(name: str, arguments: JsonObject | None = None, *heard: str, **more: Any) -> Step:
    """A step that calls a tool and hears something outside the call."""

    async def step(run: Run) -> None:
        await run.call(name, arguments, **more)
        await run.heard(*heard)

    return step


def together(*steps: Step) -> Step:
    """Steps at the same time."""

    async def step(run: Run) -> None:
        async with anyio.create_task_group() as tasks:
            for each in steps:
                tasks.start_soon(each, run)

    return step


def completing(ref: JsonObject, name: str, value: str, **more: Any) -> Step:
    """A step that asks for completions; a `uri` of the reference is the upstream's."""

    async def step(run: Run) -> None:
        here = dict(ref)
        if "uri" in ref:
            here["uri"] = run.uri(ref["uri"])
        elif run.label is not None:
            here["name"] = public_name(run.label, ref["name"])
        await run.request("completion/complete", {"ref": here, "argument": {"name": name, "value": value}, **more})

    return step


async def everything_listed(run: Run) -> None:
    """All four lists."""
    for kind in LISTS:
        await run.listed(kind)
