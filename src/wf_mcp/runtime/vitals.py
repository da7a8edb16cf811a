"""What this process holds at the moment: memory, file descriptors, tasks, threads.

All of it is flat in one that runs for weeks, so a slope is the first sign of something that is never let go.
"""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import anyio

from wf_mcp.core.reports import ProcessStatus

_STARTED = time.monotonic()


def vitals() -> ProcessStatus:
    """The figures of this process; inside an event loop, since tasks are counted."""
    return ProcessStatus(
        pid=os.getpid(),
        uptime_seconds=round(time.monotonic() - _STARTED, 3),
        memory_bytes=_resident(),
        open_files=_open_files(),
        tasks=len(anyio.get_running_tasks()),
        threads=threading.active_count(),
    )


def _resident() -> int | None:
    """Bytes in memory, where the system tells in `/proc`."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return None


def _open_files() -> int | None:
    """Descriptors in use, the one that reads them left out."""
    with suppress(OSError):
        return len(os.listdir("/proc/self/fd")) - 1
    return None
