"""The two transports of the raw client."""

import json
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import anyio
import anyio.abc
import httpx2
from mcp.shared.inbound import encode_header_value

JsonObject = dict[str, Any]
Take = Callable[[JsonObject], None]
TERM_SECONDS = 5
LIMITS = httpx2.Limits(max_connections=None, keepalive_expiry=2)
"""Idle connections go before a server drops them, which it may do just as one is used again."""
LOST: JsonObject = {"lost": True}
"""Handed to the client when the process has closed its stdout: nothing will be answered any more."""


class StdioLink:
    """Lines to and from a process. What is not JSON on stdout is kept in `garbage`."""

    def __init__(self, process: anyio.abc.Process, take: Take) -> None:
        self.process, self._take = process, take
        self.garbage: list[bytes] = []
        self._lock = anyio.Lock()
        self._reading = anyio.Event()
        self._reading.set()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        argv: list[str],
        take: Take,
        *,
        env: dict[str, str] | None,
        cwd: Path | None,
        log: Path | None,
        patience: float,
    ) -> AsyncIterator["StdioLink"]:
        """Starts the process; at the end closes its stdin, waits `patience`, and then ends it by signals."""
        with log_file(log) as stderr:
            process = await anyio.open_process(argv, env=env, cwd=cwd, stderr=stderr)
        link = cls(process, take)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(link._receive)
            try:
                yield link
            finally:
                with anyio.CancelScope(shield=True):
                    await link.end(patience)
                tasks.cancel_scope.cancel()

    async def send(self, message: JsonObject, headers: dict[str, str]) -> None:
        """One line; headers have no place here."""
        await self.send_bytes(json.dumps(message).encode() + b"\n")

    async def send_bytes(self, data: bytes) -> None:
        """Bytes as they are."""
        assert self.process.stdin is not None
        async with self._lock:
            await self.process.stdin.send(data)

    async def close_stdin(self) -> None:
        """EOF for the process."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    def stop_reading(self) -> None:
        """Leave what the process writes in its pipe, until `read_on`."""
        self._reading = anyio.Event()

    def read_on(self) -> None:
        """Read again."""
        self._reading.set()

    async def end(self, patience: float) -> None:
        """EOF, then SIGTERM, then SIGKILL, with waits between them."""
        await self.close_stdin()
        for seconds, signal_it in ((patience, self.process.terminate), (TERM_SECONDS, self.process.kill)):
            with anyio.move_on_after(seconds):
                await self.process.wait()
            if self.process.returncode is None:
                signal_it()
        await self.process.wait()
        assert self.process.stdout is not None
        await self.process.stdout.aclose()

    async def _receive(self) -> None:
        assert self.process.stdout is not None
        parts: list[bytes] = []
        try:
            async for chunk in self.process.stdout:
                await self._reading.wait()
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    self._line(b"".join([*parts, line]))
                    parts = []
                parts.append(rest)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        self._take(LOST)

    def _line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self.garbage.append(line)
        else:
            self._take(message)


@contextmanager
def log_file(path: Path | None) -> Iterator[IO[bytes] | int | None]:
    """Where a process's stderr goes."""
    if path is None:
        yield subprocess.DEVNULL
    else:
        with path.open("ab") as file:
            yield file


class HttpLink:
    """POSTs, their answers (plain JSON or an event stream), and one GET stream."""

    def __init__(self, http: httpx2.AsyncClient, url: str, take: Take, tasks: anyio.abc.TaskGroup) -> None:
        self._http, self._url, self._take, self._tasks = http, url, take, tasks
        self._session: dict[str, str] = {}
        self.statuses: list[int] = []
        self._open: dict[Any, anyio.CancelScope] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, take: Take, headers: dict[str, str]) -> AsyncIterator["HttpLink"]:
        """A connection pool of its own; at the end every stream is closed."""
        timeout = httpx2.Timeout(60, connect=5)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, limits=LIMITS) as http,
            anyio.create_task_group() as tasks,
        ):
            try:
                yield cls(http, url, take, tasks)
            finally:
                tasks.cancel_scope.cancel()

    async def send(self, message: JsonObject, headers: dict[str, str]) -> None:
        """One POST; the answer is read in a task of its own."""
        if message.get("method") == "initialize" or "id" not in message:
            await self._post(message, headers)
        else:
            self._tasks.start_soon(self._ask, message, headers)

    async def _ask(self, message: JsonObject, headers: dict[str, str]) -> None:
        with self._open.setdefault(message["id"], anyio.CancelScope()):
            await self._post(message, headers)
        del self._open[message["id"]]

    def hang_up(self, request_id: Any) -> None:
        """Close the response stream of one request, which cancels it in the modern era."""
        self._open[request_id].cancel()

    async def delete(self) -> int:
        """Ends the session at the server; the HTTP status."""
        return (await self._http.delete(self._url, headers=self._session)).status_code

    async def listen(self, version: str) -> None:
        """Opens the GET stream and returns once the server has answered."""
        await self._tasks.start(self._listen, {"mcp-protocol-version": version})

    async def _listen(self, headers: dict[str, str], *, task_status: anyio.abc.TaskStatus[None]) -> None:
        accept = {"accept": "text/event-stream", **headers, **self._session}
        async with self._http.stream("GET", self._url, headers=accept, timeout=None) as response:
            task_status.started()
            # A server that ends may break the stream off; what is missing then, a test notices by itself.
            with suppress(httpx2.TransportError):
                await self._events(response)

    async def _post(self, message: JsonObject, headers: dict[str, str]) -> None:
        try:
            await self._exchange(message, headers)
        except httpx2.TransportError as error:
            self._take({"id": message.get("id"), "error": {"code": 0, "message": f"{type(error).__name__}: {error}"}})

    async def _exchange(self, message: JsonObject, headers: dict[str, str]) -> None:
        sent = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        sent |= {key: encode_header_value(value) for key, value in headers.items()} | self._session
        body = json.dumps(message, ensure_ascii=False).encode()
        async with self._http.stream("POST", self._url, content=body, headers=sent) as response:
            self.statuses.append(response.status_code)
            if "mcp-session-id" in response.headers:
                self._session = {"mcp-session-id": response.headers["mcp-session-id"]}
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                await self._events(response)
            elif data := await response.aread():
                self._take(self._answer(data, message, response))

    def _answer(self, data: bytes, message: JsonObject, response: httpx2.Response) -> JsonObject:
        """The JSON-RPC answer; a body that is none becomes an error with the HTTP status as its code."""
        try:
            answer: JsonObject = json.loads(data)
        except ValueError:
            answer = {}
        if "result" in answer or ("error" in answer and isinstance(answer["error"], dict)):
            return {**answer, "id": message.get("id", answer.get("id"))}
        error = {"code": response.status_code, "message": data.decode(errors="replace")}
        return {"id": message.get("id"), "error": error}

    async def _events(self, response: httpx2.Response) -> None:
        # Split at LF alone: text iterators also split at U+2028 and others, which stand in the JSON as they are.
        data: list[str] = []
        rest: list[bytes] = []
        async for chunk in response.aiter_bytes():
            *lines, tail = chunk.split(b"\n")
            for part in lines:
                line = b"".join([*rest, part]).removesuffix(b"\r")
                rest = []
                if line.startswith(b"data:"):
                    data.append(line.removeprefix(b"data:").removeprefix(b" ").decode())
                elif not line and data:
                    if text := "\n".join(data):
                        self._take(json.loads(text))
                    data = []
            rest.append(tail)
