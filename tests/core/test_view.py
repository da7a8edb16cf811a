"""The base of the views: reading without raising, changing by copying."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.view import DROP, View, object_of, objects_of, text_of

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(
    st.sampled_from(["title", "description", "annotations", "_meta", "x", "y"]), json_values, max_size=6
)


@given(objects)
def test_no_property_raises_on_any_json(raw: dict[str, Any]) -> None:
    view = View(raw)
    assert view.title is None or view.title == raw["title"]
    assert view.description is None or view.description == raw["description"]
    assert view.annotations is None or view.annotations is raw["annotations"]
    assert view.meta is None or view.meta is raw["_meta"]


@given(objects, json_values)
def test_replace_changes_one_key_and_shares_the_rest(raw: dict[str, Any], value: Any) -> None:
    before = copy.deepcopy(raw)
    changed = View(raw).replace(description=value)
    assert raw == before
    assert changed.raw == {**before, "description": value}
    assert list(changed.raw) == list(dict.fromkeys([*before, "description"]))
    assert all(changed.raw[key] is raw[key] for key in raw if key != "description")


def test_replace_gives_the_same_view_where_nothing_changes() -> None:
    view = View({"title": "t", "_meta": {"a": 1}})
    assert view.replace() is view
    assert view.replace(title="t", _meta=view.meta) is view
    assert view.replace(absent=DROP) is view


def test_replace_tells_json_values_apart_that_python_takes_for_equal() -> None:
    assert repr(View({"isError": 0}).replace(isError=False).raw) == "{'isError': False}"


def test_drop_removes_and_none_is_null() -> None:
    view = View({"a": 1, "b": 2})
    assert view.replace(a=DROP).raw == {"b": 2}
    assert view.replace(a=None).raw == {"a": None, "b": 2}
    assert view.replace(self="wire field").raw["self"] == "wire field"


@pytest.mark.parametrize("value", [None, 1, True, [], {}])
def test_text_of_takes_strings_only(value: Any) -> None:
    assert text_of({"k": value}, "k") is None
    assert text_of({}, "k") is None


def test_objects_of_skips_what_is_no_object() -> None:
    assert objects_of({"k": [{"a": 1}, None, "x", {"b": 2}]}, "k") == ({"a": 1}, {"b": 2})
    assert objects_of({"k": {"a": 1}}, "k") == ()
    assert object_of({"k": [1]}, "k") is None
