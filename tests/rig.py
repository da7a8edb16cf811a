"""The language of the end-to-end tests: upstreams, a config, `wf-mcp serve` as a real process, clients.

rig.upstream("alpha", {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]})
front = rig.serve("http")                       # or "stdio"
async with front.client("modern") as probe:     # a FastMCP client; front.raw(era) for the exact JSON
    assert await probe.text("alpha.hello") == "alpha ran hello"
assert len(rig["alpha"].pids) == 1              # what the upstream itself recorded
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests import servers
from tests.endpoint import Endpoint
from tests.inbox import JsonObject, eventually
from tests.procs import end_if_ours
from tests.rawclient import Era, RawClient

Front = Literal["stdio", "http"]
FRONTS: tuple[Front, ...] = ("stdio", "http")
ERAS: tuple[Era, ...] = ("handshake", "modern")
WF_MCP = [sys.executable, "-m", "wf_mcp"]
READY_SECONDS = 20


@dataclass
class Upstream:
    """A raw upstream of the config and what it recorded."""

    name: str
    argv: list[str]
    path: Path
    url: str | None = None

    def direct(self) -> Endpoint:
        """The same upstream without wf-mcp; over stdio a process of its own."""
        return Endpoint(self.argv, url=self.url, log=self.path.with_suffix(".direct.log"))

    def events(self, event: str | None = None, **fields: Any) -> list[JsonObject]:
        """What all its processes recorded, in order: `events("request", method="tools/call")`."""
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        wanted = fields if event is None else {"event": event, **fields}
        found = [json.loads(line) for line in lines]
        return [item for item in found if all(item.get(key) == value for key, value in wanted.items())]

    def calls(self, name: str) -> list[JsonObject]:
        """The params of every `tools/call` of this tool."""
        requests = self.events("request", method="tools/call")
        return [item["params"] for item in requests if item["params"].get("name") == name]

    @property
    def pids(self) -> list[int]:
        """The processes that were started for it, in order."""
        return [item["pid"] for item in self.events("start")]

    async def saw(self, event: str, seconds: float = 10, **fields: Any) -> JsonObject:
        """Waits until it has recorded such an event."""
        found: list[JsonObject] = await eventually(lambda: self.events(event, **fields), seconds)
        return found[0]


class Rig:
    """One test's configuration and the processes that it started, all under `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "wf-mcp.json"
        self.entries: dict[str, JsonObject] = {}
        self.settings: JsonObject = {}
        self.env = {
            **os.environ,
            "WF_MCP_STATE_DIR": str(folder / "state"),
            "WF_MCP_CONFIG_DIR": str(folder / "config"),
            "WF_MCP_CACHE_DIR": str(folder / "cache"),
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }
        self.token: str | None = None
        self._upstreams: dict[str, Upstream] = {}
        self._started: list[subprocess.Popen[bytes]] = []

    def __getitem__(self, name: str) -> Upstream:
        return self._upstreams[name]

    # -- configuring ---------------------------------------------------------------------------

    def upstream(self, name: str, spec: JsonObject | None = None, *flags: str, **entry: Any) -> Upstream:
        """Adds a raw stdio upstream with this connection id; `entry`: `env`, `cwd`, `wf`, …"""
        upstream = self.plain(name, spec, *flags)
        self.entries[name] = {"command": upstream.argv[0], "args": upstream.argv[1:], **entry}
        return upstream

    def plain(self, name: str, spec: JsonObject | None = None, *flags: str) -> Upstream:
        """A raw stdio upstream that is not in the config (yet)."""
        slug, spec = self._spec(name, spec)
        record = self.folder / f"{slug}.record.jsonl"
        argv = servers.plain("--spec", str(spec), "--record", str(record), *flags)
        self._upstreams[name] = Upstream(name, argv, record)
        return self._upstreams[name]

    def http_upstream(self, name: str, spec: JsonObject | None = None, *flags: str, **entry: Any) -> Upstream:
        """Adds a raw streamable HTTP upstream and starts it."""
        slug, spec_path = self._spec(name, spec)
        record = self.folder / f"{slug}.record.jsonl"
        argv = servers.http_plain("--spec", str(spec_path), "--record", str(record), *flags)
        process = self.spawn(argv, slug, stdout=subprocess.PIPE)
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        self.entries[name] = {"type": "http", "url": url, **entry}
        self._upstreams[name] = Upstream(name, argv, record, url)
        return self._upstreams[name]

    def full(self, name: str, era: Era = "modern", front: Front = "stdio", *flags: str, **entry: Any) -> Upstream:
        """Adds the upstream that can do everything, of either era, over stdio or HTTP; it records what it sees."""
        slug = f"{len(self._upstreams)}-full"
        record = self.folder / f"{slug}.record.jsonl"
        argv = servers.full(front, "--era", era, "--record", str(record), *flags)
        if front == "stdio":
            self.entries[name] = {"command": argv[0], "args": argv[1:], **entry}
            self._upstreams[name] = Upstream(name, argv, record)
            return self._upstreams[name]
        process = self.spawn(argv, slug, stdout=subprocess.PIPE)
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        self.entries[name] = {"type": "http", "url": url, **entry}
        self._upstreams[name] = Upstream(name, argv, record, url)
        return self._upstreams[name]

    def command(self, name: str, argv: list[str], **entry: Any) -> Endpoint:
        """Adds any stdio upstream by its command, and gives the direct way to it."""
        self.entries[name] = {"command": argv[0], "args": argv[1:], **entry}
        env = {**self.env, **entry.get("env", {})}
        return Endpoint(argv, env=env, cwd=self.folder, log=self.folder / f"{len(self.entries)}.direct.log")

    def server(self, name: str, argv: list[str], url: str, type: str = "http", **env: str) -> Endpoint:
        """Starts an upstream that listens at `url` (with a port from `free_port`), and adds it."""
        process = self.spawn(argv, f"server-{len(self._started)}", env={**self.env, **env})
        wait_port(url, process)
        self.entries[name] = {"type": type, "url": url}
        return Endpoint(argv, url=url)

    def with_token(self, name: str = "tester") -> None:
        """Configures one token; clients of the HTTP front send it unless told otherwise."""
        self.token = f"token-of-{name}-0123456789abcdef"
        self.env["WF_TEST_TOKEN"] = self.token
        self.settings["auth"] = {"tokens": {name: "${WF_TEST_TOKEN}"}}

    def write(self, text: str | None = None) -> Path:
        """Writes the config as it stands now, or any text in its place."""
        config = {"mcpServers": self.entries} | ({"wf": self.settings} if self.settings else {})
        self.config.write_text(json.dumps(config, indent=2) if text is None else text, encoding="utf-8")
        return self.config

    def _spec(self, name: str, spec: JsonObject | None) -> tuple[str, Path]:
        slug = f"{len(self._upstreams)}-" + "".join(c if c.isalnum() else "-" for c in name)
        path = self.folder / f"{slug}.spec.json"
        path.write_text(json.dumps({"name": name, **(spec or {})}), encoding="utf-8")
        return slug, path

    # -- running -------------------------------------------------------------------------------

    def serve(self, front: Front = "stdio", *args: str) -> Endpoint:
        """Writes the config and gives the front; over HTTP wf-mcp is started and listens when this returns."""
        argv = [*WF_MCP, "serve", "--config", str(self.write()), *args]
        log = self.folder / f"wf-mcp-{front}.log"
        if front == "stdio":
            return Endpoint(argv, env=self.env, cwd=self.folder, log=log, patience=10)
        url = f"http://127.0.0.1:{free_port()}/mcp"
        argv += ["--http", url.removeprefix("http://").removesuffix("/mcp")]
        process = self.spawn(argv, log.stem)
        wait_port(url, process)
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return Endpoint(argv, url=url, log=log, headers=headers)

    def admin(self, front: Front = "stdio") -> AbstractAsyncContextManager[RawClient]:
        """Serves and connects one raw handshake client that may use admin tools."""
        if front == "http" and self.token is None:
            self.with_token()
        return self.serve(front).raw()

    def run(self, *args: str, seconds: float = 40, **env: str) -> subprocess.CompletedProcess[str]:
        """`wf-mcp ARGS…` to its end, in the test's folder."""
        return subprocess.run(
            [*WF_MCP, *args],
            env={**self.env, **env},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def spawn(self, argv: list[str], name: str, **options: Any) -> subprocess.Popen[bytes]:
        """A process that ends with the test at the latest; stderr goes to NAME.log."""
        with (self.folder / f"{name}.log").open("ab") as log:
            options = {"stdin": subprocess.DEVNULL, "stdout": log, "env": self.env, "cwd": self.folder, **options}
            process = subprocess.Popen(argv, stderr=log, **options)
        self._started.append(process)
        return process

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that was started last: wf-mcp after `serve("http")`."""
        return self._started[-1]

    def log(self, front: Front = "stdio") -> str:
        """What wf-mcp wrote on stderr so far."""
        return (self.folder / f"wf-mcp-{front}.log").read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """Ends what this rig started, and upstream processes that a faulty wf-mcp left behind."""
        for process in reversed(self._started):
            end(process)
        for upstream in self._upstreams.values():
            for pid in upstream.pids:
                end_if_ours(pid, str(upstream.path))


def end(process: subprocess.Popen[bytes], seconds: float = 10) -> int:
    """SIGTERM, a bounded wait, then SIGKILL; the exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    if process.stdout is not None:
        process.stdout.close()
    return process.wait()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_port(url: str, process: subprocess.Popen[bytes]) -> None:
    """Returns when the URL's port takes connections; fails when the process ends first, or after a while."""
    host, port = url.removeprefix("http://").split("/")[0].split(":")
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args!r} exited with {process.returncode}") from None
            time.sleep(0.02)
    raise RuntimeError(f"nothing listens at {url} after {READY_SECONDS} s")
