"""A client that stops reading costs itself only, whatever is sent to it (design D5)."""

import os
import socket
import time
from contextlib import suppress

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.procs import resident
from tests.rawhttp import HttpGuest, frozen_get, http_guest
from tests.rig import Rig

pytestmark = pytest.mark.anyio

NOTES = 200_000 if os.environ.get("WF_MCP_LONG") else 50_000
"""Log messages of 2 kB each: more than may wait for one reader, and as much again that is being sent to it."""

ROOM = 250_000_000
"""Bytes that they may cost: two bounded queues (`http_stream.py`, `event_store.py`) and what an allocator keeps."""


async def flooded(guest: HttpGuest, tool: str) -> None:
    """Ask for the flood, and never read what comes."""
    arguments = {"levels": ["error"] * NOTES, "data": "x" * 2000}
    call = {"name": f"alpha.{tool}", "arguments": arguments}
    if tool == "alarm":  # what comes after the answer goes to the standalone stream
        await guest.ask("tools/call", call)
        await anyio.sleep_forever()
    async with guest.stream("POST", {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}):
        await anyio.sleep_forever()


def broken_off(frozen: socket.socket) -> bool:
    """Whether a stream that nobody read until now ends, and before its good end."""
    frozen.settimeout(10)
    last = b""
    with suppress(ConnectionResetError):
        while piece := frozen.recv(1_000_000):
            last = (last + piece)[-10:]
    return not last.endswith(b"0\r\n\r\n")


@covers("walls.backpressure", "A client that reads none of a flood costs bounded memory, delays nobody, and is cut off")
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("tool", "over"), [("alarm", "rang"), ("log", "logged")], ids=["get", "post"])
async def test_a_client_that_never_reads(rig: Rig, tool: str, over: str) -> None:
    rig.upstream("alpha")
    rig.upstream("beta")
    url = str(rig.serve("http").url)
    async with http_guest(url) as stalled, http_guest(url) as steady, anyio.create_task_group() as tasks:
        for guest in (stalled, steady):
            await guest.hello()
            await guest.call("beta.who")
        before = resident(rig.process.pid)
        frozen = frozen_get(url, stalled.session)
        tasks.start_soon(flooded, stalled, tool)
        waits, highest = [], 0

        async def ended() -> bool:
            start = time.monotonic()
            await steady.call("beta.who")
            waits.append(time.monotonic() - start)
            nonlocal highest
            highest = max(highest, resident(rig.process.pid))
            return bool(rig["alpha"].events(over))

        await eventually(ended, 300)
        assert await stalled.call("alpha.echo")  # its session goes on
        if tool == "alarm":
            # It is not read before that: reading on in time would be no reason to cut it off.
            await eventually(lambda: "without completing response" in rig.log("http"), 60)
            assert await anyio.to_thread.run_sync(broken_off, frozen)
        tasks.cancel_scope.cancel()
        frozen.close()
    print(f"{len(waits)} calls beside it, p50 {sorted(waits)[len(waits) // 2]:.3f} s, {highest - before} bytes more")
    assert sorted(waits)[len(waits) // 2] < 0.5
    assert highest - before < ROOM


STEPS = 100_000
"""Notifications that wait for a host, fewer than wf-mcp keeps for one (`WAITING` in `calls.py`)."""


@covers("walls.paused-host", "A host that stops reading for a while, and then reads on, has lost nothing")
@pytest.mark.timeout(200)
async def test_a_host_that_reads_on(rig: Rig) -> None:
    rig.upstream("alpha")
    params = {"name": "alpha.progress", "arguments": {"steps": STEPS}, "_meta": {"progressToken": "p"}}
    answered = anyio.Event()
    async with rig.serve().raw() as raw, anyio.create_task_group() as tasks:
        await raw.text("alpha.who")
        before = resident(raw.pid)

        async def flooded() -> None:
            answer: JsonObject = await raw.request("tools/call", params, seconds=150)
            assert answer["content"][0]["text"] == "progressed"
            answered.set()

        raw.link.stop_reading()
        tasks.start_soon(flooded)
        await rig["alpha"].saw("progressed", 60)
        assert not answered.is_set()
        print(f"{resident(raw.pid) - before} bytes more")
        assert resident(raw.pid) - before < ROOM
        raw.link.read_on()
        with anyio.fail_after(90):
            await answered.wait()
        told = [note["params"]["progress"] for note in raw.notes.of("notifications/progress")]
        assert told == list(range(1, STEPS + 1))
        assert await raw.text("alpha.who")
