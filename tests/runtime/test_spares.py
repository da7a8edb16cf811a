"""Sessions beside a shared one, while a call there waits for its user (matrix D.4 item 8)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.inbox import eventually
from tests.runtime.clock import VirtualClock
from tests.runtime.guests import ACCEPT, FORM, KEY, answered, guest
from tests.runtime.memory import Twin, TwinClient, TwinLink, text, tool
from tests.runtime.stage import Stage, config, stage, upstream

from wf_mcp.core.config import HttpTransport
from wf_mcp.core.kinds import TOOLS
from wf_mcp.core.seal import Sealer
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.bridge import Bridge
from wf_mcp.runtime.dispatch import Dispatch
from wf_mcp.runtime.parking import Parking
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.resolve import Route
from wf_mcp.runtime.spares import IDLE, SPARES, Spares

pytestmark = pytest.mark.anyio


async def script(link: TwinLink, params: JsonObject) -> JsonObject:
    if not params["arguments"].get("ask"):
        return text(f"ran on link {link.twin.links.index(link)}")
    return answered(await link.ask("elicitation/create", FORM))


class Beside:
    """The runtime with parking and spare sessions over one upstream."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.clock = stage, VirtualClock()
        self.spares = Spares(stage.mounts, self.clock)
        parking = Parking(Sealer(KEY), stage.mounts.spawn, clock=self.clock, spares=self.spares)
        stage.dispatch = Dispatch(stage.resolver, lambda: (), stage.plugins.report, Bridge(Sealer(KEY), parking))

    async def call(self, who: Caller | None = None, **params: Any) -> JsonObject:
        return await self.stage.call("alpha.x", who or guest(), **{"arguments": {}, **params})

    async def ask(self, who: Caller | None = None) -> JsonObject:
        """A call that is parked; returns the retry that ends it."""
        asked = await self.call(who, arguments={"ask": 1})
        answers = dict.fromkeys(asked["inputRequests"], ACCEPT)
        return {"arguments": {"ask": 1}, "inputResponses": answers, "requestState": asked["requestState"]}

    @property
    def keys(self) -> list[str]:
        return list(self.stage.mounts["alpha"].sessions)

    async def route(self, who: Caller) -> Route:
        return await self.stage.resolver.name(who, TOOLS, "alpha.x")


@asynccontextmanager
async def beside(**settings: Any) -> AsyncIterator[Beside]:
    twin = Twin("alpha", tools=[tool("x")], answers={"tools/call": script})
    async with stage(twin, config_of=config(upstream("alpha", **settings))) as s:
        yield Beside(s)


async def test_while_a_call_waits_for_its_user_others_get_a_session_of_their_own_until_nobody_uses_it() -> None:
    async with beside() as b:
        assert await b.call() == text("ran on link 0")
        retry = await b.ask()
        assert await b.call() == text("ran on link 1")
        assert await b.call() == text("ran on link 1")
        assert b.keys == ["all", "spare 1 all"]
        assert await b.call(**retry) == answered(ACCEPT)
        assert await b.call() == text("ran on link 0")
        await b.clock.advance(IDLE - 1)
        assert b.keys == ["all", "spare 1 all"]
        await b.clock.advance(1)
        await eventually(lambda: b.keys == ["all"])


async def test_one_that_is_used_again_stays_open() -> None:
    async with beside() as b:
        await b.ask()
        await b.call()
        await b.clock.advance(IDLE - 1)
        await b.call()
        await b.clock.advance(2)
        assert b.keys == ["all", "spare 1 all"]
        await b.clock.advance(IDLE)
        await eventually(lambda: b.keys == ["all"])


async def test_each_call_that_waits_has_a_session_up_to_a_limit() -> None:
    async with beside() as b:
        retries = [await b.ask() for _ in range(SPARES + 2)]
        assert b.keys == ["all", *(f"spare {number} all" for number in range(1, SPARES + 1))]
        for retry in retries:
            assert await b.call(**retry) == answered(ACCEPT)


@pytest.mark.parametrize(
    "settings",
    [{"isolation": "shared"}, {"transport": HttpTransport("http://x.test/mcp")}],
    ids=["shared by choice", "HTTP, which tells"],
)
async def test_where_a_session_is_shared_by_choice_or_tells_whose_call_it_is_there_are_none(settings: Any) -> None:
    async with beside(**settings) as b:
        await b.ask()
        assert await b.call() == text("ran on link 0")
        assert b.keys == ["all"]


async def test_the_same_client_goes_on_with_its_own_session() -> None:
    async with beside() as b:
        me = guest()
        await b.ask(me)
        assert await b.call(me) == text("ran on link 0")
        assert isinstance(me.port, TwinClient)


async def test_what_was_not_lent_is_not_taken_back() -> None:
    async with beside() as b:
        await b.call()
        b.spares.give_back(await b.route(guest()))
        await b.clock.advance(2 * IDLE)
        assert b.keys == ["all"]
