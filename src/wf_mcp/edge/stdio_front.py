"""The stdio front's own wire: messages on this process's stdin and stdout, which nothing else can touch meanwhile.

The SDK's `stdio_server` reads in a thread that no cancellation reaches, so SIGTERM would wait for the host's next line.
Here the event loop waits, and a write never blocks it, whatever the host passed as descriptors: pipes, sockets (Node),
files, a terminal.
"""

import fcntl
import os
import select
import socket
import stat
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from wf_mcp.core.framing import Overlong
from wf_mcp.edge.streams import LINE_LIMIT, MessageReader, MessageWriter

_claim = threading.Lock()


class FrontReader(MessageReader):
    """Reads what the host sends; a line that is no message is answered with an error and handed on as an exception."""

    def __init__(self, fd: int, line_limit: int | None, answer: MessageWriter) -> None:
        super().__init__(fd, line_limit, _careful_reader(fd))
        self._answer = answer

    async def refuse(self, line: bytes | Overlong, error: ValueError | None) -> Exception | None:
        """Answer with id null, since none could be read (JSON-RPC 2.0 section 5). A blank line is passed over."""
        if isinstance(line, bytes) and not line.strip():
            return None
        data = _why(error)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._answer.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=data)))
        return error or ValueError(data.message)


def _why(error: ValueError | None) -> ErrorData:
    if error is None:
        return ErrorData(code=INVALID_REQUEST, message="Message too long")
    if isinstance(error, ValidationError) and error.errors(include_url=False)[0]["type"] != "json_invalid":
        return ErrorData(code=INVALID_REQUEST, message="Not a JSON-RPC message")
    return ErrorData(code=PARSE_ERROR, message="Not JSON")


@asynccontextmanager
async def serve_stdio_streams(
    *, line_limit: int | None = LINE_LIMIT
) -> AsyncGenerator[tuple[FrontReader, MessageWriter], None]:
    """The message streams of this process's stdin and stdout, which are pointed elsewhere until the end.

    The read stream ends with stdin, and also once nobody reads stdout any more. On leaving, what was accepted for
    writing gets half a second.

    Raises:
        RuntimeError: they are already being served.
    """
    with _claimed() as (stdin, stdout):
        writer = MessageWriter(stdout, _careful_writer(stdout), lambda: reader.end())
        reader = FrontReader(stdin, line_limit, writer)
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.run, name="stdout of wf-mcp")
            try:
                yield reader, writer
            except Exception as error:  # kept from the task group, which would wrap it in a group
                failure = error
            finally:
                with anyio.CancelScope(shield=True):
                    await writer.aclose()
                    await writer.settle()
                writer.shut()
                reader.end()
        if failure is not None:
            raise failure


@contextmanager
def _claimed() -> Generator[tuple[int, int], None, None]:
    """Private descriptors of what fd 0 and 1 were, while 0 is the null device and 1 is stderr; at the end all is put
    back.

    Nothing else, be it a plug-in's `print` or a child, can then read from the wire or write to it.
    """
    if not _claim.acquire(blocking=False):
        raise RuntimeError("stdin and stdout are already being served")
    try:
        _flush_stdout()
        kept = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in (0, 1)]
        # uvloop makes a descriptor that it polls non-blocking, and that flag is shared with whoever else has it.
        flags = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in kept]
        own = [_opened_anew(fd, mode) for fd, mode in zip(kept, (os.O_RDONLY, os.O_WRONLY), strict=True)]
        try:
            _divert()
            yield own[0] or kept[0], own[1] or kept[1]
        finally:
            for fd in filter(None, own):
                os.close(fd)
            _flush_stdout()
            for number, (fd, flag) in enumerate(zip(kept, flags, strict=True)):
                with suppress(OSError):
                    fcntl.fcntl(fd, fcntl.F_SETFL, flag)
                os.dup2(fd, number)
                os.close(fd)
    finally:
        _claim.release()


def _opened_anew(fd: int, mode: int) -> int | None:
    """The same pipe by an open file of our own, which is non-blocking for nobody else; `None` where that cannot be.

    A named pipe is left alone: opened again, it may not tell that the other side has gone (Linux `fifo_open`).
    """
    path = f"/proc/self/fd/{fd}"
    try:
        return os.open(path, mode | os.O_NONBLOCK | os.O_CLOEXEC) if os.readlink(path).startswith("pipe:") else None
    except OSError:  # no Linux, or a pipe of another user's
        return None


def _divert() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(null, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without stderr
            os.dup2(null, 1)
    finally:
        os.close(null)


def _flush_stdout() -> None:
    # What Python has buffered must go where stdout pointed when it was printed. `None` under pythonw and the like.
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _careful_reader(fd: int) -> Callable[[int], bytes] | None:
    """How to read from a socket that others may share without blocking; `None` for what is no socket."""
    if not stat.S_ISSOCK(os.fstat(fd).st_mode):
        return None
    sock = socket.socket(fileno=os.dup(fd))
    return lambda size: sock.recv(size, socket.MSG_DONTWAIT)


def _careful_writer(fd: int) -> Callable[[memoryview], int]:
    """How to write to `fd`, which others may share, without blocking and without making it non-blocking for them."""
    if stat.S_ISSOCK(os.fstat(fd).st_mode):
        # A second descriptor, closed with this object; `MSG_DONTWAIT` concerns one call, not the socket.
        sock = socket.socket(fileno=os.dup(fd))
        return lambda view: sock.send(view, socket.MSG_DONTWAIT)
    if not os.get_blocking(fd):
        return lambda view: os.write(fd, view)
    ready = select.poll()
    ready.register(fd, select.POLLOUT)

    def write_some(view: memoryview) -> int:
        # A pipe is writable when it takes PIPE_BUF bytes, so that many never block (POSIX write). Errors count as
        # ready: the write then reports them.
        if not ready.poll(0):
            raise BlockingIOError
        return os.write(fd, view[: select.PIPE_BUF])

    return write_some
