"""The filter of a listen stream: what is asked for, what is promised, and what then concerns whom."""

from typing import Any

import pytest

from wf_mcp.core.envelope import SUBSCRIPTION_ID_META_KEY
from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.listen import SubscriptionFilter, asked_for, concerns, names_tasks, stamped

EVERYTHING = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["demo://a/x", "demo://a/y"],
    "taskIds": ["a:1"],
}


def test_everything_that_is_asked_for_and_honoured_is_acknowledged_as_it_was_written() -> None:
    asked = asked_for({"notifications": EVERYTHING})
    assert asked == SubscriptionFilter(
        frozenset(f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")),
        ("demo://a/x", "demo://a/y"),
        ("a:1",),
    )
    assert asked.as_json() == EVERYTHING


@pytest.mark.parametrize(
    "nothing",
    [
        {},
        {"toolsListChanged": False, "promptsListChanged": None, "resourceSubscriptions": [], "taskIds": []},
        {"resourceSubscriptions": None, "futureThings": True},
    ],
)
def test_what_is_not_asked_for_or_not_known_is_left_out(nothing: dict[str, Any]) -> None:
    assert asked_for({"notifications": nothing}) == SubscriptionFilter()
    assert SubscriptionFilter().as_json() == {}


def test_what_cannot_be_honoured_is_left_out_and_repeats_count_once() -> None:
    asked = asked_for({"notifications": {"resourceSubscriptions": ["b://1", "a://1", "b://1"], "taskIds": ["x", "y"]}})
    assert asked.uris == ("b://1", "a://1")
    assert asked.honouring({"a://1", "c://1"}, ["y"]).as_json() == {
        "resourceSubscriptions": ["a://1"],
        "taskIds": ["y"],
    }
    assert asked.honouring(()).as_json() == {}


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({}, "needs a 'notifications' object"),
        ({"notifications": ["toolsListChanged"]}, "needs a 'notifications' object"),
        ({"notifications": {"toolsListChanged": 1}}, "notifications.toolsListChanged must be true or false"),
        ({"notifications": {"resourcesListChanged": "yes"}}, "resourcesListChanged must be true or false"),
        ({"notifications": {"resourceSubscriptions": "demo://x"}}, "resourceSubscriptions must be an array of strings"),
        ({"notifications": {"resourceSubscriptions": ["demo://x", 1]}}, "must be an array of strings"),
        ({"notifications": {"taskIds": {"a": 1}}}, "taskIds must be an array of strings"),
    ],
)
def test_a_filter_of_another_shape_is_refused_by_the_field(params: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidParams, match=complaint):
        asked_for(params)


def test_tasks_are_named_by_the_key_even_if_it_names_none() -> None:
    assert names_tasks({"notifications": {"taskIds": []}})
    assert not names_tasks({"notifications": {"taskIds": None}})
    assert not names_tasks({"notifications": 1})


@pytest.mark.parametrize(
    ("subscribed", "uri", "expected"),
    [
        ("demo://a/x", "demo://a/x", True),
        ("demo://a/x", "demo://a/x/child", True),
        ("demo://a/x/", "demo://a/x/child", True),
        ("demo://a/x", "demo://a/xylophone", False),
        ("demo://a/x/child", "demo://a/x", False),
        ("file:///a/", "file:///a/b", True),
    ],
)
def test_a_change_concerns_a_resource_and_those_above_it(subscribed: str, uri: str, expected: bool) -> None:
    assert concerns(subscribed, uri) is expected


@pytest.mark.parametrize("subscription", ["1", 1, 0])
def test_a_stamp_keeps_the_type_of_the_id_and_what_else_is_in_meta(subscription: str | int) -> None:
    assert stamped({"uri": "x", "_meta": {"vendor": 1, SUBSCRIPTION_ID_META_KEY: "theirs"}}, subscription) == {
        "uri": "x",
        "_meta": {"vendor": 1, SUBSCRIPTION_ID_META_KEY: subscription},
    }
    assert stamped({}, subscription) == {"_meta": {SUBSCRIPTION_ID_META_KEY: subscription}}
