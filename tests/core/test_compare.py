"""What differs between a direct answer and a proxied one (design D15)."""

from typing import Any

import pytest

from wf_mcp.core.compare import ABSENT, Difference, back, differences, keyed, list_differences, parted
from wf_mcp.core.namespace import Namespace

LOCAL = Namespace("Alpha", "alpha").local_uri


def test_equal_answers_have_no_differences() -> None:
    value = {"result": {"a": [1, {"b": None}], "c": "x"}}
    assert differences("m", "i", value, {"result": {"c": "x", "a": [1, {"b": None}]}}) == []


@pytest.mark.parametrize(
    ("direct", "proxied", "path", "mine", "theirs"),
    [
        ({"a": 1}, {}, "$.a", 1, ABSENT),
        ({}, {"a": None}, "$.a", ABSENT, None),
        ({"a": None}, {}, "$.a", None, ABSENT),
        ({"a": [1, 2]}, {"a": [1]}, "$.a[1]", 2, ABSENT),
        ({"a": [1]}, {"a": [1, 2]}, "$.a[1]", ABSENT, 2),
        ({"a": {"x y": 1}}, {"a": {"x y": 2}}, '$.a["x y"]', 1, 2),
        ({"a": 1}, {"a": 1.0}, "$.a", 1, 1.0),
        ({"a": 1}, {"a": True}, "$.a", 1, True),
        ({"a": []}, {"a": {}}, "$.a", [], {}),
        ({"result": {}}, {"error": {}}, "$.result", {}, ABSENT),
    ],
)
def test_each_place_is_told_with_what_either_side_has(
    direct: Any, proxied: Any, path: str, mine: Any, theirs: Any
) -> None:
    found = differences("m", "i", direct, proxied)[0]
    assert found == Difference("m", "i", path, mine, theirs)
    assert type(found.direct) is type(mine) and type(found.proxied) is type(theirs)


def test_every_place_is_told() -> None:
    found = differences("m", "i", {"a": 1, "b": [1, 2]}, {"a": 2, "b": [2, 2], "c": 3})
    assert [each.path for each in found] == ["$.a", "$.b[0]", "$.c"]


def test_what_is_absent_is_not_null() -> None:
    assert repr(ABSENT) == "(absent)"


def test_lists_are_compared_item_by_item_whatever_stands_between() -> None:
    direct = keyed([{"name": "a", "x": 1}, {"name": "b"}, {"name": "c"}], "name")
    proxied = keyed([{"name": "c"}, {"name": "a", "x": 2}], "name")
    assert list_differences("tools/list", direct, proxied) == [
        Difference("tools/list", "a", "$.x", 1, 2),
        Difference("tools/list", "b", "$", {"name": "b"}, ABSENT),
    ]


def test_another_order_of_the_same_items_is_a_difference() -> None:
    one, other = (keyed([{"name": name} for name in names], "name") for names in ("ab", "ba"))
    assert list_differences("m", one, other) == [Difference("m", "(order)", "$", ["a", "b"], ["b", "a"])]
    assert list_differences("m", one, one) == []


def test_items_without_a_name_and_namesakes_are_told_apart() -> None:
    items = [{"name": "a"}, {"name": "a", "x": 1}, {"x": 1}, {"name": None}, 3]
    assert list(keyed(items, "name")) == ["a", "a #2", "(unnamed)", "(unnamed) #2", "(unnamed) #3"]


def test_links_get_the_upstreams_own_uris_and_nothing_else_is_touched() -> None:
    public = "demo://alpha/x"
    result = {
        "content": [{"type": "resource_link", "uri": public, "text": public}, {"resource": {"uri": public}}, "odd"],
        "structuredContent": {"uri": public},
        "_meta": {"ui": {"resourceUri": public}, "openai/outputTemplate": public, "uri": 3},
        "uriTemplate": "demo://alpha/{x}",
        "other": {"uri": "demo://beta/x"},
    }
    assert back(result, LOCAL) == {
        "content": [
            {"type": "resource_link", "uri": "demo://x", "text": public},
            {"resource": {"uri": "demo://x"}},
            "odd",
        ],
        "structuredContent": {"uri": public},
        "_meta": {"ui": {"resourceUri": "demo://x"}, "openai/outputTemplate": "demo://x", "uri": 3},
        "uriTemplate": "demo://{x}",
        "other": {"uri": "demo://beta/x"},
    }


def test_what_two_direct_answers_say_differently_is_the_upstreams_own() -> None:
    def at(path: str, item: str = "i") -> Difference:
        return Difference("m", item, path, 1, 2)

    found = [at("$.a"), at("$.a.b"), at("$.a[0]"), at("$.ab"), at("$.a", "other")]
    lost, unsteady = parted(found, [at("$.a")])
    assert lost == [at("$.ab"), at("$.a", "other")]
    assert unsteady == [at("$.a"), at("$.a.b"), at("$.a[0]")]
    assert parted(found, []) == (found, [])
