"""Clients that we did not write: the Inspector's two command lines, and one on the TypeScript SDK (both fronts)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tests.covers import covers
from tests.rig import FRONTS, Front, Rig
from tests.servers import FIXTURES, TESTS, everything, inspector

NAME = "everything.default"


@pytest.fixture
def target(rig: Rig) -> Callable[[Front], list[str]]:
    """What a client has to be given to reach wf-mcp: a command over stdio, else a URL."""
    rig.command(NAME, everything())

    def start(front: Front) -> list[str]:
        endpoint = rig.serve(front)
        if endpoint.url:
            return [endpoint.url]
        # A script, since the Inspector takes `--config` for an option of its own and passes no environment on.
        script = rig.folder / "serve"
        assigned = " ".join(f"{key}={value}" for key, value in rig.env.items() if key.startswith("WF_MCP_"))
        script.write_text(f"#!/bin/sh\nexec env {assigned} {sys.executable} -m wf_mcp serve --config {rig.config}\n")
        script.chmod(0o755)
        return [str(script)]

    return start


def run(rig: Rig, *argv: str) -> str:
    own = {
        "MCP_STORAGE_DIR": str(rig.folder / "inspector"),
        "MCP_INSPECTOR_DAEMON_DIR": str(rig.folder / "daemon"),
        "MCP_INSPECTOR_SECRET_STORE": "memory",
    }
    env = {**os.environ, **rig.env, **own}
    done = subprocess.run(
        argv, cwd=rig.folder, env=env, capture_output=True, text=True, timeout=50, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    return done.stdout


@covers("clients.typescript", "A client on the TypeScript SDK runs the basic script: list to elicitation")
@pytest.mark.parametrize("front", FRONTS)
def test_a_client_on_the_typescript_sdk(rig: Rig, target: Callable[[Front], list[str]], front: Front) -> None:
    kind = "http" if front == "http" else "stdio"
    told = json.loads(run(rig, "node", str(TESTS / "clients" / "basic.mjs"), kind, *target(front)))
    tools = [name for name in told.pop("tools") if name.startswith(f"{NAME}.")]
    assert f"{NAME}.trigger-elicitation-request" in tools
    # The SDK forgets a call's progress handler when the result comes in the same chunk as the last progress; it does so
    # without a proxy too.
    told["progress"] = told["progress"][:2]
    assert told == snapshot(
        {
            "server": "wf-mcp",
            "echo": [{"type": "text", "text": "Echo: héllo"}],
            "read": [True, True],
            "links": [True, True],
            "prompt": "What's weather in Oslo?",
            "completion": ["Sales", "Support"],
            "progress": [[1, 3], [2, 3]],
            "elicitation": True,
            "asked": 1,
        }
    )


@covers("clients.inspector", "The Inspector's command line lists, calls, reads and gets through wf-mcp")
@pytest.mark.parametrize("front", FRONTS)
def test_the_inspector(rig: Rig, target: Callable[[Front], list[str]], front: Front) -> None:
    where = target(front)

    def ask(method: str, *args: str) -> dict:
        return json.loads(run(rig, *inspector(), "--cli", *where, "--method", method, *args))

    assert f"{NAME}.echo" in [tool["name"] for tool in ask("tools/list")["tools"]]
    called = ask("tools/call", "--tool-name", f"{NAME}.echo", "--tool-arg", "message=hi")
    assert called["content"] == [{"type": "text", "text": "Echo: hi"}]
    uri = ask("resources/list")["resources"][0]["uri"]
    assert ask("resources/read", "--uri", uri)["contents"][0]["uri"] == uri
    got = ask("prompts/get", "--prompt-name", f"{NAME}.args-prompt", "--prompt-args", "city=Oslo")
    assert got["messages"][0]["content"]["text"] == "What's weather in Oslo?"


@pytest.fixture
def mcpdo(rig: Rig) -> Iterator[Callable[..., dict]]:
    """One command of the Inspector's `mcpdo` on the connection named `wf`; its daemon ends with the test."""
    program = [*inspector("mcpdo"), "--format", "json", "--config", str(rig.folder / "inspector.json")]

    def do(*argv: str) -> dict:
        told: dict = json.loads(run(rig, *program, *argv))
        return told

    yield do
    do("daemon", "stop")


def tapped(rig: Rig, front: Front) -> tuple[dict, Path]:
    """A front as an entry of the Inspector's config, with a recorder on its wire."""
    record = rig.folder / "front.wire.jsonl"
    tap = [sys.executable, str(FIXTURES / "wiretap.py"), "--record", str(record)]
    endpoint = rig.serve(front)
    if endpoint.url is None:
        command = [*tap, "--", *endpoint.argv]
        own = {key: value for key, value in rig.env.items() if key.startswith(("WF_MCP_", "PYTHON"))}
        return {"command": command[0], "args": command[1:], "env": own}, record
    process = rig.spawn([*tap, "--forward", endpoint.url], "tap", stdout=subprocess.PIPE)
    assert process.stdout is not None
    return {"type": "http", "url": f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"}, record


@covers("clients.inspector-script", "The Inspector's `mcpdo` runs the whole basic script: list to elicitation")
@pytest.mark.parametrize("front", FRONTS)
def test_the_inspector_runs_the_whole_script(rig: Rig, mcpdo: Callable[..., dict], front: Front) -> None:
    """`mcpdo` keeps a connection between commands, so it completes and answers questions, which `--cli` cannot.

    Neither shows progress: both make their client with `progress: false`. Asked for it with `--metadata
    progressToken=p`, the progress reaches `mcpdo` (the recorder on its wire has it) and is dropped there.
    """
    rig.command(NAME, everything())
    entry, record = tapped(rig, front)
    (rig.folder / "inspector.json").write_text(json.dumps({"mcpServers": {"wf": entry}}))
    assert mcpdo("connect", "wf")["protocolEra"] == "legacy"

    def ask(*argv: str) -> dict:
        return mcpdo("@wf", *argv)

    assert {"echo", "trigger-elicitation-request"} <= {
        tool["name"].removeprefix(f"{NAME}.") for tool in ask("tools/list")["tools"]
    }
    called = ask("tools/call", f"{NAME}.echo", "message:=héllo")
    assert called["content"] == [{"type": "text", "text": "Echo: héllo"}]
    uri = ask("resources/list")["resources"][0]["uri"]
    assert ask("resources/read", uri)["contents"][0]["uri"] == uri
    linked = ask("tools/call", f"{NAME}.get-resource-links", "count:=2")["content"]
    links = [block["uri"] for block in linked if block["type"] == "resource_link"]
    assert [ask("resources/read", link)["contents"][0]["uri"] for link in links] == links
    assert len(links) == 2
    got = ask("prompts/get", f"{NAME}.args-prompt", "--prompt-args", "city=Oslo")
    assert got["messages"][0]["content"]["text"] == "What's weather in Oslo?"
    ref = ["--complete-ref-type", "ref/prompt", "--complete-ref", f"{NAME}.completable-prompt"]
    completed = ask("prompts/complete", *ref, "--complete-arg-name", "department", "--complete-arg-value", "S")
    assert completed == {"values": ["Sales", "Support"], "total": 2, "hasMore": False}
    asked = ask("tools/call", f"{NAME}.trigger-elicitation-request")["elicitationPending"]
    assert (asked["mode"], asked["message"]) == ("form", "Please provide inputs for the following fields:")
    answered = ask("elicitation/respond", asked["elicitationId"], "name:=Ada")
    assert answered["content"][1]["text"] == "User inputs:\n- Name: Ada"
    long = ["trigger-long-running-operation", "duration:=0.3", "steps:=3", "--metadata", "progressToken=p"]
    done = ask("tools/call", f"{NAME}.{long[0]}", *long[1:])
    assert "Steps: 3" in done["content"][0]["text"]
    seen = [json.loads(line)["message"] for line in record.read_text().splitlines()]
    told = [each["params"] for each in seen if each.get("method") == "notifications/progress"]
    assert told == [{"progress": step, "total": 3, "progressToken": "p"} for step in (1, 2, 3)]
