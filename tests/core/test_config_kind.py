"""Which transport an entry means (field case F77)."""

import json

import pytest

from wf_mcp.core.config import BadConfig, HttpTransport, SseTransport, StdioTransport, Transport, load_config
from wf_mcp.core.config_kind import guessed, url_fault


def transport(entry) -> Transport:
    text = json.dumps({"mcpServers": {"a": entry}})
    return load_config(text, file="f", base="/p", env={}).upstreams[0].transport


URL = "http://h/mcp"


@pytest.mark.parametrize("key", ["type", "transport"])
@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("http", HttpTransport),
        ("streamable-http", HttpTransport),
        ("streamableHttp", HttpTransport),
        ("streamable_http", HttpTransport),
        ("sse", SseTransport),
        ("SSE", SseTransport),
    ],
)
def test_a_named_transport_wins_over_the_guess(key, word, kind):
    assert transport({"url": URL, key: word}) == kind(URL)
    assert transport({"url": "http://h/sse", key: word}) == kind("http://h/sse")


def test_both_keys_may_say_the_same():
    assert transport({"url": URL, "type": "http", "transport": "streamable-http"}) == HttpTransport(URL)


@pytest.mark.parametrize("extra", [{}, {"type": "stdio"}, {"transport": "stdio"}, {"type": "local"}])
def test_a_command_is_stdio(extra):
    assert transport({"command": "x", **extra}) == StdioTransport("x")


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://h/mcp", "http"),
        ("http://h", "http"),
        ("http://h/sse", "sse"),
        ("http://h/a/sse/?k=v", "sse"),
        ("http://h/sse#x", "sse"),
        ("http://h/mcp?next=/sse", "http"),
        ("http://h/assess", "http"),
        ("http://h/sse/mcp", "http"),
    ],
)
def test_an_unnamed_transport_is_guessed_from_the_path(url, kind):
    assert guessed(url) == kind


@pytest.mark.parametrize(
    ("entry", "path", "found"),
    [
        ({}, "$.mcpServers.a", "neither command nor url"),
        ({"type": "http"}, "$.mcpServers.a", "neither command nor url"),
        ({"command": "x", "url": URL}, "$.mcpServers.a", "both command and url"),
        ({"type": "stdio", "url": URL}, "$.mcpServers.a.url", "a url for the type stdio"),
        ({"type": "http", "command": "x"}, "$.mcpServers.a.command", "a command for the type http"),
        ({"transport": "sse", "command": "x"}, "$.mcpServers.a.command", "a command for the type sse"),
        (
            {"type": "sse", "transport": "http", "url": URL},
            "$.mcpServers.a.transport",
            "a transport that contradicts type",
        ),
        ({"type": "carrier-pigeon", "url": URL}, "$.mcpServers.a.type", '"carrier-pigeon"'),
    ],
)
def test_contradictions_are_errors(entry, path, found):
    with pytest.raises(BadConfig) as caught:
        transport(entry)
    (problem,) = caught.value.problems
    assert (problem.path, problem.found) == (path, found)


def test_another_hosts_word_for_url_is_explained():
    with pytest.raises(BadConfig, match=r"expected one of them \(write serverUrl as url\)"):
        transport({"serverUrl": URL})


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://h", None),
        ("https://u:p@[::1]:8080/x?y#z", None),
        ("ftp://h/", "a URL that is not http or https"),
        ("h/x", "a URL that is not http or https"),
        ("", "a URL that is not http or https"),
        ("http:///x", "a URL without a host or with port 0"),
        ("http://h:0/", "a URL without a host or with port 0"),
        ("http://h:99999/", "a malformed URL"),
        ("http://[::1/", "a malformed URL"),
    ],
)
def test_a_url_has_to_be_an_endpoint(url, fault):
    assert url_fault(url) == fault
