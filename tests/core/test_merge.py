"""One server's face made of many (matrix D.1, design D16)."""

import pytest

from wf_mcp.core.merge import INSTRUCTIONS_CAP, Offer, merged_capabilities, merged_instructions
from wf_mcp.core.wire import JsonObject

CHANGES = {"listChanged": True}


@pytest.mark.parametrize(
    ("offers", "expected"),
    [
        ([], {}),
        ([{}], {}),
        ([{"tools": {}}], {"tools": CHANGES}),
        ([{"tools": {}}, {"prompts": {"listChanged": False}}], {"tools": CHANGES, "prompts": CHANGES}),
        ([{"resources": {"subscribe": True}}], {"resources": {"listChanged": True, "subscribe": True}}),
        (
            [{"resources": {"subscribe": False}}, {"resources": {}}, {"resources": None}],
            {"resources": {"listChanged": True, "subscribe": False}},
        ),
        (
            [{"resources": {}}, {"resources": {"subscribe": True}}],
            {"resources": {"listChanged": True, "subscribe": True}},
        ),
        ([{"completions": {}}, {"logging": {}}], {"completions": {}, "logging": {}}),
        ([{"experimental": {"x": {}}, "extensions": {"y": {}}}], {}),
        ([{"tools": None}], {"tools": CHANGES}),
    ],
    ids=[
        "nobody",
        "nothing",
        "tools",
        "two",
        "subscriptions",
        "no subscriptions",
        "some have subscriptions",
        "passed on",
        "not ours",
        "malformed",
    ],
)
def test_handshake_clients_are_offered_what_somebody_has(offers: list[JsonObject], expected: JsonObject) -> None:
    known = [Offer(str(number), capabilities) for number, capabilities in enumerate(offers)]
    assert merged_capabilities(known, own_tools=False, modern=False) == expected


CALLS = {"requests": {"tools": {"call": {}}}}


@pytest.mark.parametrize(
    ("offers", "expected"),
    [
        ([{}, {"tools": {}}], None),
        ([{"tasks": {}}], CALLS),
        ([{"tasks": None}], CALLS),
        ([{"tasks": {"list": {}, "cancel": {}, **CALLS}}], {"list": {}, "cancel": {}, **CALLS}),
        ([{"tasks": {"list": {}, "cancel": {}}}, {"tools": {}}], {"list": {}, "cancel": {}, **CALLS}),
        ([{"tasks": {"list": {}, "cancel": {}}}, {"tasks": {"list": {}}}], {"list": {}, **CALLS}),
        ([{"tasks": {"cancel": {}}}, {"tasks": {"list": {}}}], CALLS),
    ],
    ids=["nobody", "bare", "malformed", "all of it", "some have none", "one cannot cancel", "nothing in common"],
)
def test_tasks_are_offered_with_what_all_who_have_them_can(
    offers: list[JsonObject], expected: JsonObject | None
) -> None:
    known = [Offer(str(number), capabilities) for number, capabilities in enumerate(offers)]
    assert merged_capabilities(known, own_tools=False, modern=False).get("tasks") == expected
    assert "tasks" not in merged_capabilities(known, own_tools=False, modern=True)


def test_modern_clients_are_promised_what_they_can_listen_to_and_the_logs_of_their_requests() -> None:
    offers = [Offer("a", {"tools": {}, "resources": {"subscribe": True}, "logging": {}, "completions": {}})]
    assert merged_capabilities(offers, own_tools=False, modern=True) == {
        "tools": CHANGES,
        "resources": {"listChanged": True, "subscribe": True},
        "completions": {},
        "logging": {},
    }
    without = [Offer("a", {"resources": {"subscribe": False}})]
    assert merged_capabilities(without, own_tools=False, modern=True) == {
        "resources": {"listChanged": True, "subscribe": False}
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
        "[a] Its tools and prompts are listed as a.*\nbe kind\n\nbare\n\n[e] Its tools and prompts are listed as e.*\nx"
    )


@pytest.mark.parametrize("has", ["tools", "prompts"])
def test_how_an_upstreams_tools_are_listed_is_said_of_each_that_has_some(has: str) -> None:
    offers = [Offer("a", {has: {}}), Offer("b", {"resources": {}}), Offer("c", None), Offer("", {has: {}})]
    assert merged_instructions(offers) == "[a] Its tools and prompts are listed as a.*"


def test_where_there_is_nothing_to_say_there_are_no_instructions() -> None:
    assert merged_instructions([Offer("a", {}), Offer("b", {}, ""), Offer("", {"tools": {}})]) is None


@pytest.mark.parametrize(("length", "cut"), [(INSTRUCTIONS_CAP, False), (INSTRUCTIONS_CAP + 1, True)])
def test_long_instructions_leave_room_for_those_of_others(length: int, cut: bool) -> None:
    said = merged_instructions([Offer("", {}, "x" * length), Offer("b", {}, "y")])
    assert said is not None
    assert said.startswith("x" * INSTRUCTIONS_CAP + (" […]" if cut else "") + "\n\n[b]")


TASKS, SKILLS = "io.modelcontextprotocol/tasks", "io.modelcontextprotocol/skills"


@pytest.mark.parametrize(
    ("settings", "modern", "expected"),
    [
        ([{TASKS: {}}], True, {TASKS: {}}),
        ([{TASKS: {}}], False, None),
        ([{SKILLS: {"directoryRead": True}}], True, {SKILLS: {"directoryRead": True}}),
        ([{SKILLS: {"directoryRead": True}}, {SKILLS: {}}], True, {SKILLS: {}}),
        ([{SKILLS: {"directoryRead": True}}, {}], False, {SKILLS: {"directoryRead": True}}),
        ([{TASKS: None, SKILLS: 7}], True, None),
    ],
    ids=["tasks", "tasks of the other era", "skills", "not every folder", "handshake clients", "malformed"],
)
def test_extensions_are_offered_as_far_as_they_are_served(
    settings: list[JsonObject], modern: bool, expected: JsonObject | None
) -> None:
    offers = [Offer(str(number), {"extensions": each}) for number, each in enumerate(settings)]
    assert merged_capabilities(offers, own_tools=False, modern=modern).get("extensions") == expected
