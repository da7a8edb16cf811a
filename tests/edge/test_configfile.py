"""Finding and reading the configuration file (design D11, field case F76)."""

import os
from pathlib import Path

import pytest

from wf_mcp.core.config import BadConfig, StdioTransport
from wf_mcp.edge.configfile import LARGEST, Found, find_config, read_config
from wf_mcp.edge.trust import trust

GOOD = b'{"mcpServers": {"a": {"command": "./up.py", "args": ["${A}"]}}}'


@pytest.fixture
def env(tmp_path):
    return {"WF_MCP_STATE_DIR": str(tmp_path / "state"), "WF_MCP_CONFIG_DIR": str(tmp_path / "config"), "A": "one"}


def written(path: Path, data: bytes = GOOD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def problem(path: Path, env, **how) -> str:
    with pytest.raises(BadConfig) as caught:
        read_config(path, env, **how)
    (only,) = caught.value.problems
    return str(only).removeprefix(str(path))


def test_a_file_is_read_and_resolved_against_its_folder(tmp_path, env):
    path = written(tmp_path / "p" / ".mcp.json")
    config = read_config(path, env)
    assert config.file == str(path)
    assert config.upstreams[0].transport == StdioTransport(str(tmp_path / "p" / "up.py"), ("one",))


def test_a_relative_path_becomes_absolute(tmp_path, env, monkeypatch):
    path = written(tmp_path / "x.json")
    monkeypatch.chdir(tmp_path)
    assert read_config(Path("x.json"), env).file == str(path)


def test_a_byte_order_mark_is_accepted(tmp_path, env):
    assert read_config(written(tmp_path / "x.json", b"\xef\xbb\xbf" + GOOD), env).upstreams[0].id == "a"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ':1:1: $: found an empty file, expected an object such as {"mcpServers": {}}'),
        (b'{\r\n"\xc3\xa9": \xff}', ":2:6: $: found the byte 0xff, expected UTF-8"),
        (b"\xef\xbb\xbf{\xff", ":1:2: $: found the byte 0xff, expected UTF-8"),
        ("{}".encode("utf-16"), ":1:1: $: found UTF-16 or UTF-32 text, expected UTF-8"),
        (b" " * (LARGEST + 1), f": $: found more than {LARGEST} bytes, expected a configuration file"),
    ],
    ids=["empty", "byte", "byte after the mark", "utf-16", "large"],
)
def test_bytes_that_are_no_text_are_refused_with_their_place(tmp_path, env, data, text):
    assert problem(written(tmp_path / "x.json", data), env) == text


def test_what_is_no_file_is_refused(tmp_path, env):
    assert problem(tmp_path / "x.json", env) == ": $: found no such file, expected a configuration file"
    assert problem(tmp_path, env) == ": $: found a folder, expected a configuration file"
    os.mkfifo(tmp_path / "pipe")
    assert problem(tmp_path / "pipe", env) == (
        ": $: found something that is not a regular file, expected a configuration file"
    )
    assert ": $: found a file that cannot be read (" in problem(written(tmp_path / "y.json") / "z.json", env)


def test_a_path_with_a_nul_is_refused(env):
    with pytest.raises(BadConfig, match="found a file that cannot be read"):
        read_config(Path("a\0b"), env)


def test_a_project_file_is_loaded_only_with_the_approved_bytes(tmp_path, env):
    path = written(tmp_path / ".mcp.json")
    refused = problem(path, env, approved_only=True)
    assert refused == (
        f": $: found a file that is not approved, or has changed since, expected approval: run wf-mcp trust {path}"
    )
    trust(path, env=env)
    assert read_config(path, env, approved_only=True).upstreams[0].id == "a"
    path.write_bytes(GOOD + b" ")
    assert problem(path, env, approved_only=True) == refused


def test_a_named_file_is_used_whether_it_exists_or_not(tmp_path, env):
    named = tmp_path / "x.json"
    assert find_config(tmp_path, env, Path("x.json")) == Found(named, "explicit", True, (named,))
    assert find_config(tmp_path, {**env, "WF_MCP_CONFIG": "x.json"}) == Found(named, "env", True, (named,))
    both = find_config(tmp_path, {**env, "WF_MCP_CONFIG": "y.json"}, named)
    assert (both.path, both.scope) == (named, "explicit")


def test_nothing_is_found_where_nothing_is(tmp_path, env):
    found = find_config(tmp_path / "a", {**env, "WF_MCP_CONFIG": ""})
    assert (found.path, found.scope, found.trusted, found.untrusted, found.notes) == (None, None, False, (), ())
    assert found.looked_at[:4] == (
        tmp_path / "a" / "wf-mcp.json",
        tmp_path / "a" / ".mcp.json",
        tmp_path / "wf-mcp.json",
        tmp_path / ".mcp.json",
    )
    assert found.looked_at[-1] == tmp_path / "config" / "wf-mcp.json"


def test_an_approved_project_file_is_found_from_below(tmp_path, env):
    path = written(tmp_path / "p" / ".mcp.json")
    trust(path, env=env)
    found = find_config(tmp_path / "p" / "src" / "deep", env)
    assert (found.path, found.scope, found.trusted, found.untrusted) == (path, "project", True, ())


def test_the_nearest_approved_file_wins_and_our_own_name_first(tmp_path, env):
    for path in (tmp_path / ".mcp.json", tmp_path / "p" / ".mcp.json", tmp_path / "p" / "wf-mcp.json"):
        trust(written(path), env=env)
    assert find_config(tmp_path / "p", env).path == tmp_path / "p" / "wf-mcp.json"
    (tmp_path / "p" / "wf-mcp.json").unlink()
    assert find_config(tmp_path / "p", env).path == tmp_path / "p" / ".mcp.json"


def test_a_file_that_is_not_approved_is_passed_over_and_named(tmp_path, env):
    unapproved = written(tmp_path / "my project" / ".mcp.json")
    user = written(tmp_path / "config" / "wf-mcp.json")
    found = find_config(tmp_path / "my project", env)
    assert (found.path, found.scope, found.trusted, found.untrusted) == (user, "user", True, (unapproved,))
    (note,) = found.notes
    assert note.endswith(f'wf-mcp trust "{unapproved}"')


def test_a_file_that_changed_since_is_passed_over(tmp_path, env):
    path = written(tmp_path / "wf-mcp.json")
    trust(path, env=env)
    path.write_bytes(b"{}")
    found = find_config(tmp_path, env)
    assert (found.path, found.untrusted) == (None, (path,))


def test_the_users_own_file_needs_no_approval_in_its_own_folder(tmp_path, env):
    user = written(tmp_path / "config" / "wf-mcp.json")
    found = find_config(tmp_path / "config", env)
    assert (found.path, found.scope, found.untrusted) == (user, "user", ())
