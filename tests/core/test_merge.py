"""One server's face made of many (matrix D.1, design D16)."""

import pytest

from wf_mcp.core.merge import INSTRUCTIONS_CAP, Offer, merged_capabilities, merged_instructions
from wf_mcp.core.wire import JsonObject

CHANGES = {"listChanged": True}
NONE = {"listChanged": False}


@pytest.mark.parametrize(
    ("offers", "expected"),
    [
        ([], {}),
        ([{}], {}),
        ([{"tools": {}}], {"tools": CHANGES}),
        ([{"tools": {}}, {"prompts": {"listChanged": False}}], {"tools": CHANGES, "prompts": CHANGES}),
        ([{"resources": {"subscribe": True}}], {"resources": {"listChanged": True, "subscribe": False}}),
        ([{"completions": {}}, {"logging": {}}], {"completions": {}, "logging": {}}),
        ([{"experimental": {"x": {}}, "extensions": {"y": {}}}], {}),
        ([{"tools": None}], {"tools": CHANGES}),
    ],
    ids=["nobody", "nothing", "tools", "two", "no subscriptions", "passed on", "not ours", "malformed"],
)
def test_handshake_clients_are_offered_what_somebody_has(offers: list[JsonObject], expected: JsonObject) -> None:
    known = [Offer(str(number), capabilities) for number, capabilities in enumerate(offers)]
    assert merged_capabilities(known, own_tools=False, modern=False) == expected


def test_modern_clients_are_promised_no_notifications_and_no_logging() -> None:
    offers = [Offer("a", {"tools": {}, "resources": {}, "logging": {}, "completions": {}})]
    assert merged_capabilities(offers, own_tools=False, modern=True) == {
        "tools": NONE,
        "resources": {"listChanged": False, "subscribe": False},
        "completions": {},
    }


@pytest.mark.parametrize("modern", [False, True])
def test_an_upstream_that_is_not_known_yet_may_have_everything_that_is_listed(modern: bool) -> None:
    merged = merged_capabilities([Offer("a", None), Offer("b", {})], own_tools=False, modern=modern)
    assert set(merged) == {"tools", "prompts", "resources"}


def test_our_own_tools_are_tools() -> None:
    assert merged_capabilities([], own_tools=True, modern=False) == {"tools": CHANGES}


def test_offers_may_come_from_an_iterator() -> None:
    offers = iter([Offer("a", {"tools": {}, "completions": {}})])
    assert set(merged_capabilities(offers, own_tools=False, modern=False)) == {"tools", "completions"}


def test_instructions_stand_under_the_label_of_whose_they_are() -> None:
    offers = [
        Offer("a", {}, "be kind"),
        Offer("b", {}, None),
        Offer("c.d", {}, ""),
        Offer("", {}, "bare"),
        Offer("e", {}, "x"),
    ]
    assert merged_instructions(offers) == (
        "[a] (its tools and prompts are listed as a.*)\nbe kind\n\n"
        "bare\n\n"
        "[e] (its tools and prompts are listed as e.*)\nx"
    )


def test_where_nobody_has_instructions_there_are_none() -> None:
    assert merged_instructions([Offer("a", {}), Offer("b", {}, "")]) is None


@pytest.mark.parametrize(("length", "cut"), [(INSTRUCTIONS_CAP, False), (INSTRUCTIONS_CAP + 1, True)])
def test_long_instructions_leave_room_for_those_of_others(length: int, cut: bool) -> None:
    said = merged_instructions([Offer("", {}, "x" * length), Offer("b", {}, "y")])
    assert said is not None
    assert said.startswith("x" * INSTRUCTIONS_CAP + (" […]" if cut else "") + "\n\n[b]")
