"""Questions out at clients, and the progress that clients report on them (matrix B.2 `notifications/progress`)."""

from typing import Any

import pytest

from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.asking import Asking

pytestmark = pytest.mark.anyio

PROGRESS = "notifications/progress"


class Upstream:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, JsonObject]] = []

    async def __call__(self, method: str, params: JsonObject) -> None:
        self.heard.append((method, params))


def with_token(token: Any) -> JsonObject:
    return {"messages": [], "_meta": {"progressToken": token, "other": None}}


@pytest.mark.parametrize("token", ["abc", "7", "", 7, 0, 2**53], ids=repr)
async def test_progress_goes_to_the_upstream_that_asked_under_its_own_token(token: str | int) -> None:
    asking, upstream = Asking(), Upstream()
    with asking.asked("me", with_token(token), upstream) as shown:
        ours = shown["_meta"]["progressToken"]
        await asking.progress("me", {"progressToken": ours, "progress": 1, "x-future": None})
    assert upstream.heard == [(PROGRESS, {"progressToken": token, "progress": 1, "x-future": None})]
    assert type(upstream.heard[0][1]["progressToken"]) is type(token)


async def test_what_a_question_carries_besides_the_token_stays() -> None:
    params = with_token("t")
    with Asking().asked("me", params, Upstream()) as shown:
        assert shown == {"messages": [], "_meta": {"progressToken": shown["_meta"]["progressToken"], "other": None}}
    assert params == with_token("t")


@pytest.mark.parametrize("params", [{}, {"_meta": None}, {"_meta": {}}, {"_meta": {"other": 1}}], ids=repr)
async def test_a_question_without_a_token_is_asked_as_it_is(params: JsonObject) -> None:
    with Asking().asked("me", params, Upstream()) as shown:
        assert shown is params


async def test_two_upstreams_with_the_same_token_hear_each_its_own() -> None:
    asking, one, other = Asking(), Upstream(), Upstream()
    with asking.asked("me", with_token(1), one) as first, asking.asked("me", with_token(1), other) as second:
        tokens = [shown["_meta"]["progressToken"] for shown in (first, second)]
        assert len(set(tokens)) == 2
        await asking.progress("me", {"progressToken": tokens[1], "progress": 2})
        await asking.progress("me", {"progressToken": tokens[0], "progress": 1})
    assert [params["progress"] for _, params in one.heard] == [1]
    assert [params["progress"] for _, params in other.heard] == [2]


async def test_another_client_cannot_report_on_a_question_that_was_not_put_to_it() -> None:
    asking, upstream = Asking(), Upstream()
    with asking.asked("me", with_token("t"), upstream) as shown:
        await asking.progress("another", {"progressToken": shown["_meta"]["progressToken"], "progress": 1})
    assert upstream.heard == []


async def test_progress_after_the_answer_is_dropped() -> None:
    asking, upstream = Asking(), Upstream()
    with pytest.raises(ZeroDivisionError), asking.asked("me", with_token("t"), upstream) as shown:
        raise ZeroDivisionError
    await asking.progress("me", {"progressToken": shown["_meta"]["progressToken"], "progress": 1})
    assert upstream.heard == []


@pytest.mark.parametrize(
    "params", [{}, {"progressToken": "1"}, {"progressToken": None}, {"progressToken": 99}], ids=repr
)
async def test_a_token_that_was_never_given_is_ignored(params: JsonObject) -> None:
    asking, upstream = Asking(), Upstream()
    with asking.asked("me", with_token("t"), upstream):
        await asking.progress("me", params)
    assert upstream.heard == []


async def test_the_status_of_a_clients_task_goes_to_the_upstream_that_asked_for_it() -> None:
    asking, upstream = Asking(), Upstream()
    assert asking.hosts("me", {"task": {"taskId": "t"}}, upstream) == ()
    await asking.status("me", {"taskId": "t", "status": "working"})
    await asking.status("other", {"taskId": "t", "status": "failed"})
    assert upstream.heard == [("notifications/tasks/status", {"taskId": "t", "status": "working"})]


async def test_a_status_that_came_before_the_answer_is_given_with_it() -> None:
    asking, upstream = Asking(), Upstream()
    await asking.status("me", {"taskId": "t", "status": "working"})
    assert asking.hosts("me", {"task": {"taskId": "t"}}, upstream) == ({"taskId": "t", "status": "working"},)
    assert asking.hosts("me", {"action": "accept"}, upstream) == ()
