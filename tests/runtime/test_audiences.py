"""Who is attended: as whom each audience sees the lists, and the sessions that it is given (design D4)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient
from tests.runtime.stage import HELLO, IDENTITY, Stage, caller, config, stage, upstream, visitor

from wf_mcp.core.config_values import Isolation
from wf_mcp.runtime.audience import Audience, alone
from wf_mcp.runtime.audiences import Audiences
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.ports import Hello

pytestmark = pytest.mark.anyio

TEAM = Audience("team", "team", "all")
ONE, OTHER = visitor(TwinClient("one")), visitor(TwinClient("other"))
PASSING = caller(TEAM)


@dataclass
class Door:
    """Audiences over the pool of a stage, and its one mount."""

    audiences: Audiences
    mount: Mount
    stage: Stage

    def links(self) -> list[Hello]:
        return [link.hello for link in self.stage.twin("alpha").links]


@asynccontextmanager
async def door(isolation: Isolation = "client") -> AsyncIterator[Door]:
    async with stage(Twin("alpha"), config_of=config(upstream("alpha", isolation=isolation))) as s:
        yield Door(Audiences(s.mounts.pool), s.mounts["alpha"], s)


async def test_whoever_declares_the_same_sees_the_same_lists_until_it_is_set_apart() -> None:
    async with door() as d:
        for who in (ONE, OTHER, caller("a")):
            d.audiences.admit(who)
        assert [*d.audiences] == [ONE.audience, OTHER.audience, alone("a")]
        assert d.audiences.viewpoints() == (TEAM, alone("a"))
        d.audiences.set_apart("one")
        assert d.audiences.viewpoints() == (ONE.audience, TEAM, alone("a"))
        d.audiences.release(ONE.audience)
        assert d.audiences.viewpoint(ONE.audience) == TEAM  # a client that comes under the key again


async def test_what_a_client_declared_first_is_what_its_sessions_are_opened_with() -> None:
    async with door() as d:
        d.audiences.admit(ONE)
        d.audiences.admit(visitor(TwinClient("one"), hello=Hello({"roots": {}}, {}, "2025-11-25")))
        for key in ("one", "team"):
            session = d.audiences.serving(d.mount, ONE.audience, key)
            assert session is d.audiences.serving(d.mount, ONE.audience, key)
            with anyio.fail_after(5):
                assert session is not None
                await session.connection.link()
        assert d.links() == [HELLO, Hello({}, IDENTITY, HELLO.protocol_version)]


async def test_an_upstream_that_may_not_be_started_serves_nobody() -> None:
    async with stage(Twin("alpha"), config_of=config(upstream("alpha", problem="KEY is not set"))) as s:
        audiences = Audiences(s.mounts.pool)
        audiences.admit(ONE)
        assert audiences.serving(s.mounts["alpha"], ONE.audience, "one") is None


async def test_a_level_counts_in_sessions_that_are_opened_later_and_ends_with_its_client() -> None:
    async with door("shared") as d:
        for who, level in ((ONE, "error"), (OTHER, "info")):
            d.audiences.admit(who)
            d.audiences.set_level(who.audience, level)
        session = d.audiences.serving(d.mount, ONE.audience, "all")
        assert session is not None and session.inbox.wishes.level == "error"
        d.audiences.serving(d.mount, OTHER.audience, "all")
        assert session.inbox.wishes.level == "info"
        session.inbox.wishes.subscribe("demo://r", "other")
        assert d.audiences.leave(session, OTHER.audience) == ("demo://r",)
        assert session.inbox.wishes.level == "error"


async def test_a_session_is_wanted_while_a_connected_client_has_it_or_lists_by_it() -> None:
    async with door() as d:
        for who in (ONE, PASSING):
            d.audiences.admit(who)
        session = d.audiences.serving(d.mount, ONE.audience, "team")
        assert session is not None
        assert [d.audiences.wanted(d.mount, key, session) for key in ("one", "team", "other")] == [True, True, False]
        d.audiences.release(ONE.audience)
        assert [d.audiences.wanted(d.mount, key, session) for key in ("one", "team")] == [False, False]


async def test_who_keeps_something_lets_go_of_it() -> None:
    async with door() as d:
        gone: list[Audience] = []
        d.audiences.on_release.append(gone.append)
        for who in (ONE, PASSING):
            d.audiences.admit(who)
        d.audiences.forget(lambda audience: False)
        assert gone == []
        d.audiences.viewpoint(ONE.audience)
        d.audiences.forget(lambda audience: True)  # a connected client is kept, whatever it has
        assert (gone, [*d.audiences]) == ([TEAM], [ONE.audience])
        d.audiences.release(ONE.audience)
        assert (gone, [*d.audiences]) == ([TEAM, ONE.audience], [])
