"""What a call and a warm list may cost, counted instead of timed: the steps of Python, and the requests upstream."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

import pytest
from tests.edge.wire import Face, Visitor, face, modern
from tests.runtime.memory import Twin, tool

from wf_mcp.core.wire import JsonObject

pytestmark = pytest.mark.anyio

MANY = 500
TOOLS_ONLY: JsonObject = {"tools": {"listChanged": True}}


class Steps:
    """Instructions of the interpreter that were carried out, every loop's too."""

    count = 0

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._stepped

    def _stepped(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.count += event == "opcode"
        return self._stepped

    @contextmanager
    def counted(self) -> Iterator[None]:
        """For the time of the block."""
        before = sys.gettrace()
        gc.disable()
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)
            gc.enable()


def twins(count: int, tools: int = 1) -> list[Twin]:
    """So many upstreams with so many tools each."""
    listed = [tool(f"t{number}") for number in range(tools)]
    return [Twin(f"up{number}", tools=listed, capabilities=dict(TOOLS_ONLY)) for number in range(count)]


async def visitor_of(front: Face, era: str) -> Visitor:
    """A client that knows the list."""
    visitor = modern() if era == "modern" else await front.arrive("session")
    await front.ask(visitor, "tools/list")
    return visitor


async def steps_of(
    count: int, kind: Literal["stdio", "http"], era: str, method: str, params: JsonObject, times: int = 3
) -> int:
    """The steps that one request takes with so many upstreams mounted, once everything is warm."""
    async with face(*twins(count), kind=kind) as front:
        visitor = await visitor_of(front, era)
        for _ in range(times):
            await front.ask(visitor, method, params)
        steps = Steps()
        with steps.counted():
            await front.ask(visitor, method, params)
        return steps.count


@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_no_work_per_call_grows_with_the_number_of_mounts(kind: Literal["stdio", "http"], era: str) -> None:
    call: JsonObject = {"name": "up0.t0", "arguments": {"a": 1}}
    alone = await steps_of(1, kind, era, "tools/call", call)
    among_many = await steps_of(MANY, kind, era, "tools/call", call)
    assert among_many > 100
    # Scheduling makes a few dozen steps of difference; one single step for each mount would be more than that.
    assert abs(among_many - alone) < MANY


async def test_the_counter_sees_work_that_grows() -> None:
    few = await steps_of(1, "http", "handshake", "tools/list", {})
    many = await steps_of(50, "http", "handshake", "tools/list", {})
    assert many > few


@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_a_warm_list_of_5000_tools_asks_no_upstream(era: str) -> None:
    upstreams = twins(100, tools=50)
    async with face(*upstreams, kind="http") as front:
        visitor = await visitor_of(front, era)
        asked = [len(each.requests) for each in upstreams]
        warm = await front.ask(visitor, "tools/list")
        assert len(warm["tools"]) == 5000
        assert [len(each.requests) for each in upstreams] == asked == [1] * 100
