"""A handshake client over plain HTTP: every header, status and event is the test's own."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from tests.inbox import JsonObject

POST_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@dataclass(frozen=True)
class SentEvent:
    """One event of a stream as it was sent; `data` None for a primer."""

    id: str | None
    data: Any
    retry: str | None = None


def events_of(text: str) -> list[SentEvent]:
    """The whole events in `text`; comments are none."""
    found = []
    for block in text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if fields:
            found.append(SentEvent(fields.get("id"), json.loads(fields["data"] or "null"), fields.get("retry")))
    return found


class HttpGuest:
    """One client and its session."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self.url, self.http = url, http
        self.session: dict[str, str] = {}

    async def send(self, method: str, body: Any = None, **headers: str) -> httpx2.Response:
        """One request, its answer read whole; `headers` with `_` for `-`, an empty one left out."""
        lines = {**(POST_HEADERS if method == "POST" else {"accept": "text/event-stream"}), **self.session}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        return await self.http.request(method, self.url, content=data, headers=lines)

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        """One POST."""
        return await self.send("POST", body, **headers)

    async def ask(self, method: str, params: JsonObject | None = None, request_id: Any = 1, **headers: str) -> Any:
        """The JSON-RPC answer to one request, whether it came plain or as the last event."""
        answer = await self.post(request(method, params, request_id), **headers)
        assert answer.status_code == 200, (answer.status_code, answer.text)
        if answer.headers["content-type"] == "text/event-stream":
            return events_of(answer.text)[-1].data
        return answer.json()

    async def call(self, name: str, arguments: JsonObject | None = None, request_id: Any = 1) -> str:
        """The text that a tool returns."""
        answer = await self.ask("tools/call", {"name": name, "arguments": arguments or {}}, request_id)
        assert answer["id"] == request_id and type(answer["id"]) is type(request_id)
        text: str = answer["result"]["content"][0]["text"]
        return text

    async def converse(
        self, message: JsonObject, answers: dict[str, JsonObject]
    ) -> tuple[list[JsonObject], JsonObject]:
        """One request during which the client answers what it is asked; its notifications and its answer."""
        notes: list[JsonObject] = []
        async with self.stream("POST", message) as stream:
            if stream.response.headers["content-type"] == "application/json":
                return notes, json.loads(await stream.response.aread())
            while (event := await stream.event()) is not None:
                said = event.data
                if said is None:
                    continue
                if "method" not in said:
                    return notes, said
                if "id" in said:
                    await self.post({"jsonrpc": "2.0", "id": said["id"], "result": answers[said["method"]]})
                else:
                    notes.append(said)
        raise AssertionError("the stream ended without an answer")

    async def hello(
        self, version: str = "2025-11-25", capabilities: JsonObject | None = None, **headers: str
    ) -> httpx2.Response:
        """The handshake; what is refused opens nothing."""
        self.session = {}
        info = {"name": "guest", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": info}
        answer = await self.post(request("initialize", params, 0), **headers)
        if "mcp-session-id" in answer.headers:
            self.session = {"mcp-session-id": answer.headers["mcp-session-id"]}
            await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    @asynccontextmanager
    async def stream(self, method: str, body: Any = None, **headers: str) -> AsyncIterator["Stream"]:
        """A request whose events are read one by one; leaving the block drops the connection."""
        lines = {**(POST_HEADERS if method == "POST" else {"accept": "text/event-stream"}), **self.session}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        async with self.http.stream(method, self.url, content=data, headers=lines, timeout=30) as response:
            yield Stream(response)


class Stream:
    """An event stream as it comes."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._text = ""
        self._seen = 0
        self._chunks = response.aiter_bytes()

    async def event(self) -> SentEvent | None:
        """The next event; None when the stream has ended in good order."""
        while len(found := events_of(self._text)) <= self._seen:
            try:
                self._text += (await anext(self._chunks)).decode()
            except StopAsyncIteration:
                return None
        self._seen += 1
        return found[self._seen - 1]


def request(method: str, params: JsonObject | None = None, request_id: Any = 1) -> JsonObject:
    """A JSON-RPC request."""
    message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


@asynccontextmanager
async def http_guest(url: str, **headers: str) -> AsyncIterator[HttpGuest]:
    """A client with connections of its own; it has not said hello."""
    limits = httpx2.Limits(max_connections=100)
    async with httpx2.AsyncClient(timeout=30, limits=limits, headers=headers) as http:
        yield HttpGuest(url, http)


def frozen_get(url: str, session: dict[str, str]) -> socket.socket:
    """A GET stream whose client never reads a byte; close it to end it."""
    host, port = url.removeprefix("http://").split("/")[0].split(":")
    sock = socket.create_connection((host, int(port)), timeout=5)
    lines = {"host": f"{host}:{port}", "accept": "text/event-stream", **session}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    sock.sendall(f"GET /mcp HTTP/1.1\r\n{head}\r\n".encode())
    return sock
