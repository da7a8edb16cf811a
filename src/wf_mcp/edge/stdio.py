"""The stdio transport toward an upstream: its process, and the two message streams that a dispatcher drives.

The SDK's own cannot be used: quadratic on long lines, ended by one invalid byte, no pid, no stderr (design D2).
`edge/streams.py` reads and writes the messages, `edge/process.py` begins and ends the child.
"""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.framing import Overlong
from wf_mcp.edge.process import EOF_GRACE, TERM_GRACE, ChildProcess
from wf_mcp.edge.streams import LINE_LIMIT, MessageReader, MessageWriter

NOISE_LIMIT = 500
"""How many characters of a line that is no message are shown."""

_ORPHAN_GRACE = 1.0
"""Seconds that a dead upstream's stdout has for ending by itself; a descendant may keep it open."""
_REST = 64
"""How many pieces are taken from it then; a descendant may also go on writing."""


class UpstreamReader(MessageReader):
    """Reads an upstream's stdout; what is no message is noise and goes to `on_noise`."""

    def __init__(self, fd: int, line_limit: int | None, on_noise: Callable[[str], None]) -> None:
        super().__init__(fd, line_limit)
        self._on_noise = on_noise

    async def refuse(self, line: bytes | Overlong, error: ValueError | None) -> None:
        """Skip the line; a banner or a log line between messages harms nothing (F04)."""
        head = line.head if isinstance(line, Overlong) else line[: 4 * NOISE_LIMIT]
        self._on_noise(head.decode("utf-8", "replace")[:NOISE_LIMIT])

    def end_here(self) -> None:
        """Like `end`, once what the pipe holds at this moment is taken: the upstream wrote it before it died."""
        with suppress(BlockingIOError):
            for _ in range(_REST):
                if self.ended.is_set() or not (chunk := os.read(self._fd, 65_536)):
                    break
                self._ready.extend(self._lines.feed(chunk))
        self.end()


@dataclass(frozen=True, slots=True)
class StdioChannel:
    """A running upstream: its two message streams, and the process behind them."""

    read_stream: UpstreamReader
    write_stream: MessageWriter
    process: ChildProcess


@asynccontextmanager
async def open_stdio(
    command: str,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    *,
    line_limit: int | None = LINE_LIMIT,
    eof_grace: float = EOF_GRACE,
    term_grace: float = TERM_GRACE,
    on_noise: Callable[[str], None] = lambda text: None,
) -> AsyncGenerator[StdioChannel, None]:
    """Start an upstream and talk to it; on leaving, flush, then end the process and all its descendants.

    The read stream ends when the process closes stdout or has died. `on_noise` gets the head of every line that is no
    message, at any rate the upstream cares to send them: limiting that is the caller's.

    Raises:
        UpstreamUnavailable: it could not be started.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            process = await ChildProcess.start(tasks, command, args, env, cwd)
            async with _connected(process, tasks, line_limit, on_noise, (eof_grace, term_grace)) as channel:
                yield channel
        except Exception as error:  # kept from the task group, which would wrap it in a group
            failure = error
    if failure is not None:
        raise failure


@asynccontextmanager
async def _connected(
    process: ChildProcess,
    tasks: TaskGroup,
    line_limit: int | None,
    on_noise: Callable[[str], None],
    graces: tuple[float, float],
) -> AsyncGenerator[StdioChannel, None]:
    reader = UpstreamReader(process.stdout_fd, line_limit, on_noise)
    writer = MessageWriter(
        process.stdin_fd,
        lambda view: os.write(process.stdin_fd, view),
        lambda: tasks.start_soon(_end_soon, reader),
    )
    try:
        tasks.start_soon(writer.run, name=f"stdin of {process.pid}")
        tasks.start_soon(_end_with, process, reader, name=f"exit of {process.pid}")
        yield StdioChannel(reader, writer, process)
    finally:
        with anyio.CancelScope(shield=True):
            await _close(reader, writer, process, *graces)
        tasks.cancel_scope.cancel()


async def _end_with(process: ChildProcess, reader: UpstreamReader) -> None:
    # A descendant may hold stdout open for ever after the upstream itself has died.
    await process.wait()
    await _end_soon(reader)


async def _end_soon(reader: UpstreamReader) -> None:
    # Normally stdout ends with the process, within this time.
    with anyio.move_on_after(_ORPHAN_GRACE):
        await reader.ended.wait()
    reader.end_here()


async def _close(
    reader: MessageReader, writer: MessageWriter, process: ChildProcess, eof_grace: float, term_grace: float
) -> None:
    await writer.aclose()
    reader.end()
    async with anyio.create_task_group() as tasks:
        # An upstream stuck in writing does not read either, so neither the flush nor EOF would reach it.
        tasks.start_soon(reader.discard)
        await writer.settle()
        writer.shut()
        await process.stop(eof_grace, term_grace)
        tasks.cancel_scope.cancel()
