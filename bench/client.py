"""The bare client: as little as a client can do, so that what is measured is what it talks to.

asyncio's own streams and the standard library's json, without any SDK; one connection over pipes, or a pool of
keep-alive connections over HTTP.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from bench.messages import Era, Json, opening
from bench.targets import Target
from bench.wire_http import HttpWire
from bench.wire_stdio import StdioWire

END_SECONDS = 10.0


class Wire(Protocol):
    """A way to a server."""

    async def ask(self, method: str, params: Json) -> Json:
        """One request's result."""
        ...

    async def tell(self, message: Json) -> None:
        """One notification."""
        ...

    @property
    def pid(self) -> int | None:
        """The process at the other end, where this client started it."""
        ...


class Client:
    """One client in one era."""

    def __init__(self, wire: Wire, era: Era) -> None:
        self.wire = wire
        self.era = era

    async def open(self) -> Json:
        """The first exchange; returns what the server says of itself."""
        begin = opening(self.era)
        found = await self.wire.ask(begin.method, begin.params)
        if begin.notification is not None:
            await self.wire.tell(begin.notification)
        return found

    async def call(self, name: str, message: str) -> Json:
        """One `tools/call` of an echo."""
        return await self.wire.ask("tools/call", {"name": name, "arguments": {"message": message}})

    async def tools(self) -> list[Json]:
        """The whole list, over all its pages."""
        tools: list[Json] = []
        page = await self.wire.ask("tools/list", {})
        tools += page["tools"]
        while cursor := page.get("nextCursor"):
            page = await self.wire.ask("tools/list", {"cursor": cursor})
            tools += page["tools"]
        return tools


@asynccontextmanager
async def connected(target: Target, era: Era) -> AsyncIterator[Client]:
    """A client that has opened a connection to `target`; a stdio target's process lives as long."""
    if target.url is not None:
        http = HttpWire(target.url, era)
        try:
            client = Client(http, era)
            await client.open()
            yield client
        finally:
            http.close()
        return
    async with _process(target.argv, target.env) as process, asyncio.TaskGroup() as tasks:
        stdio = StdioWire(process, era)
        reader = tasks.create_task(stdio.read())
        try:
            client = Client(stdio, era)
            await client.open()
            yield client
        finally:
            await stdio.close()
            reader.cancel()


@asynccontextmanager
async def _process(argv: list[str], env: Mapping[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=StdioWire.LIMIT,
        env={**os.environ, **env},
    )
    try:
        yield process
    finally:
        try:
            await asyncio.wait_for(process.wait(), END_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
