"""Everything wired as it runs: real clients of both eras in memory, real child processes behind (design D1 to D13)."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from tests import servers
from tests.endpoint import Listener
from tests.inbox import Inbox, eventually
from tests.runtime.stage import Ear

from wf_mcp.app import App, Front
from wf_mcp.core.config import Config, load_config
from wf_mcp.core.errors import ConfigError
from wf_mcp.core.events import UpstreamGone, UpstreamReady
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.connection import State

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"], ids=["handshake", "modern"])
CHANGED = "notifications/tools/list_changed"
TOOL = {"name": "hello", "inputSchema": {"type": "object"}}


class Running:
    """An app under test, the configuration that it reads, and what it publishes."""

    def __init__(self, folder: Path, front: Front, env: dict[str, str]) -> None:
        self.folder, self._env = folder, env
        self.entries: JsonObject = {}
        self.settings: JsonObject = {}
        self.ear = Ear()
        self._front = front

    def add(self, name: str, spec: JsonObject | None = None, *flags: str, **entry: Any) -> None:
        """One more upstream in the configuration."""
        command, *args = servers.plain("--json", json.dumps({"name": name, "builtins": False, **(spec or {})}), *flags)
        self.entries[name] = {"command": command, "args": args, **entry}

    def read(self) -> Config:
        """What `reload_config` reads."""
        text = json.dumps({"mcpServers": self.entries, "wf": self.settings})
        return load_config(text, file=str(self.folder / "wf-mcp.json"), base=str(self.folder), env=self._env)

    def start(self) -> App:
        """The app, not yet running."""
        self.app = App(self.read(), self._front, read=self.read, env=self._env)
        self.app.bus.add(self.ear)
        return self.app


@pytest.fixture
def setup(tmp_path: Path) -> Running:
    running = Running(tmp_path, Front("stdio", "dotted"), {})
    running.add("alpha", {"tools": [TOOL], "instructions": "be kind"})
    return running


@asynccontextmanager
async def client_of(setup: Running, mode: str = "legacy") -> AsyncIterator[tuple[Client[Any], Inbox]]:
    app, notes = setup.start(), Inbox()
    client: Client[Any] = Client(app.server, mode=mode, message_handler=Listener(notes))
    with anyio.fail_after(50):
        async with app.running(), client:
            yield client, notes


async def names(client: Client[Any]) -> list[str]:
    return [each.name for each in await client.list_tools()]


async def report(client: Client[Any], tool: str) -> Any:
    return (await client.call_tool(f"wf.admin.{tool}", {})).structured_content


OWN = ["wf.admin.reload_config", "wf.admin.inventory", "wf.admin.status", "wf.admin.events"]


@MODES
async def test_a_client_sees_and_uses_what_is_behind_and_what_is_ours(setup: Running, mode: str) -> None:
    async with client_of(setup, mode) as (client, _):
        assert await names(client) == ["alpha.hello", *OWN]
        assert (await client.call_tool("alpha.hello", {})).content[0].text == "alpha ran hello"
        status = await report(client, "status")
    assert [(each["id"], each["state"]) for each in status["upstreams"]] == [("alpha", "ready")]
    assert [(each["name"], each["state"]) for each in status["plugins"]] == [
        ("history", "active"),
        ("admin", "active"),
        ("namespace", "active"),
        ("links", "active"),
    ]


@MODES
async def test_an_unknown_tool_is_an_error_of_the_protocol(setup: Running, mode: str) -> None:
    async with client_of(setup, mode) as (client, _):
        with pytest.raises((MCPError, ToolError), match=r"Unknown tool: alpha\.nope"):
            await client.call_tool("alpha.nope", {})


async def test_both_eras_use_one_process_on_stdio(setup: Running) -> None:
    app = setup.start()
    async with app.running():
        async with Client(app.server, mode="legacy") as old, Client(app.server, mode="auto") as new:
            for client in (old, new, old):
                await client.list_tools()
        assert len(setup.ear.of(UpstreamReady)) == 1


async def test_what_a_client_alone_used_ends_with_it(setup: Running) -> None:
    app = setup.start()
    async with app.running():
        async with Client(app.server, mode="legacy") as client:
            await client.list_tools()
            (session,) = app.mounts["alpha"].sessions.values()
        await eventually(lambda: session.state is State.STOPPED)
        assert (app.mounts["alpha"].sessions, app.mounts.audiences) == ({}, ())


@MODES
async def test_a_reload_brings_what_was_added_and_tells_the_caller_before_its_result(setup: Running, mode: str) -> None:
    async with client_of(setup, mode) as (client, notes):
        assert "beta.hello" not in await names(client)
        setup.add("beta", {"tools": [TOOL]})
        assert (await report(client, "reload_config"))["added"] == ["beta"]
        assert [note["method"] for note in notes] == ([CHANGED] if mode == "legacy" else [])
        assert "beta.hello" in await names(client)


async def test_a_bad_configuration_changes_nothing(setup: Running) -> None:
    async with client_of(setup) as (client, notes):
        before = await names(client)
        setup.entries["Alpha"] = {"nonsense": 1}
        answer = await report(client, "reload_config")
        assert "Alpha" in answer["error"]
        assert (await names(client), list(notes)) == (before, [])
        events = [each["kind"] for each in (await report(client, "events"))["events"]]
    assert events[-1] == "reload_refused"


async def test_switching_the_admin_tools_off_takes_them_away(setup: Running) -> None:
    setup.settings["admin"] = False
    async with client_of(setup) as (client, _):
        assert await names(client) == ["alpha.hello"]
        with pytest.raises((MCPError, ToolError), match="Unknown tool"):
            await client.call_tool("wf.admin.status", {})


@pytest.mark.parametrize(("tokens", "served"), [({}, False), ({"me": "token-0123456789abcdef"}, True)])
async def test_over_http_admin_tools_are_for_holders_of_a_token(
    tmp_path: Path, tokens: dict[str, str], served: bool
) -> None:
    setup = Running(tmp_path, Front("http", "dotted"), {})
    setup.settings["auth"] = {"tokens": tokens}
    async with client_of(setup) as (client, _):
        assert await names(client) == (OWN if served else [])


async def test_safe_names_are_listed_where_the_front_says_so(tmp_path: Path) -> None:
    setup = Running(tmp_path, Front("stdio", "safe"), {})
    setup.add("al-pha", {"tools": [TOOL]})
    async with client_of(setup) as (client, _):
        assert (await names(client))[:2] == ["al_pha_hello", "wf_admin_reload_config"]
        for name in ("al_pha_hello", "al-pha.hello"):
            assert (await client.call_tool(name, {})).content[0].text == "al-pha ran hello"


async def test_child_processes_end_with_the_app(setup: Running, tmp_path: Path) -> None:
    setup.add("beta", None, "--record", str(tmp_path / "record"))
    async with client_of(setup) as (client, _):
        await names(client)
        started = json.loads((tmp_path / "record").read_text().splitlines()[0])
        assert Path(f"/proc/{started['pid']}").exists()
    await eventually(lambda: not Path(f"/proc/{started['pid']}").exists())


async def test_an_upstream_that_dies_is_started_again(setup: Running) -> None:
    setup.add("beta", {"builtins": True})
    async with client_of(setup) as (client, _):
        await names(client)
        died = await client.call_tool("beta.die", {"code": 3}, raise_on_error=False)
        assert died.is_error
        assert "exit code 3" in died.content[0].text
        assert isinstance(await setup.ear.hears(UpstreamGone), UpstreamGone)
        assert json.loads((await client.call_tool("beta.who", {})).content[0].text)["name"] == "beta"


@pytest.mark.parametrize(("kind", "eager"), [("http", True), ("stdio", False)])
async def test_over_http_eager_upstreams_start_before_the_first_client(tmp_path: Path, kind: Any, eager: bool) -> None:
    setup = Running(tmp_path, Front(kind, "dotted"), {})
    setup.add("alpha", wf={"start": "eager"})
    app = setup.start()
    async with app.running():
        if eager:
            await setup.ear.hears(UpstreamReady)
        else:
            await anyio.wait_all_tasks_blocked()
            assert setup.ear.events == []


async def test_children_know_which_files_are_served_above_them(setup: Running, tmp_path: Path) -> None:
    setup.add("beta", {"builtins": True})
    async with client_of(setup) as (client, _):
        env = json.loads((await client.call_tool("beta.env", {})).content[0].text)
    assert [key for key, value in env.items() if key.startswith("WF_MCP") and value]


async def test_a_plugin_that_is_blocked_is_not_imported(setup: Running) -> None:
    setup.settings["plugins"] = {"redact": {}}
    setup._env = {"WF_MCP_BLOCK_PLUGINS": "redact"}
    async with client_of(setup) as (client, _):
        plugins = {each["name"]: each["state"] for each in (await report(client, "status"))["plugins"]}
    assert plugins["redact"] != "active"


async def test_a_reload_of_plugins_takes_effect_without_a_restart_of_upstreams(setup: Running) -> None:
    async with client_of(setup) as (client, _):
        await names(client)
        setup.settings["plugins"] = {"absent": {}}
        assert (await report(client, "reload_config"))["unchanged"] == ["alpha"]
        plugins = {each["name"]: each["state"] for each in (await report(client, "status"))["plugins"]}
        assert plugins["absent"] == "missing"
        assert await names(client) == ["alpha.hello", *OWN]
        setup.settings["plugins"] = {"absent": {"required": True}}
        assert "absent" in (await report(client, "reload_config"))["error"]
        assert await names(client) == ["alpha.hello", *OWN]


def test_a_required_plugin_that_is_missing_is_a_start_that_fails(setup: Running) -> None:
    setup.settings["plugins"] = {"absent": {"required": True}}
    with pytest.raises(Exception, match="absent"):
        setup.start()


def test_the_configuration_is_read_by_the_same_rules_as_everywhere(setup: Running) -> None:
    setup.entries["alpha"] = {"command": 3}
    with pytest.raises(ConfigError, match="alpha"):
        setup.start()
