"""Kill -9 of an upstream under load: every call ends, none is executed twice, and the next one works."""

import json
import time
from dataclasses import dataclass

import anyio
import pytest
from tests.chaos.upstreams import Front, add
from tests.covers import covers
from tests.rawclient import RawClient, RawError
from tests.rig import ERAS, FRONTS, Rig

pytestmark = pytest.mark.anyio

CALLS = 100
WITHIN = 5.0
"""Seconds after the kill in which every call has to end."""


@dataclass
class Ended:
    """How one call ended, and when."""

    at: float
    said: str | None = None
    error: str | None = None


async def call(raw: RawClient, tool: str, token: str, hold: float, ended: dict[str, Ended]) -> None:
    """One call, which takes `hold` seconds until the upstream is released; its end goes to `ended`."""
    try:
        result = await raw.call(tool, {"token": token, "client": raw.name, "hold": hold})
        text = result["content"][0]["text"]
        failed = result.get("isError", False)
        ended[token] = Ended(time.monotonic(), *((None, text) if failed else (json.loads(text)["token"], None)))
    except RawError as error:
        ended[token] = Ended(time.monotonic(), error=error.message)


@covers(
    "process.killed-under-load",
    "After kill -9 of an upstream during 100 calls each ends within 5 s, with its result or an error that names the "
    "upstream; none was executed twice, and the next call works",
)
@pytest.mark.parametrize("upstream_era", ERAS)
@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("front", FRONTS)
async def test_kill_9_during_100_calls(rig: Rig, front, era, kind: Front, upstream_era) -> None:
    upstream = add(rig, "alpha", kind, upstream_era)
    async with rig.serve(front).raw(era) as raw:
        ended: dict[str, Ended] = {}
        tokens = [f"call-{number}" for number in range(CALLS)]
        with anyio.fail_after(45):
            async with anyio.create_task_group() as tasks:
                for number, token in enumerate(tokens):
                    # Two in five are answered before the kill, the others are in the middle or not there yet.
                    tasks.start_soon(call, raw, "alpha.echo", token, 0.0 if number % 5 < 2 else 30.0, ended)
                await upstream.ran(CALLS * 9 // 10)
                upstream.release()
                assert upstream.kill() != []
                killed = time.monotonic()
                if kind == "http":
                    upstream.serve()
        assert max(end.at for end in ended.values()) - killed < WITHIN
        runs = upstream.executions()
        assert {token: runs[token] for token in tokens if runs[token] > 1} == {}
        for token in tokens:
            end = ended[token]
            assert (end.said == token and runs[token] == 1) or "alpha" in (end.error or ""), (token, end)
        lost = [end.error for end in ended.values() if end.error]
        assert len(lost) >= CALLS // 2
        # An upstream over HTTP was away for a moment; it is tried again after a second.
        with anyio.fail_after(5):
            while "next" not in ended or ended["next"].error:
                assert kind == "http" or "next" not in ended, ended["next"]
                await call(raw, "alpha.echo", "next", 0.0, ended)
        assert upstream.executions()["next"] == 1
