"""The README opens with what works, and says it as it is."""

import ast
import re
import tomllib
from collections.abc import Callable

import pytest
from tests.docs.pages import ROOT, blocks, names, read, rows, sections

from wf_mcp.core.names import dotted_name, safe_names
from wf_mcp.core.uris import template_to_public, to_public
from wf_mcp.edge.process import base_environment

README = read(ROOT / "README.md")
MAKEFILE = read(ROOT / "Makefile")
LABEL = "everything.default"

PUBLIC: dict[str, Callable[[str], str]] = {
    "tool or prompt": lambda name: dotted_name(LABEL, name),
    "resource": lambda uri: to_public(LABEL, uri),
    "template": lambda template: template_to_public(LABEL, template),
}


def test_the_two_commands_come_first_and_are_make_targets() -> None:
    first = blocks(README, "sh")[0]
    commands = re.findall(r"^make (\w+)", first, re.MULTILINE)
    assert commands == ["demo", "test"]
    assert re.findall(r"^\S", first, re.MULTILINE) == ["m", "m"]
    assert README.index(first) < README.index("\n## ")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/index.md"])
def test_every_make_command_is_a_target(page: str) -> None:
    commands = {name for code in blocks(read(ROOT / page), "sh") for name in re.findall(r"^make (\w+)", code, re.M)}
    assert commands
    targets = re.findall(r"^([\w.-]+):", MAKEFILE, re.MULTILINE)
    assert commands - set(targets) == set()


def test_names_and_uris_are_as_the_table_says() -> None:
    table = rows(sections(README)["Names and URIs"])
    told = {cells[0]: names(cells[1]) for cells in table}
    for cell, public in told.items():
        what, _, _ = cell.partition(" `")
        if what in PUBLIC and public:
            (own,) = names(cell)
            assert PUBLIC[what](own) == public[0]
    (safe,) = (public for cell, public in told.items() if "safe form" in cell)
    assert safe == list(safe_names(LABEL, LABEL, ["get-sum"]).values())
    assert sum(cell.partition(" `")[0] in PUBLIC and bool(public) for cell, public in told.items()) >= 5


def test_the_plug_in_is_at_most_fifteen_lines_of_code() -> None:
    (code,) = blocks(README, "python")
    ast.parse(code)
    assert len([line for line in code.splitlines() if line.strip()]) <= 15


@pytest.mark.parametrize("page", ["README.md", "docs/reference/config.md"])
def test_the_environment_of_a_child_is_told(page: str) -> None:
    text = " ".join(read(ROOT / page).split())
    told = re.search(r"child process gets (.*?`TMPDIR`)", text)
    assert told is not None
    given = {name: "x" for name in ("SECRET", "WF_MCP_CONFIG", *names(told[1]))}
    assert {name.replace("LC_*", "LC_ALL") for name in names(told[1])} == set(
        base_environment({name.replace("LC_*", "LC_ALL"): value for name, value in given.items()})
    )


def test_what_the_machine_needs_agrees_with_the_project() -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    assert project["requires-python"] == ">=3.11"
    assert "Python 3.11 or later" in README
    assert project["license"] == "Apache-2.0"
    assert "Licence: Apache-2.0" in README
