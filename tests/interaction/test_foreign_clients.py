"""Clients that we did not write: the Inspector's command line, and one on the TypeScript SDK (over both fronts)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from inline_snapshot import snapshot
from tests.covers import covers
from tests.rig import FRONTS, Front, Rig
from tests.servers import TESTS, everything, inspector

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
    env = {**os.environ, **rig.env, "MCP_STORAGE_DIR": str(rig.folder / "inspector")}
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
