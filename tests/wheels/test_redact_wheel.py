"""The example plug-in as anybody would use it: a wheel beside wf-mcp's, where nothing of this folder is known."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.covers import covers
from tests.servers import FIXTURES, TESTS

WHEELS = TESTS / ".wheel-venv" / "bin"
SECRET = "ghp_" + "a1B2" * 9
SPEC = {
    "name": "notes",
    "tools": [{"name": "leak", "description": f"Uses {SECRET}.", "inputSchema": {"type": "object"}}],
    "results": {"tool:leak": {"content": [{"type": "text", "text": f"the token is {SECRET}"}]}},
}


@pytest.fixture
def python() -> Path:
    if not (WHEELS / "wf-mcp").is_file():
        pytest.fail("the wheels are not installed: run `make wheels`", pytrace=False)
    return WHEELS / "python"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC))
    upstream = {"command": sys.executable, "args": [str(FIXTURES / "plain.py"), "--spec", str(spec)]}
    path = tmp_path / "wf-mcp.json"
    path.write_text(json.dumps({"mcpServers": {"notes": upstream}, "wf": {"plugins": {"redact": {}}}}))
    return path


def run(python: Path | str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "WF_MCP", "VIRTUAL_ENV"))}
    return subprocess.run(
        [str(python), "-m", *args],
        env={**clean, "NO_COLOR": "1", **env},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def wf(python: Path | str, config: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return run(python, "wf_mcp", *args, "--config", str(config), **env)


@covers("plugins.wheel", "The redact plug-in works from its wheel: descriptions and results lose their secrets")
def test_the_wheel_redacts_descriptions_and_results(python: Path, config: Path) -> None:
    called = wf(python, config, "call", "notes.leak")
    assert (called.returncode, called.stdout) == (0, "the token is [redacted]\n"), called.stderr
    listed = json.loads(wf(python, config, "inventory", "--json").stdout)
    [leak] = [tool for tool in listed["upstreams"][0]["tools"] if tool["upstream_name"] == "leak"]
    assert leak["description"] == "Uses [redacted]."


@covers("plugins.wheel-tests", "The plug-in's own tests pass where only the two wheels are installed")
def test_the_plugins_own_tests_pass_beside_the_wheels(python: Path, tmp_path: Path) -> None:
    shutil.copytree(TESTS.parent / "plugins" / "wf-mcp-redact" / "tests", tmp_path / "tests")
    done = run(python, "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "tests"))
    assert done.returncode == 0, done.stdout
    where = run(python, "site").stdout
    assert str(TESTS.parent / "src") not in where


@covers("plugins.blocked", "A plug-in blocked by WF_MCP_BLOCK_PLUGINS is not used, and `plugins` says so")
def test_a_blocked_plugin_is_not_used(python: Path, config: Path) -> None:
    called = wf(python, config, "call", "notes.leak", WF_MCP_BLOCK_PLUGINS="redact")
    assert (called.returncode, called.stdout) == (0, f"the token is {SECRET}\n")
    told = wf(python, config, "plugins", WF_MCP_BLOCK_PLUGINS="redact")
    assert "redact" in told.stdout and "disabled" in told.stdout and "WF_MCP_BLOCK_PLUGINS" in told.stdout


@covers("plugins.removed", "With a configured plug-in removed, wf-mcp runs and says that it is missing")
def test_with_the_plugin_removed_wf_mcp_runs_and_says_so(config: Path) -> None:
    called = wf(sys.executable, config, "call", "notes.leak")
    assert (called.returncode, called.stdout) == (0, f"the token is {SECRET}\n")
    told = wf(sys.executable, config, "plugins")
    assert told.returncode == 1 and "redact" in told.stdout and "missing" in told.stdout
    checked = wf(sys.executable, config, "check")
    assert "plug-in redact: missing" in checked.stderr


@covers("plugins.broken", "With a plug-in that raises at import, wf-mcp runs and names it with the reason")
def test_with_a_broken_plugin_wf_mcp_runs_and_says_so(python: Path, config: Path, tmp_path: Path) -> None:
    broken = tmp_path / "site"
    (broken / "broken-1.0.dist-info").mkdir(parents=True)
    (broken / "broken-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "broken-1.0.dist-info" / "entry_points.txt").write_text("[wf_mcp]\nbroken = broken\n")
    (broken / "broken.py").write_text("raise RuntimeError('no such luck')\n")
    called = wf(python, config, "call", "notes.leak", PYTHONPATH=str(broken))
    assert (called.returncode, called.stdout) == (0, "the token is [redacted]\n"), called.stderr
    told = wf(python, config, "plugins", PYTHONPATH=str(broken))
    assert told.returncode == 1 and "broken" in told.stdout and "no such luck" in told.stdout


@covers("plugins.required", "A plug-in that the configuration calls required stops wf-mcp when it is missing")
def test_a_required_plugin_that_is_missing_stops_wf_mcp(config: Path) -> None:
    text = json.loads(config.read_text())
    text["wf"]["plugins"]["redact"]["required"] = True
    config.write_text(json.dumps(text))
    called = wf(sys.executable, config, "call", "notes.leak")
    assert called.returncode != 0 and SECRET not in called.stdout
    assert "redact" in called.stderr and "Traceback" not in called.stderr
