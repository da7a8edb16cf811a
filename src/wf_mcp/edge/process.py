"""One child process with everything it started: how it begins, what it says on stderr, and how all of it ends.

Knows nothing of MCP; `edge/stdio.py` talks through the descriptors kept here. POSIX only: process groups and signals.
"""

import logging
import os
import secrets
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process, TaskGroup

from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.core.tail import Tail
from wf_mcp.core.trouble import Trouble
from wf_mcp.edge.reaper import Reaper, process_reaper
from wf_mcp.edge.reaper_main import MARKER, anything_left, strike

logger = logging.getLogger(__name__)

EOF_GRACE = 1.5
"""Seconds that a child gets to leave by itself once its stdin is closed. With `TERM_GRACE` well under 5 s in all."""
TERM_GRACE = 1.5
"""Seconds that a child and its descendants get after SIGTERM."""

_INHERITED = frozenset({"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR"})
_KILL_ROUNDS, _POLL, _REAP_GRACE, _LAST_WORDS = 20, 0.02, 1.0, 0.25
_CHUNK = 65_536


def base_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What a child gets of the parent's environment `env` without being configured to: nothing that can be a secret.

    The SDK's list plus language, time zone and the folder for temporary files (design D13).
    """
    return {
        name: value
        for name, value in env.items()
        # "()" marks a shell function exported by old shells: code, not a value.
        if (name in _INHERITED or name.startswith("LC_")) and not value.startswith("()")
    }


def resolve_command(command: str, env: Mapping[str, str], cwd: str | None) -> str:
    """The file that `command` means for a child with `env` and `cwd`.

    Raises:
        UpstreamUnavailable: `cwd` is missing or no folder, or there is no such command; the message says which.
    """
    if cwd is not None and not os.path.isdir(cwd):
        reason = "is not a folder" if os.path.exists(cwd) else "does not exist"
        raise UpstreamUnavailable(f"cwd {cwd!r} {reason}")
    search = env.get("PATH", os.defpath)
    # With a slash it is a path, and a relative one starts where the child will stand, not where we do.
    by_path = os.path.dirname(command) != ""
    wanted = os.path.join(cwd, command) if by_path and cwd is not None else command
    found = shutil.which(wanted, path=search)
    if found is None:
        where = "no such executable file" if by_path else f"looked for it in the child's PATH: {search}"
        missing = UpstreamUnavailable(f"command {command!r} not found ({where})")
        missing.trouble = Trouble("not_found", missing.message)
        raise missing
    return os.path.abspath(found)


class ChildProcess:
    """A started child. `stdin_fd` and `stdout_fd` are our non-blocking ends of its pipes; `stop` closes them.

    The pipes are ours rather than the event loop's, so that closing them never depends on a descendant that still
    holds the other end.
    """

    def __init__(self, process: Process, marker: str, fds: tuple[int, int, int], reaper: Reaper) -> None:
        self._process = process
        self._reaper = reaper
        self._stopping = anyio.Lock()
        self._stopped = False
        self._stderr_ended = anyio.Event()
        self._open = set(fds)
        self.stdin_fd, self.stdout_fd, self._stderr_fd = fds
        self.marker = marker
        self._tail = Tail()

    @classmethod
    async def start(
        cls,
        tasks: TaskGroup,
        command: str,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        *,
        reaper: Reaper | None = None,
    ) -> "ChildProcess":
        """Start `command` in a session of its own; its stderr is drained in `tasks` until `stop`.

        `env` is laid over `base_environment`. Whoever starts a child must `stop` it, or `tasks` does not end.

        Raises:
            UpstreamUnavailable: it could not be started; the message names command or cwd, and the reason.
        """
        marker = secrets.token_hex(16)
        full_env = {**base_environment(os.environ), **(env or {}), MARKER: marker}
        program = resolve_command(command, full_env, cwd)
        reaper = reaper or process_reaper()
        # Registered before it exists: a kill -9 of wf-mcp can come at any moment.
        reaper.watch(marker)
        # A cancellation between fork and our knowing the pid would leave it behind.
        with anyio.CancelScope(shield=True):
            try:
                process, fds = await _spawn([program, *args], full_env, cwd)
            except (OSError, ValueError) as error:
                reaper.forget(marker)
                reason = (isinstance(error, OSError) and error.strerror) or str(error)
                raise UpstreamUnavailable(f"command {command!r} could not be started: {reason}") from error
        reaper.watch(marker, process.pid)
        child = cls(process, marker, fds, reaper)
        tasks.start_soon(child._drain_stderr, name=f"stderr of {process.pid}")
        return child

    @property
    def pid(self) -> int:
        """The child's process id, which is also its group's."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, minus the signal's number where one ended it; `None` while it runs."""
        return self._process.returncode

    def stderr_tail(self) -> list[str]:
        """The last lines of stderr, also what the child wrote a moment ago and the event loop has not seen yet."""
        if self._stderr_fd in self._open and not self._stderr_ended.is_set():
            self._read_stderr()
        return self._tail.lines()

    async def wait(self) -> int:
        """Wait until the child itself is gone; its `returncode`. Descendants may live on until `stop`."""
        return await self._process.wait()

    async def stop(self, eof_grace: float = EOF_GRACE, term_grace: float = TERM_GRACE) -> None:
        """End the child and all it started: EOF, SIGTERM, SIGKILL, each with its time. Cannot be cancelled.

        Returns within both graces plus about three seconds, whatever the child does; a second call waits for the first.
        """
        with anyio.CancelScope(shield=True):
            async with self._stopping:
                if self._stopped:
                    return
                self._close(self.stdin_fd)
                with anyio.move_on_after(eof_grace):
                    await self.wait()
                gone = await self._end_family(term_grace)
                with anyio.move_on_after(_REAP_GRACE):
                    await self.wait()
                with anyio.move_on_after(_LAST_WORDS):
                    await self._stderr_ended.wait()
                for fd in list(self._open):
                    self._close(fd)
                self._stopped = True
                if gone:
                    self._reaper.forget(self.marker)
                else:
                    logger.warning("process %d or a descendant survives SIGKILL; left to the watchdog", self.pid)

    async def _end_family(self, term_grace: float) -> bool:
        """Signal the group and strays until nothing is left; false if something outlives SIGKILL."""
        if not await self._strike(signal.SIGTERM):
            return True
        with anyio.move_on_after(term_grace):
            while await self._anything_left():
                await anyio.sleep(_POLL)
            return True
        for _ in range(_KILL_ROUNDS):
            await self._strike(signal.SIGKILL)
            if not await self._anything_left():
                return True
            await anyio.sleep(_POLL)
        return False

    async def _strike(self, number: int) -> bool:
        return await anyio.to_thread.run_sync(strike, self._groups(), (self.marker,), number)

    async def _anything_left(self) -> bool:
        return await anyio.to_thread.run_sync(anything_left, self._groups(), (self.marker,))

    def _groups(self) -> tuple[int, ...]:
        """Our group, unless its number may have passed to somebody else.

        The group's number is the leader's pid. While one member lives the kernel does not hand that number out again,
        as pid or as group, even if the leader is long reaped. So once it is reaped, a *process* with that pid proves
        that our group is empty and the number recycled: then nothing is signalled. What remains is a recycled number
        whose new owner made it a group and died in turn, leaving members, all between the death of ours and this
        moment; pids are handed out in sequence, so that takes a whole round of them and is accepted.
        """
        if self.returncode is None:
            return (self.pid,)
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return (self.pid,)
        except PermissionError:
            pass
        return ()

    async def _drain_stderr(self) -> None:
        # Shielded: a child that floods stderr while it is being stopped must not block. Ends with `stop`.
        with anyio.CancelScope(shield=True), suppress(anyio.ClosedResourceError, OSError):
            while not self._stderr_ended.is_set():
                await anyio.wait_readable(self._stderr_fd)
                self._read_stderr()
        self._stderr_ended.set()

    def _read_stderr(self) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(self._stderr_fd, _CHUNK)
            if not chunk:
                self._stderr_ended.set()
            self._tail.feed(chunk)

    def _close(self, fd: int) -> None:
        if fd in self._open:
            self._open.remove(fd)
            anyio.notify_closing(fd)
            os.close(fd)


async def _spawn(argv: list[str], env: dict[str, str], cwd: str | None) -> tuple[Process, tuple[int, int, int]]:
    """Run `argv` with three pipes; our ends (stdin, stdout, stderr) are non-blocking."""
    if any("\0" in text for text in [*argv, *env, *env.values()]):  # uvloop would pass on what stands before
        raise ValueError("a null character in its arguments or environment")
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    ours = (in_write, out_read, err_read)
    try:
        process = await anyio.open_process(
            argv, stdin=in_read, stdout=out_write, stderr=err_write, env=env, cwd=cwd, start_new_session=True
        )
    except BaseException:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in (in_read, out_write, err_write):
            os.close(fd)
    for fd in ours:
        os.set_blocking(fd, False)
    return process, ours
