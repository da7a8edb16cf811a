"""The table of hosts: a source for every fact, and what follows for names (design D6, matrix F.2)."""

import re
from itertools import combinations

import pytest

from wf_mcp.core.hosts import HOSTS, Choice, Host, choose_names, host_of

REFERENCE = re.compile(r"[\w.-]+/[\w.-]+(#\d+| \d[\w.]*)?( and ([\w.-]+/[\w.-]+)?#\d+)* \([a-z ,]+\)")


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_every_row_names_a_public_source_for_each_of_its_facts(host: Host) -> None:
    cited = re.sub(r"\([^)]*\)", "", host.source)
    assert all(REFERENCE.fullmatch(part) for part in re.split(r"(?<=\)), ", host.source)), host.source
    assert "/" in cited
    facts = {
        "names": host.safe_names,
        "limit": host.name_limit,
        "resources": host.reads_resources,
        "old list": host.keeps_tools,
        "session": host.echoes_session,
    }
    told = {word.strip() for group in re.findall(r"\(([^)]*)\)", host.source) for word in group.split(",")}
    assert {fact for fact, value in facts.items() if value is not None} == told - {"its name only"}


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_a_pattern_is_a_name_or_the_start_of_one(host: Host) -> None:
    assert host.patterns
    assert all("*" not in pattern[:-1] and pattern.strip("*") for pattern in host.patterns)


def test_no_name_belongs_to_two_hosts() -> None:
    names = {host.name: [pattern.rstrip("*") for pattern in host.patterns] for host in HOSTS}
    assert len(names) == len(HOSTS)
    for one, other in combinations(HOSTS, 2):
        assert not any(other.called(name) for name in names[one.name])
        assert not any(one.called(name) for name in names[other.name])


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("claude-code", "Claude Code"),
        ("Claude-Code", "Claude Code"),
        ("claude-ai", "Claude Desktop, claude.ai"),
        ("claude-ai (via mcp-remote 0.1.37)", "Claude Desktop, claude.ai"),
        ("cursor-vscode", "Cursor"),
        ("Visual Studio Code", "VS Code Copilot"),
        ("Visual Studio Code - Insiders", "VS Code Copilot"),
        ("github-copilot-developer", "Copilot CLI"),
        ("gemini-cli-mcp-client-files", "Gemini CLI"),
        ("openai-mcp", "ChatGPT, OpenAI API"),
        ("codex-mcp-client", "Codex"),
        ("windsurf-client", "Windsurf"),
        ("Cline", "Cline"),
        ("Roo-Code (via mcp-remote 0.1.37)", "Roo Code"),
        ("opencode", "OpenCode"),
        ("Zed", "Zed"),
        ("mcp-inspector-tui", "MCP Inspector"),
        ("inspector-cli", "MCP Inspector"),
    ],
)
def test_hosts_are_recognised_by_the_names_they_give(name: str, host: str) -> None:
    found = host_of({"name": name, "version": "1"})
    assert found is not None
    assert found.name == host


@pytest.mark.parametrize(
    "info",
    [None, {}, {"name": None}, {"name": 3}, {"name": ""}, {"name": "Zedd"}, {"name": "my-claude-code"}],
    ids=repr,
)
def test_whoever_else_calls_is_no_known_host(info: dict[str, object] | None) -> None:
    assert host_of(info) is None


CLAUDE, CODE, ZED, OTHER = ({"name": name} for name in ("claude-ai", "Visual Studio Code", "Zed", "other"))


@pytest.mark.parametrize(
    ("setting", "asked", "modern", "info", "style", "why"),
    [
        ("auto", None, False, CLAUDE, "safe", "Claude Desktop, claude.ai needs safe names"),
        ("auto", None, False, CODE, "dotted", "VS Code Copilot takes dotted names"),
        ("auto", None, False, ZED, "dotted", "Zed is not known to need safe names"),
        ("auto", None, False, OTHER, "dotted", "none of the hosts in the table"),
        ("auto", None, False, {}, "dotted", "none of the hosts in the table"),
        ("auto", None, True, CLAUDE, "dotted", "2026-07-28"),
        ("dotted", None, False, CLAUDE, "dotted", "names.style is dotted"),
        ("safe", None, True, OTHER, "safe", "names.style is safe"),
        ("safe", "dotted", False, CLAUDE, "dotted", "names=dotted"),
        ("auto", "safe", True, OTHER, "safe", "names=safe"),
    ],
)
def test_the_form_of_names_is_decided_by_url_then_setting_then_host(setting, asked, modern, info, style, why) -> None:
    choice = choose_names(setting, asked, modern, info)
    assert choice == Choice(style, choice.why)
    assert why in choice.why
