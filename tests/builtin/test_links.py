"""The built-in rewriting of URIs in results, through the public hook (design D7; matrix C.1 rows 3 to 5; F28)."""

import copy
from typing import Any

from wf_mcp.builtin import links
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.views import Result
from wf_mcp.plugin.chain import apply_results
from wf_mcp.plugin.manager import build_plugins
from wf_mcp.plugin.types import CallInfo

MOUNT = Namespace("lab", "lab")
BARE = Namespace("bare", "")
LINK = {"type": "resource_link", "uri": "demo://a", "name": "a"}
EMBEDDED = {"type": "resource", "resource": {"uri": "demo://a", "text": "demo://a"}}


def fail(plugin: str, hook: str, error: Exception) -> None:
    raise AssertionError(f"{plugin} {hook}") from error


def result(raw: dict[str, Any], method: str, local: str = "x", public: str = "lab.x", mount: Namespace = MOUNT) -> Any:
    plugins = build_plugins([("links", links)], {}, load_entry_points=False)
    before = copy.deepcopy(raw)
    info = CallInfo(mount.connection_id, mount.label, method, local, public)
    mapped = apply_results(plugins.result_transforms(mount), Result(raw), info, fail).raw
    assert raw == before
    return mapped


def test_a_call() -> None:
    raw = {"content": [LINK, EMBEDDED, {"type": "text", "text": "demo://a"}], "structuredContent": {"u": "demo://a"}}
    assert result(raw, "tools/call") == {
        "content": [
            {"type": "resource_link", "uri": "demo://lab/a", "name": "a"},
            {"type": "resource", "resource": {"uri": "demo://lab/a", "text": "demo://a"}},
            {"type": "text", "text": "demo://a"},
        ],
        "structuredContent": {"u": "demo://a"},
    }


def test_a_prompt() -> None:
    raw = {"messages": [{"role": "user", "content": LINK}], "description": "demo://a"}
    assert result(raw, "prompts/get") == {
        "messages": [{"role": "user", "content": {"type": "resource_link", "uri": "demo://lab/a", "name": "a"}}],
        "description": "demo://a",
    }


def test_a_read_answers_with_the_uri_exactly_as_the_client_wrote_it() -> None:
    raw = {"contents": [{"uri": "demo://a", "text": "1"}, {"uri": "demo://b", "text": "2"}]}
    assert result(raw, "resources/read", "demo://a", "DEMO://lab/a") == {
        "contents": [{"uri": "DEMO://lab/a", "text": "1"}, {"uri": "demo://lab/b", "text": "2"}]
    }


def test_what_has_no_links_stays_the_same_object() -> None:
    raw = {"content": [{"type": "text", "text": "t"}]}
    assert result(raw, "tools/call") is raw
    assert result(raw, "completion/complete") is raw


def test_a_bare_mount_needs_no_transform() -> None:
    raw = {"content": [LINK]}
    assert result(raw, "tools/call", mount=BARE) is raw
    assert build_plugins([("links", links)], {}, load_entry_points=False).result_transforms(BARE) == ()
