from collections.abc import Awaitable

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, JSONRPCError, JSONRPCNotification, JSONRPCResponse
from mcp_types.jsonrpc import ErrorData
from opentelemetry import context, trace

from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.error_watch import ErrorWatch
from wf_mcp.edge.in_flight import InFlight

pytestmark = pytest.mark.anyio

TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331


class Wire:
    """The other end of a hop, and its streams: what was sent is in `sent`, what it is told to `say` comes in."""

    def __init__(self) -> None:
        self.requests = InFlight(ErrorWatch(self), self)
        self.sent: list[SessionMessage] = []
        self.asked = anyio.Event()
        self.broken = False
        self.passed: list[object] = []
        self._coming: list[SessionMessage | None] = []
        self._news = anyio.Event()

    async def receive(self) -> SessionMessage:
        while not self._coming:
            await self._news.wait()
        self._news = anyio.Event()
        item = self._coming.pop(0)
        if item is None:
            raise anyio.EndOfStream
        return item

    async def send(self, item: SessionMessage) -> None:
        if self.broken:
            raise anyio.BrokenResourceError
        self.sent.append(item)
        self.asked.set()

    async def run(self) -> None:
        """Read until the end, as the dispatcher does."""
        self.passed += [item.message async for item in self.requests]

    def say(self, message: JSONRPCResponse | JSONRPCError | JSONRPCNotification) -> None:
        self._come(SessionMessage(message))

    def end(self) -> None:
        self._come(None)

    def _come(self, item: SessionMessage | None) -> None:
        self._coming.append(item)
        self._news.set()

    async def ask(self, answer: JSONRPCResponse | JSONRPCError | None) -> JsonObject | MCPError:
        """What becomes of one request with the id 7; `answer` comes once it was sent, without one the stream ends."""
        async with anyio.create_task_group() as tasks:

            async def other_side() -> None:
                await self.asked.wait()
                self.end() if answer is None else self.say(answer)

            tasks.start_soon(self.run)
            tasks.start_soon(other_side)
            outcome = await ended(self.requests.send(7, "tools/call", {"name": "x"}, {}))
            tasks.cancel_scope.cancel()
        return outcome


def answer(request_id: int | str, **result: object) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=request_id, result=result)


@pytest.mark.parametrize("request_id", [7, "7"])
async def test_the_answer_to_a_request_is_its_result(request_id: int | str) -> None:
    with anyio.fail_after(5):
        assert await Wire().ask(answer(request_id, ok=True)) == {"ok": True}


async def test_an_error_is_raised_as_it_is() -> None:
    error = JSONRPCError(jsonrpc="2.0", id=7, error=ErrorData(code=-32050, message="no", data={"a": 1}))
    raised = await Wire().ask(error)
    assert isinstance(raised, MCPError)
    assert (raised.code, raised.message, raised.data) == (-32050, "no", {"a": 1})


async def test_the_end_of_the_stream_ends_what_waits_and_what_comes_later() -> None:
    wire = Wire()
    assert code_of(await wire.ask(None)) == CONNECTION_CLOSED
    assert code_of(await ended(wire.requests.send(8, "ping", None, {}))) == CONNECTION_CLOSED


async def test_what_cannot_be_written_is_a_closed_connection() -> None:
    wire = Wire()
    wire.broken = True
    assert code_of(await ended(wire.requests.send(1, "ping", None, {}))) == CONNECTION_CLOSED


async def test_a_request_has_only_its_time() -> None:
    wire = Wire()
    assert code_of(await ended(wire.requests.send(1, "ping", None, {}, 0.01))) == REQUEST_TIMEOUT
    wire.say(answer(1))
    wire.end()
    await wire.run()
    assert wire.passed == [answer(1)]  # nobody waits for it any more: the dispatcher drops it


async def test_a_cancelled_request_is_forgotten() -> None:
    wire = Wire()
    with anyio.move_on_after(0.01) as scope:
        await wire.requests.send(1, "ping", None, {})
    assert scope.cancelled_caught
    wire.say(answer(1))
    wire.end()
    await wire.run()
    assert wire.passed == [answer(1)]


async def test_one_that_is_cancelled_already_is_not_sent() -> None:
    wire = Wire()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await wire.requests.send(1, "ping", None, {})
    assert wire.sent == []


async def test_everything_else_is_passed_on() -> None:
    wire = Wire()
    note = JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={})
    nobodys = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=-32700, message="Parse error"))
    for message in (note, answer(99), nobodys):
        wire.say(message)
    wire.end()
    await wire.run()
    assert wire.passed == [note, answer(99), nobodys]


@pytest.mark.parametrize(
    ("params", "sent"),
    [(None, {}), ({}, {}), ({"a": None}, {"params": {"a": None}}), ({"_meta": {}}, {"params": {"_meta": {}}})],
)
async def test_params_are_sent_as_they_are_and_not_where_there_are_none(
    params: JsonObject | None, sent: JsonObject
) -> None:
    assert await written(params) == {"jsonrpc": "2.0", "id": 1, "method": "x", **sent}


async def test_the_trace_of_the_span_goes_with_it() -> None:
    span = trace.NonRecordingSpan(trace.SpanContext(TRACE, SPAN, True, trace.TraceFlags(1)))
    token = context.attach(trace.set_span_in_context(span, context.Context()))
    try:
        found = await written({"name": "a", "_meta": {"traceparent": "the client's", "x": 1}})
    finally:
        context.detach(token)
    meta = {"traceparent": f"00-{TRACE:032x}-{SPAN:016x}-01", "x": 1}
    assert found["params"] == {"name": "a", "_meta": meta}


async def test_without_a_span_the_clients_trace_is_left_alone() -> None:
    meta = {"traceparent": "00-1-2-01"}
    token = context.attach(context.Context())
    try:
        assert (await written({"_meta": meta}))["params"] == {"_meta": meta}
    finally:
        context.detach(token)


async def test_headers_go_with_the_message() -> None:
    wire = Wire()
    with anyio.move_on_after(0.01):
        await wire.requests.send(1, "x", None, {"a": "b"})
    assert wire.sent[0].metadata == ClientMessageMetadata(headers={"a": "b"})


async def written(params: JsonObject | None) -> JsonObject:
    """What one request looks like on the wire."""
    wire = Wire()
    with anyio.move_on_after(0.01):
        await wire.requests.send(1, "x", params, {})
    return wire.sent[0].message.model_dump(by_alias=True, exclude_unset=True)


async def ended(asked: Awaitable[JsonObject]) -> JsonObject | MCPError:
    """What a request comes to: its result, or its error."""
    with anyio.fail_after(5):
        try:
            return await asked
        except MCPError as error:
            return error


def code_of(outcome: JsonObject | MCPError) -> int:
    """The code of the error that a request ended with."""
    assert isinstance(outcome, MCPError)
    return outcome.code
