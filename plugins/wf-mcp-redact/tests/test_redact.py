"""What the plug-in takes out, and what it leaves alone; only names of `wf_mcp.plugin` are used."""

from typing import Any

import pytest
from pydantic import ValidationError

from wf_mcp.plugin import (
    CallInfo,
    Component,
    ConfigSection,
    Prompt,
    Resource,
    ResourceTemplate,
    Result,
    Sections,
    Tool,
)
from wf_mcp_redact import RedactSettings, wf_component_transforms, wf_config_section, wf_result_transforms

GITHUB = "ghp_" + "a1B2" * 10
AWS = "AKIA" + "ABCD2345" * 2
SECRETS = {
    "aws": AWS,
    "github": GITHUB,
    "github fine-grained": "github_pat_" + "A1b2_" * 6,
    "model api": "sk-proj-" + "x9_Y" * 6,
    "bearer": "Bearer " + "abc.DEF-123_" * 3,
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd==\n-----END RSA PRIVATE KEY-----",
    "pem cut off": "-----BEGIN PRIVATE KEY-----\nMIIE",
}
BASE64 = "c2stYWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo="


def info(method: str = "tools/call") -> CallInfo:
    return CallInfo("gh", "gh", method, "local", "gh.local")


def clean(raw: dict[str, Any], method: str = "tools/call", **settings: Any) -> dict[str, Any]:
    (transform,) = wf_result_transforms(Sections(RedactSettings(**settings)))
    return transform(Result(raw), info(method)).raw


def listed(component: Component, **settings: Any) -> Component | None:
    (transform,) = wf_component_transforms(Sections(RedactSettings(**settings)))
    return transform(component)


def test_the_section_is_named_like_the_entry_point() -> None:
    assert wf_config_section() == ConfigSection("redact", RedactSettings)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_the_defaults_find_common_secrets(secret: str) -> None:
    result = clean({"content": [{"type": "text", "text": f"a {secret} b"}]})
    assert secret not in result["content"][0]["text"]
    assert result["content"][0]["text"].startswith("a [redacted]")


@pytest.mark.parametrize(
    "text", ["a bearer of news", "sk-short", "AKIA of old", "ghp_short", "-----BEGIN CERTIFICATE-----"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert clean({"content": [{"type": "text", "text": text}]})["content"][0]["text"] == text


def test_a_tool_result_keeps_everything_but_the_secret() -> None:
    raw: dict[str, Any] = {
        "content": [
            {"type": "text", "text": f"key {GITHUB}", "annotations": {"priority": 1}, "_meta": {"x": 1}},
            {"type": "image", "data": BASE64, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": f"demo://{AWS}", "text": AWS, "mimeType": "text/plain"}},
            {"type": "resource", "resource": {"uri": "demo://b", "blob": BASE64}},
            {"type": "resource_link", "uri": f"demo://{AWS}", "name": "n", "description": AWS},
            {"type": "hologram", "payload": AWS},
        ],
        "structuredContent": {"deep": [{"key": AWS, "n": 1, "ok": True, "none": None}], AWS: "kept"},
        "isError": True,
        "future": {"field": AWS},
    }
    assert clean(raw) == {
        "content": [
            {"type": "text", "text": "key [redacted]", "annotations": {"priority": 1}, "_meta": {"x": 1}},
            {"type": "image", "data": BASE64, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": f"demo://{AWS}", "text": "[redacted]", "mimeType": "text/plain"}},
            {"type": "resource", "resource": {"uri": "demo://b", "blob": BASE64}},
            {"type": "resource_link", "uri": f"demo://{AWS}", "name": "n", "description": "[redacted]"},
            {"type": "hologram", "payload": AWS},
        ],
        "structuredContent": {"deep": [{"key": "[redacted]", "n": 1, "ok": True, "none": None}], AWS: "kept"},
        "isError": True,
        "future": {"field": AWS},
    }
    assert raw["content"][0]["text"] == f"key {GITHUB}", "what the upstream sent is never changed in place"


def test_prompt_messages_and_description() -> None:
    raw = {
        "description": f"with {AWS}",
        "messages": [{"role": "user", "content": {"type": "text", "text": AWS}}],
    }
    assert clean(raw, "prompts/get") == {
        "description": "with [redacted]",
        "messages": [{"role": "user", "content": {"type": "text", "text": "[redacted]"}}],
    }


def test_reads_are_cleaned_and_blobs_are_not_touched() -> None:
    raw = {"contents": [{"uri": "demo://a", "text": AWS}, {"uri": "demo://b", "blob": BASE64}]}
    assert clean(raw, "resources/read") == {
        "contents": [{"uri": "demo://a", "text": "[redacted]"}, {"uri": "demo://b", "blob": BASE64}]
    }


def test_a_result_without_secrets_comes_back_as_the_same_object() -> None:
    raw = {"content": [{"type": "text", "text": "nothing here"}]}
    assert clean(raw) is raw


@pytest.mark.parametrize("component", [Tool, Prompt, Resource, ResourceTemplate])
def test_descriptions_and_titles_of_every_kind(component: Any) -> None:
    raw = {"name": AWS, "title": f"t {AWS}", "description": f"d {AWS}", "inputSchema": {"default": AWS}}
    found = listed(component(raw))
    assert found == component(
        {"name": AWS, "title": "t [redacted]", "description": "d [redacted]", "inputSchema": {"default": AWS}}
    )


@pytest.mark.parametrize("raw", [{}, {"description": None}, {"description": 3, "title": ["x"]}])
def test_a_component_without_texts_passes(raw: dict[str, Any]) -> None:
    assert listed(Tool(raw)) == Tool(raw)


def test_own_patterns_replace_the_defaults_and_values_are_exact() -> None:
    raw = {"content": [{"type": "text", "text": f"CUST-1 pa.ss paxss pa.ss.long {AWS}"}]}
    cleaned = clean(raw, patterns=[r"CUST-\d"], values=["pa.ss", "", "pa.ss.long"], replacement=r"\1")
    assert cleaned["content"][0]["text"] == rf"\1 \1 paxss \1 {AWS}"


@pytest.mark.parametrize("pattern", ["(", "x*", ""])
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match="number 2"):
        RedactSettings(patterns=["ok", pattern])


def test_a_misspelled_setting_is_refused() -> None:
    with pytest.raises(ValidationError, match="pattern"):
        RedactSettings.model_validate({"pattern": []})
