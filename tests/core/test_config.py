"""Whole configuration files: what is accepted, and what is refused with its place (field cases F74 to F79, F85)."""

import json
from pathlib import Path

import jsonschema
import pytest

from wf_mcp.core.config import (
    BadConfig,
    Config,
    NamesSettings,
    ParkedSettings,
    Problem,
    ShutdownSettings,
    StdioTransport,
    ToolsSettings,
    config_schema,
    load_config,
)
from wf_mcp.core.errors import ConfigError

FILE = "/p/.mcp.json"
PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "config.schema.json"


def load(text: str, **env: str) -> Config:
    return load_config(text, file=FILE, base="/p", env=env)


def problems(text: str, **env: str) -> list[str]:
    with pytest.raises(BadConfig) as caught:
        load(text, **env)
    assert str(caught.value) == "\n".join(str(problem) for problem in caught.value.problems)
    return [str(problem).removeprefix(FILE + ":") for problem in caught.value.problems]


def test_a_file_as_hosts_write_it_is_read_with_comments_marks_and_trailing_commas():
    config = load("""\ufeff{\r
      // servers
      "mcpServers": { /* one */
        "everything.default": {"command": "npx", "args": ["-y", "http://x//y"],},\r
        'GitHub': {command: "gh",},
      },
    }""")
    assert [(upstream.id, upstream.label) for upstream in config.upstreams] == [
        ("everything.default", "everything.default"),
        ("GitHub", "github"),
    ]
    assert config.upstreams[0].transport == StdioTransport("npx", ("-y", "http://x//y"))
    assert config.notes == ()


def test_the_settings_of_the_proxy_have_defaults():
    assert load('{"mcpServers": {}}') == load('{"wf": {}}') == Config(file=FILE)


def test_the_settings_of_the_proxy_are_read():
    config = load(
        """{wf: {admin: "write", plugins: {redact: {patterns: ["a$$"]}}, names: {style: "safe", budget: 40},
        tools: {fallback: "on"},
        page_size: 10, list_wait: 0, starts: 3, refresh: null, shutdown: {eof: 1, term: 0.5},
        parked: {expiry: 9, per_upstream: 2, per_principal: 3}, auth: {tokens: {alice: "${T}", bob: "b0b-token"}},
        allowed_hosts: ["MCP.example.org", "mcp.example.org", "h:1"], max_request_bytes: 1000, session_idle: 5}}""",
        T="alice-token\n",
    )
    assert config == Config(
        file=FILE,
        admin="write",
        plugins={"redact": {"patterns": ["a$"]}},
        names=NamesSettings("safe", 40),
        page_size=10,
        list_wait=0,
        starts=3,
        refresh=None,
        tools=ToolsSettings("on"),
        shutdown=ShutdownSettings(1, 0.5),
        parked=ParkedSettings(9, 2, 3),
        tokens={"alice": "alice-token", "bob": "b0b-token"},
        allowed_hosts=("mcp.example.org", "h:1"),
        max_request_bytes=1000,
        session_idle=5,
        secrets=frozenset({"alice-token", "b0b-token"}),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", '1:1: $: found an empty file, expected an object such as {"mcpServers": {}}'),
        (" // nothing\n", '1:1: $: found an empty file, expected an object such as {"mcpServers": {}}'),
        ("[]", '1:1: $: found an array, expected an object with the key "mcpServers"'),
        ("\n 3", '2:2: $: found a number, expected an object with the key "mcpServers"'),
        ("{}", '1:1: $: found an empty object, expected an object with the key "mcpServers"'),
        ('{"x": {}}', '1:1: $: found an object without it, expected an object with the key "mcpServers"'),
        ('{"mcpservers": {}}', '1:2: $.mcpservers: found the key "mcpservers", expected "mcpServers"'),
        ('{"wf": {}, "mcp_server": {}}', '1:12: $.mcp_server: found the key "mcp_server", expected "mcpServers"'),
        ('{"mcpServers": []}', "1:16: $.mcpServers: found an array, expected an object with one key per server"),
        ('{"mcpServers": null}', "1:16: $.mcpServers: found null, expected an object with one key per server"),
        (
            '{\n"mcpServers": {"a": {"command": "x"',
            '2:36: $.mcpServers.a: found the end of the file, expected "," or "}" (JSON5)',
        ),
        ('{"mcpServers": {},,}', '1:19: $: found ",", expected a key or "}" (JSON5)'),
        (
            '{"mcpServers": {"a": {"env": {"A": hunter2}}}}',
            "1:36: $.mcpServers.a.env: found a word without quotes, expected a value (JSON5)",
        ),
        (
            '{"mcpServers": {"a": {"env": {"A": "\\u{1}hunter2"}}}}',
            "1:39: $.mcpServers.a.env.A: found an escape or a number that JSON5 does not have, expected legal JSON5",
        ),
        ('{"wf": 3}', "1:8: $.wf: found 3, expected an object"),
        (
            '{"wf": {"pagesize": 3}}',
            '1:9: $.wf.pagesize: found an unknown key "pagesize", expected one of admin, plugins, names, tools, '
            "page_size, list_wait, starts, refresh, shutdown, parked, auth, allowed_hosts, max_request_bytes, "
            "max_sessions, session_idle "
            '(did you mean "page_size"?)',
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_place_path_and_expectation(text, problem):
    assert problems(text) == [problem]


def test_keys_given_twice_are_all_reported():
    text = '{"mcpServers": {"a": {"command": "x"},\n "a": {"command": "x", "command": "y"}}}'
    assert (
        problems(text)
        == [
            '2:2: $.mcpServers.a: found a second "a" (the first is at line 1, column 17), expected each key once',
            '2:7: $.mcpServers.a.command: found a second "command" (the first is at line 1, column 23), '
            "expected each key once",
            '2:23: $.mcpServers.a.command: found a second "command" (the first is at line 2, column 7), '
            "expected each key once",
        ]
        or len(problems(text)) == 3
    )


def test_too_much_nesting_is_refused():
    (problem,) = problems('{"wf": ' + '{"a": ' * 100_000)
    assert 'found "{", expected at most 32 levels' in problem


def test_what_json5_cannot_finish_is_refused(monkeypatch):
    def overflow(*args, **kwargs):
        raise RecursionError

    monkeypatch.setattr("json5.parse", overflow)
    assert problems("{}") == ["1:1: $: found a value nested too deeply, expected fewer levels"]


def test_every_problem_is_reported_in_the_order_of_the_file():
    found = problems("""{
      "mcpServers": {"a": {"command": 3}, "b": {}, "c": []},
      "wf": {"admin": "yes", "auth": {"tokens": {"t": "${NOPE}"}}}
    }""")
    assert [problem.split(" found")[0] for problem in found] == [
        "2:39: $.mcpServers.a.command:",
        "2:48: $.mcpServers.b:",
        "2:57: $.mcpServers.c:",
        "3:23: $.wf.admin:",
        "3:55: $.wf.auth.tokens.t:",
    ]


def test_an_error_is_a_config_error_with_its_parts():
    with pytest.raises(ConfigError) as caught:
        load("[]")
    assert isinstance(caught.value, BadConfig)
    assert caught.value.problems == (Problem(FILE, 1, 1, "$", "an array", 'an object with the key "mcpServers"'),)


def test_the_form_of_vs_code_is_accepted_with_a_note():
    config = load('{"inputs": [], "$schema": "x", "servers": {"a": {"command": "x"}}}')
    assert [upstream.id for upstream in config.upstreams] == ["a"]
    assert config.notes == (
        f'{FILE}:1:32: $.servers: read as "mcpServers"',
        f"{FILE}:1:2: $.inputs: wf-mcp does not use this key",
    )


def test_beside_mcp_servers_the_alias_is_not_used():
    config = load('{"mcpServers": {}, "servers": {"a": {"command": "x"}}}')
    assert config.upstreams == ()
    assert config.notes == (f"{FILE}:1:20: $.servers: wf-mcp does not use this key",)


def test_labels_that_clash_name_both_keys_and_places():
    assert problems('{"mcpServers": {"my server": {"command": "x"},\n"My-Server": {"command": "y"}}}') == [
        '2:1: $.mcpServers["My-Server"]: found a label that clashes with $.mcpServers["my server"] at line 1, column '
        '17: "my server" and "My-Server" have the same label "my-server", expected another key, or another '
        '"namespace" under its "wf"'
    ]
    (under,) = problems('{"mcpServers": {"a.b": {"command": "x"}, "a": {"command": "y"}}}')
    assert under.startswith('1:17: $.mcpServers["a.b"]: found a label that clashes with $.mcpServers.a at line 1')
    (reserved,) = problems('{"mcpServers": {"wf": {"command": "x"}}}')
    assert reserved.startswith("1:17: $.mcpServers.wf: found a label that cannot be used")


def test_a_label_of_its_own_or_a_switched_off_twin_does_not_clash():
    config = load(
        """{mcpServers: {gh: {command: "x"}, GH: {command: "y", wf: {namespace: "other.gh"}},
        "g h": {command: "z", wf: {namespace: ""}}, gH: {command: "w", disabled: true}}}"""
    )
    assert [upstream.label for upstream in config.upstreams] == ["gh", "other.gh", "", "gh"]


@pytest.mark.parametrize(
    ("token", "found"),
    [
        ('"${NOPE}"', "the variable NOPE, which is not set"),
        ('"${input:x}"', "${input:x}"),
        ('" "', "an empty token"),
        ('"${EMPTY}"', "an empty token"),
        ('"geheim-hunter2-ü"', "a token with characters that no HTTP header carries"),
        ('"first-hunter2"', 'the same token as that of "a"'),
        ("{}", "an object"),
    ],
)
def test_a_token_that_lets_nobody_or_everybody_in_is_an_error(token, found):
    (problem,) = problems(f'{{"wf": {{"auth": {{"tokens": {{"a": "first-hunter2", "b": {token}}}}}}}}}', EMPTY="")
    assert problem.startswith(f"1:56: $.wf.auth.tokens.b: found {found}, expected ")
    assert "hunter2" not in problem


def test_characters_written_as_two_escapes_are_one():
    entry = json.dumps({"command": "x", "args": ["😀"], "env": {"😀": "😀"}})
    assert "\\ud83d\\ude00" in entry
    config = load(f'{{"mcpServers": {{"a": {entry}}}}}')
    assert config.upstreams[0].transport == StdioTransport("x", ("😀",), {"😀": "😀"})


SECRET = "hunter2-secret"
PLACES = {
    "header": {"url": "http://h/mcp", "headers": {"X-Key": SECRET}},
    "bearer": {"url": "http://h/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
    "env": {"command": "x", "env": {"KEY": SECRET}},
    "argument": {"command": "x", "args": ["-e", f"TOKEN={SECRET}"]},
    "query": {"url": f"http://h/mcp?key={SECRET}"},
    "userinfo": {"url": f"http://me:{SECRET}@h/mcp"},
    "variable": {"command": "x", "args": ["${V}"]},
}


@pytest.mark.parametrize("entry", PLACES.values(), ids=PLACES)
def test_a_secret_is_known_as_one_and_shows_nowhere(entry):
    config = load(json.dumps({"mcpServers": {"a": entry}}), V=SECRET)
    assert SECRET in config.secrets
    assert SECRET not in repr(config)
    broken = {**entry, "wf": {"timeout": "x"}, "disabled": True, "enabled": True, "type": "odd"}
    assert SECRET not in "".join(problems(json.dumps({"mcpServers": {"a": broken}}), V=SECRET))


def test_the_published_schema_is_that_of_the_models():
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == config_schema()


def test_the_schema_accepts_what_is_loaded_and_refuses_what_is_not():
    schema = config_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    good = {
        "mcpServers": {"a": {"command": "x", "env": {"A": 1}, "other": 1, "wf": {"timeout": 3}}},
        "wf": {"admin": False},
    }
    jsonschema.validate(good, schema)
    for bad in ({"wf": {"x": 1}}, {"mcpServers": {"a": {"wf": {"x": 1}}}}, {"mcpServers": {"a": {"args": [1]}}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)
