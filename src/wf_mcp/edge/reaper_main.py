"""The watchdog's own program, and the two sweeps over processes that it shares with `edge/process.py`.

Run as a script by `edge/reaper.py` with `-I -S`: standard library only, no import of wf_mcp. It reads lines on stdin,
`+<pgid> <marker>` and `-<marker>`; when stdin ends, wf-mcp is gone, however it went, and what is still registered is
ended: SIGTERM, then SIGKILL. A pgid of 0 means "not known yet": the marker alone finds the process.
"""

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress

MARKER = "WF_MCP_RUN"
"""The environment variable that a child and all its descendants carry, wherever they went."""

TERM_GRACE = 1.5
KILL_ROUNDS = 20
KILL_PAUSE = 0.05


def survivors(groups: Collection[int], markers: Collection[str]) -> set[int]:
    """Live processes (zombies are not) in one of `groups` or carrying one of `markers`. Empty where /proc is missing.

    Reads all of /proc: a few milliseconds, blocking.
    """
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return set()
    own = os.getpid()
    return {pid for pid in pids if pid != own and _belongs(pid, groups, markers)}


def _belongs(pid: int, groups: Collection[int], markers: Collection[str]) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, _parent, group = file.read().rpartition(b")")[2].split()[:3]
        if state in b"ZX":
            return False
        if int(group) in groups:
            return True
        with open(f"/proc/{pid}/environ", "rb") as file:
            environ = file.read()
    except (OSError, ValueError):  # gone meanwhile, or somebody else's
        return False
    _, found, rest = (b"\0" + environ).partition(b"\0" + MARKER.encode() + b"=")
    return bool(found) and rest.partition(b"\0")[0].decode("ascii", "replace") in markers


def anything_left(groups: Collection[int], markers: Collection[str]) -> bool:
    """Whether a process of `groups` or with `markers` still runs. Without /proc only the groups can be asked."""
    if os.path.isdir("/proc/self"):
        return bool(survivors(groups, markers))
    return any(_signal_group(group, 0) for group in groups)


def strike(groups: Collection[int], markers: Collection[str], number: int) -> bool:
    """Send signal `number` to every group and every marked process outside them; whether anybody was there.

    Never raises for one already gone. Zombies count here, not in `anything_left`.

    A stray found in /proc is signalled by its pid some microseconds later; for the signal to hit a stranger the kernel
    would have to hand out every other pid in between.
    """
    struck = [_signal_group(group, number) for group in groups]
    strays = survivors((), markers)
    for pid in strays:
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) not in groups:
                os.kill(pid, number)
    return any(struck) or bool(strays)


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _read_registrations() -> dict[str, int]:
    """Follow stdin to its end; what is then still registered, marker to pgid."""
    registered: dict[str, int] = {}
    rest = b""
    while chunk := os.read(0, 4096):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            sign, number, marker = line[:1], *line[1:].decode("ascii").partition(" ")[::2]
            if sign == b"+":
                registered[marker] = int(number)
            else:
                registered.pop(number, None)
    return registered


def _detach() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    with suppress(PermissionError):  # already a session of its own
        os.setsid()
    os.chdir("/")
    # Whatever else wf-mcp was started with must not stay open because of us.
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with suppress(OSError):
                os.close(int(name))


def main() -> None:
    """Wait for wf-mcp to go, then end what it left behind, within four seconds."""
    _detach()
    registered = _read_registrations()
    groups, markers = {group for group in registered.values() if group}, set(registered)
    if not registered:
        return
    strike(groups, markers, signal.SIGTERM)
    deadline = time.monotonic() + TERM_GRACE
    while anything_left(groups, markers) and time.monotonic() < deadline:
        time.sleep(KILL_PAUSE)
    for _ in range(KILL_ROUNDS):
        if not anything_left(groups, markers):
            return
        strike(groups, markers, signal.SIGKILL)
        time.sleep(KILL_PAUSE)


if __name__ == "__main__":
    main()
