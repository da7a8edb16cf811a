"""Cache hints of one result, and of one made of several (2026-07-28 server/utilities/caching)."""

from typing import Any

import pytest

from wf_mcp.core.hints import NO_CACHE, Hints, hints_of, merged_hints, with_hints, without_hints


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"ttlMs": 5000, "cacheScope": "public"}, Hints(5000, "public")),
        ({"ttlMs": 0, "cacheScope": "private"}, Hints(0, "private")),
        ({"ttlMs": 5000}, Hints(5000, "private")),
        ({"ttlMs": 5000, "cacheScope": "galaxy"}, Hints(5000, "private")),
        ({"cacheScope": "public"}, None),
        ({"ttlMs": -1, "cacheScope": "public"}, None),
        ({"ttlMs": True, "cacheScope": "public"}, None),
        ({"ttlMs": "5000", "cacheScope": "public"}, None),
        ({}, None),
    ],
)
def test_hints_that_cannot_be_used_are_none(result: dict[str, Any], expected: Hints | None) -> None:
    assert hints_of(result) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([Hints(5000, "public"), Hints(3000, "public")], Hints(3000, "public")),
        ([Hints(5000, "public"), Hints(3000, "private")], Hints(3000, "private")),
        ([Hints(5000, "public"), None], NO_CACHE),
        ([], NO_CACHE),
    ],
)
def test_a_merged_result_is_as_fresh_as_its_least_fresh_part_and_as_private_as_its_most_private(
    parts: list[Hints | None], expected: Hints
) -> None:
    assert merged_hints(parts) == expected


def test_time_that_has_passed_is_gone_from_the_ttl() -> None:
    assert Hints(5000, "public").after(1500.9) == Hints(3500, "public")
    assert Hints(5000, "public").after(60_000) == Hints(0, "public")
    assert Hints(1, "private").as_fields() == {"ttlMs": 1, "cacheScope": "private"}


def test_an_interim_result_carries_no_hints() -> None:
    bare = {"resultType": "input_required"}
    assert without_hints({**bare, "ttlMs": 1, "cacheScope": "public"}) == bare
    assert without_hints(bare) is bare


@pytest.mark.parametrize(
    ("result", "reusable", "expected"),
    [
        ({"a": 1, "ttlMs": 5000, "cacheScope": "public"}, True, {"a": 1, "ttlMs": 5000, "cacheScope": "public"}),
        ({"a": 1, "ttlMs": 5000, "cacheScope": "public"}, False, {"a": 1, "ttlMs": 0, "cacheScope": "private"}),
        ({"a": 1}, True, {"a": 1, "ttlMs": 0, "cacheScope": "private"}),
        ({"resultType": "complete"}, True, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}),
        ({"resultType": "input_required", "ttlMs": 5, "cacheScope": "public"}, True, {"resultType": "input_required"}),
    ],
)
def test_a_complete_result_always_has_hints_and_one_that_came_of_answers_may_not_be_kept(
    result: dict[str, Any], reusable: bool, expected: dict[str, Any]
) -> None:
    assert with_hints(result, reusable=reusable) == expected
