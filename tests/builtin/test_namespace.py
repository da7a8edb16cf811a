"""The built-in naming of listed components, through the public hook (design D6, D7; matrix C.1 rows 1, 2, 9)."""

import copy
from typing import Any

import pytest

from wf_mcp.builtin import namespace
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.views import Component, Prompt, Resource, ResourceTemplate, Tool
from wf_mcp.plugin.chain import apply_components
from wf_mcp.plugin.manager import build_plugins

MOUNT = Namespace("everything.default", "everything.default")
BARE = Namespace("bare", "")


def fail(plugin: str, hook: str, error: Exception) -> None:
    raise AssertionError(f"{plugin} {hook}") from error


def listed(component: Component, mount: Namespace = MOUNT) -> Component | None:
    plugins = build_plugins([("namespace", namespace)], {}, load_entry_points=False)
    return apply_components(plugins.component_transforms(mount), component, fail)


TOOL: dict[str, Any] = {
    "name": "echo",
    "title": "Echo",
    "inputSchema": {"$defs": {"x": {}}, "type": "object"},
    "_meta": {"ui": {"resourceUri": "ui://app", "csp": {}}, "ui/resourceUri": "ui://app", "vendor": "ui://app"},
    "x-future": 1,
}


def test_a_tool_gets_its_public_name_and_links_and_keeps_the_rest() -> None:
    before = copy.deepcopy(TOOL)
    found = listed(Tool(TOOL))
    assert found is not None
    assert found.raw == {
        **before,
        "name": "everything.default.echo",
        "_meta": {
            "ui": {"resourceUri": "ui://everything/default/app", "csp": {}},
            "ui/resourceUri": "ui://everything/default/app",
            "vendor": "ui://app",
        },
    }
    assert list(found.raw) == list(before)
    assert before == TOOL


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        (Prompt({"name": "p", "arguments": []}), {"name": "everything.default.p", "arguments": []}),
        (Resource({"uri": "demo://a", "name": "a"}), {"uri": "demo://everything/default/a", "name": "a"}),
        (Resource({"uri": "https://example.org/a"}), {"uri": "https://example.org/a"}),
        (
            ResourceTemplate({"uriTemplate": "demo://a/{+id}", "name": "t"}),
            {"uriTemplate": "demo://everything/default/a/{+id}", "name": "t"},
        ),
    ],
)
def test_the_other_kinds(component: Component, expected: dict[str, Any]) -> None:
    found = listed(component)
    assert found is not None
    assert found.raw == expected


@pytest.mark.parametrize("view", [Tool, Prompt, Resource, ResourceTemplate])
@pytest.mark.parametrize("raw", [{}, {"name": None, "uri": 3, "uriTemplate": ""}])
def test_a_component_without_a_name_stays_without(view: Any, raw: dict[str, Any]) -> None:
    found = listed(view(raw))
    assert found is not None
    assert found.raw == raw


def test_a_bare_mount_needs_no_transform() -> None:
    tool = Tool(TOOL)
    assert listed(tool, BARE) is tool
    plugins = build_plugins([("namespace", namespace)], {}, load_entry_points=False)
    assert plugins.component_transforms(BARE) == ()
