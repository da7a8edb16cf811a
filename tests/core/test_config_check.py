"""Shapes that do not fit, in words (every kind of error that the models can raise)."""

import json

import pytest

from wf_mcp.core.config import BadConfig, load_config
from wf_mcp.core.config_check import did_you_mean, one_of


def problem(text: str) -> str:
    with pytest.raises(BadConfig) as caught:
        load_config(text, file="f", base="/p", env={})
    (only,) = caught.value.problems
    return f"{only.path}: found {only.found}, expected {only.expected}"


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"command": 3}, "command: found a number, expected a string"),
        ({"command": ""}, "command: found an empty string, expected a string that is not empty"),
        ({"command": "x", "args": "y"}, "args: found a string, expected an array"),
        ({"command": "x", "args": ["y", 3]}, "args[1]: found a number, expected a string"),
        ({"command": "x", "env": []}, "env: found an array, expected an object"),
        ({"command": "x", "env": {"A": None}}, "env.A: found null, expected a string"),
        ({"command": "x", "env": {"A": {}}}, "env.A: found an object, expected a string"),
        ({"command": "x", "disabled": "yes"}, 'disabled: found "yes", expected true or false'),
        ({"url": "http://h/", "headers": {"A": 3}}, "headers.A: found a number, expected a string"),
        ({"command": "x", "wf": None}, "wf: found null, expected an object"),
        ({"command": "x", "wf": {"timeout": 0}}, "wf.timeout: found 0, expected a number greater than 0"),
        ({"command": "x", "wf": {"timeout": "3"}}, 'wf.timeout: found "3", expected a number'),
        (
            {"command": "x", "wf": {"isolation": "none"}},
            'wf.isolation: found "none", expected "client", "principal" or "shared"',
        ),
        (
            {"command": "x", "wf": {"namespace": "My"}},
            'wf.namespace: found "My", expected a label such as "github" or "files.home" (lower case), or "" for none',
        ),
        (
            {"command": "x", "wf": {"forward_headers": ["a b"]}},
            'wf.forward_headers[0]: found "a b", expected the name of an HTTP header',
        ),
        (
            {"command": "x", "wf": {"forward_headers": ["Host"]}},
            'wf.forward_headers[0]: found "Host", expected a header that does not belong to one connection or session',
        ),
    ],
)
def test_an_entry_of_the_wrong_shape(entry, text):
    assert problem(json.dumps({"mcpServers": {"a": entry}})) == f"$.mcpServers.a.{text}"


@pytest.mark.parametrize(
    ("ours", "text"),
    [
        ('{"admin": 1}', 'admin: found 1, expected true, false or "write"'),
        ('{"page_size": 1.5}', "page_size: found 1.5, expected a whole number"),
        ('{"page_size": "x"}', 'page_size: found "x", expected a whole number'),
        ('{"page_size": 0}', "page_size: found 0, expected a number not less than 1"),
        ('{"list_wait": NaN}', "list_wait: found NaN, expected a finite number"),
        ('{"names": {"budget": 500}}', "names.budget: found 500, expected a number not greater than 128"),
        (
            '{"names": {"budgt": 1}}',
            'names.budgt: found an unknown key "budgt", expected one of style, budget (did you mean "budget"?)',
        ),
        ('{"plugins": {"a": 3}}', "plugins.a: found a number, expected an object"),
        ('{"auth": {"x": 1}}', 'auth.x: found an unknown key "x", expected one of tokens'),
        (
            '{"allowed_hosts": ["http://h"]}',
            'allowed_hosts[0]: found "http://h", expected a host name with an optional port, such as "mcp.example.org" '
            'or "mcp.example.org:8443"',
        ),
    ],
)
def test_settings_of_the_wrong_shape(ours, text):
    assert problem(f'{{"wf": {ours}}}') == f"$.wf.{text}"


def test_an_unknown_key_of_a_server_is_compared_with_those_of_a_server():
    text = problem('{"mcpServers": {"a": {"command": "x", "wf": {"initTimeout": 3}}}}')
    assert text.endswith('(did you mean "init_timeout"?)')


def test_a_guess_is_offered_only_where_one_is_near():
    assert did_you_mean("mcp-servers", ["mcpServers"]) == "mcpServers"
    assert did_you_mean("colour", ["mcpServers"]) is None
    assert one_of("colour", ["a", "b"]) == "one of a, b"
