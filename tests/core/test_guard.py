"""The self-start guard (design D11)."""

import json

import pytest

from wf_mcp.core.config import Config, StdioTransport, load_config
from wf_mcp.core.guard import chain_value, guarded, path_digest, served_already, starts_wf_mcp, wf_mcp_arguments

FILE = "/p/.mcp.json"


def config(entry, env=None) -> Config:
    return load_config(json.dumps({"mcpServers": {"self": entry}}), file=FILE, base="/p", env=env or {})


def test_a_chain_lists_each_served_file_once():
    first, second = path_digest("/p/a.json"), path_digest("/p/b.json")
    chain = chain_value(chain_value(None, first), second)
    assert chain == f"{first},{second}"
    assert chain_value(chain, first) == f"{second},{first}"
    assert served_already(chain, "/p/x/../a.json")
    assert served_already(chain, "/p/b.json")
    assert not served_already(chain, "/p/c.json")
    assert not served_already(None, "/p/a.json")
    assert "/p" not in chain


@pytest.mark.parametrize(
    "line",
    [
        "wf-mcp serve",
        "/usr/local/bin/wf-mcp serve",
        "wf-mcp.exe serve",
        "python -m wf_mcp serve",
        "/v/bin/python3.12 -I -W ignore -m wf_mcp.cli serve",
        "python -mwf_mcp serve",
        "uvx wf-mcp serve",
        "uvx wf-mcp@latest serve",
        "uvx --from git+https://h/wf-mcp --python 3.12 wf-mcp serve",
        "uvx --from wf-mcp wf-mcp serve",
        "uvx wf-mcp[redis]==0.1 serve",
        "uv tool run wf-mcp serve",
        "uv run --directory /x wf-mcp serve",
        "uv run python -m wf_mcp serve",
        "uv run -m wf_mcp serve",
        "pipx run --spec wf-mcp wf-mcp serve",
        "env -i A=1 wf-mcp serve",
    ],
)
def test_a_command_that_starts_wf_mcp_is_recognised(line):
    words = line.split()
    assert starts_wf_mcp(StdioTransport(words[0], tuple(words[1:])))
    assert wf_mcp_arguments(words) == ("serve",)


@pytest.mark.parametrize(
    "line",
    [
        "npx wf-mcp serve",
        "wf-mcp-redact serve",
        "python wf_mcp.py serve",
        "python server.py -m wf_mcp",
        "python -m other wf_mcp",
        "python -I",
        "python",
        "uv pip install wf-mcp",
        "uvx --from wf-mcp other",
        "uvx",
        "pipx install wf-mcp",
        "env",
        "echo wf-mcp",
    ],
)
def test_another_command_is_not(line):
    words = line.split()
    assert not starts_wf_mcp(StdioTransport(words[0], tuple(words[1:])))


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "wf-mcp", "args": ["serve"]},
        {"command": "wf-mcp", "args": ["-v", "serve", "--names", "safe"]},
        {"command": "wf-mcp", "args": ["serve", "--config", ".mcp.json"]},
        {"command": "wf-mcp", "args": ["serve", "--config=/p/x/../.mcp.json"]},
        {"command": "wf-mcp", "args": ["serve", "--config", "../.mcp.json"], "cwd": "sub"},
        {"command": "wf-mcp", "args": ["serve"], "env": {"WF_MCP_CONFIG": FILE}},
        {"command": "uvx", "args": ["wf-mcp", "serve", "--config", "${FILE}"]},
    ],
)
def test_an_entry_that_would_serve_this_file_is_refused_and_says_why(entry):
    result = config(entry, {"FILE": FILE})
    problem = result.upstreams[0].problem
    assert problem is not None
    assert f"it would start wf-mcp on {FILE}" in problem
    assert any("$.mcpServers.self" in note and problem in note for note in result.notes)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "wf-mcp", "args": ["serve", "--config", "other.json"]},
        {"command": "wf-mcp", "args": ["serve", "--config", ".mcp.json"], "cwd": "/q"},
        {"command": "wf-mcp", "args": ["serve"], "env": {"WF_MCP_CONFIG": "/q/.mcp.json"}},
        {"command": "wf-mcp", "args": ["demo"]},
        {"command": "npx", "args": ["other", "serve"]},
        {"url": "http://127.0.0.1:1/mcp"},
    ],
)
def test_another_entry_is_left_alone(entry):
    result = config(entry)
    assert result.upstreams[0].problem is None
    assert guarded(result, None) is result


def test_a_file_served_further_up_is_refused_at_load():
    entry = {"command": "wf-mcp", "args": ["serve", "--config", "/q/outer.json"]}
    chain = chain_value(None, path_digest("/q/outer.json"))
    problem = config(entry, {"WF_MCP_CHAIN": chain}).upstreams[0].problem
    assert problem is not None
    assert "/q/outer.json" in problem


def test_an_option_without_its_value_leaves_the_search():
    assert config({"command": "wf-mcp", "args": ["serve", "--config"]}).upstreams[0].problem is not None


def test_an_earlier_problem_is_kept_and_a_disabled_entry_gets_no_note():
    missing = config({"command": "wf-mcp", "args": ["serve", "${NOPE}"]}).upstreams[0].problem
    assert missing is not None
    assert "NOPE" in missing
    assert config({"command": "wf-mcp", "args": ["serve"], "disabled": True}).notes == ()


def test_no_words_start_nothing():
    assert wf_mcp_arguments(()) is None
