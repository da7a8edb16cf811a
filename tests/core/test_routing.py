"""Who a name or a web address belongs to: by table, the first in the config where two claim it (design D6, D7)."""

import pytest

from wf_mcp.core.routing import Entry, NameTable, name_table, web_table


def entry(mount: str, local: str, dotted: str, safe: str) -> Entry:
    return Entry(mount, local, dotted, safe, {"name": dotted})


ONE = entry("a", "x-y", "a.x-y", "a_x_y")
OTHER = entry("b", "z", "b.z", "b_z")


@pytest.mark.parametrize(
    ("name", "found"),
    [("a.x-y", ONE), ("a_x_y", ONE), ("b.z", OTHER), ("x-y", None), ("A.x-y", None), ("", None), ("a.x_y", None)],
)
def test_a_component_is_found_by_either_name_and_by_nothing_else(name: str, found: Entry | None) -> None:
    assert name_table([ONE, OTHER]).find(name) is found


def test_the_first_keeps_a_contested_name_and_the_clash_is_told() -> None:
    bare = entry("bare", "a.x-y", "a.x-y", "u_other")
    table = name_table([bare, ONE])
    assert table.find("a.x-y") is bare
    assert table.find("a_x_y") is ONE
    assert table.clashes == ("'a.x-y' is 'a.x-y' of 'bare', not 'x-y' of 'a'",)


def test_one_name_in_both_forms_is_no_clash() -> None:
    same = entry("a", "x", "ax", "ax")
    assert name_table([same]) == NameTable({"ax": same})


def test_an_alias_leads_to_its_component_unless_the_name_is_taken() -> None:
    table = name_table([ONE, OTHER], {"old": ONE, "b.z": ONE})
    assert table.find("old") is ONE
    assert table.find("b.z") is OTHER


def test_an_empty_table_finds_nothing() -> None:
    assert NameTable().find("x") is None


WEB = "https://example.org/"


@pytest.mark.parametrize(
    ("uri", "owner"),
    [
        (WEB + "listed", "a"),
        (WEB + "docs/1", "b"),
        (WEB + "docs/deep/1", "c"),
        (WEB + "anything", "d"),
        ("https://example.org", None),
        ("http://example.org/listed", None),
    ],
)
def test_a_web_address_belongs_to_who_lists_it_or_to_the_longest_start_of_a_template(
    uri: str, owner: str | None
) -> None:
    table = web_table(
        [(WEB + "listed", "a")],
        [(WEB + "{any}", "d"), (WEB + "docs/{id}", "b"), (WEB + "docs/deep/{+path}", "c")],
    )
    assert table.owner(uri) == owner
    assert table.conflicts == ()


def test_a_listed_address_wins_over_any_template() -> None:
    assert web_table([(WEB + "docs/1", "a")], [(WEB + "docs/{id}", "b")]).owner(WEB + "docs/1") == "a"


def test_the_first_keeps_a_contested_address_and_conflicts_are_told_once_each() -> None:
    table = web_table([(WEB, "b"), (WEB, "a"), (WEB, "b")], [(WEB + "{x}", "b"), (WEB + "{y}", "a")])
    assert (table.owner(WEB), table.owner(WEB + "1")) == ("b", "b")
    assert table.conflicts == (
        f"{WEB} is offered by 'b' and 'a'; 'b' comes first in the config and answers",
        f"{WEB}{{y}} is offered by 'b' and 'a'; 'b' comes first in the config and answers",
    )


def test_a_template_without_expressions_is_an_address() -> None:
    assert web_table([], [(WEB + "fixed", "a")]).owner(WEB + "fixed") == "a"


def app_tool(mount: str, visibility: object) -> Entry:
    item = {"name": f"{mount}.refresh", "_meta": {"ui": {"visibility": visibility}}}
    return Entry(mount, "refresh", f"{mount}.refresh", f"{mount}_refresh", item)


@pytest.mark.parametrize("visibility", [["app"], ["model", "app"]])
def test_an_app_finds_its_tool_by_the_name_at_its_server(visibility: object) -> None:
    entry = app_tool("one", visibility)
    assert name_table([entry, app_tool("two", ["model"])]).for_apps("refresh") == (entry,)


def test_tools_of_several_servers_that_an_app_may_mean_are_all_told() -> None:
    entries = [app_tool("one", ["app"]), app_tool("two", ["app"])]
    assert name_table(entries).for_apps("refresh") == tuple(entries)


@pytest.mark.parametrize("visibility", [["model"], None, "app", 3])
def test_a_tool_that_is_not_for_apps_is_not_found_by_its_own_name(visibility: object) -> None:
    assert name_table([app_tool("one", visibility)]).for_apps("refresh") == ()
