"""Looking at processes (Linux): who descends from whom, and waiting until some are gone."""

import os
import signal
from collections.abc import Iterable
from pathlib import Path

import anyio


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended but was not waited for does not."""
    try:
        return stat_fields(pid)[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command: state, parent, group, session, …"""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def descendants(pid: int) -> list[int]:
    """The living children of a process, their children, and so on."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = stat_fields(int(entry.name))[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(entry.name))
    found, ahead = [], [pid]
    while ahead:
        mine = children.get(ahead.pop(), [])
        found += mine
        ahead += mine
    return sorted(found)


async def all_gone(pids: Iterable[int], seconds: float = 5) -> list[int]:
    """Waits until none of the processes runs; those that still do after `seconds`."""
    with anyio.move_on_after(seconds):
        async with anyio.create_task_group() as tasks:
            for pid in pids:
                tasks.start_soon(gone, pid)
    return [pid for pid in pids if alive(pid)]


async def gone(pid: int) -> None:
    """Returns when the process has ended: its pidfd becomes readable then."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(fd)
    finally:
        os.close(fd)


def end_if_ours(pid: int, mark: str) -> None:
    """Kills a process whose command line carries `mark`, and no other: pids are used again."""
    try:
        if mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass
