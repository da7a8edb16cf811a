"""What the demo does, as a table of steps. Each plays on the `Stage` and returns one line that says what came of it.

A real client speaks to a real `wf-mcp serve` over stdio; nothing here looks inside wf-mcp.
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
from fastmcp import Client
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import StdioTransport
from mcp_types import ServerNotification

CHANGED: Final = "notifications/tools/list_changed"
HOME: Final = "notes.home"
POCKET: Final = "Pocket Calculator"
DATES: Final = "dates"


class Unexpected(Exception):
    """A step did not give what it should; the message says what it gave."""


class Heard(MessageHandler):
    """Keeps the methods of all notifications."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.news = anyio.Event()

    async def on_notification(self, message: ServerNotification) -> None:
        """Remember one notification."""
        self.methods.append(message.method)
        self.news.set()
        self.news = anyio.Event()


@dataclass
class Stage:
    """What the steps share: a temporary folder, the client once it is connected, and what it has seen."""

    folder: Path
    stack: AsyncExitStack
    heard: Heard = field(default_factory=Heard)
    servers: dict[str, Any] = field(default_factory=dict)
    pids: dict[str, int] = field(default_factory=dict)
    link: str = ""
    connected: Client[Any] | None = None

    @property
    def config(self) -> Path:
        """The configuration file that wf-mcp serves."""
        return self.folder / "wf-mcp.json"

    @property
    def log(self) -> Path:
        """What wf-mcp writes to stderr."""
        return self.folder / "wf-mcp.log"

    @property
    def client(self) -> Client[Any]:
        """The connected client."""
        if self.connected is None:
            raise Unexpected("no client is connected")
        return self.connected

    def log_lines(self) -> list[str]:
        """What wf-mcp has said on stderr so far."""
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []

    def add_server(self, connection_id: str, module: str) -> None:
        """Put one of the bundled servers into the configuration file."""
        args = ["-m", f"wf_mcp.cli.demo_upstreams.{module}"]
        self.servers[connection_id] = {"command": sys.executable, "args": args}
        # The lists wait for every server, so that a slow machine shows the same as a fast one.
        settings = {"mcpServers": self.servers, "wf": {"list_wait": 30}}
        self.config.write_text(json.dumps(settings, indent=2), encoding="utf-8")

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        """The structured result of one tool call; a tool's error raises."""
        return (await self.client.call_tool(name, arguments or {})).structured_content

    async def processes(self) -> dict[str, int]:
        """The process id of every running server, as `wf.admin.status` tells it."""
        status = await self.call("wf.admin.status")
        return {up["id"]: session["pid"] for up in status["upstreams"] for session in up["sessions"]}


async def write_config(stage: Stage) -> str:
    """Two servers, as hosts write them."""
    stage.add_server(HOME, "notes")
    stage.add_server(POCKET, "calculator")
    return f'wf-mcp.json with "{HOME}" and "{POCKET}"'


async def connect(stage: Stage) -> str:
    """A process of its own, with folders of its own, and a client that stays connected and can be told of changes."""
    own = {f"WF_MCP_{name}_DIR": str(stage.folder / name.lower()) for name in ("STATE", "CONFIG", "CACHE")}
    transport = StdioTransport(
        sys.executable,
        ["-m", "wf_mcp", "serve", "--config", str(stage.config)],
        env={**os.environ, **own},
        cwd=str(stage.folder),
        keep_alive=False,
        log_file=stage.log,
    )
    client = Client(transport, mode="legacy", message_handler=stage.heard)
    stage.connected = await stage.stack.enter_async_context(client)
    info = client.initialize_result
    if info is None:
        raise Unexpected("the client has no initialize result")
    return f"{info.server_info.name} answers, protocol {info.protocol_version}"


async def list_tools(stage: Stage) -> str:
    """Every server's tools under its label."""
    names = [tool.name for tool in await stage.client.list_tools()]
    wanted = ["notes.home.search", "notes.home.write", "pocket-calculator.add", "pocket-calculator.multiply"]
    expect(f"tools {', '.join(wanted)}", set(wanted) <= set(names), ", ".join(names))
    stage.pids = await stage.processes()
    own = sum(name.startswith("wf.admin.") for name in names)
    return f"{', '.join(wanted)}, and {own} of wf.admin"


async def call(stage: Stage) -> str:
    """Both forms of a name can be called."""
    for name in ("pocket-calculator.add", "pocket_calculator_add"):
        answer = (await stage.call(name, {"a": 2, "b": 40}))["result"]
        expect("42", answer == 42, answer)
    return "42; the same as pocket_calculator_add, for hosts that take no dots"


async def search(stage: Stage) -> str:
    """The link comes back under a URI that means something here."""
    result = await stage.client.call_tool("notes.home.search", {"word": "flour"})
    links = [str(block.uri) for block in result.content if block.type == "resource_link"]
    expect("one link to note://notes/home/bread", links == ["note://notes/home/bread"], links)
    (stage.link,) = links
    return f"a resource_link: {stage.link} (note://bread on its own server)"


async def follow(stage: Stage) -> str:
    """What a tool links to can be read."""
    (content,) = await stage.client.read_resource(stage.link)
    text = getattr(content, "text", "")
    expect("the note about bread", text.startswith("Bread: "), text)
    return str(text)


async def reload(stage: Stage) -> str:
    """The running servers are left alone."""
    stage.add_server(DATES, "dates")
    expect("no change before the reload", CHANGED not in stage.heard.methods, stage.heard.methods)
    report = await stage.call("wf.admin.reload_config")
    told = (report["added"], report["unchanged"], report["failed"], report["error"])
    expect(f"{DATES} added and the others unchanged", told == ([DATES], [HOME, POCKET], {}, None), report)
    pids = await stage.processes()
    kept = {connection_id: pids.get(connection_id) for connection_id in stage.pids}
    expect("the other servers in the same processes", kept == stage.pids, "new processes")
    stage.pids = pids
    return f"added: {DATES}; unchanged, in the same processes: {HOME}, {POCKET}"


async def hear(stage: Stage) -> str:
    """The client learns of the new tool by itself."""
    while CHANGED not in stage.heard.methods:
        await stage.heard.news.wait()
    return "heard"


async def call_new(stage: Stage) -> str:
    """The new server's tool works at once."""
    answer = (await stage.call("dates.weekday", {"day": "2026-07-28"}))["result"]
    expect("Tuesday", answer == "Tuesday", answer)
    return str(answer)


async def leave(stage: Stage) -> str:
    """Nothing that was started is left."""
    await stage.stack.aclose()
    with anyio.move_on_after(10):
        while _own_child() or any(map(_alive, stage.pids.values())):
            await anyio.sleep(0.05)
    left = [name for name, pid in stage.pids.items() if _alive(pid)] + (["wf-mcp"] if _own_child() else [])
    expect("no process left", not left, f"processes of {', '.join(left)} after 10 s")
    return f"wf-mcp and its {len(stage.pids)} servers have ended"


def _own_child() -> bool:
    """Whether this process still has a child: `wf-mcp serve` is the only one that it starts."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def expect(what: str, is_so: bool, found: object) -> None:
    """Raise `Unexpected` unless a step gave `what` it should."""
    if not is_so:
        raise Unexpected(f"expected {what}, got {found}")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that the demo shows."""

    title: str
    play: Callable[[Stage], Awaitable[str]]


STEPS: Final = (
    Step("Write a configuration with two servers into a temporary folder", write_config),
    Step("Start `wf-mcp serve` as a process and connect a client to it over stdio", connect),
    Step("List the tools", list_tools),
    Step('Call pocket-calculator.add {"a": 2, "b": 40}', call),
    Step('Call notes.home.search {"word": "flour"}', search),
    Step("Read that link through wf-mcp", follow),
    Step("Add a third server to the configuration, then call wf.admin.reload_config", reload),
    Step(f"Wait for {CHANGED}", hear),
    Step('Call the new tool, dates.weekday {"day": "2026-07-28"}', call_new),
    Step("Disconnect the client", leave),
)
