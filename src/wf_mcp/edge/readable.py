"""Waiting for a descriptor again and again, at less than what it costs to have the event loop watch it each time; and
pipes that hold more.
"""

import asyncio
import fcntl
from contextlib import suppress
from typing import Final

import anyio

WIDE: Final = 256 * 1024
"""What a pipe is made to hold once a message has filled it: each filling costs both sides a change of process.

No more, since a user has 64 MiB for all pipes that are larger than normal (pipe(7) `pipe-user-pages-soft`).
"""


def widen(fd: int) -> None:
    """Let a pipe hold `WIDE` bytes; what is no pipe stays as it is, and so does a pipe where that is not allowed."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, WIDE)


class Readable:
    """Waits until a descriptor can be read, for one who waits at a time.

    Between two waits the event loop goes on watching; when something comes and nobody waits, it stops until somebody
    does. Beginning and ending a watch costs more than reading and parsing a short message. With `once` it stops each
    time, which is needed where a read could block: an event loop may tell twice of the same bytes.
    """

    def __init__(self, fd: int, *, once: bool) -> None:
        self._fd = fd
        self._once = once
        self._watching: asyncio.AbstractEventLoop | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._closed = False

    async def wait(self) -> None:
        """Return once there is something to read, or the other side has closed.

        Raises:
            ClosedResourceError: `close` was called.
            PermissionError: this is a regular file, which cannot be waited for and never blocks (epoll_ctl).
        """
        if self._closed:
            raise anyio.ClosedResourceError
        if self._waiting is not None:
            raise anyio.BusyResourceError("reading from")
        if self._watching is None:
            loop = asyncio.get_running_loop()
            loop.add_reader(self._fd, self._came)
            self._watching = loop
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None
        if self._closed:
            raise anyio.ClosedResourceError

    def close(self) -> None:
        """Watch no more, and let whoever waits fail; needed before the descriptor's number is anybody else's."""
        self._closed = True
        self._unwatch()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _came(self) -> None:
        if self._once or self._waiting is None:
            self._unwatch()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _unwatch(self) -> None:
        if self._watching is not None:
            self._watching.remove_reader(self._fd)
            self._watching = None
