"""A bare client's end of streamable HTTP: keep-alive connections, answers as plain JSON or as an event stream."""

import asyncio
import json
import time
from typing import Any, Final
from urllib.parse import urlsplit

from bench.messages import BadAnswer, Era, Json, encoded, headers, request, result

LIMIT: Final = 256 * 2**20
SESSION: Final = "mcp-session-id"
IDLE_SECONDS: Final = 3.0

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class HttpWire:
    """Requests, each on a connection that nobody else uses meanwhile."""

    def __init__(self, url: str, era: Era) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._head = (
            f"POST {parts.path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\n"
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        )
        self._era = era
        self._number = 0
        self._session: dict[str, str] = {}
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter, float]] = []

    @property
    def pid(self) -> None:
        """Nothing: the server was started by somebody else."""

    async def ask(self, method: str, params: Json) -> Json:
        """One request's result."""
        self._number += 1
        number = self._number
        body = request(self._era, number, method, params)
        return result(await self._post(body, headers(self._era, method, params), number))

    async def tell(self, message: Json) -> None:
        """One notification."""
        await self._post(encoded(message), headers(self._era, message["method"], {}), None)

    def close(self) -> None:
        """Close every connection."""
        for _, writer, _ in self._free:
            writer.close()
        self._free.clear()

    async def _post(self, body: bytes, fields: Json, number: int | None) -> Any:
        lines = "".join(f"{name}: {value}\r\n" for name, value in (fields | self._session).items())
        head = f"{self._head}{lines}content-length: {len(body)}\r\n\r\n".encode()
        reader, writer = await self._connection()
        writer.write(head + body)
        await writer.drain()
        status, found = _head(await reader.readuntil(b"\r\n\r\n"))
        data = await _body(reader, found)
        if found.get("connection", "").lower() == "close":
            writer.close()
        else:
            self._free.append((reader, writer, time.monotonic()))
        if status >= 400:
            raise BadAnswer(f"HTTP {status}: {data[:300]!r}")
        if SESSION in found:
            self._session = {SESSION: found[SESSION]}
        return _message(found, data, number)

    async def _connection(self) -> Connection:
        """The one used last, unless the server may be about to close it (uvicorn does after 5 s)."""
        while self._free:
            reader, writer, used = self._free.pop()
            if not reader.at_eof() and time.monotonic() - used < IDLE_SECONDS:
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self._host, self._port, limit=LIMIT)


def _head(raw: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(first.split(" ", 2)[1]), fields


async def _body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    if fields.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(fields.get("content-length", 0)))
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(parts)


def _message(fields: dict[str, str], data: bytes, number: int | None) -> Any:
    """The answer: the body, or the event of a stream that answers the request."""
    if number is None or not data:
        return None
    if not fields.get("content-type", "").startswith("text/event-stream"):
        return json.loads(data)
    for line in data.splitlines():
        if line.startswith(b"data:") and len(line) > 6:
            message = json.loads(line[5:])
            if message.get("id") == number and "method" not in message:
                return message
    raise BadAnswer("the stream ended without the answer")
