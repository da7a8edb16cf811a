"""Tasks of both eras, as wf-mcp drives them (2025-11-25 basic/utilities/tasks; the tasks extension of 2026-07-28)."""

from typing import Any

import pytest

from wf_mcp.core.tasks import failure, interval, is_over, is_task, must_be_task, wants_input
from wf_mcp.core.wire import JsonObject


def test_a_flat_task_is_an_answer_of_its_own() -> None:
    assert is_task({"resultType": "task", "taskId": "t", "status": "working"})
    assert not is_task({"resultType": "task"})
    assert not is_task({"taskId": "t"})


@pytest.mark.parametrize(
    ("task", "seconds"),
    [
        ({"pollIntervalMs": 200}, 0.2),
        ({"pollInterval": 200}, 0.2),
        ({"pollIntervalMs": 0}, 0.05),
        ({"pollIntervalMs": 3_600_000}, 5.0),
        ({}, 1.0),
        ({"pollIntervalMs": "soon"}, 1.0),
        ({"pollIntervalMs": True}, 1.0),
    ],
)
def test_the_pause_between_two_looks_is_the_upstreams_within_bounds(task: JsonObject, seconds: float) -> None:
    assert interval(task) == seconds


@pytest.mark.parametrize(
    ("status", "over", "waits"),
    [
        ("working", False, False),
        ("input_required", False, True),
        ("completed", True, False),
        ("failed", True, False),
        ("cancelled", True, False),
        (None, False, False),
    ],
)
def test_where_a_task_is_in_its_life(status: str | None, over: bool, waits: bool) -> None:
    assert (is_over({"status": status}), wants_input({"status": status})) == (over, waits)


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ({"code": -32603, "message": "no", "data": 1}, (-32603, "no", 1)),
        ({"code": 7}, (7, "", None)),
        ({"message": "no"}, None),
        (None, None),
    ],
)
def test_the_error_that_ended_a_task(error: Any, found: tuple[int, str, Any] | None) -> None:
    assert failure({"status": "failed", "error": error}) == found


@pytest.mark.parametrize(
    ("execution", "must"), [({"taskSupport": "required"}, True), ({"taskSupport": "optional"}, False), (3, False)]
)
def test_a_tool_that_runs_as_a_task_only(execution: Any, must: bool) -> None:
    assert must_be_task({"name": "x", "execution": execution}) is must
    assert not must_be_task({"name": "x"})
