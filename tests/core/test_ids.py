"""Ids that are unique at their upstream only: tasks and elicitations (matrix C.2)."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.ids import RELATED_TASK, local_id, map_elicitations, map_related_task, map_task, public_id

LABELS = st.from_regex(r"[a-z][a-z0-9-]{0,8}(\.[a-z0-9]{1,4})?", fullmatch=True)


def up(local: str) -> str:
    return public_id("alpha", local)


@given(LABELS, st.text())
def test_an_id_leads_back_to_itself(label: str, local: str) -> None:
    assert local_id(label, public_id(label, local)) == local


@given(LABELS, LABELS, st.text())
def test_an_id_of_one_upstream_is_nobody_elses(one: str, other: str, local: str) -> None:
    if one != other:
        assert local_id(other, public_id(one, local)) is None


@given(st.text())
def test_ids_of_a_bare_mount_stay_as_they_are(local: str) -> None:
    assert public_id("", local) == local == local_id("", local)


@pytest.mark.parametrize("public", ["", "alpha", "alphax:1", "al:1", " alpha:1", "Alpha:1"])
def test_what_carries_another_label_or_none_is_not_this_upstreams(public: str) -> None:
    assert local_id("alpha", public) is None


def test_upstreams_behind_upstreams_nest() -> None:
    assert local_id("outer", "outer:inner:1") == "inner:1"


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"_meta": None},
        {"_meta": []},
        {"_meta": {}},
        {"_meta": {RELATED_TASK: None}},
        {"_meta": {RELATED_TASK: "t"}},
        {"_meta": {RELATED_TASK: {}}},
        {"_meta": {RELATED_TASK: {"taskId": 3}}},
        {"taskId": "t"},
    ],
    ids=repr,
)
def test_a_message_of_no_task_stays_the_same_object(message: dict[str, Any]) -> None:
    assert map_related_task(message, up) is message


def test_the_task_that_a_message_belongs_to_is_mapped_and_the_rest_stays() -> None:
    message = {"a": None, "_meta": {RELATED_TASK: {"taskId": "t", "x": 1}, "progressToken": 1}}
    before = copy.deepcopy(message)
    assert map_related_task(message, up) == {
        "a": None,
        "_meta": {RELATED_TASK: {"taskId": "alpha:t", "x": 1}, "progressToken": 1},
    }
    assert message == before


TASK = {"taskId": "t", "status": "working", "createdAt": "now", "ttl": None}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (TASK, {**TASK, "taskId": "alpha:t"}),
        ({"task": TASK, "x": 1}, {"task": {**TASK, "taskId": "alpha:t"}, "x": 1}),
        (
            {"tasks": [TASK, {**TASK, "taskId": "u"}, "malformed"], "nextCursor": "c"},
            {
                "tasks": [{**TASK, "taskId": "alpha:t"}, {**TASK, "taskId": "alpha:u"}, "malformed"],
                "nextCursor": "c",
            },
        ),
        (
            {"content": [], "_meta": {RELATED_TASK: {"taskId": "t"}}},
            {"content": [], "_meta": {RELATED_TASK: {"taskId": "alpha:t"}}},
        ),
    ],
    ids=["a task", "a created task", "a list", "a task's result"],
)
def test_tasks_in_a_result_are_mapped_wherever_they_stand(result: dict[str, Any], expected: dict[str, Any]) -> None:
    before = copy.deepcopy(result)
    assert map_task(result, up) == expected
    assert result == before


@pytest.mark.parametrize(
    "result", [{}, {"taskId": None}, {"task": None}, {"tasks": {}}, {"task": {"taskId": 3}}], ids=repr
)
def test_malformed_results_pass_as_they_are(result: dict[str, Any]) -> None:
    assert map_task(copy.deepcopy(result), up) == result


def test_the_elicitations_that_an_error_asks_for_are_mapped() -> None:
    first = {"mode": "url", "elicitationId": "e", "url": "https://example.org", "message": "m"}
    data = {"elicitations": [first, {"mode": "form"}, None], "x": 1}
    before = copy.deepcopy(data)
    assert map_elicitations(data, up) == {
        "elicitations": [{**first, "elicitationId": "alpha:e"}, {"mode": "form"}, None],
        "x": 1,
    }
    assert data == before


@pytest.mark.parametrize("data", [None, "text", [1], {}, {"elicitations": None}, {"elicitations": {}}], ids=repr)
def test_other_error_data_is_the_same_object(data: Any) -> None:
    assert map_elicitations(data, up) is data
