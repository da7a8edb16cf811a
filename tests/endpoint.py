"""Something a client can connect to: wf-mcp or an upstream, by a command (stdio) or a URL (HTTP)."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import ClientTransport, StdioTransport, StreamableHttpTransport
from tests.inbox import Inbox, JsonObject
from tests.rawclient import Era, RawClient, raw_http, raw_stdio

MODES: dict[Era, str] = {"handshake": "legacy", "modern": "auto"}


class Listener(MessageHandler):
    """Keeps every notification as JSON."""

    def __init__(self, notes: Inbox) -> None:
        self._notes = notes

    async def on_notification(self, message: mcp_types.ServerNotification) -> None:
        self._notes.add(message.model_dump(by_alias=True, exclude_none=True, mode="json"))


@dataclass
class Probe:
    """A connected FastMCP client and what it heard."""

    client: Client[Any]
    notes: Inbox

    async def wait_for(self, method: str, seconds: float = 10) -> JsonObject:
        """The first notification with this method, also one that came earlier."""
        return await self.notes.wait_for(method, seconds)

    async def text(self, name: str, arguments: JsonObject | None = None) -> str:
        """The text of a call that answers with one text block; a tool's error raises."""
        result = await self.client.call_tool(name, arguments or {})
        (block,) = result.content
        text: str = block.text
        return text

    async def names(self, kind: str = "tools") -> list[str]:
        """The names of all tools, prompts or resources, wf-mcp's own tools left out."""
        names = [item.name for item in await getattr(self.client, f"list_{kind}")()]
        return [name for name in names if not name.startswith(("wf.", "wf_"))]


@dataclass(frozen=True)
class Endpoint:
    """Connects clients of either era. Over stdio each client starts a process of its own."""

    argv: list[str]
    url: str | None = None
    env: dict[str, str] | None = None
    cwd: Path | None = None
    log: Path | None = None
    headers: dict[str, str] = field(default_factory=dict)
    patience: float = 0.5
    """Seconds that a process may take to end after EOF before it gets SIGTERM."""

    @asynccontextmanager
    async def client(self, era: Era = "handshake", **options: Any) -> AsyncIterator[Probe]:
        """A FastMCP client that can sample, elicit and show roots; `options` as for `fastmcp.Client`."""
        notes = Inbox()
        options = {
            "mode": MODES[era],
            "message_handler": Listener(notes),
            "roots": ["file:///probe/root"],
            "sampling_handler": sampled,
            "elicitation_handler": elicited,
            "timeout": 60,
            "init_timeout": 30,
            "cache": False,
            **options,
        }
        async with Client(self._transport(), **options) as client:
            if era == "modern":
                assert client.session.protocol_version == "2026-07-28"
            yield Probe(client, notes)

    def raw(self, era: Era = "handshake", **options: Any) -> AbstractAsyncContextManager[RawClient]:
        """A raw client; `options`: capabilities, name, headers (HTTP), greet (stdio)."""
        if self.url is not None:
            headers = {**self.headers, **options.pop("headers", {})}
            return raw_http(self.url, era=era, headers=headers, **options)
        options = {"env": self.env, "cwd": self.cwd, "log": self.log, "patience": self.patience, **options}
        return raw_stdio(self.argv, era=era, **options)

    def _transport(self) -> ClientTransport:
        if self.url is not None:
            return StreamableHttpTransport(self.url, headers=self.headers, max_sse_event_size=None)
        command, *args = self.argv
        cwd = str(self.cwd) if self.cwd else None
        return StdioTransport(command, args, env=self.env, cwd=cwd, keep_alive=False, log_file=self.log)


async def sampled(messages: Any, params: Any, context: Any) -> str:
    """The client's model."""
    return "hello"


async def elicited(message: str, response_type: Any, params: Any, context: Any) -> Any:
    """The client's user: accepts with a name."""
    return ElicitResult(action="accept", content={"name": "Probe"})
