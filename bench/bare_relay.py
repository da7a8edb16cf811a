"""For comparison: what a relay on the same libraries costs that knows nothing of MCP and looks at nothing.

    python bench/bare_relay.py CONFIG [PORT]

Over stdio it copies bytes between its own pipes and the first upstream's; over HTTP it is a uvicorn application that
sends each body on with aiohttp, and the answer back.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn
import uvloop

CHUNK = 65_536
PASSED = (b"content-type", b"accept", b"mcp-protocol-version", b"mcp-method", b"mcp-name")


async def relay_stdio(argv: list[str]) -> None:
    """Until stdin ends."""
    loop = asyncio.get_running_loop()
    child = await asyncio.create_subprocess_exec(*argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    stdin, into, back = asyncio.StreamReader(), child.stdin, child.stdout
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), os.fdopen(0, "rb"))
    out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(1, "wb"))

    async def there() -> None:
        while data := await stdin.read(CHUNK):
            into.write(data)
            await into.drain()
        into.close()

    async def and_back() -> None:
        while data := await back.read(CHUNK):
            out.write(data)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(there())
        tasks.create_task(and_back())


class HttpRelay:
    """The application."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request and its answer."""
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if self._client is None:
            self._client = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        headers = {name.decode(): value.decode() for name, value in scope["headers"] if name in PASSED}
        async with self._client.request(scope["method"], self._url, data=body, headers=headers) as response:
            data = await response.read()
        fields = [
            (b"content-type", response.headers.get("content-type", "text/plain").encode()),
            (b"content-length", str(len(data)).encode()),
        ]
        await send({"type": "http.response.start", "status": response.status, "headers": fields})
        await send({"type": "http.response.body", "body": data})


def main(config: str, port: str | None = None) -> None:
    """Relay to the only server that the config file names."""
    (entry,) = json.loads(Path(config).read_text(encoding="utf-8"))["mcpServers"].values()
    if port is None:
        uvloop.run(relay_stdio([entry["command"], *entry["args"]]))
    else:
        uvicorn.run(
            HttpRelay(entry["url"]),
            port=int(port),
            loop="uvloop",
            http="httptools",
            log_config=None,
            access_log=False,
            lifespan="off",
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
