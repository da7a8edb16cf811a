"""The watchdog that outlives wf-mcp: ends its children when wf-mcp itself is killed and can do nothing any more.

One tiny process per wf-mcp process, started with the first child. It holds the read end of a pipe whose write end only
we have (close-on-exec, so no child keeps it open): the kernel closes that end however we die. `edge/reaper_main.py` is
what it runs; `edge/process.py` registers each child here and takes it off once nothing of it is left.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from wf_mcp.edge.reaper_main import MARKER

logger = logging.getLogger(__name__)

_SCRIPT = Path(__file__).with_name("reaper_main.py")
_KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""What the interpreter may need to start. Above all not `MARKER`: under an outer wf-mcp our watchdog must not be taken
for a stray before it has done its work."""


class Reaper:
    """Who is to be ended if this process dies. Without a watchdog all else works: a failure to start it is logged."""

    def __init__(self) -> None:
        self._targets: dict[str, int] = {}
        self._pipe: int | None = None
        self._owner = 0
        self.pid: int | None = None

    def watch(self, marker: str, pgid: int = 0) -> None:
        """Have the processes marked `marker`, and group `pgid` once it is known, ended with us."""
        self._targets[marker] = pgid
        self._tell(f"+{pgid} {marker}\n")

    def forget(self, marker: str) -> None:
        """Nothing of `marker` is left."""
        if self._targets.pop(marker, None) is not None:
            self._tell(f"-{marker}\n")

    def close(self) -> None:
        """Let the watchdog go; it ends what is still registered."""
        self._targets.clear()
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def _tell(self, line: str) -> None:
        try:
            if self._pipe is None or self._owner != os.getpid():
                self._start()
            else:
                os.write(self._pipe, line.encode())
        except BrokenPipeError:  # somebody killed it: a new one learns all targets again
            self._restart()
        except OSError as error:
            logger.warning("the watchdog for child processes cannot be used: %s", error)

    def _restart(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if self.pid is not None:
            with suppress(ChildProcessError):
                os.waitpid(self.pid, os.WNOHANG)
        try:
            self._start()
        except OSError as error:
            logger.warning("the watchdog for child processes cannot be used: %s", error)

    def _start(self) -> None:
        read_end, write_end = os.pipe()
        try:
            self.pid = _spawn(read_end)
        except OSError:
            os.close(write_end)
            raise
        finally:
            os.close(read_end)
        # A watchdog that somebody stopped must not stop us: a full pipe is an error that we log.
        os.set_blocking(write_end, False)
        self._pipe, self._owner = write_end, os.getpid()
        for marker, pgid in self._targets.items():
            os.write(write_end, f"+{pgid} {marker}\n".encode())


DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Blocked in the watchdog from its first instruction on: it ignores them by itself only once Python has started."""


def _spawn(stdin: int) -> int:
    """Start the script with `stdin`, silent, in a session of its own; its pid."""
    argv = [sys.executable, "-I", "-S", str(_SCRIPT)]
    env = {name: os.environ[name] for name in _KEPT if name in os.environ and name != MARKER}
    files = [
        (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        return os.posix_spawn(sys.executable, argv, env, file_actions=files, setsid=True, setsigmask=DEAF_TO)
    except NotImplementedError:  # an old libc; the script detaches itself a little later
        return os.posix_spawn(sys.executable, argv, env, file_actions=files, setsigmask=DEAF_TO)


process_reaper: Callable[[], Reaper] = cache(Reaper)
"""The one watchdog of this process."""
