"""The reference pages name what there is, all of it and nothing else; examples load and links lead somewhere."""

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import json5
import pytest
import typer.main
from pydantic import BaseModel
from tests.docs.pages import DOCS, PAGES, ROOT, anchors, blocks, links, names, prose, read, rows, sections
from typer.core import TyperGroup

from wf_mcp.builtin.admin import wf_admin_tools
from wf_mcp.builtin.history import LIMIT
from wf_mcp.cli import app
from wf_mcp.core.config import load_config
from wf_mcp.core.config_models import (
    AuthWf,
    ConfigFile,
    NamesWf,
    ParkedWf,
    ServerEntry,
    ShutdownWf,
    ToolsWf,
    TopWf,
    UpstreamWf,
)
from wf_mcp.core.errors import ConfigError
from wf_mcp.core.events import KINDS, Event
from wf_mcp.core.names import ADMIN
from wf_mcp.core.notify import notifications_for
from wf_mcp.core.reports import Report
from wf_mcp.plugin import Admin, AdminTool

CONFIG, CLI, ADMIN_TOOLS, EVENTS = (
    sections(read(DOCS / "reference" / f"{page}.md")) for page in ("config", "cli", "admin-tools", "events")
)

MODELS: dict[str, type[BaseModel]] = {
    "The file": ConfigFile,
    "A server": ServerEntry,
    "wf of a server": UpstreamWf,
    "wf at the top": TopWf,
    "wf.names": NamesWf,
    "wf.tools": ToolsWf,
    "wf.shutdown": ShutdownWf,
    "wf.parked": ParkedWf,
    "wf.auth": AuthWf,
}
ENVIRONMENT = {
    "HOME": "/home/me",
    "ALICE_TOKEN": "alice-0123456789",
    "GITHUB_TOKEN": "github-0123456789",
    "DB_PASSWORD": "database-0123456789",
}
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


# -- configuration ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", MODELS)
def test_every_key_is_described_in_the_order_of_its_model(heading: str) -> None:
    described = [name for row in rows(CONFIG[heading]) for name in names(row[0])]
    assert described == list(MODELS[heading].model_fields)


@pytest.mark.parametrize("heading", MODELS)
def test_defaults_are_those_of_the_model(heading: str) -> None:
    assert {names(row[0])[0]: row[2].strip("`") for row in rows(CONFIG[heading])} == {
        name: default_of(field.default) for name, field in MODELS[heading].model_fields.items()
    }


def default_of(value: Any) -> str:
    return "–" if value is None else "{}" if isinstance(value, BaseModel) else json.dumps(value)


@pytest.mark.parametrize("heading", MODELS)
def test_every_choice_of_words_is_on_the_page(heading: str) -> None:
    types = {names(row[0])[0]: row[1] for row in rows(CONFIG[heading])}
    for name, field in MODELS[heading].model_fields.items():
        words = [word for word in get_args(field.annotation) if isinstance(word, str)]
        assert [word for word in words if f'`"{word}"`' not in types[name]] == []


def test_every_nested_model_has_its_section() -> None:
    nested = {
        field.annotation
        for model in MODELS.values()
        for field in model.model_fields.values()
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel)
    }
    assert nested | {ConfigFile, ServerEntry} == set(MODELS.values())


def config_blocks() -> Iterator[tuple[str, str]]:
    """Every example that is a configuration, with its place."""
    for page in PAGES:
        for number, code in enumerate(blocks(read(page), "json", "json5"), 1):
            if {"mcpServers", "servers", "wf"} & set(json5.loads(code)):
                yield f"{page.relative_to(ROOT)}-{number}", code


EXAMPLES = dict(config_blocks())


@pytest.mark.parametrize("place", EXAMPLES)
def test_every_example_of_a_configuration_loads(place: str) -> None:
    code = EXAMPLES[place]
    config = load_config(code, file="/home/me/.mcp.json", base="/home/me", env=ENVIRONMENT)
    # What only the editor of the example's host can fill in is the one reason not to start a server.
    assert [up.problem for up in config.upstreams if up.problem and "${input:" not in code] == []


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 8


def test_the_errors_shown_are_the_errors_given() -> None:
    (shown,) = blocks(read(DOCS / "reference" / "config.md"), "text")
    faulty = """{
  "mcpServers": {
    "GitHub": {
      "command": "npx",
      "args": ["-y", "some-server"],
      "wf": { "time_out": 30 }
    },
    "files": { "command": "files" }
  },
  "wf": { "list_wait": "five" }
}"""
    with pytest.raises(ConfigError) as error:
        load_config(faulty, file="servers.json", base="/home/me", env=ENVIRONMENT)
    assert error.value.message == shown.strip()


# -- command line ----------------------------------------------------------------------------------------------------

ROOT_COMMAND = typer.main.get_command(app)
assert isinstance(ROOT_COMMAND, TyperGroup)
COMMANDS: dict[str, Any] = {
    "wf-mcp": ROOT_COMMAND,
    **{f"wf-mcp {name}": command for name, command in ROOT_COMMAND.commands.items()},
}


def spelled(command: Any) -> set[str]:
    """What a user types: options in every spelling, arguments in capitals."""
    found: set[str] = set()
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        found |= {*parameter.opts, *parameter.secondary_opts} if is_option else {parameter.name.upper()}
    return found


def test_every_command_has_its_section_in_the_order_of_the_help() -> None:
    assert [heading for heading in CLI if heading.startswith("wf-mcp")] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_is_described(name: str) -> None:
    described = {word for row in rows(CLI[name]) for word in names(row[0])}
    assert described - {"--help"} == spelled(COMMANDS[name]) - {"--help"}


def test_every_environment_variable_is_described() -> None:
    described = {word for row in rows(CLI["Environment"]) for word in names(row[0])}
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert described == set(re.findall(r"\"(WF_MCP_[A-Z_]+[A-Z])\"", source))


# -- admin tools -----------------------------------------------------------------------------------------------------


NOBODY = cast(Admin, object())
"""Never asked: the tools are looked at, not called."""

TOOLS: dict[str, AdminTool] = {ADMIN + tool.name: tool for tool in wf_admin_tools(NOBODY)}


def reports(model: type[Report]) -> Iterator[type[Report]]:
    """A report's model and those inside it, outermost first."""
    yield model
    for field in model.model_fields.values():
        for inner in get_args(field.annotation):
            if inspect.isclass(inner) and issubclass(inner, Report):
                yield from reports(inner)


REPORTS = {
    model.__name__: model
    for tool in TOOLS.values()
    for model in reports(inspect.signature(tool.function).return_annotation)
}


def test_every_admin_tool_and_report_has_its_section() -> None:
    assert {heading for heading in ADMIN_TOOLS if heading != "Admin tools"} == {*TOOLS, *REPORTS}
    assert [heading for heading in ADMIN_TOOLS if heading in TOOLS] == list(TOOLS)


@pytest.mark.parametrize("name", REPORTS)
def test_every_field_of_a_report_is_described(name: str) -> None:
    assert {word for row in rows(ADMIN_TOOLS[name]) for word in names(row[0])} == set(REPORTS[name].model_fields)


@pytest.mark.parametrize("name", TOOLS)
def test_every_parameter_is_described(name: str) -> None:
    described = [word for row in rows(ADMIN_TOOLS[name]) for word in names(row[0])]
    assert described == list(inspect.signature(TOOLS[name].function).parameters)


def test_annotations_are_those_of_the_tools() -> None:
    told = {names(row[0])[0]: [cell == "true" for cell in row[1:]] for row in rows(ADMIN_TOOLS["Admin tools"])}
    assert told == {name: [tool.read_only, tool.destructive, tool.idempotent, False] for name, tool in TOOLS.items()}


def test_the_readme_names_every_admin_tool() -> None:
    section = sections(read(ROOT / "README.md"))["Operate it from the chat"]
    assert {word for row in rows(section) for word in names(row[0])} == set(TOOLS)


# -- events ----------------------------------------------------------------------------------------------------------


def example(event_type: type[Event]) -> Event:
    values: dict[str, Any] = {
        field.name: "" for field in dataclasses.fields(event_type) if field.default is dataclasses.MISSING
    }
    return event_type(**values)


def test_every_kind_of_event_is_described_with_its_fields_and_what_clients_are_sent() -> None:
    told = {names(row[0])[0]: (names(row[1]), names(row[3])) for row in rows(EVENTS["Events"])}
    assert told == {
        kind: (
            [field.name for field in dataclasses.fields(event_type) if field.name != "session"],
            [method for method, _ in notifications_for(example(event_type))],
        )
        for event_type, kind in KINDS.items()
    }


def test_the_size_of_the_history_is_told() -> None:
    assert f"keeps {LIMIT}" in ADMIN_TOOLS["wf.admin.events"]


# -- all pages -------------------------------------------------------------------------------------------------------


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    broken = [
        written
        for written, file, anchor in links(page)
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file))
    ]
    assert broken == []


@each_page
def test_modules_that_a_page_names_exist(page: Path) -> None:
    named = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", prose(read(page))))
    bases = [ROOT, ROOT / "src" / "wf_mcp", ROOT / "tests"]
    assert [name for name in sorted(named) if not any((base / name).is_file() for base in bases)] == []


def test_the_index_lists_every_page() -> None:
    listed = {file for _, file, _ in links(DOCS / "index.md")}
    assert [page for page in DOCS.rglob("*.md") if page.name != "index.md" and page not in listed] == []
