"""The other end of a hop, in this process: a scripted upstream that keeps what came, headers and all."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.jsonrpc import ErrorData
from tests.inbox import Inbox as Arrivals
from tests.inbox import JsonObject
from tests.runtime.stage import HELLO, upstream

from wf_mcp.core.envelope import SUBSCRIPTION_ID_META_KEY
from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.trouble import Trouble
from wf_mcp.edge.channels import Channel
from wf_mcp.edge.hop import Hop
from wf_mcp.edge.modern_link import ModernLink
from wf_mcp.runtime.ports import Hello
from wf_mcp.runtime.telemetry import UNWATCHED, Telemetry

Answer = JsonObject | None | Trouble | Callable[[JsonObject], JsonObject | None]
"""A result, nothing at all, trouble on the way, or what makes a result of the request's params; an error is
`{"error": {…}}`.
"""

DISCOVERED: JsonObject = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}},
    "instructions": "be kind",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
}
INITIALIZED: JsonObject = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}
NO_METHOD: JsonObject = {"error": {"code": -32601, "message": "Method not found"}}


class Hearing:
    """The runtime's side: answers questions and keeps what it hears."""

    def __init__(self, answer: JsonObject | WfMcpError | None = None) -> None:
        self.answer = answer or {}
        self.questions: list[tuple[str, Any]] = []
        self.notes = Arrivals()

    async def asked(self, method: str, params: Mapping[str, Any] | None, withdrawn: Any = None) -> JsonObject:
        self.questions.append((method, params))
        if isinstance(self.answer, WfMcpError):
            raise self.answer
        return self.answer

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        self.notes.add({"method": method, "params": params})


class Peer:
    """Answers by method; `came` holds every message as `{"method", "params", "id", "headers"}`."""

    def __init__(self, answers: Mapping[str, Answer], trouble: str | None = None) -> None:
        self.trouble = trouble
        self.answers: dict[str, Answer] = dict(answers)
        self.came = Arrivals()
        self._failures: dict[Any, Trouble] = {}
        self._send, self._read = anyio.create_memory_object_stream[SessionMessage | Exception](100)
        self._write, self._receive = anyio.create_memory_object_stream[SessionMessage](100)

    def channel(self) -> Channel:
        """What a hop is made of."""

        async def ended() -> str:
            return "the peer ended"

        return Channel(
            self._read, self._write, lambda: self.trouble, ended, failure=lambda each: self._failures.pop(each, None)
        )

    async def run(self) -> None:
        """Answers until nobody asks any more."""
        async with self._receive:
            async for item in self._receive:
                message, metadata = item.message, item.metadata
                headers = metadata.headers if isinstance(metadata, ClientMessageMetadata) else None
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self.came.add({"answer": message.model_dump(exclude_unset=True)})
                    continue
                request_id = message.id if isinstance(message, JSONRPCRequest) else None
                seen = {"method": message.method, "params": message.params, "id": request_id, "headers": headers or {}}
                self.came.add(seen)
                if request_id is not None:
                    await self._answer(request_id, message.method, message.params or {})

    async def _answer(self, request_id: Any, method: str, params: JsonObject) -> None:
        found = self.answers.get(method, NO_METHOD)
        if isinstance(found, Trouble):
            self._failures[request_id] = found
            found = {"error": {"code": -32603, "message": found.message}}
        outcome = found(params) if callable(found) else found
        if outcome is not None:
            await self.answer(request_id, outcome)

    async def answer(self, request_id: Any, outcome: JsonObject) -> None:
        """Answers a request, now or later."""
        if "error" in outcome:
            error = ErrorData(**outcome["error"])
            await self._send.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error)))
        else:
            await self._send.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=request_id, result=outcome)))

    async def say(self, method: str, params: JsonObject | None = None, on: Any = None) -> None:
        """A notification; `on`: with this subscription id."""
        if on is not None:
            params = {**(params or {}), "_meta": {**(params or {}).get("_meta", {}), SUBSCRIPTION_ID_META_KEY: on}}
        await self._send.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=method, params=params)))

    async def ask(self, method: str, params: JsonObject | None = None) -> None:
        """A request of the server's."""
        await self._send.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id="q", method=method, params=params)))

    async def listened(self, number: int = 1) -> JsonObject:
        """The listen request number `number`."""
        await self.came.wait_for(lambda _: len(self.came.of("subscriptions/listen")) >= number)
        return self.came.of("subscriptions/listen")[number - 1]

    async def acknowledge(self, number: int = 1, honoured: JsonObject | None = None) -> Any:
        """Acknowledges a listen request, with all that it asked for unless told otherwise; returns its id."""
        asked = await self.listened(number)
        wanted = asked["params"]["notifications"] if honoured is None else honoured
        await self.say("notifications/subscriptions/acknowledged", {"notifications": wanted}, on=asked["id"])
        return asked["id"]

    async def end(self) -> None:
        """Closes the connection."""
        await self._send.aclose()

    def close(self) -> None:
        """Leaves nothing open behind a test."""
        for stream in (self._send, self._read, self._write, self._receive):
            stream.close()


@asynccontextmanager
async def hop_to(
    peer: Peer, inbox: Hearing | None = None, *, telemetry: Telemetry = UNWATCHED, **settings: Any
) -> AsyncIterator[Hop]:
    """A hop that runs for the time of the block."""
    with anyio.fail_after(20):
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(peer.run)
                hop = Hop(upstream("up", **settings), peer.channel(), inbox or Hearing(), telemetry)
                await tasks.start(hop.run)
                yield hop
                tasks.cancel_scope.cancel()
        finally:
            peer.close()


@asynccontextmanager
async def modern_to(
    peer: Peer, inbox: Hearing | None = None, *, hello: Hello = HELLO, http: bool = True, **settings: Any
) -> AsyncIterator[ModernLink]:
    """A discovered link, whose listening runs for the time of the block."""
    async with hop_to(peer, inbox, **settings) as hop, anyio.create_task_group() as tasks:
        link = ModernLink(hop, inbox or Hearing(), hello, http=http)
        await link.discover(2.0)
        tasks.start_soon(link.listening.run)
        yield link
        tasks.cancel_scope.cancel()
