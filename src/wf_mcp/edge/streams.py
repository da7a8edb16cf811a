"""The two message streams of a stdio connection, either side of it: JSON-RPC lines on a pair of descriptors.

They do the reading, parsing and writing in the task that asks, so that a message costs no hop between tasks, and
satisfy what the SDK's dispatcher asks of a transport's streams. Know nothing of processes: `edge/stdio.py` puts them
on an upstream's pipes, `edge/stdio_front.py` on our own stdin and stdout.
"""

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import anyio
import anyio.lowlevel
from mcp.shared.message import SessionMessage

from wf_mcp.core.framing import Lines, Overlong
from wf_mcp.edge.messages import message_bytes, parse_message
from wf_mcp.edge.readable import WIDE, Readable, widen

LINE_LIMIT = 256 * 1024 * 1024
"""The longest line that is still a message, in bytes."""
_CHUNK = 65_536
_BURST = 64  # lines, or pieces of one, handled before other tasks get their turn
_HIGH_WATER = 1024 * 1024
"""With more than this unwritten, a sender waits before its message is accepted."""
_FLUSH_GRACE = 0.5


class MessageReader(ABC):
    """The read stream: messages from a descriptor, one reader at a time; `read` reads from it without blocking, and is
    needed where the descriptor itself may block.
    """

    def __init__(
        self, fd: int, line_limit: int | None = LINE_LIMIT, read: Callable[[int], bytes] | None = None
    ) -> None:
        self._fd = fd
        self._read_some = read or partial(os.read, fd)
        self._lines = Lines(line_limit)
        self._ready: deque[bytes | Overlong] = deque()
        self._burst = 0
        self._readable = Readable(fd, once=read is None and os.get_blocking(fd))
        self._pollable = True
        self._closed = False
        self._chunk = _CHUNK
        self.ended = anyio.Event()

    @abstractmethod
    async def refuse(self, line: bytes | Overlong, error: ValueError | None) -> Exception | None:
        """Deal with a line that is no message; what is returned is given to the reader in its place."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises `EndOfStream` when the descriptor has ended and all lines are read."""
        while True:
            line = await self._next_line()
            if isinstance(line, bytes):
                try:
                    return SessionMessage(parse_message(line))
                except ValueError as error:
                    refused = await self.refuse(line, error)
            else:
                refused = await self.refuse(line, None)
            if refused is not None:
                return refused

    def end(self) -> None:
        """No more is read from the descriptor; lines already read are still delivered."""
        # Once only: later the number may be somebody else's descriptor, whose reader would be told that it closed.
        if not self.ended.is_set():
            self.ended.set()
            self._readable.close()

    async def discard(self) -> None:
        """After `end`: read and forget until the other side closes, so that it is not stuck on a full pipe while it is
        stopped.
        """
        with suppress(anyio.ClosedResourceError, OSError):
            chunk = b"anything"
            while chunk:
                await anyio.wait_readable(self._fd)
                with suppress(BlockingIOError):
                    chunk = os.read(self._fd, _CHUNK)

    async def _next_line(self) -> bytes | Overlong:
        if self._closed:
            raise anyio.ClosedResourceError
        self._burst += 1
        if self._burst % _BURST == 0:
            await anyio.lowlevel.checkpoint()
        while not self._ready:
            if self.ended.is_set():
                raise anyio.EndOfStream
            self._burst = 0
            try:
                chunk = await self._read()
            except (anyio.ClosedResourceError, OSError):  # `end` was called; or a terminal or socket broke off
                chunk = b""
            if chunk:
                self._ready.extend(self._lines.feed(chunk))
            else:
                self.end()
                self._ready.extend(self._lines.finish())
        return self._ready.popleft()

    async def _read(self) -> bytes:
        while True:
            if self._pollable:
                try:
                    await self._readable.wait()
                except PermissionError:  # epoll does not take regular files, which never block
                    self._pollable = False
            else:
                await anyio.lowlevel.checkpoint()
            with suppress(BlockingIOError):
                chunk = self._read_some(self._chunk)
                if len(chunk) == _CHUNK == self._chunk:
                    widen(self._fd)
                    self._chunk = WIDE
                return chunk

    async def aclose(self) -> None:
        """Give nothing more; the descriptor is not ours to close."""
        self._closed = True
        self.end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()


@dataclass(slots=True)
class _Unwritten:
    view: memoryview
    done: anyio.Event = field(default_factory=anyio.Event)


class MessageWriter:
    """The write stream: one line per message, whole and in order, written by the sender as far as that cannot block.

    What does not fit goes to a backlog that `run` writes while its sender waits, so a cancelled one tears no line.
    `write_some` writes what it can of a view or raises `BlockingIOError`; `on_broken` is called once nobody reads.
    """

    def __init__(self, fd: int, write_some: Callable[[memoryview], int], on_broken: Callable[[], object]) -> None:
        self._fd = fd
        self._write_some = write_some
        self._on_broken = on_broken
        self._backlog: deque[_Unwritten] = deque()
        self._size = 0
        self._wake = anyio.Event()
        self._closed = self._broken = self._wide = False

    async def send(self, item: SessionMessage) -> None:
        """Write one message. Raises `ClosedResourceError` after `aclose`, `BrokenResourceError` when nobody reads."""
        data = message_bytes(item.message, line=True)
        self._check()
        while self._size > _HIGH_WATER:
            await self._backlog[0].done.wait()
            self._check()
        if rest := memoryview(data) if self._backlog else self._write(memoryview(data)):
            entry = _Unwritten(rest)
            self._backlog.append(entry)
            self._size += len(rest)
            self._wake.set()
            await entry.done.wait()
            if self._broken:
                raise anyio.BrokenResourceError

    async def run(self) -> None:
        """Write the backlog whenever there is one, until `shut`. Shielded: the last messages go out during shutdown."""
        with anyio.CancelScope(shield=True), suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while not self._broken:
                await self._wake.wait()
                self._wake = anyio.Event()
                while self._backlog:
                    await self._write_first()

    async def _write_first(self) -> None:
        first = self._backlog[0]
        rest = self._write(first.view)
        self._size -= len(first.view) - len(rest)
        first.view = rest
        if not rest:
            self._backlog.popleft().done.set()
            return
        try:
            await anyio.wait_writable(self._fd)
        except PermissionError:  # epoll does not take regular files, which never block
            await anyio.lowlevel.checkpoint()

    async def settle(self, grace: float = _FLUSH_GRACE) -> None:
        """Wait until the backlog is written, at most `grace` seconds."""
        with anyio.move_on_after(grace):
            while self._backlog:
                await self._backlog[-1].done.wait()

    def shut(self) -> None:
        """End `run`, forget the backlog, let waiting senders fail."""
        if self._broken:
            return
        self._broken = True
        self._size = 0
        while self._backlog:
            self._backlog.popleft().done.set()
        self._wake.set()
        anyio.notify_closing(self._fd)

    async def aclose(self) -> None:
        """Take no more messages; those accepted are still written."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def _write(self, view: memoryview) -> memoryview:
        try:
            for _ in range(_BURST):
                view = view[self._write_some(view) :]
                if not view:
                    break
                if not self._wide:
                    self._wide = True
                    widen(self._fd)
        except BlockingIOError:
            pass
        except OSError as error:
            self.shut()
            self._on_broken()
            raise anyio.BrokenResourceError from error
        return view

    def _check(self) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        if self._broken:
            raise anyio.BrokenResourceError
