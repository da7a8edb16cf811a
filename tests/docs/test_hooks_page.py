"""The pages for plug-in authors agree with the code: signatures, rules, and examples that run (style habits 15, 17)."""

import ast
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wf_mcp import plugin
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.views import Component, Tool
from wf_mcp.plugin.chain import apply_components
from wf_mcp.plugin.manager import Plugins, build_plugins
from wf_mcp.plugin.spec import HOOKS

DOCS = Path(__file__).parents[2] / "docs" / "plugins"
PAGE = (DOCS / "hooks.md").read_text(encoding="utf-8")
FIRST = (DOCS / "first.md").read_text(encoding="utf-8")
LABELS = ("**When:**", "**Given:**", "**May return:**", "**Order:**", "**Failure:**", "**Used by:**")
MOUNT = Namespace("gh", "gh")

Hook = Callable[..., object]
each_hook = pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)


def heading(hook: Hook) -> str:
    return f"## `{hook.__name__}({', '.join(inspect.signature(hook).parameters)})`"


def entry(hook: Hook) -> str:
    """One hook's part of the page."""
    return PAGE.partition(heading(hook) + "\n")[2].partition("\n## ")[0]


def blocks(text: str) -> list[str]:
    return [textwrap.dedent(code) for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]


def as_module(name: str, code: str) -> types.ModuleType:
    module = types.ModuleType(name)
    exec(compile(code, name, "exec"), module.__dict__)
    return module


def loaded(name: str, module: object) -> Plugins:
    def fail(owner: str, hook: str, error: Exception) -> None:
        raise AssertionError(f"{owner}: {hook}") from error

    plugins = build_plugins([], {}, load_entry_points=False, extra=[(name, module)], on_failure=fail)
    assert [(status.state, status.reason) for status in plugins.statuses()] == [("active", None)]
    return plugins


def test_every_heading_is_a_hook_with_its_exact_signature_in_the_order_of_the_spec() -> None:
    assert re.findall(r"^## .*$", PAGE, re.MULTILINE) == [heading(hook) for hook in HOOKS]


@each_hook
def test_the_typed_signature_is_the_spec_s(hook: Hook) -> None:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(hook))).body
    assert isinstance(definition, ast.FunctionDef)
    assert definition.returns is not None
    signature = f"def {hook.__name__}({ast.unparse(definition.args)}) -> {ast.unparse(definition.returns)}"
    assert blocks(entry(hook))[0].strip() == signature


@each_hook
def test_every_question_is_answered(hook: Hook) -> None:
    text = entry(hook)
    assert [label for label in LABELS if label not in text] == []


@each_hook
def test_what_uses_it_exists(hook: Hook) -> None:
    used = entry(hook).partition("**Used by:**")[2]
    paths = re.findall(r"`([\w./-]+)`", used)
    assert paths
    assert [path for path in paths if not (DOCS.parents[1] / path).exists()] == []


@each_hook
def test_the_example_loads_and_offers_something(hook: Hook) -> None:
    module = as_module("short", blocks(entry(hook))[1])
    assert hasattr(module, hook.__name__)
    plugins = loaded("short", module)
    if hook.__name__ not in ("wf_config_section", "wf_admin_tools"):
        given = (MOUNT,) if "mount" in inspect.signature(hook).parameters else ()
        assert getattr(plugins, hook.__name__.removeprefix("wf_"))(*given)


@each_hook
def test_examples_import_from_the_public_package_only(hook: Hook) -> None:
    imported = set(re.findall(r"^from (wf_mcp[\w.]*) import", "\n".join(blocks(entry(hook))), re.MULTILINE))
    assert imported <= {"wf_mcp.plugin"}


def transformed(plugins: Plugins, component: Component) -> Component | None:
    return apply_components(plugins.component_transforms(MOUNT), component, lambda *_: None)


@pytest.fixture
def first() -> Iterator[types.ModuleType]:
    module = as_module("my_warning", blocks(FIRST)[0])
    sys.modules["my_warning"] = module
    yield module
    del sys.modules["my_warning"]


def test_the_first_plug_in_works(first: types.ModuleType) -> None:
    drop = Tool({"name": "drop", "annotations": {"destructiveHint": True}})
    look = Tool({"name": "look"})
    plugins = loaded("warning", first)
    assert transformed(plugins, drop) == drop.replace(description="Destructive: ask the user first.")
    assert transformed(plugins, look) is look


def test_the_first_plug_in_s_test_passes(first: types.ModuleType) -> None:
    as_module("test_my_warning", blocks(FIRST)[1]).test_destructive_tools_carry_the_warning()


def test_the_package_s_docstring_is_a_plug_in() -> None:
    (code,) = blocks(inspect.getdoc(plugin) or "")
    plugins = loaded("credit", as_module("credit", code))
    assert transformed(plugins, Tool({"name": "t", "description": "d"})) == Tool({"name": "t", "description": "[gh] d"})


def test_every_hook_is_on_the_page_of_changes() -> None:
    changes = (DOCS / "api-changes.md").read_text(encoding="utf-8")
    assert [hook.__name__ for hook in HOOKS if f"`{hook.__name__}`" not in changes] == []
