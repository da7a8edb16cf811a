"""A client of 2026-07-28 over plain HTTP: every header, envelope and event is the test's own."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from tests.inbox import JsonObject
from tests.rawhttp import POST_HEADERS, Stream, events_of

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def envelope(capabilities: JsonObject | None = None, **more: Any) -> JsonObject:
    """The `_meta` of a request; `more`: `logLevel`, …, which stand under the prefix too."""
    info = {"name": "modern guest", "version": "1"}
    base = {"protocolVersion": VERSION, "clientCapabilities": capabilities or {}, "clientInfo": info}
    return {f"{PREFIX}{key}": value for key, value in (base | more).items()}


def modern(method: str, params: JsonObject | None = None, request_id: Any = 1, **more: Any) -> JsonObject:
    """A request in its envelope; a `_meta` in `params` is kept beside it."""
    params = params or {}
    meta = {**envelope(**more), **params.get("_meta", {})}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**params, "_meta": meta}}


def headers_of(message: JsonObject) -> dict[str, str]:
    """The headers that belong to a request."""
    lines = {**POST_HEADERS, "mcp-protocol-version": VERSION, "mcp-method": message["method"]}
    named = message["params"].get(NAMED.get(message["method"], ""))
    return lines if named is None else {**lines, "mcp-name": named}


class ModernGuest:
    """One client."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self.url, self.http = url, http

    async def post(self, message: JsonObject, **headers: str | None) -> httpx2.Response:
        """One POST, its answer read whole; `headers` with `_` for `-`, those that are None left out."""
        lines = headers_of(message) | {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in lines.items() if value is not None}
        return await self.http.post(self.url, content=json.dumps(message).encode(), headers=kept)

    async def ask(self, method: str, params: JsonObject | None = None, **more: Any) -> Any:
        """The JSON-RPC answer to one request, whether it came plain or as the last event."""
        answer = await self.post(modern(method, params, **more))
        if answer.headers["content-type"] == "text/event-stream":
            return events_of(answer.text)[-1].data
        return answer.json()

    async def call(self, name: str, arguments: JsonObject | None = None) -> str:
        """The text that a tool returns."""
        answer = await self.ask("tools/call", {"name": name, "arguments": arguments or {}})
        text: str = answer["result"]["content"][0]["text"]
        return text

    @asynccontextmanager
    async def stream(self, message: JsonObject) -> AsyncIterator[Stream]:
        """A request whose events are read one by one; leaving the block drops the connection."""
        body = json.dumps(message).encode()
        async with self.http.stream("POST", self.url, content=body, headers=headers_of(message)) as response:
            yield Stream(response)


@asynccontextmanager
async def modern_guest(url: str, **headers: str) -> AsyncIterator[ModernGuest]:
    """A client with connections of its own."""
    async with httpx2.AsyncClient(timeout=30, headers=headers) as http:
        yield ModernGuest(url, http)
