"""A limit that each progress notification begins anew."""

import anyio
import pytest
from tests.runtime.memory import Twin, TwinClient, TwinLink, text, tool
from tests.runtime.stage import caller, config, stage, upstream

from wf_mcp.core.errors import UpstreamTimeout
from wf_mcp.core.wire import JsonObject

pytestmark = pytest.mark.anyio

LIMIT = 0.3


def working(steps: int) -> Twin:
    """Works for `steps` thirds of the limit and tells of each, then for ever without a word if `steps` is 0."""
    twin = Twin("alpha", tools=[tool("x")])

    async def work(link: TwinLink, params: JsonObject) -> JsonObject:
        for step in range(steps):
            await anyio.sleep(LIMIT / 3)  # this is the work
            link.say("notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": step})
        if not steps:
            await anyio.sleep_forever()
        return text("done")

    twin.answers["tools/call"] = work
    return twin


async def test_who_makes_progress_may_take_longer_than_the_limit() -> None:
    settings = config(upstream("alpha", timeout=LIMIT, timeout_resets=True))
    async with stage(working(9), config_of=settings) as s:
        client = TwinClient("a")
        assert await s.call("alpha.x", caller(port=client), _meta={"progressToken": "t"}) == text("done")
        assert len(client.heard) == 9


async def test_who_makes_none_is_told_after_the_limit_why_the_call_is_cancelled() -> None:
    settings = config(upstream("alpha", timeout=LIMIT, timeout_resets=True))
    async with stage(working(0), config_of=settings) as s:
        with pytest.raises(
            UpstreamTimeout, match=r"^Upstream 'alpha': no answer and no progress within 0\.3 s to tools/call"
        ):
            await s.call("alpha.x", caller(port=TwinClient("a")), _meta={"progressToken": "t"})
        assert s.twin("alpha").cancelled == [("tools/call", "no answer and no progress within 0.3 s")]


async def test_without_the_setting_progress_changes_nothing() -> None:
    async with stage(working(9), config_of=config(upstream("alpha", timeout=LIMIT))) as s:
        with pytest.raises(UpstreamTimeout):
            await s.call("alpha.x", caller(port=TwinClient("a")), _meta={"progressToken": "t"})
