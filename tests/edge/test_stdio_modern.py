"""A pipe in the modern era: each request is its own, the client is told things and never asked."""

import logging

import pytest
from tests.edge.pipes import ENVELOPE, MODERN, piped

pytestmark = pytest.mark.anyio


async def test_each_request_says_for_itself_who_asks() -> None:
    async with piped() as client:
        await client.ask(1, "test/echo", {"_meta": ENVELOPE})
        missing = await client.ask(2, "test/echo", {})
        assert (missing["id"], missing["error"]["code"]) == (2, -32602)
        other = await client.ask(
            3, "test/echo", {"_meta": {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "1"}}
        )
        assert other["error"]["code"] == -32022
        assert other["error"]["data"] == {"supported": [MODERN], "requested": "1"}
        assert await client.ask(4, "test/echo", {"say": 4, "_meta": ENVELOPE}) == {"id": 4, "result": {"echo": 4}}


async def test_a_handshake_comes_too_late() -> None:
    async with piped() as client:
        await client.ask(1, "test/echo", {"_meta": ENVELOPE})
        answer = await client.ask(2, "initialize", {"protocolVersion": "2025-11-25"})
        assert answer["error"]["code"] == -32022
        assert answer["error"]["data"] == {"supported": [MODERN], "requested": "2025-11-25"}
        nameless = await client.ask(3, "initialize", {})
        assert nameless["error"]["data"] == {"supported": [MODERN]}


async def test_the_client_cannot_be_asked() -> None:
    async with piped() as client:
        answer = await client.ask(1, "test/ask", {"_meta": ENVELOPE})
        assert (answer["id"], "error" in answer) == (1, True)


async def test_what_belongs_to_a_request_precedes_its_answer() -> None:
    async with piped() as client:
        told = await client.ask(1, "test/progress", {"_meta": {**ENVELOPE, "progressToken": "p"}})
        assert told["method"] == "notifications/progress"
        assert told["params"] == {"progressToken": "p", "progress": 1, "total": 2, "message": "half"}
        assert await client.hear() == {"id": 1, "result": {}}


async def test_a_defect_costs_one_request_and_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    async with piped() as client:
        answer = await client.ask(1, "test/defect", {"_meta": ENVELOPE})
        assert answer == {"id": 1, "error": {"code": -32603, "message": "Internal server error"}}
        assert await client.ask(2, "test/echo", {"say": 2, "_meta": ENVELOPE}) == {"id": 2, "result": {"echo": 2}}


async def test_notifications_are_heard() -> None:
    async with piped() as client:
        await client.ask(1, "test/echo", {"_meta": ENVELOPE})
        await client.say({"method": "notifications/whatever"})
        await client.ask(2, "test/echo", {"_meta": ENVELOPE})
    assert ("notifications/whatever", MODERN) in client.answers.seen
