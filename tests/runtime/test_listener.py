"""One listen stream: what belongs on it, in what order, and when it has fallen too far behind."""

from typing import Any

import anyio
import pytest
from tests.runtime.stage import caller

from wf_mcp.core.errors import FellBehind, NotServed
from wf_mcp.core.listen import UPDATED, SubscriptionFilter
from wf_mcp.core.notify import PROMPTS, TOOLS
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.listener import Listener, Watch

pytestmark = pytest.mark.anyio

R = "demo://alpha/r"


def listener(*watched: Watch, **options: Any) -> Listener:
    made = Listener("listener 1", caller(Audience("c", "p", "s")), SubscriptionFilter(frozenset({TOOLS})), **options)
    made.watches.extend(watched)
    return made


@pytest.mark.parametrize(
    ("method", "session", "expected"),
    [
        (TOOLS, "", True),
        (TOOLS, "c", True),
        (TOOLS, "p", True),
        (TOOLS, "s", True),
        (TOOLS, "another's", False),
        (PROMPTS, "", False),
    ],
)
def test_a_list_change_is_heard_by_who_asked_for_it_on_their_own_sessions(
    method: str, session: str, expected: bool
) -> None:
    assert listener().hears_list(method, session) is expected


async def test_what_waits_comes_once_and_in_order() -> None:
    stream = listener()
    for method, params in ((TOOLS, {}), (UPDATED, {"uri": "b", "a": None}), (TOOLS, {}), (UPDATED, {"uri": "a"})):
        stream.offer(method, params)
    assert await stream.take() == [(TOOLS, {}), (UPDATED, {"uri": "b", "a": None}), (UPDATED, {"uri": "a"})]
    stream.offer(TOOLS, {})
    assert await stream.take() == [(TOOLS, {})]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.take)
        await anyio.wait_all_tasks_blocked()  # it waits, since nothing came
        stream.offer(TOOLS, {})


async def test_too_much_that_waits_ends_the_stream_and_says_what_to_do() -> None:
    stream = listener(backlog=2)
    for number in range(2):
        stream.offer(UPDATED, {"uri": str(number)})
    assert not stream.ended.is_set()
    stream.offer(UPDATED, {"uri": "2"})
    assert stream.ended.is_set()
    assert isinstance(stream.failure, FellBehind)
    assert "More than 2 notifications wait" in stream.failure.message
    assert "Listen again" in stream.failure.message


async def test_updates_of_watched_resources_and_of_those_below_them_are_heard_and_nothing_else() -> None:
    stream = listener(Watch(R, R, "alpha", "demo://r"))
    for method, params in (
        (UPDATED, {"uri": R, "x": 1}),
        (UPDATED, {"uri": f"{R}/child"}),
        (UPDATED, {"uri": "demo://alpha/other"}),
        (UPDATED, {"uri": None}),
        (UPDATED, {}),
        ("notifications/message", {"level": "error", "data": "x"}),
        ("notifications/progress", {"progressToken": 1, "progress": 1}),
    ):
        await stream.tell(method, params)
    stream.offer(TOOLS, {})
    assert await stream.take() == [(UPDATED, {"uri": R, "x": 1}), (UPDATED, {"uri": f"{R}/child"}), (TOOLS, {})]


async def test_an_update_has_the_uri_as_the_client_wrote_it() -> None:
    stream = listener(Watch("demo://alpha/", "demo:///alpha", "alpha", "demo://"))
    await stream.tell(UPDATED, {"uri": "demo:///alpha"})
    assert await stream.take() == [(UPDATED, {"uri": "demo://alpha/"})]


async def test_nobody_is_asked_on_a_stream() -> None:
    stream = listener()
    assert await stream.cancel_reason() is None
    with pytest.raises(NotServed, match="roots/list"):
        await stream.ask("roots/list", {})
