"""Names of spans, what they say, and what they never say (OpenTelemetry semantic conventions for MCP; design D13)."""

from typing import Any

import pytest

from wf_mcp.core.errors import InvalidParams, LinkLost, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.core.telemetry import (
    ERROR,
    INSTRUMENTS,
    SPAN_ATTRIBUTES,
    bare_uri,
    described,
    error_type,
    is_tool_error,
    span_name,
    version_in,
)


@pytest.mark.parametrize(
    ("method", "params", "name", "said"),
    [
        ("tools/call", {"name": "t", "arguments": {"password": "p"}}, "tools/call t", {"gen_ai.tool.name": "t"}),
        ("tools/call", {"name": 5}, "tools/call", {}),
        ("prompts/get", {"name": "p"}, "prompts/get p", {"gen_ai.prompt.name": "p"}),
        ("resources/read", {"uri": "a://b/c?k=1#f"}, "resources/read", {"mcp.resource.uri": "a://b/c"}),
        ("resources/read", {"uri": 1}, "resources/read", {}),
        ("ping", {"name": "x"}, "ping", {}),
        ("ping", None, "ping", {}),
    ],
)
def test_a_span_is_called_by_method_and_target_and_says_what_is_asked_for(
    method: str, params: Any, name: str, said: dict[str, str]
) -> None:
    operation = {"gen_ai.operation.name": "execute_tool"} if method == "tools/call" else {}
    assert span_name(method, params) == name
    assert described(method, params) == {"mcp.method.name": method, **operation, **said}


@pytest.mark.parametrize(
    ("uri", "bare"),
    [
        ("https://user:pass@host/x?token=1", "https://host/x"),
        ("https://host/a@b", "https://host/a@b"),
        ("urn:x:y", "urn:x:y"),
        ("file:///x#y?z", "file:///x"),
    ],
)
def test_a_uri_is_told_without_the_parts_in_which_secrets_travel(uri: str, bare: str) -> None:
    assert bare_uri(uri) == bare


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (RelayedError(-31000, "x"), "-31000"),
        (UpstreamTimeout("x"), "timeout"),
        (LinkLost("x", started=True), "connection_lost"),
        (UpstreamUnavailable("x"), "unavailable"),
        (InvalidParams("x"), "-32602"),
        (WfMcpError("x"), "-32603"),
    ],
)
def test_errors_have_few_names(error: WfMcpError, name: str) -> None:
    assert error_type(error) == name


@pytest.mark.parametrize(
    ("params", "version"),
    [
        ({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}, "2026-07-28"),
        ({"_meta": {"io.modelcontextprotocol/protocolVersion": 1}}, None),
        ({"_meta": None}, None),
        (None, None),
    ],
)
def test_a_modern_request_names_its_version(params: Any, version: str | None) -> None:
    assert version_in(params) == version


@pytest.mark.parametrize(("said", "failed"), [(True, True), (False, False), (None, False), (1, False), ("x", False)])
def test_only_true_says_that_a_tool_failed(said: Any, failed: bool) -> None:
    assert is_tool_error({"isError": said}) is failed


def test_every_attribute_of_a_metric_is_one_of_a_span_s() -> None:
    assert {name for each in INSTRUMENTS for name in each.attributes} <= set(SPAN_ATTRIBUTES)
    assert len({each.name for each in INSTRUMENTS}) == len(INSTRUMENTS)
    assert [each.name for each in INSTRUMENTS if each.kind == "histogram" and ERROR not in each.attributes] == []
