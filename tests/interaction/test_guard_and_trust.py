"""No self-start, no use of an unapproved file, no secret, no stranger."""

import json
import sys
from pathlib import Path

import httpx2
import pytest
from tests.covers import covers
from tests.endpoint import Endpoint
from tests.inbox import JsonObject
from tests.procs import descendants
from tests.rawclient import RawError
from tests.rig import WF_MCP, Rig

pytestmark = pytest.mark.anyio
SECRET = "s3cr3t-canary-0123456789"


def servers_below(pid: int) -> list[int]:
    """The wf-mcp processes below a process that serve."""
    words = {child: Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0") for child in descendants(pid)}
    return [child for child, argv in words.items() if b"wf_mcp" in argv and b"serve" in argv]


def entry(*args: str) -> JsonObject:
    return {"command": sys.executable, "args": ["-m", "wf_mcp", *args]}


@covers("guard.self-start", "A file that contains wf-mcp itself starts one wf-mcp, and status says why")
@pytest.mark.parametrize("how", ["--config", "environment"])
async def test_a_file_with_wf_mcp_itself_starts_one_process(rig: Rig, how: str) -> None:
    rig.upstream("alpha")
    if how == "--config":
        rig.entries["myself"] = entry("serve", "--config", str(rig.config))
    else:
        rig.entries["myself"] = entry("serve") | {"env": {"WF_MCP_CONFIG": str(rig.config)}}
    async with rig.serve().raw() as raw:
        assert (await raw.json("alpha.who"))["name"] == "alpha"
        await raw.names()
        assert servers_below(raw.pid) == []
        status = (await raw.call("wf.admin.status"))["structuredContent"]
        (mine,) = [upstream for upstream in status["upstreams"] if upstream["id"] == "myself"]
    assert mine["state"] in ("failed", "disabled")
    # A value from `env` is taken for a secret, so the reason cannot show the path then.
    assert "served already" in mine["reason"] and (how == "environment" or rig.config.name in mine["reason"])


@covers("guard.depth", "The self-start guard holds at any depth: A starts B, and B does not start A again")
async def test_two_files_that_name_each_other(rig: Rig) -> None:
    other = rig.folder / "other.json"
    rig.upstream("alpha")
    back = entry("serve", "--config", str(rig.config))
    other.write_text(json.dumps({"mcpServers": {"back": back, "alpha": rig.entries["alpha"]}}))
    rig.entries["other"] = entry("serve", "--config", str(other))
    async with rig.serve().raw() as raw:
        assert (await raw.json("other.alpha.who"))["name"] == "alpha"
        await raw.names()
        assert len(servers_below(raw.pid)) == 1
        status = (await raw.call("other.wf.admin.status"))["structuredContent"]
    (refused,) = [upstream for upstream in status["upstreams"] if upstream["id"] == "back"]
    assert rig.config.name in refused["reason"]


@covers("guard.project-file", "A trusted `.mcp.json` that starts `wf-mcp serve` without a file does not start itself")
async def test_a_project_file_with_wf_mcp_in_it(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.entries["proxy"] = entry("serve")
    rig.config = rig.folder / ".mcp.json"
    rig.write()
    assert rig.run("trust", str(rig.config)).returncode == 0
    async with unnamed(rig).raw() as raw:
        assert (await raw.json("alpha.who"))["name"] == "alpha"
        await raw.names()
        assert servers_below(raw.pid) == []


def unnamed(rig: Rig) -> Endpoint:
    """`wf-mcp serve` in the test's folder, with no file named."""
    return Endpoint([*WF_MCP, "serve"], env=rig.env, cwd=rig.folder, log=rig.folder / "wf-mcp-stdio.log", patience=10)


@covers("trust.before", "A project's file starts nothing before it is approved, and wf-mcp says how to approve it")
async def test_a_project_file_is_not_used_before_it_is_trusted(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.config = rig.folder / ".mcp.json"
    rig.write()
    done = rig.run("check")
    assert f"wf-mcp trust {rig.config}" in (done.stdout + done.stderr).replace("\n", "")
    try:
        async with unnamed(rig).raw() as raw:
            assert not [name for name in await raw.names() if name.startswith("alpha")]
    except* Exception as ended:  # a wf-mcp that refuses to serve at all is as good, when it says why
        assert "trust" in rig.log(), ended
    assert "wf-mcp trust" in rig.log()
    assert rig["alpha"].pids == []


@covers("trust.after", "An approved file is used, from a folder below too, until one byte of it changes")
async def test_a_trusted_file_is_used_until_it_changes(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.config = rig.folder / ".mcp.json"
    rig.write()
    done = rig.run("trust", str(rig.config))
    assert done.returncode == 0, done.stderr
    async with unnamed(rig).raw() as raw:
        assert (await raw.json("alpha.who"))["name"] == "alpha"
    assert rig.run("check").returncode == 0
    rig.config.write_text(rig.config.read_text() + "\n")
    before = len(rig["alpha"].pids)
    done = rig.run("check")
    assert "wf-mcp trust" in done.stdout + done.stderr
    assert len(rig["alpha"].pids) == before


@covers("trust.named", "A file named by --config or WF_MCP_CONFIG needs no approval")
def test_a_named_file_needs_no_approval(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.write()
    assert rig.run("check", "--config", str(rig.config)).returncode == 0
    assert rig.run("check", WF_MCP_CONFIG=str(rig.config)).returncode == 0


@covers("variables.missing", "A missing variable is a warning that names it, and that upstream alone is not started")
async def test_a_missing_variable(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.upstream("beta", env={"KEY": "${NO_SUCH_VARIABLE_HERE}"})
    rig.upstream("gamma", env={"KEY": "${NO_SUCH_VARIABLE_HERE:-fallback} $$x"})
    async with rig.serve().raw() as raw:
        names = await raw.names()
        assert "alpha.who" in names and not [name for name in names if name.startswith("beta.")]
        assert (await raw.json("gamma.env"))["KEY"] == "fallback $x"
        status = (await raw.call("wf.admin.status"))["structuredContent"]
    (beta,) = [upstream for upstream in status["upstreams"] if upstream["id"] == "beta"]
    assert "NO_SUCH_VARIABLE_HERE" in beta["reason"]
    assert rig["beta"].pids == []


@covers("secrets.masked", "Configured secrets are in no log, error, inventory, status or event")
async def test_secrets_are_shown_nowhere(rig: Rig) -> None:
    rig.env["CANARY"] = SECRET
    rig.upstream("alpha", env={"KEY": "env-" + SECRET})
    rig.entries["missing"] = {"command": "no-such-command", "args": ["--key", "${CANARY}"]}
    rig.entries["exits"] = {"command": "sh", "args": ["-c", 'echo "key ${CANARY}" >&2; exit 3']}
    url = "http://127.0.0.1:9/mcp?key=${CANARY}"
    rig.entries["closed"] = {"type": "http", "url": url, "headers": {"x-key": "header-" + SECRET}}
    async with rig.admin("http") as raw:
        await raw.names()
        tools = ("status", "inventory", "events", "reload_config")
        said = [json.dumps(await raw.call(f"wf.admin.{tool}")) for tool in tools]
        for name in ("missing", "exits", "closed"):
            try:
                said.append(json.dumps(await raw.call(f"{name}.x")))
            except RawError as error:
                said.append(str(error))
        # What an upstream itself answers is not ours to change.
        assert SECRET in await raw.text("alpha.env")
    assert rig.token is not None
    for text in (*said, rig.log("http")):
        assert SECRET not in text
        assert rig.token not in text
    checked = rig.run("check", "--config", str(rig.config))
    inventory = rig.run("inventory", "--json", "--config", str(rig.config))
    for text in (checked.stdout, checked.stderr, inventory.stdout, inventory.stderr):
        assert SECRET not in text.replace("\n", "")


def post(url: str, **headers: str) -> int:
    """The HTTP status of an initialize request with these headers."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    }
    accept = {"accept": "application/json, text/event-stream"}
    return httpx2.post(url, json=body, headers=accept | headers, timeout=10).status_code


@covers("http.origin", "A request with a foreign Host or Origin is refused")
def test_foreign_host_and_origin_are_refused(rig: Rig) -> None:
    rig.upstream("alpha")
    url = rig.serve("http").url
    assert url is not None
    assert post(url) == 200
    assert post(url, origin="http://127.0.0.1:1234") == 200
    assert post(url, host="evil.example") in (403, 421)
    assert post(url, origin="http://evil.example") == 403


@covers("http.token", "With tokens configured a request without a good one is 401")
def test_tokens_are_required_once_configured(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.with_token()
    url = rig.serve("http").url
    assert url is not None
    assert post(url) == 401
    assert post(url, authorization="Bearer wrong") == 401
    assert post(url, authorization=f"Bearer {rig.token}") == 200


@covers("http.loopback", "Another address than loopback is refused unless tokens are configured")
def test_other_addresses_need_tokens(rig: Rig) -> None:
    rig.upstream("alpha")
    done = rig.run("serve", "--config", str(rig.write()), "--http", "0.0.0.0:0", seconds=20)
    assert done.returncode != 0
    assert "token" in done.stderr and "Traceback" not in done.stderr
