"""The command line: what each command prints and how it ends. A user's mistake never shows a traceback."""

import json
import re
import subprocess

import pytest
from tests.covers import covers
from tests.rig import Rig

OBJECT = {"type": "object"}


def config_of(rig: Rig) -> tuple[str, str]:
    return "--config", str(rig.write())


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """It ended with an error, said these words on stderr, and no traceback."""
    said = done.stdout + done.stderr
    assert done.returncode not in (0, -9)
    assert "Traceback" not in said
    assert done.stderr.strip()
    for word in words:
        assert word in said, said


@covers("cli.version", "--version prints the version")
def test_version(rig: Rig) -> None:
    done = rig.run("--version")
    assert done.returncode == 0
    assert re.search(r"\d+\.\d+\.\d+", done.stdout)


@covers("cli.help", "--help names every command")
def test_help(rig: Rig) -> None:
    done = rig.run("--help")
    assert done.returncode == 0
    for command in ("serve", "check", "inventory", "call", "read", "verify", "trust", "plugins", "demo"):
        assert command in done.stdout


@covers("cli.check", "check prints a row for each upstream and ends with 0 when all are good")
def test_check(rig: Rig) -> None:
    rig.upstream("alpha", {"serverInfo": {"name": "Alpha Server", "version": "7.8.9"}})
    rig.upstream("My Beta")
    done = rig.run("check", *config_of(rig))
    assert done.returncode == 0, done.stderr
    assert "alpha" in done.stdout and "My Beta" in done.stdout


@covers("cli.check-clash", "check says which names had to carry a hash")
def test_check_names_clashes(rig: Rig) -> None:
    rig.upstream("alpha", {"tools": [{"name": name, "inputSchema": OBJECT} for name in ("get-x", "get_x")]})
    done = rig.run("check", *config_of(rig))
    assert "get-x" in done.stdout + done.stderr and "get_x" in done.stdout + done.stderr


@covers("cli.inventory", "inventory --json prints one JSON object with public and upstream names")
def test_inventory(rig: Rig) -> None:
    rig.upstream("alpha", {"tools": [{"name": "t", "inputSchema": OBJECT}], "builtins": False})
    done = rig.run("inventory", "--json", *config_of(rig))
    assert done.returncode == 0, done.stderr
    (upstream,) = json.loads(done.stdout)["upstreams"]
    assert (upstream["id"], upstream["tools"][0]["public_name"]) == ("alpha", "alpha.t")
    assert "alpha.t" in rig.run("inventory", *config_of(rig)).stdout


@covers("cli.call", "call runs a tool by its public name and prints its result")
def test_call(rig: Rig) -> None:
    rig.upstream("alpha")
    done = rig.run("call", "alpha.echo", "--args", '{"a": null}', *config_of(rig))
    assert done.returncode == 0, done.stderr
    assert '"arguments"' in done.stdout.replace("\\", "")
    assert rig["alpha"].calls("echo")[0]["arguments"] == {"a": None}


@covers("cli.call-error", "call ends with an error when the tool's result is one")
def test_call_of_a_tool_that_fails(rig: Rig) -> None:
    result = {"isError": True, "content": [{"type": "text", "text": "out of paper"}]}
    rig.upstream("alpha", {"tools": [{"name": "t", "inputSchema": OBJECT}], "results": {"tool:t": result}})
    done = rig.run("call", "alpha.t", *config_of(rig))
    assert done.returncode != 0
    assert "out of paper" in done.stdout + done.stderr


@covers("cli.read", "read prints a resource by its public URI")
def test_read(rig: Rig) -> None:
    rig.upstream("alpha")
    done = rig.run("read", "demo://alpha/x", *config_of(rig))
    assert done.returncode == 0, done.stderr
    assert "alpha read demo://x" in done.stdout


@covers("cli.plugins", "plugins lists the built-in plug-ins")
def test_plugins(rig: Rig) -> None:
    rig.upstream("alpha")
    done = rig.run("plugins", *config_of(rig))
    assert done.returncode == 0, done.stderr
    assert "namespace" in done.stdout


@covers("cli.trust", "trust approves a file and says which")
def test_trust(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.config = rig.folder / ".mcp.json"
    rig.write()
    done = rig.run("trust", str(rig.config))
    assert done.returncode == 0, done.stderr
    assert ".mcp.json" in done.stdout + done.stderr


@covers("cli.mistakes", "A user's mistake is one clear message, an exit code and no traceback")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("call", "alpha.nothing"), ["alpha.nothing"]),
        (("call", "alpha.echo", "--args", "{half"), ["--args"]),
        (("call", "alpha.echo", "--args", "[1]"), ["--args"]),
        (("read", "demo://nobody/x"), ["demo://nobody/x"]),
        (("serve", "--http", "not an address"), ["--http"]),
        (("serve", "--names", "pretty"), ["--names"]),
    ],
)
def test_mistakes_in_arguments(rig: Rig, args: tuple[str, ...], words: list[str]) -> None:
    rig.upstream("alpha")
    refused(rig.run(*args, *config_of(rig)), *words)


@covers("cli.missing-file", "A configuration that is not there is named")
@pytest.mark.parametrize("command", ["serve", "check", "inventory"])
def test_a_missing_file(rig: Rig, command: str) -> None:
    refused(rig.run(command, "--config", str(rig.folder / "nothing.json")), "nothing.json")


@covers("cli.bad-config", "An error in the configuration names file, line, JSON path, what was found and expected")
@pytest.mark.parametrize("command", ["serve", "check"])
def test_a_bad_file(rig: Rig, command: str) -> None:
    rig.write('{\n  "mcpServers": {\n    "alpha": {\n      "command": 7\n    }\n  }\n}')
    done = rig.run(command, "--config", str(rig.config))
    said = done.stderr.replace("\n", "")
    refused(done)
    for word in (rig.config.name, "4", "mcpServers.alpha.command", "a number", "a string"):
        assert word in said, done.stderr


@covers("cli.comments", "Comments and trailing commas are accepted; other hosts' keys are ignored with a note")
def test_comments_and_other_hosts_keys(rig: Rig) -> None:
    rig.upstream("alpha")
    text = rig.write().read_text()
    text = "// a comment\n" + text.replace('"mcpServers": {', '"mcpServers": { /* note */', 1)
    text = text.replace('"command"', '"alwaysAllow": ["x"], "autoApprove": [], "command"', 1)
    text = text.rstrip().removesuffix("}").rstrip() + ",\n}\n"
    rig.write(text)
    done = rig.run("check", "--config", str(rig.config))
    assert done.returncode == 0, done.stderr
    assert "alwaysAllow" in done.stdout + done.stderr


@covers("cli.host-types", "A host-only server type or an oauth block is noted by name, and disturbs nobody")
def test_host_only_types_are_noted(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.entries["ide"] = {"type": "sse-ide", "url": "http://127.0.0.1:9/sse", "ideName": "x"}
    done = rig.run("check", *config_of(rig))
    said = done.stdout + done.stderr
    assert "sse-ide" in said and "Traceback" not in said


@covers("cli.disabled", "A disabled upstream is not started")
def test_disabled(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.upstream("beta", disabled=True)
    rig.upstream("gamma", wf={"enabled": False})
    assert rig.run("check", *config_of(rig)).returncode == 0
    assert len(rig["alpha"].pids) == 1 and rig["beta"].pids == rig["gamma"].pids == []
