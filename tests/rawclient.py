"""A client that shows the JSON as it is on the wire, in either era, over stdio or streamable HTTP.

It knows no models: what a server sends is what a test compares.
"""

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.abc
from tests.inbox import Inbox, JsonObject
from tests.rawlinks import HttpLink, StdioLink

Era = Literal["handshake", "modern"]
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol"
ALL_CAPABILITIES: JsonObject = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
}
ANSWERS: dict[str, JsonObject] = {
    "roots/list": {"roots": [{"uri": "file:///raw/root", "name": "raw-root"}]},
    "sampling/createMessage": {"role": "assistant", "model": "raw-model", "content": {"type": "text", "text": "hello"}},
    "elicitation/create": {"action": "accept", "content": {"name": "Raw"}},
    "ping": {},
}


NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"} | dict.fromkeys(
    ("tasks/get", "tasks/update", "tasks/cancel"), "taskId"
)
"""By method: the param that the header `Mcp-Name` repeats."""


class RawError(Exception):
    """A JSON-RPC error, exactly as received."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(json.dumps(error))
        self.error = error
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class RawClient:
    """Requests and answers as JSON. `notes` holds notifications, `asked` the requests of the server."""

    def __init__(self, era: Era, capabilities: JsonObject, name: str) -> None:
        self.era, self.capabilities, self.name = era, capabilities, name
        self.notes, self.asked = Inbox(), Inbox()
        self.hello: JsonObject = {}
        self.answers: dict[str, JsonObject] = dict(ANSWERS)
        self.replies: dict[str, Callable[[JsonObject], Awaitable[JsonObject]]] = {}
        """By method: what makes an answer of the question; it comes before `answers`."""
        self.link: Any = None
        self.extra_headers: dict[str, str] = {}
        """Sent with every modern request over HTTP, such as `mcp-param-region`."""
        self.ids: Iterator[int | str] = itertools.count(1)
        self.last_id: int | str = 0
        self._replies: dict[int | str, tuple[anyio.Event, list[JsonObject]]] = {}
        self._tasks: anyio.abc.TaskGroup | None = None

    @property
    def pid(self) -> int:
        """The process behind a stdio connection."""
        pid: int = self.link.process.pid
        return pid

    async def request(self, method: str, params: JsonObject | None = None, *, seconds: float = 30) -> JsonObject:
        """The result; raises RawError for an error answer, TimeoutError after `seconds`."""
        with anyio.fail_after(seconds):
            return await self._request(method, params)

    async def _request(self, method: str, params: JsonObject | None) -> JsonObject:
        request_id = self.last_id = next(self.ids)
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        params = self._stamped(params)
        if params is not None:
            message["params"] = params
        arrived, box = self._replies[request_id] = (anyio.Event(), [])
        await self.link.send(message, self._headers(method, params))
        await arrived.wait()
        del self._replies[request_id]
        if "error" in box[0]:
            raise RawError(box[0]["error"])
        result: JsonObject = box[0]["result"]
        return result

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """A notification."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        await self.link.send(
            message if params is None else {**message, "params": params}, self._headers(method, params)
        )

    async def cancel(self, request_id: int | str, reason: str) -> None:
        """Cancels a request as era and transport have it: by a notification, or by closing its stream."""
        if self.era == "modern" and isinstance(self.link, HttpLink):
            self.link.hang_up(request_id)
        else:
            await self.notify("notifications/cancelled", {"requestId": request_id, "reason": reason})

    async def call(self, name: str, arguments: JsonObject | None = None, *, seconds: float = 30) -> JsonObject:
        """`tools/call`."""
        params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        return await self.request("tools/call", params, seconds=seconds)

    async def text(self, name: str, arguments: JsonObject | None = None) -> str:
        """The text of a call that answers with one text block."""
        result = await self.call(name, arguments)
        assert [block["type"] for block in result["content"]] == ["text"], result
        text: str = result["content"][0]["text"]
        return text

    async def json(self, name: str, arguments: JsonObject | None = None) -> Any:
        """The text of a call, parsed."""
        return json.loads(await self.text(name, arguments))

    async def read(self, uri: str) -> JsonObject:
        """`resources/read`."""
        return await self.request("resources/read", {"uri": uri})

    async def items(self, method: str, key: str) -> list[JsonObject]:
        """All pages of a list."""
        items: list[JsonObject] = []
        cursor: str | None = None
        while True:
            page = await self.request(method, {} if cursor is None else {"cursor": cursor})
            items += page[key]
            cursor = page.get("nextCursor")
            if cursor is None:
                return items

    async def names(self, kind: str = "tools", *, admin: bool = False) -> list[str]:
        """The names of all tools, prompts or resources; wf-mcp's own tools only with `admin`."""
        names = [item["name"] for item in await self.items(f"{kind}/list", kind)]
        return [name for name in names if admin or not name.startswith(("wf.", "wf_"))]

    def take(self, message: JsonObject) -> None:
        """What the link received: an answer, a question or a notification."""
        if "lost" in message:
            for event, box in self._replies.values():
                box.append({"error": {"code": 0, "message": "the process closed its stdout"}})
                event.set()
        elif "method" not in message:
            event, box = self._replies.get(message.get("id", 0), (anyio.Event(), []))
            box.append(message)
            event.set()
        elif "id" in message:
            self.asked.add(message)
            assert self._tasks is not None
            self._tasks.start_soon(self._reply, message)
        else:
            self.notes.add(message)

    async def _reply(self, message: JsonObject) -> None:
        make = self.replies.get(message["method"])
        known = self.answers.get(message["method"]) if make is None else await make(message)
        body = {"error": {"code": -32601, "message": "Method not found"}} if known is None else {"result": known}
        # A server may end without waiting for the answer; that is its own affair.
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self.link.send({"jsonrpc": "2.0", "id": message["id"], **body}, self._headers("", None))

    def _stamped(self, params: JsonObject | None) -> JsonObject | None:
        """In the modern era every request says who asks."""
        if self.era == "handshake":
            return params
        params = dict(params or {})
        params["_meta"] = {
            f"{META}/protocolVersion": MODERN,
            f"{META}/clientInfo": {"name": self.name, "version": "1.0"},
            f"{META}/clientCapabilities": self.capabilities,
            **params.get("_meta", {}),
        }
        return params

    def _headers(self, method: str, params: JsonObject | None) -> dict[str, str]:
        if self.era == "handshake":
            return (
                {} if method == "initialize" else {"mcp-protocol-version": self.hello.get("protocolVersion", HANDSHAKE)}
            )
        headers = {"mcp-protocol-version": MODERN, "mcp-method": method, **self.extra_headers}
        name = (params or {}).get(NAMED.get(method, ""))
        return headers if name is None else {**headers, "mcp-name": name}

    async def greet(self) -> None:
        """Opens the connection as the era has it."""
        if self.era == "modern":
            self.hello = await self.request("server/discover", {})
            return
        info = {"name": self.name, "version": "1.0"}
        params = {"protocolVersion": HANDSHAKE, "capabilities": self.capabilities, "clientInfo": info}
        self.hello = await self.request("initialize", params)
        await self.notify("notifications/initialized")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Lets the client answer what it is asked."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()


@asynccontextmanager
async def raw_stdio(
    argv: list[str],
    *,
    era: Era = "handshake",
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    log: Path | None = None,
    capabilities: JsonObject | None = None,
    greet: bool = True,
    patience: float = 0.5,
    name: str = "raw-client",
) -> AsyncIterator[RawClient]:
    """A raw client of a process that this starts and, when left, ends (EOF first)."""
    client = RawClient(era, ALL_CAPABILITIES if capabilities is None else capabilities, name)
    link = StdioLink.open(argv, client.take, env=env, cwd=cwd, log=log, patience=patience)
    with unwrapped():
        async with client.running(), link as client.link:
            if greet:
                await client.greet()
            yield client


@asynccontextmanager
async def raw_http(
    url: str,
    *,
    era: Era = "handshake",
    headers: dict[str, str] | None = None,
    capabilities: JsonObject | None = None,
    name: str = "raw-client",
) -> AsyncIterator[RawClient]:
    """A raw client of an endpoint; in the handshake era with an open GET stream."""
    client = RawClient(era, ALL_CAPABILITIES if capabilities is None else capabilities, name)
    with unwrapped():
        async with client.running(), HttpLink.open(url, client.take, headers or {}) as client.link:
            await client.greet()
            if era == "handshake":
                await client.link.listen(client.hello["protocolVersion"])
            yield client


@contextmanager
def unwrapped() -> Iterator[None]:
    """What went wrong in a test is shown as itself, not inside the groups of the task groups around it."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None
