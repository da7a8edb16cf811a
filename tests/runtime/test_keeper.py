"""What is kept of an upstream is what it lists to whoever comes new: not what calls made of it."""

import time

import anyio
import pytest
from tests.runtime.memory import Twin, prompt, tool
from tests.runtime.shelf import Shelf, stored
from tests.runtime.stage import HELLO, caller, running, session_of, stage, upstream

from wf_mcp.core.errors import RelayedError
from wf_mcp.core.kinds import PROMPTS, TOOLS
from wf_mcp.runtime.keeper import Keeper, catalogue_key
from wf_mcp.runtime.ports import Hello

pytestmark = pytest.mark.anyio

A, B = tool("a"), tool("b")


def keeper(shelf: Shelf) -> Keeper:
    return Keeper(shelf, catalogue_key(upstream("alpha"), HELLO, None))


async def test_all_lists_are_kept_once_all_are_there() -> None:
    shelf, twin = Shelf(), Twin("alpha", tools=[A], prompts=[prompt("p")], said={"instructions": "be kind"})
    gate = twin.hold("prompts/list")
    async with running(session_of(twin, keeper=keeper(shelf))) as session:
        await session.catalogue.get(TOOLS)
        assert shelf.of() is None
        gate.set()
        await shelf.saved()
    kept = shelf.of()
    assert kept is not None
    assert (kept.initialized, kept.era) == (twin.link.initialized, "handshake")
    assert {name: each.items for name, each in kept.lists.items()} == {
        "tools": (A,),
        "prompts": (prompt("p"),),
        "resources": (),
        "templates": (),
    }
    assert time.time() - kept.at < 60


async def test_a_list_that_cannot_be_had_is_not_kept_as_an_empty_one() -> None:
    shelf, twin = Shelf(), Twin("alpha", tools=[A])
    twin.fail("prompts/list", RelayedError(-1, "no"))
    async with running(session_of(twin, keeper=keeper(shelf))) as session:
        await session.catalogue.get(PROMPTS)
        await anyio.wait_all_tasks_blocked()
    assert shelf.texts == {}


async def test_changes_are_kept_until_the_upstream_was_called() -> None:
    shelf, twin = Shelf(), Twin("alpha", tools=[A])
    async with running(session_of(twin, keeper=keeper(shelf))) as session:
        await shelf.saved()
        twin.change("tools", [A, B])
        await session.catalogue.get(TOOLS)
        await shelf.saved(times=2)
        await session.request("tools/call", {"name": "a"})
        twin.change("tools", [B])
        await session.catalogue.get(TOOLS)
        await anyio.wait_all_tasks_blocked()
    kept = shelf.of()
    assert kept is not None and kept.lists["tools"].items == (A, B)


async def test_what_a_new_process_lists_is_kept_though_the_old_one_was_called() -> None:
    shelf, twin = Shelf(), Twin("alpha", tools=[A])
    async with running(session_of(twin, keeper=keeper(shelf))) as session:
        await session.request("tools/call", {"name": "a"})
        await shelf.saved()
        twin.tools = [B]
        twin.link.lose()
        await shelf.saved(times=2)
    kept = shelf.of()
    assert kept is not None and kept.lists["tools"].items == (B,)


async def test_each_way_to_ask_has_a_catalogue_of_its_own() -> None:
    alpha = upstream("alpha")
    keys = [
        catalogue_key(alpha, HELLO, None),
        catalogue_key(alpha, HELLO, "alice"),
        catalogue_key(upstream("alpha", digest="2"), HELLO, None),
        catalogue_key(alpha, Hello({"roots": {}}, HELLO.client_info, HELLO.protocol_version), None),
        catalogue_key(alpha, Hello({}, HELLO.client_info, "2024-11-05"), None),
        catalogue_key(alpha, Hello({}, HELLO.client_info, HELLO.protocol_version, era="modern"), None),
    ]
    assert len({key.text for key in keys}) == len(keys)
    renamed = Hello({}, {"name": "other"}, HELLO.protocol_version)
    assert catalogue_key(alpha, renamed, None).text == keys[0].text
    shared = upstream("alpha", isolation="shared")
    assert catalogue_key(shared, HELLO, "alice").text == catalogue_key(shared, HELLO, "bob").text


async def test_principals_and_capabilities_tell_catalogues_apart() -> None:
    shelf = Shelf()
    roots = Hello({"roots": {}}, HELLO.client_info, HELLO.protocol_version)
    async with stage(Twin("alpha", tools=[A]), catalogues=shelf) as s:
        await s.ready(caller("a", principal="alice"))
        await s.ready(caller("b", principal="bob"))
        await s.ready(caller("c", hello=roots))
        await shelf.saved(times=3)
    assert len(shelf.texts) == 3


async def test_a_session_that_finds_nothing_kept_starts_at_once() -> None:
    shelf = Shelf()
    shelf.put(stored(A), digest="another")
    async with stage(Twin("alpha", tools=[B]), catalogues=shelf) as s:
        assert await s.listed() == ["alpha.b"]
        assert len(s.twin("alpha").links) == 1
