"""One pipe, one era: the client's first request decides, and nothing that came before it is lost."""

import pytest
from tests.edge.pipes import ENVELOPE, HANDSHAKE, MODERN, piped
from tests.inbox import JsonObject

pytestmark = pytest.mark.anyio


async def test_initialize_opens_the_handshake_era() -> None:
    async with piped() as client:
        answer = await client.hello()
        assert (answer["id"], answer["result"]["protocolVersion"]) == (0, HANDSHAKE)
        assert await client.ask(1, "test/echo", {"say": "é"}) == {"id": 1, "result": {"echo": "é"}}
        assert client.answers.seen[-1] == ("test/echo", HANDSHAKE)


async def test_initialize_opens_the_handshake_era_whatever_envelope_it_carries() -> None:
    async with piped() as client:
        answer = await client.hello(_meta=ENVELOPE)
        assert answer["result"]["protocolVersion"] == HANDSHAKE


async def test_an_enveloped_request_opens_the_modern_era() -> None:
    async with piped() as client:
        answer = await client.ask("a", "test/echo", {"say": 1, "_meta": ENVELOPE})
        assert answer == {"id": "a", "result": {"echo": 1}}
        assert client.answers.seen == [("test/echo", MODERN)]


async def test_a_request_without_either_is_served_in_the_handshake_era() -> None:
    async with piped() as client:
        assert await client.ask(1, "test/echo", {"say": 1}) == {"id": 1, "result": {"echo": 1}}
        assert await client.ask(2, "ping") == {"id": 2, "result": {}}


async def test_an_enveloped_request_is_refused_in_the_handshake_era() -> None:
    async with piped() as client:
        await client.hello()
        answer = await client.ask(1, "test/echo", {"_meta": ENVELOPE})
        assert answer["error"]["code"] == -32600
        assert await client.ask(2, "test/echo", {"say": 2}) == {"id": 2, "result": {"echo": 2}}


async def test_what_comes_before_the_first_request_is_served_too_as_far_as_it_is_kept() -> None:
    early: list[JsonObject] = [{"method": f"notifications/{n}"} for n in range(10)]
    async with piped() as client:
        for message in early:
            await client.say(message)
        await client.hello()
        await client.ask(1, "ping")
    told = {method for method, _ in client.answers.seen if method.startswith("notifications/")}
    assert told == {*(f"notifications/{n}" for n in range(8)), "notifications/initialized"}


async def test_requests_that_do_not_wait_for_the_handshake_see_it_done() -> None:
    async with piped() as client:
        params: JsonObject = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        await client.say({"id": 0, "method": "initialize", "params": params})
        await client.say({"id": 1, "method": "test/echo", "params": {"say": 1}})
        assert [(await client.hear())["id"] for _ in range(2)] == [0, 1]
        assert client.answers.seen == [("initialize", HANDSHAKE), ("test/echo", HANDSHAKE)]


async def test_a_client_that_leaves_without_a_request_ends_it() -> None:
    async with piped() as client:
        await client.say({"method": "notifications/initialized"})
        await client.leave()
