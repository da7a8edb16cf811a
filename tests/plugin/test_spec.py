"""Every hook answers when, given, may return, order and failure, and is typed (style habits 7 and 10)."""

import ast
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pluggy
import pytest

from wf_mcp import plugin
from wf_mcp.plugin import NAME, spec
from wf_mcp.plugin.spec import HOOKS


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)
def test_a_hook_is_prefixed_typed_and_documented(hook: Callable[..., object]) -> None:
    assert hook.__name__.startswith("wf_")
    hints = get_type_hints(hook)
    parameters = inspect.signature(hook).parameters
    assert set(hints) == {*parameters, "return"}
    doc = inspect.getdoc(hook) or ""
    assert "Called once" in doc
    assert "order" in doc.lower()
    assert "raises" in doc
    assert ":returns:" in doc
    assert ".. versionadded:: 0.1" in doc
    assert [name for name in parameters if f":param {name}:" not in doc] == []


def test_hooks_lists_every_spec_of_the_module() -> None:
    manager = pluggy.PluginManager(NAME)
    manager.add_hookspecs(spec)
    assert {name for name in vars(manager.hook) if not name.startswith("_")} == {hook.__name__ for hook in HOOKS}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)
def test_the_body_of_a_spec_offers_nothing(hook: Callable[..., Any]) -> None:
    assert not hook(*[None] * len(inspect.signature(hook).parameters))


def test_what_the_hooks_speak_of_is_imported_from_the_public_package() -> None:
    used = {
        node.id
        for hook in HOOKS
        for node in ast.walk(ast.parse(inspect.getsource(hook)))
        if isinstance(node, ast.Name) and node.id[0].isupper()
    }
    assert used - {"Iterable", "None"} <= set(plugin.__all__)


def test_the_public_names_are_sorted_and_there() -> None:
    assert [name for name in plugin.__all__ if not hasattr(plugin, name)] == []
    assert len(set(plugin.__all__)) == len(plugin.__all__)
