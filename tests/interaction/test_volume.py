"""Much of everything: it passes whole, and the memory that it took is given back."""

import hashlib
import json
import time

import pytest
from tests.covers import covers
from tests.inbox import eventually
from tests.procs import resident
from tests.rawclient import RawClient
from tests.rig import FRONTS, Front, Rig

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(150)]

MEGABYTE = 1_000_000
LEVEL = 40 * MEGABYTE
"""Bytes that may be more than before: less than one copy of what passed."""


async def returns_to(pid: int, before: int) -> None:
    """Wait until a process has about as much memory as before; fails with what it still has."""

    def settled() -> bool:
        return resident(pid) < before + LEVEL

    try:
        await eventually(settled, 20)
    except TimeoutError:
        pytest.fail(f"{resident(pid) - before} bytes more than before")


@covers(
    "volume.payloads",
    "Arguments and results of 10 and 50 MB pass whole, over stdio and HTTP on both sides; memory is given back",
)
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_large_arguments_and_results(rig: Rig, front: Front, kind: str) -> None:
    (rig.upstream if kind == "stdio" else rig.http_upstream)("alpha")
    async with rig.serve(front).raw() as raw:
        pid = raw.link.process.pid if front == "stdio" else rig.process.pid
        for size in (10 * MEGABYTE, 50 * MEGABYTE):
            await there_and_back(raw, size)
        before = resident(pid)  # with what an allocator keeps for the next time
        await there_and_back(raw, 50 * MEGABYTE)
        await returns_to(pid, before)


async def there_and_back(raw: RawClient, size: int) -> None:
    """Arguments of `size` bytes, and a result."""
    data = "0123456789" * (size // 10)
    answer = await raw.call("alpha.digest", {"data": data}, seconds=60)
    seen = json.loads(answer["content"][0]["text"])
    assert seen == {"length": size, "sha256": hashlib.sha256(data.encode()).hexdigest()}
    answer = await raw.call("alpha.big", {"bytes": size}, seconds=60)
    assert len(answer["content"][0]["text"]) == size


@covers("volume.tools", "5,000 tools over 100 pages are listed, and the last one is callable; a warm list asks nobody")
@pytest.mark.parametrize("front", FRONTS)
async def test_five_thousand_tools(rig: Rig, front: Front) -> None:
    tools = [{"name": f"tool-{n:04}", "inputSchema": {"type": "object"}} for n in range(5000)]
    rig.upstream("alpha", {"tools": tools, "builtins": False, "pages": {"size": 50}})
    async with rig.serve(front).raw() as raw:
        names = await raw.names()
        assert names == [f"alpha.tool-{n:04}" for n in range(5000)]
        assert await raw.text(names[-1]) == "alpha ran tool-4999"
        asked = len(rig["alpha"].events("request", method="tools/list"))
        assert asked == 100
        pid = raw.link.process.pid if front == "stdio" else rig.process.pid
        before = resident(pid)
        for _ in range(5):
            assert await raw.names() == names
        assert len(rig["alpha"].events("request", method="tools/list")) == asked
        await returns_to(pid, before)


@covers("volume.progress", "100,000 progress notifications of one call arrive in order, all before the result")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_hundred_thousand_notifications(rig: Rig, front: Front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        pid = raw.link.process.pid if front == "stdio" else rig.process.pid
        await raw.text("alpha.who")
        before = resident(pid)
        steps = 100_000
        started = time.monotonic()
        await raw.request(
            "tools/call",
            {"name": "alpha.progress", "arguments": {"steps": steps}, "_meta": {"progressToken": "p"}},
            seconds=120,
        )
        told = [note["params"]["progress"] for note in raw.notes.items if note["method"] == "notifications/progress"]
        assert told == list(range(1, steps + 1)), f"{len(told)} after {time.monotonic() - started:.0f} s"
        await returns_to(pid, before)
