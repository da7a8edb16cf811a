"""The HTTP front without sockets: requests that can freeze and leave, and a scripted server behind the endpoint."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from tests.inbox import eventually

from wf_mcp.core.errors import NULL
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.error_watch import mcp_error
from wf_mcp.edge.http_exchanges import stopping_of
from wf_mcp.edge.http_front import HttpFront
from wf_mcp.edge.http_sessions import HttpLimits
from wf_mcp.edge.http_stream import Pace
from wf_mcp.edge.seams import connection_of, low_level_server, request_channel_of
from wf_mcp.edge.serving import build_server
from wf_mcp.edge.sessionless import SessionlessRules

POST_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
ENVELOPE = {PROTOCOL_VERSION_META_KEY: "2026-07-28", CLIENT_CAPABILITIES_META_KEY: {}}
QUICK = Pace(patience=5.0, comment=5.0, stall=5.0)


@dataclass(frozen=True)
class SentEvent:
    """One event of a stream as it was sent; `id` empty for one without."""

    id: str
    data: Any
    retry: str | None = None


class Hit:
    """One HTTP request and what came back so far. `reads` cleared: the client takes nothing more."""

    def __init__(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        user: str | None = None,
        path: str = "/mcp",
        address: str | None = None,
    ) -> None:
        lines = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self.scope: JsonObject = {"type": "http", "method": method, "path": path, "headers": lines, "query_string": b""}
        if user is not None:
            self.scope["user"] = AuthenticatedUser(AccessToken(token="t", client_id=user, scopes=[]))
        if address is not None:
            self.scope["client"] = (address, 1)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.data = bytearray()
        self.whole = False
        self.done = anyio.Event()
        self.gone = anyio.Event()
        self.reads = anyio.Event()
        self.reads.set()
        self._body: list[bytes] = [body]

    async def receive(self) -> JsonObject:
        if self._body:
            return {"type": "http.request", "body": self._body.pop(0), "more_body": bool(self._body)}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.reads.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.data += message.get("body", b"")
            self.whole = not message.get("more_body", False)

    async def run(self, app: Any) -> None:
        try:
            await app(self.scope, self.receive, self.send)
        finally:
            self.done.set()

    @property
    def json(self) -> Any:
        """The body of a plain answer."""
        assert self.headers["content-type"] == "application/json", self.data
        return json.loads(self.data)

    @property
    def events(self) -> list[SentEvent]:
        """The whole events so far; comments are none."""
        assert self.headers["content-type"] == "text/event-stream"
        found = []
        for block in self.data.decode().split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
            if fields:
                data = fields["data"]
                found.append(SentEvent(fields.get("id", ""), json.loads(data) if data else None, fields.get("retry")))
        return found

    @property
    def messages(self) -> list[Any]:
        """The JSON-RPC messages of a stream so far."""
        return [event.data for event in self.events if event.data is not None]

    async def streams(self) -> "Hit":
        """Waits until the response has begun."""
        await eventually(lambda: self.status)
        return self

    async def message(self, number: int = 0) -> Any:
        """Waits for the message with this number."""
        await self.streams()
        await eventually(lambda: len(self.messages) > number)
        return self.messages[number]

    async def end(self) -> "Hit":
        """Waits until the request is over."""
        with anyio.fail_after(10):
            await self.done.wait()
        return self


class Script:
    """The server behind the endpoint: what each method of a test does."""

    def __init__(self) -> None:
        self.came: list[tuple[str, Any]] = []
        self.contexts: list[Any] = []
        self.go: dict[str, anyio.Event] = defaultdict(anyio.Event)
        self.stopped: list[str] = []
        self.seen: list[Context] = []
        self.connections: dict[str, Any] = {}

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        connection = connection_of(ctx.session)
        self.connections[connection.session_id or ""] = connection
        act = getattr(self, ctx.method.replace("/", "_"), None)
        if not ctx.method.startswith("test/"):
            self.came.append((ctx.method, ctx.params))
            return await call_next(ctx)
        self.contexts.append(ctx)
        assert act is not None
        return await act(ctx, dict(ctx.params or {}))

    async def test_echo(self, ctx: Any, params: JsonObject) -> Any:
        """Back as it came."""
        return {"echo": params, "null": None}

    async def test_look(self, ctx: Any, params: JsonObject) -> Any:
        """Keeps the context variables of the handler."""
        self.seen.append(copy_context())
        return {"session": ctx.request.headers["mcp-session-id"]}

    async def test_wait(self, ctx: Any, params: JsonObject) -> Any:
        """Notes before, as many as wanted, then waits to be let go."""
        tag = str(params["tag"])
        channel = request_channel_of(ctx.session)
        for number in range(params.get("notes", 0)):
            await channel.notify("notifications/test", {"tag": tag, "number": number})
        self.came.append(("waits", tag))
        try:
            await self.go[tag].wait()
        except anyio.get_cancelled_exc_class():
            self.stopped.append(tag)
            raise
        for number in range(params.get("more", 0)):
            await channel.notify("notifications/test", {"tag": tag, "more": number})
        return {"tag": tag}

    async def test_ask(self, ctx: Any, params: JsonObject) -> Any:
        """Asks the client on the request's own stream."""
        return {"answer": await request_channel_of(ctx.session).send_raw_request("client/ask", params)}

    async def test_until_stop(self, ctx: Any, params: JsonObject) -> Any:
        """Goes on until the front stops."""
        await request_channel_of(ctx.session).notify("notifications/test", {"on": True})
        stopping = stopping_of(connection_of(ctx.session))
        assert stopping is not None
        await stopping.wait()
        return {"stopped": True}

    async def test_fail(self, ctx: Any, params: JsonObject) -> Any:
        """Fails in one of several ways."""
        match params["how"]:
            case "defect":
                raise ValueError("secret")
            case "no json":
                return {"value": object()}
            case code:
                raise mcp_error(code, "said", NULL)

    async def test_suspend(self, ctx: Any, params: JsonObject) -> Any:
        """Ends its own stream, and goes on."""
        await ctx.close_sse_stream()
        await self.go["suspend"].wait()
        return {"resumed": True}

    async def waits(self, *tags: str) -> None:
        """Until these calls wait."""
        await eventually(lambda: all(("waits", tag) in self.came for tag in tags))


class Guest:
    """A client of the front."""

    def __init__(self, front: Any, tasks: TaskGroup, user: str | None = None) -> None:
        self.front, self.user, self._tasks = front, user, tasks
        self.session: dict[str, str] = {}

    def hit(self, method: str, headers: Mapping[str, str], body: bytes = b"", **options: Any) -> Hit:
        """Start one request."""
        hit = Hit(method, headers, body, **{"user": self.user, **options})
        self._tasks.start_soon(hit.run, self.front)
        return hit

    def post(self, message: Any, **headers: str) -> Hit:
        """Start one POST within the session; `headers` with `_` for `-`."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.hit("POST", {**POST_HEADERS, **self.session, **more}, body)

    def ask(self, request_id: Any, method: str, params: JsonObject | None = None, **headers: str) -> Hit:
        """Start one request of the protocol."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        return self.post(message if params is None else {**message, "params": params}, **headers)

    def modern(self, method: str, params: JsonObject | None = None, request_id: Any = 1, **headers: str | None) -> Hit:
        """Start one request of 2026-07-28; `headers` with `_` for `-`, those that are None left out."""
        params = params or {}
        meta = {**ENVELOPE, **params.get("_meta", {})}
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**params, "_meta": meta}}
        lines: dict[str, str | None] = {**POST_HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": method}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in lines.items() if value is not None}
        return self.hit("POST", kept, json.dumps(message).encode())

    async def tell(self, method: str, params: JsonObject | None = None) -> Hit:
        """A notification."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        return await self.post(message if params is None else {**message, "params": params}).end()

    def listen(self, last: str | None = None, **headers: str) -> Hit:
        """Start a GET."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        resume = {} if last is None else {"last-event-id": last}
        return self.hit("GET", {"accept": "text/event-stream", **self.session, **resume, **more})

    async def hello(self, version: str = "2025-11-25", **headers: str) -> Hit:
        """The handshake."""
        info = {"name": "guest", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
        hit = await self.ask(0, "initialize", params, **headers).end()
        if "mcp-session-id" in hit.headers:
            self.session = {"mcp-session-id": hit.headers["mcp-session-id"]}
            await self.tell("notifications/initialized")
        return hit


@dataclass
class Place:
    """A running front and what stands behind it."""

    front: HttpFront
    script: Script
    tasks: TaskGroup

    def guest(self, user: str | None = None) -> Guest:
        """One more client."""
        return Guest(self.front, self.tasks, user)


@asynccontextmanager
async def place(
    limits: HttpLimits | None = None, pace: Pace = QUICK, *, stateless: bool = False
) -> AsyncIterator[Place]:
    """A front for the time of the block."""
    server = low_level_server(build_server("1"))
    script = Script()
    server.middleware[:0] = [SessionlessRules(), script]
    front = HttpFront(server, lambda: limits or HttpLimits(), pace, stateless=stateless)
    with anyio.fail_after(30):
        async with front.running(), anyio.create_task_group() as tasks:
            yield Place(front, script, tasks)
            tasks.cancel_scope.cancel()
