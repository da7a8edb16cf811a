"""A connection that was swallowed without being closed is noticed where pings are configured."""

import anyio
import pytest
from tests.runtime.memory import Twin, TwinLink
from tests.runtime.stage import Ear, running, session_of

from wf_mcp.core.errors import METHOD_NOT_FOUND, RelayedError, UpstreamUnavailable
from wf_mcp.core.events import UpstreamGone
from wf_mcp.core.wire import JsonObject

pytestmark = pytest.mark.anyio


async def test_without_the_setting_nobody_is_pinged() -> None:
    twin = Twin("up")
    async with running(session_of(twin)) as session:
        await session.request("tools/call", {"name": "x"})
        await anyio.wait_all_tasks_blocked()
        assert twin.of("ping") == []


@pytest.mark.parametrize("refuses", [False, True])
async def test_an_upstream_that_answers_is_pinged_again_and_again_and_stays(refuses: bool) -> None:
    twin, ear = Twin("up"), Ear()
    pings: list[None] = []
    often = anyio.Event()

    async def answer(link: TwinLink, params: JsonObject) -> JsonObject:
        pings.append(None)
        if len(pings) == 3:
            often.set()
        if refuses:
            raise RelayedError(METHOD_NOT_FOUND, "Method not found")
        return {}

    twin.answers["ping"] = answer
    async with running(session_of(twin, ear, ping=0.2)):
        with anyio.fail_after(5):
            await often.wait()
        assert len(twin.links) == 1
        assert not any(isinstance(event, UpstreamGone) for event in ear.events)


async def test_an_unanswered_ping_ends_the_connection_and_what_waits_for_it_and_the_next_call_works() -> None:
    twin, ear = Twin("up"), Ear()
    twin.hold("tools/call")
    twin.hold("ping")
    async with running(session_of(twin, ear, ping=0.1)) as session:
        with anyio.fail_after(5), pytest.raises(UpstreamUnavailable, match="was lost while it answered tools/call"):
            await session.request("tools/call", {"name": "x"})
        twin.give("tools/call", {"content": []})
        twin.give("ping", {})
        with anyio.fail_after(5):
            assert await session.request("tools/call", {"name": "x"}) == {"content": []}
    (gone,) = [event for event in ear.events if isinstance(event, UpstreamGone)]
    assert gone.reason == "it did not answer a ping within 0.1 s (setting wf.ping)"


async def test_a_connection_that_is_lost_otherwise_has_its_own_reason() -> None:
    twin, ear = Twin("up"), Ear()
    async with running(session_of(twin, ear, ping=30)) as session:
        assert await session.settled()
        twin.link.lose("it left")
        with anyio.fail_after(5):
            await twin.arrivals.wait_for(lambda item: len(twin.links) == 2)
    assert [event.reason for event in ear.events if isinstance(event, UpstreamGone)] == ["it left"]
