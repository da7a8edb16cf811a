"""One server entry: switches, variables, paths, what nobody reads (field cases F74, F75, F78, F81, F82)."""

import json

import pytest

from wf_mcp.core.config import (
    BadConfig,
    Config,
    HttpTransport,
    StdioTransport,
    Upstream,
    UpstreamSettings,
    load_config,
)

FILE = "/p/.mcp.json"
ENV = {"HOME": "/home/me", "A": "one", "HOST": "h.example", "TWICE": "${A}", "LINES": "a\nb"}


def load(entry, env=None, key="a") -> Config:
    return load_config(json.dumps({"mcpServers": {key: entry}}), file=FILE, base="/p", env=ENV if env is None else env)


def upstream(entry, env=None) -> Upstream:
    return load(entry, env).upstreams[0]


def found(entry) -> list[str]:
    with pytest.raises(BadConfig) as caught:
        load(entry)
    return [f"{problem.path}: {problem.found}" for problem in caught.value.problems]


def test_variables_are_expanded_in_every_field():
    assert upstream(
        {
            "command": "${A}",
            "args": ["${A}", "${B:-two}", "$$", "$x", "${TWICE}"],
            "env": {"K": "x${A}"},
            "cwd": "/${A}",
        }
    ).transport == StdioTransport("one", ("one", "two", "$", "$x", "${A}"), {"K": "xone"}, "/one")
    assert upstream({"url": "https://${HOST}/mcp", "headers": {"X": "${A}"}}).transport == HttpTransport(
        "https://h.example/mcp", {"X": "one"}
    )


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"command": "hunter2${NOPE}"}, "command"),
        ({"command": "x", "args": ["y", "hunter2${NOPE}"]}, "args[1]"),
        ({"command": "x", "env": {"KEY": "hunter2${NOPE}"}}, "env.KEY"),
        ({"command": "x", "cwd": "hunter2${NOPE}"}, "cwd"),
        ({"url": "http://hunter2${NOPE}/mcp"}, "url"),
        ({"url": "http://h/mcp", "headers": {"X-Key": "hunter2${NOPE}"}}, 'headers["X-Key"]'),
    ],
)
def test_a_missing_variable_keeps_only_this_upstream_from_starting(entry, field):
    config = load(entry)
    problem = config.upstreams[0].problem
    assert problem == f"the environment variable NOPE is not set ({field})"
    (note,) = config.notes
    assert note.endswith(
        f"$.mcpServers.a.{field}: the environment variable NOPE is not set; this server is not started"
    )
    assert "hunter2" not in note
    assert upstream(entry, {**ENV, "NOPE": "x"}).problem is None


def test_several_reasons_are_all_named_once():
    problem = upstream({"command": "x", "args": ["${NOPE}${NOPE}", "${input:key}"]}).problem
    assert problem == "the environment variable NOPE is not set (args[0]); wf-mcp cannot resolve ${input:key} (args[1])"


def test_a_switched_off_entry_does_not_complain_about_variables():
    config = load({"command": "${NOPE}", "disabled": True})
    assert config.notes == ()
    assert not config.upstreams[0].enabled


@pytest.mark.parametrize(
    ("switches", "enabled"),
    [
        ({}, True),
        ({"disabled": True}, False),
        ({"disabled": False}, True),
        ({"enabled": False}, False),
        ({"wf": {"enabled": False}}, False),
        ({"disabled": True, "enabled": False, "wf": {"enabled": False}}, False),
        ({"disabled": None, "enabled": None}, True),
    ],
)
def test_every_switch_is_understood(switches, enabled):
    result = upstream({"command": "x", **switches})
    assert (result.enabled, result.settings.enabled) == (enabled, enabled)


@pytest.mark.parametrize(
    ("switches", "problem"),
    [
        (
            {"disabled": True, "enabled": True},
            "$.mcpServers.a.enabled: disabled and enabled that contradict each other",
        ),
        (
            {"disabled": False, "wf": {"enabled": False}},
            "$.mcpServers.a.wf.enabled: disabled and wf.enabled that contradict each other",
        ),
    ],
)
def test_switches_that_contradict_each_other_are_an_error(switches, problem):
    assert found({"command": "x", **switches}) == [problem]


@pytest.mark.parametrize(
    ("raw", "command"),
    [
        ("npx", "npx"),
        ("./up.py", "/p/up.py"),
        ("../up.py", "/p/../up.py"),
        ("bin/up me", "/p/bin/up me"),
        ("/bin/up", "/bin/up"),
        ("~/up.py", "/home/me/up.py"),
        ("${A}/up.py", "/p/one/up.py"),
    ],
)
def test_a_relative_command_starts_at_the_file(raw, command):
    assert upstream({"command": raw}).transport == StdioTransport(command)


@pytest.mark.parametrize(("raw", "cwd"), [(".", "/p"), ("sub", "/p/sub"), ("/x", "/x"), ("~", "/home/me")])
def test_a_relative_working_folder_starts_at_the_file(raw, cwd):
    assert upstream({"command": "x", "cwd": raw}).transport == StdioTransport("x", cwd=cwd)


def test_arguments_are_verbatim_but_for_variables_and_a_leading_tilde():
    args = ["a b", '"q"', "./x", "~/x", "~", "~you", "a~", "--x=~/y", "", "*"]
    expected = ("a b", '"q"', "./x", "/home/me/x", "/home/me", "~you", "a~", "--x=~/y", "", "*")
    assert upstream({"command": "x", "args": args}).transport == StdioTransport("x", expected)


def test_a_tilde_that_came_from_a_variable_is_not_expanded():
    assert upstream({"command": "x", "args": ["${T}"]}, {"T": "~/x"}).transport == StdioTransport("x", ("~/x",))


def test_a_tilde_without_a_home_keeps_the_upstream_from_starting():
    problem = upstream({"command": "~/x"}, {}).problem
    assert problem is not None
    assert "HOME is not set (command)" in problem


def test_environment_values_of_other_types_become_text_with_a_note():
    config = load({"command": "x", "env": {"N": 1, "F": 1.5, "B": True, "S": "s"}})
    assert config.upstreams[0].transport == StdioTransport("x", env={"N": "1", "F": "1.5", "B": "true", "S": "s"})
    assert [note.split(": ")[1] for note in config.notes] == [f"$.mcpServers.a.env.{key}" for key in "NFB"]


def test_empty_values_of_optional_fields_are_accepted():
    entry = {"command": "x", "args": None, "env": None, "cwd": None, "url": None, "headers": None, "type": None}
    assert load(entry).upstreams[0].transport == StdioTransport("x")
    assert load(entry).notes == ()


def test_what_nobody_reads_is_noted_key_by_key():
    notes = load({"command": "x", "autoApprove": [], "oauth": {}, "headers": {"A": "b"}}).notes
    assert [note.split(": ", 1)[1] for note in notes] == [
        "$.mcpServers.a.autoApprove: wf-mcp does not use this key",
        "$.mcpServers.a.oauth: wf-mcp does not sign in with oauth; give the server its credentials in headers",
        "$.mcpServers.a.headers: not used for a server of the type stdio",
    ]
    (note,) = load({"url": "http://h/mcp", "env": {"A": 1}}).notes
    assert note.endswith("$.mcpServers.a.env: not used for a server of the type http")


@pytest.mark.parametrize("kind", ["sse-ide", "ws-ide", "ws", "sdk", "claudeai-proxy"])
@pytest.mark.parametrize("key", ["type", "transport"])
def test_a_type_of_another_host_makes_the_entry_unavailable(kind, key):
    config = load({key: kind, "url": "ws://h/"})
    problem = config.upstreams[0].problem
    assert problem == f'the type "{kind}" exists only inside the host that wrote it ({key})'
    assert len(config.notes) == 1
    assert f'"{kind}"' in config.notes[0]


def test_a_type_of_another_host_needs_no_url():
    assert upstream({"type": "sdk", "name": "x"}).transport == HttpTransport("")


def test_a_url_that_is_none_is_an_error_in_the_file_and_a_problem_from_a_variable():
    assert found({"url": "h.example/mcp"}) == ["$.mcpServers.a.url: a URL that is not http or https"]
    problem = upstream({"url": "${A}"}).problem
    assert problem == "with its variables it is a URL that is not http or https (url)"
    assert upstream({"url": "${NOPE}"}).problem == "the environment variable NOPE is not set (url)"


def test_what_no_process_or_header_can_carry_keeps_the_upstream_from_starting():
    unusable = "it holds a NUL character or half of a surrogate pair"
    assert upstream({"command": "x", "args": ["a\0b"]}).problem == f"{unusable} (args[0])"
    assert upstream({"command": "x", "env": {"A": "\ud800"}}).problem == f"{unusable} (env.A)"
    headers = {"X": "${LINES}"}
    assert upstream({"url": "http://h/", "headers": headers}).problem == "it holds a line break (headers.X)"
    assert upstream({"url": "http://h/", "headers": {"X": " y\n"}}).transport == HttpTransport("http://h/", {"X": "y"})


def test_our_settings_are_read():
    ours = {
        "namespace": "other",
        "timeout": 3,
        "timeout_resets": True,
        "init_timeout": 4.5,
        "list_timeout": 2.5,
        "ping": 30,
        "isolation": "shared",
        "start": "lazy",
        "identity": "proxy",
        "forward_headers": ["Authorization", "X-A", "authorization"],
    }
    result = upstream({"command": "x", "wf": ours})
    assert result.settings == UpstreamSettings(
        namespace="other",
        timeout=3,
        timeout_resets=True,
        init_timeout=4.5,
        list_timeout=2.5,
        ping=30,
        isolation="shared",
        start="lazy",
        identity="proxy",
        forward_headers=("authorization", "x-a"),
    )
    assert result.label == "other"
    assert upstream({"command": "x"}).settings == UpstreamSettings()


def test_no_limit_is_set_unless_it_is_asked_for():
    settings = upstream({"command": "x"}).settings
    assert (settings.timeout, settings.ping) == (None, None)


@pytest.mark.parametrize("key", ["GitHub", "my server", "@scope/name", "everything.default", "", "日本", "a/b\n"])
def test_any_key_is_a_legal_connection_id(key):
    result = load({"command": "x"}, key=key).upstreams[0]
    assert result.id == key
    assert result.label
