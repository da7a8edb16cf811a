"""Large messages pass in time linear in their size; odd bytes harm nothing."""

import hashlib
import time

import anyio
import pytest
from tests.covers import covers
from tests.rawclient import RawClient
from tests.rig import ERAS, FRONTS, Rig

pytestmark = pytest.mark.anyio
MEGABYTE = 1_000_000


async def big(raw: RawClient, size: int) -> float:
    """Seconds for a result of `size` bytes in one line."""
    start = time.monotonic()
    text = await raw.text("alpha.big", {"bytes": size})
    took = time.monotonic() - start
    assert len(text) == size and text.count("x") == size
    return took


@covers("payload.linear", "A 50 MB line from a stdio upstream passes, in time linear in its size")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_50_mb_line_passes_in_linear_time(rig: Rig, front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        await big(raw, MEGABYTE)
        small = min([await big(raw, 10 * MEGABYTE) for _ in range(2)])
        large = await big(raw, 50 * MEGABYTE)
    # Five times the size: linear is 5, quadratic 25.
    assert large < 12 * small + 0.5


@covers("payload.http-upstream", "A 12 MB result of an HTTP upstream passes, as JSON and as an event")
@pytest.mark.parametrize("flags", [(), ("--events",)], ids=["json", "event"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_large_result_of_an_http_upstream(rig: Rig, flags: tuple[str, ...], era) -> None:
    rig.http_upstream("alpha", None, *flags)
    async with rig.serve().raw(era) as raw:
        await big(raw, 12 * MEGABYTE)


@covers("payload.arguments", "Large arguments reach the upstream whole")
@pytest.mark.parametrize(("front", "size"), [("stdio", 5 * MEGABYTE), ("http", 5 * MEGABYTE)])
async def test_large_arguments(rig: Rig, front, size: int) -> None:
    rig.upstream("alpha")
    data = "ä→\u2028x" * (size // 9)
    async with rig.serve(front).raw() as raw:
        seen = await raw.json("alpha.digest", {"data": data})
    assert seen == {"length": len(data.encode()), "sha256": hashlib.sha256(data.encode()).hexdigest()}


@covers("payload.not-in-the-way", "A large result delays other calls by less than a second")
async def test_a_large_result_does_not_hold_up_small_ones(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.upstream("beta")
    async with rig.serve().raw() as raw:
        await raw.text("beta.who")
        await raw.text("alpha.who")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(big, raw, 12 * MEGABYTE)
            for _ in range(5):
                start = time.monotonic()
                await raw.text("beta.who")
                assert time.monotonic() - start < 1.5


@covers("payload.invalid-utf8", "An invalid byte in an upstream's line becomes U+FFFD; the connection goes on")
@pytest.mark.parametrize("era", ERAS)
async def test_invalid_utf8_is_replaced(rig: Rig, era) -> None:
    result = {"content": [{"type": "text", "text": "a BROKEN b"}]}
    tools = [{"name": "broken", "inputSchema": {"type": "object"}}]
    rig.upstream("alpha", {"tools": tools, "results": {"tool:broken": result}}, "--invalid-utf8")
    async with rig.serve().raw(era) as raw:
        assert await raw.text("alpha.broken") == "a caf\ufffd b"
        assert (await raw.json("alpha.who"))["name"] == "alpha"


@covers("payload.unicode", "Every character of a text arrives, line separators and astral ones included")
@pytest.mark.parametrize("front", FRONTS)
async def test_odd_characters_arrive(rig: Rig, front) -> None:
    text = '\u2028\u2029\x85\x00\x1f"\\ 🚀 \ufeff \U0010ffff e\u0301'
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        assert (await raw.json("alpha.echo", {"text": text}))["arguments"] == {"text": text}
