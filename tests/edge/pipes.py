"""The client's end of a pipe that is served in this process, over a server with a few methods of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY, jsonrpc_message_adapter
from tests.inbox import JsonObject

from wf_mcp.edge.stdio_eras import serve_pipe

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
ENVELOPE: JsonObject = {PROTOCOL_VERSION_META_KEY: MODERN, CLIENT_CAPABILITIES_META_KEY: {}}


class Answers:
    """A middleware that answers `test/…` by itself, and sees everything."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        self.seen.append((ctx.method, ctx.protocol_version))
        match ctx.method:
            case "test/echo":
                return {"echo": (ctx.params or {}).get("say")}
            case "test/ask":
                return await ctx.session.send_raw_request("roots/list", None)
            case "test/progress":
                await ctx.session.report_progress(1, 2, "half")
                return {}
            case "test/defect":
                raise LookupError("a secret of ours")
            case _:
                return await call_next(ctx)


class PipeClient:
    """Writes messages as JSON and reads what comes back."""

    def __init__(self, send: Any, receive: Any, answers: Answers) -> None:
        self._send, self._receive = send, receive
        self.answers = answers

    async def say(self, message: JsonObject) -> None:
        """Send one message."""
        await self._send.send(SessionMessage(jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})))

    async def hear(self) -> JsonObject:
        """The next message."""
        with anyio.fail_after(10):
            message = (await self._receive.receive()).message
        found: JsonObject = message.model_dump(by_alias=True, exclude_unset=True)
        return {key: value for key, value in found.items() if key != "jsonrpc"}

    async def ask(self, number: int | str, method: str, params: JsonObject | None = None) -> JsonObject:
        """One request and what comes next, which is its answer where nothing precedes that."""
        await self.say({"id": number, "method": method, **({} if params is None else {"params": params})})
        return await self.hear()

    async def hello(self, **meta: Any) -> JsonObject:
        """The handshake."""
        params: JsonObject = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
            **meta,
        }
        answer = await self.ask(0, "initialize", params)
        await self.say({"method": "notifications/initialized"})
        return answer

    async def leave(self) -> None:
        """Close our side."""
        await self._send.aclose()


@asynccontextmanager
async def piped() -> AsyncIterator[PipeClient]:
    """A served pipe; on leaving, our side is closed and serving has to end by itself."""
    to_server, server_reads = anyio.create_memory_object_stream[Any](100)
    to_client, client_reads = anyio.create_memory_object_stream[Any](100)
    answers = Answers()
    server: Server[Any] = Server("test", version="1")
    server.middleware.insert(0, answers)
    with anyio.fail_after(20):
        async with client_reads, anyio.create_task_group() as tasks:
            tasks.start_soon(serve_pipe, server, server_reads, to_client, None)
            yield PipeClient(to_server, client_reads, answers)
            await to_server.aclose()
