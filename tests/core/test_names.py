"""Labels, the dotted form and the safe form (design D6; field cases F25, F29 to F31, F33)."""

import hashlib
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wf_mcp.core.names import (
    ADMIN,
    LABEL_MAX,
    MIN_BUDGET,
    RESERVED,
    LabelClash,
    dotted_name,
    is_label,
    label_clashes,
    label_of,
    plain_safe_name,
    safe_label_clashes,
    safe_names,
    why_not_plain,
)

SAFE = re.compile(r"[A-Za-z](_?[A-Za-z0-9])*")
LABEL = re.compile(r"[a-z](-?[a-z0-9])*(\.[a-z0-9](-?[a-z0-9])*)*")

ids = st.text(max_size=30) | st.text(st.sampled_from("aZ9._-/@ é"), max_size=12) | st.text("ab.", min_size=100)
labels = ids.map(label_of)
names = st.text(max_size=30) | st.text(st.sampled_from("aAbB_-./ é\ud800"), max_size=8) | st.text("aA", min_size=50)
name_lists = st.lists(names, max_size=12)
budgets = st.integers(MIN_BUDGET, 80)


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


@pytest.mark.parametrize(
    ("connection_id", "label"),
    [
        ("everything", "everything"),
        ("everything.default", "everything.default"),
        ("GitHub", "github"),
        ("my server", "my-server"),
        ("my_srv", "my-srv"),
        ("@scope/name", "scope-name"),
        ("Srv2", "srv2"),
        ("9lives", "u-9lives"),
        ("a.9b", "a.9b"),
        ("a--b", "a-b"),
        ("-a-.-b-", "a.b"),
        ("..a..b..", "a.b"),
        ("a._.b", "a.b"),
        ("naïve", "na-ve"),
        ("我的", f"u-{hash_of('我的')}"),
        ("...", f"u-{hash_of('...')}"),
        ("", f"u-{hash_of('')}"),
    ],
)
def test_a_connection_id_has_this_label(connection_id: str, label: str) -> None:
    assert label_of(connection_id) == label


def test_ids_without_a_usable_character_keep_apart() -> None:
    assert label_of("我的") != label_of("你的")


def test_a_long_id_is_cut_and_hashed() -> None:
    one, other = label_of("x" * 200), label_of("x" * 201)
    assert one == "x" * (LABEL_MAX - 7) + "-" + hash_of("x" * 200)
    assert one != other


@given(ids)
def test_every_id_has_a_legal_label(connection_id: str) -> None:
    label = label_of(connection_id)
    assert LABEL.fullmatch(label)
    assert len(label) <= LABEL_MAX
    assert is_label(label)


@pytest.mark.parametrize("text", ["a", "everything.default", "my-server", "a.9b", "wf", "u-9lives"])
def test_these_are_labels(text: str) -> None:
    assert is_label(text)


@pytest.mark.parametrize(
    "text", ["", "A", "9a", "a_b", "a b", "a/b", "-a", "a-", "a.", ".a", "a..b", "é", "a\n", "a" * (LABEL_MAX + 1)]
)
def test_these_are_no_labels(text: str) -> None:
    assert not is_label(text)


@pytest.mark.parametrize(
    "mounted",
    [
        {},
        {"a": "a", "b": "b"},
        {"a": "a", "ab": "ab", "a-b": "a-b"},  # a prefix alone is no clash: the dot makes it one
        {"a.b": "a.b", "a.c": "a.c"},
        {"x": "", "y": "y"},
        {"wfx": "wfx", "wf-x": "wf-x", "x.wf": "x.wf"},
    ],
)
def test_these_labels_can_be_mounted_together(mounted: dict[str, str]) -> None:
    assert label_clashes(mounted) == []


@pytest.mark.parametrize(
    ("mounted", "clashes"),
    [
        (
            {"GitHub": "github", "github": "github"},
            [LabelClash("GitHub", "github", '"GitHub" and "github" have the same label "github"')],
        ),
        (
            {"a.b.c": "a.b.c", "A": "a"},
            [LabelClash("A", "a.b.c", '"a.b.c" has the label "a.b.c", which lies under "a", the label of "A"')],
        ),
        (
            {"wf": "wf", "WF.x": "wf.x"},
            [
                LabelClash("wf", None, '"wf" has the label "wf", but "wf" is reserved for wf-mcp'),
                LabelClash("WF.x", None, '"WF.x" has the label "wf.x", but "wf" is reserved for wf-mcp'),
                LabelClash("wf", "WF.x", '"WF.x" has the label "wf.x", which lies under "wf", the label of "wf"'),
            ],
        ),
        (
            {"x": "", "y": ""},
            [LabelClash("x", "y", '"x" and "y" both have the namespace "", which one upstream can have')],
        ),
    ],
)
def test_a_clash_names_both_ids_and_the_reason(mounted: dict[str, str], clashes: list[LabelClash]) -> None:
    assert label_clashes(mounted) == clashes


@given(st.dictionaries(ids, labels, max_size=8))
def test_labels_without_a_clash_never_share_a_dotted_name(mounted: dict[str, str]) -> None:
    assume(not label_clashes(mounted))
    for one in mounted.values():
        for other in mounted.values():
            assert one is other or not f"{one}.".startswith(f"{other}.")


@pytest.mark.parametrize(
    ("label", "name", "public"),
    [
        ("everything.default", "echo", "everything.default.echo"),
        ("a", "user/update", "a.user/update"),
        ("a", "", "a."),
        ("", "echo", "echo"),
    ],
)
def test_the_dotted_form(label: str, name: str, public: str) -> None:
    assert dotted_name(label, name) == public


def test_admin_names_are_dotted_names_of_the_reserved_label() -> None:
    assert dotted_name(RESERVED, "admin.").startswith(ADMIN)
    assert safe_names(RESERVED, RESERVED, ["admin.status"]) == {"admin.status": "wf_admin_status"}


@pytest.mark.parametrize(
    ("label", "name", "safe"),
    [
        ("everything.default", "echo", "everything_default_echo"),
        ("my-server", "admin.tools.list", "my_server_admin_tools_list"),
        ("a", "user/update", "a_user_update"),
        ("a", "say hi", "a_say_hi"),
        ("a", "naïve", "a_na_ve"),
        ("a", "__x__y__", "a_x_y"),
        ("a", "GetUser", "a_GetUser"),
        ("a", "我的", f"a_{hash_of('id' + chr(0) + '我的')}"),
        ("a", "", f"a_{hash_of('id' + chr(0))}"),
        ("a", "x" * 48, "a_" + "x" * 48),
        ("a", "x" * 49, "a_" + "x" * 41 + "_" + hash_of("id\0" + "x" * 49)),
        ("a", "x" * 40 + "_" + "x" * 40, "a_" + "x" * 40 + "_" + hash_of("id\0" + "x" * 40 + "_" + "x" * 40)),
        ("", "echo", "echo"),
        ("", "9x", "u_9x"),
        ("", "我的", f"u_{hash_of('id' + chr(0) + '我的')}"),
    ],
)
def test_the_safe_form_of_one_name(label: str, name: str, safe: str) -> None:
    assert safe_names("id", label, [name]) == {name: safe}


def test_names_that_become_equal_all_carry_their_hash() -> None:
    found = safe_names("id", "a", ["x.y", "X-Y", "z"])
    assert found == {
        "x.y": f"a_x_y_{hash_of('id' + chr(0) + 'x.y')}",
        "X-Y": f"a_X_Y_{hash_of('id' + chr(0) + 'X-Y')}",
        "z": "a_z",
    }


def test_names_that_share_their_first_sixty_characters_stay_apart() -> None:
    long = ["t" * 60 + "one", "t" * 60 + "two"]
    found = safe_names("id", "l" * 30, long)
    assert len(set(found.values())) == 2
    assert all(len(form) == 50 for form in found.values())


def test_a_name_that_looks_like_anothers_hashed_form_stays_apart() -> None:
    hashed = safe_names("id", "a", ["x.y", "x-y"])["x.y"]
    imitation = hashed.removeprefix("a_")
    found = safe_names("id", "a", ["x.y", "x-y", imitation])
    assert len({form.lower() for form in found.values()}) == 3


def test_names_whose_six_characters_are_equal_show_more_of_their_hash() -> None:
    # Found by search: both digests of "id\0<name>" start with the same six characters.
    one, other = _pair_with_equal_hashes()
    found = safe_names("id", "a", [one, other])
    assert len(set(found.values())) == 2
    assert {len(form) for form in found.values()} == {len("a_") + 43 - 2 + 7}


def _pair_with_equal_hashes() -> tuple[str, str]:
    seen: dict[str, str] = {}
    for number in range(1_000_000):
        name = "x" * 60 + str(number)
        other = seen.setdefault(hash_of(f"id\0{name}"), name)
        if other != name:
            return other, name
    raise AssertionError("no pair found")


def test_an_upstream_that_needs_hashes_has_one_on_every_name() -> None:
    assert safe_names("id", "web", ["scraper_search"], hashed=True) == {
        "scraper_search": f"web_scraper_search_{hash_of('id' + chr(0) + 'scraper_search')}"
    }


def test_a_name_listed_twice_is_one_name() -> None:
    assert safe_names("id", "a", ["x", "x"]) == {"x": "a_x"}


def test_a_budget_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="15 is too small"):
        safe_names("id", "a", ["x"], budget=MIN_BUDGET - 1)


@given(ids, labels | st.just(""), name_lists, budgets, st.booleans())
def test_safe_names_are_legal_short_and_distinct(
    connection_id: str, label: str, listed: list[str], budget: int, hashed: bool
) -> None:
    found = safe_names(connection_id, label, listed, budget=budget, hashed=hashed)
    assert set(found) == set(listed)
    assert all(SAFE.fullmatch(form) and len(form) <= budget for form in found.values())
    assert len({form.lower() for form in found.values()}) == len(set(listed))


@given(labels, name_lists.flatmap(lambda listed: st.tuples(st.just(listed), st.permutations(listed))), budgets)
def test_safe_names_do_not_depend_on_the_order_of_the_list(
    label: str, lists: tuple[list[str], list[str]], budget: int
) -> None:
    one, other = (safe_names("id", label, listed, budget=budget) for listed in lists)
    assert one == other


@given(st.dictionaries(ids, labels, max_size=6), ids, name_lists)
def test_safe_names_depend_on_no_unrelated_upstream(mounted: dict[str, str], added: str, listed: list[str]) -> None:
    """Field case F33: mounting one more changes only the names of those whose safe labels it meets."""
    before = safe_label_clashes(mounted.values())
    after = safe_label_clashes([*mounted.values(), label_of(added)])
    assert before <= after
    for connection_id, label in mounted.items():
        if label not in after:
            alone = safe_names(connection_id, label, listed)
            assert safe_names(connection_id, label, listed, hashed=label in before) == alone


@pytest.mark.parametrize(
    ("mounted", "clashing"),
    [
        ([], set()),
        (["a", "b", "ab"], set()),
        (["web", "web-scraper"], {"web", "web-scraper"}),
        (["web-scraper", "other", "web"], {"web", "web-scraper"}),
        (["a.b", "a-b"], {"a.b", "a-b"}),
        (["a", "a-b", "a-b-c", "ab"], {"a", "a-b", "a-b-c"}),
        (["wf-x", "wfx"], {"wf-x"}),
        (["", "a"], set()),
    ],
)
def test_labels_whose_safe_forms_meet(mounted: list[str], clashing: set[str]) -> None:
    assert safe_label_clashes(mounted) == clashing


@given(st.lists(labels, min_size=2, max_size=2, unique=True), name_lists, name_lists)
def test_two_labels_never_share_a_safe_name(pair: list[str], ours: list[str], theirs: list[str]) -> None:
    hashed = safe_label_clashes(pair)
    one, other = (
        {form.lower() for form in safe_names(label, label, listed, hashed=label in hashed).values()}
        for label, listed in zip(pair, (ours, theirs), strict=True)
    )
    assert one.isdisjoint(other)


@pytest.mark.parametrize(
    ("label", "name", "plain"),
    [("a.b", "get-x", "a_b_get_x"), ("", "get-x", "get_x"), ("", "9x", "u_9x"), ("a", "我", "a"), ("", "我", "u")],
)
def test_the_plain_safe_name_is_what_nothing_stands_in_the_way_of(label: str, name: str, plain: str) -> None:
    assert plain_safe_name(label, name) == plain


@pytest.mark.parametrize(
    ("label", "names", "hashed", "why"),
    [
        ("a", ["x"], False, None),
        ("a", ["x" * 60], False, "shortened, since 62 characters are over the budget of 50"),
        ("a", ["我"], False, "no character"),
        ("a", ["x"], True, "all names of a carry a hash"),
        ("a", ["x-y", "x_y"], False, "another name of the same upstream"),
    ],
)
def test_why_a_safe_name_is_not_the_plain_one(label: str, names: list[str], hashed: bool, why: str | None) -> None:
    safe = safe_names("id", label, names, budget=50, hashed=hashed)[names[0]]
    told = why_not_plain(label, names[0], safe, budget=50, hashed=hashed)
    assert told is None if why is None else told is not None and why in told
