"""Upstreams that may misbehave, as a test sees them: how they are started, killed and started again, what they did."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.inbox import JsonObject, eventually
from tests.procs import alive
from tests.rawclient import Era
from tests.rig import Rig, free_port, wait_port
from tests.servers import FIXTURES

MARK = "WF_CHAOS_MARK"
"""In the environment of every stdio upstream and of all that it starts: how leftovers are found."""

Front = Literal["stdio", "http"]
Role = Literal["steady", "victim", "bad"]


@dataclass
class ChaosUpstream:
    """One upstream of the config. `port` is that of an HTTP upstream, the same for all its processes.

    A `steady` one is healthy and nobody touches it, a `victim` is healthy and gets killed and restarted.
    """

    rig: Rig
    name: str
    front: Front
    era: Era = "handshake"
    behave: str = "well"
    role: Role = "steady"
    seed: str = "0"
    settings: JsonObject = field(default_factory=dict)
    port: int = 0
    _server: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What all its processes did."""
        return self.rig.folder / f"{self.name}.chaos.jsonl"

    @property
    def argv(self) -> list[str]:
        """The command of one process. Without site-packages, since many are started at once."""
        flags = ["--name", self.name, "--log", str(self.log), "--era", self.era]
        flags += ["--behave", self.behave, "--seed", self.seed]
        flags += ["--port", str(self.port)] if self.front == "http" else []
        return [sys.executable, "-I", "-S", str(FIXTURES / "chaos_upstream.py"), self.front, *flags]

    @property
    def entry(self) -> JsonObject:
        """Its entry in the config."""
        if self.front == "http":
            return {"type": "http", "url": f"http://127.0.0.1:{self.port}/mcp", "wf": self.settings}
        env = {MARK: mark_of(self.rig)}
        return {"command": self.argv[0], "args": self.argv[1:], "env": env, "wf": self.settings}

    def events(self, event: str, **fields: Any) -> list[JsonObject]:
        """What its processes logged, in order."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        wanted = {"event": event, **fields}
        found = [json.loads(line) for line in text.splitlines()]
        return [item for item in found if all(item.get(key) == value for key, value in wanted.items())]

    def executions(self) -> Counter[str]:
        """How often each call was executed, by its token."""
        return Counter(item["token"] for item in self.events("ran"))

    @property
    def pids(self) -> list[int]:
        """Its processes that live."""
        return [item["pid"] for item in self.events("start") if alive(item["pid"])]

    def open_sessions(self) -> set[str]:
        """HTTP sessions that its living process has and nobody ended."""
        living = set(self.pids)
        opened = {item["session"] for item in self.events("open") if item["pid"] in living}
        return opened - {item["session"] for item in self.events("close")}

    # -- over HTTP, where nobody else starts it ---------------------------------------------------

    def serve(self) -> None:
        """Starts an HTTP upstream and waits until it listens; after a kill on the same port."""
        self.port = self.port or free_port()
        self._server = self.rig.spawn(self.argv, f"{self.name}.server")
        wait_port(f"http://127.0.0.1:{self.port}/mcp", self._server)

    def release(self) -> None:
        """From now on no call is held any more; those that are held already stay so."""
        self.log.with_name(f"{self.log.name}.released").touch()

    def kill(self) -> list[int]:
        """`kill -9` of all its processes; which ones."""
        victims = self.pids
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        if self._server is not None:
            self._server.wait()
        return victims

    async def ran(self, number: int, seconds: float = 20) -> None:
        """Waits until so many calls were executed."""
        await eventually(lambda: len(self.events("ran")) >= number, seconds)


def add(rig: Rig, name: str, front: Front, era: Era = "handshake", **fields: Any) -> ChaosUpstream:
    """Puts an upstream into the config; one over HTTP is started."""
    upstream = ChaosUpstream(rig, name, front, era, **fields)
    if front == "http":
        upstream.serve()
    rig.entries[name] = upstream.entry
    return upstream


def mark_of(rig: Rig) -> str:
    """What marks the processes of this run."""
    return str(rig.folder)


def marked(rig: Rig) -> dict[int, str]:
    """Living processes below the stdio upstreams of this run, whoever their parent is now: pid to command line."""
    needle = f"{MARK}={mark_of(rig)}".encode()
    found = {}
    for pid in _processes():
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if needle in environment and alive(pid):
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def _processes() -> Iterable[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
