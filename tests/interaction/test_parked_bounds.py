"""Parked calls that nobody goes on with leave nothing behind (matrix D.4 items 4 and 5)."""

import json
import os
import re
from pathlib import Path

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.rawclient import RawClient, RawError
from tests.rig import Rig

pytestmark = pytest.mark.anyio

CALLS, ROUND = 1000, 250
ABANDONED = {"name": "full.three_in_a_row", "arguments": {}}


async def abandon(client: RawClient, calls: int) -> list[JsonObject]:
    """So many calls that all end with a question."""
    results: list[JsonObject] = []
    limiter = anyio.CapacityLimiter(40)

    async def one() -> None:
        async with limiter:
            results.append(await client.request("tools/call", ABANDONED, seconds=60))

    async with anyio.create_task_group() as tasks:
        for _ in range(calls):
            tasks.start_soon(one)
    return results


def open_files(pid: int) -> int:
    """How many files and sockets a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid: int) -> int:
    """Its memory, in MiB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1]) // 1024


@covers(
    "parked.abandoned",
    "1,000 parked and abandoned calls leave no call, connection, session or memory behind after their expiry",
)
@pytest.mark.timeout(120)
async def test_a_thousand_abandoned_calls(rig: Rig) -> None:
    rig.full("full", "handshake", "http")
    rig.settings["parked"] = {"expiry": 2, "per_upstream": CALLS, "per_principal": CALLS}
    rig.with_token()
    front = rig.serve("http")
    pid = rig.process.pid

    def cancelled() -> int:
        return len(rig["full"].events("notification", method="notifications/cancelled"))

    async with front.raw("modern") as client:
        files, memory = open_files(pid), []
        states: set[str] = set()
        for done in range(ROUND, CALLS + 1, ROUND):
            found = await abandon(client, ROUND)
            assert [each for each in found if each["resultType"] != "input_required"] == []
            states |= {each["requestState"] for each in found}
            await eventually(lambda done=done: cancelled() == done, 30)
            memory.append(resident(pid))
        assert len(states) == CALLS
        await eventually(lambda: open_files(pid) < files + 30)  # connections are kept for a moment
        assert memory[-1] - memory[0] < 25, memory  # what so many calls need at a time comes back into use
        assert (await client.call("full.seen"))["resultType"] == "complete"
        status = json.loads((await client.call("wf.admin.status"))["content"][0]["text"])
        assert [len(each["sessions"]) for each in status["upstreams"]] == [1]
    assert len(rig["full"].calls("three_in_a_row")) == CALLS


@covers("parked.bounds", "A question beyond the limit of parked calls cancels its call; the error names the setting")
async def test_one_too_many(rig: Rig) -> None:
    rig.full("full", "handshake", "http")
    rig.settings["parked"] = {"per_upstream": 3}
    async with rig.serve("http").raw("modern") as client:
        await abandon(client, 3)
        with pytest.raises(RawError, match="Upstream 'full' asked a question, but too many calls") as raised:
            await client.request("tools/call", ABANDONED)
        assert raised.value.code == -32603
        assert "setting wf.parked" in raised.value.message
        await rig["full"].saw("notification", method="notifications/cancelled")
