"""A raw HTTP/1.1 server on loopback whose every byte a test decides: it sees requests, and says what comes back."""

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from tests.inbox import JsonObject


@dataclass
class Request:
    """One request that came, and the connection that it came on, counted from one."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def message(self) -> JsonObject:
        """The JSON-RPC message in it."""
        return json.loads(self.body)  # type: ignore[no-any-return]


class Reply:
    """Where an answer goes."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream

    async def raw(self, data: bytes) -> None:
        """These bytes."""
        await self.stream.send(data)

    async def plain(self, status: int, body: bytes = b"", **headers: str) -> None:
        """A whole answer."""
        given = {"content-length": str(len(body)), **{key.replace("_", "-"): value for key, value in headers.items()}}
        lines = "".join(f"{key}: {value}\r\n" for key, value in given.items())
        await self.raw(f"HTTP/1.1 {status} Such\r\n{lines}\r\n".encode() + body)

    async def json(self, content: object, status: int = 200, **headers: str) -> None:
        """A whole answer of JSON."""
        await self.plain(status, json.dumps(content).encode(), content_type="application/json", **headers)

    async def result(self, request: Request, status: int = 200, **headers: str) -> None:
        """A JSON-RPC result that names the connection."""
        result = {"connection": request.connection}
        await self.json({"jsonrpc": "2.0", "id": request.message["id"], "result": result}, status, **headers)

    async def error(self, request: Request, status: int, code: int, message: str) -> None:
        """A JSON-RPC error."""
        await self.json(
            {"jsonrpc": "2.0", "id": request.message["id"], "error": {"code": code, "message": message}}, status
        )

    async def events(self, **headers: str) -> None:
        """The head of an event stream that ends with its connection."""
        lines = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in headers.items())
        await self.raw(
            f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n{lines}\r\n".encode()
        )

    async def event(self, message: object = None, **fields: object) -> None:
        """One event of a stream."""
        lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
        data = "" if message is None else json.dumps(message)
        await self.raw(f"{lines}data: {data}\n\n".encode())

    async def close(self) -> None:
        """Ends the connection."""
        await self.stream.aclose()

    async def until_gone(self) -> None:
        """Wait until the other side ends the connection."""
        await self.stream.receive()


Handler = Callable[[Request, Reply], Awaitable[None]]


@dataclass
class Stub:
    """What came, and what answers it."""

    handler: Handler
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    gone: int = 0
    _news: anyio.Event = field(default_factory=anyio.Event)

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def of(self, method: str) -> list[Request]:
        """The requests with an HTTP method, or the POSTs of an MCP method."""
        return [
            each
            for each in self.requests
            if each.method == method or (each.method == "POST" and each.message.get("method") == method)
        ]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for something that a request, or the end of a connection, makes true."""
        while not true():
            await self._news.wait()

    def _pulse(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def serve(self, stream: SocketStream) -> None:
        """One connection."""
        self.connections += 1
        number = self.connections
        buffered = BufferedByteReceiveStream(stream)
        try:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                async with stream:
                    while True:
                        try:
                            request = await _read(buffered, number)
                        except anyio.IncompleteRead:
                            return
                        self.requests.append(request)
                        self._pulse()
                        await self.handler(request, Reply(stream))
        finally:
            self.gone += 1
            self._pulse()


async def _read(stream: BufferedByteReceiveStream, number: int) -> Request:
    head = (await stream.receive_until(b"\r\n\r\n", 65536)).decode()
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await stream.receive_exactly(int(headers.get("content-length", "0")) or 0) if method == "POST" else b""
    return Request(method, path, headers, body, number)


@contextmanager
def deaf() -> Iterator[int]:
    """A port at which connections are made, and nothing is ever read."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@asynccontextmanager
async def babbling(said: bytes) -> AsyncIterator[int]:
    """A port that says this to whatever is said first."""

    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(said)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield listener.extra(SocketAttribute.local_port)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def stub(handler: Handler, port: int = 0) -> AsyncIterator[Stub]:
    """The server, for the time of the block; its connections break off with it."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port, reuse_port=True) as listener:
        server = Stub(handler, listener.extra(SocketAttribute.local_port))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, server.serve)
            try:
                yield server
            finally:
                tasks.cancel_scope.cancel()
