"""What is measured: the echo itself, wf-mcp in front of it, and FastMCP's mounted proxy in front of it."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from bench.messages import Era

Front = Literal["stdio", "http"]
FRONTS: Final[tuple[Front, ...]] = ("stdio", "http")
HERE: Final = Path(__file__).parent
READY_SECONDS: Final = 60.0
END_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Target:
    """A server: a command to start over stdio, or a URL of one that runs, with the process behind it."""

    argv: list[str] = field(default_factory=list)
    url: str | None = None
    pid: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    started: float = 0.0


def echo_argv(era: Era, tools: int = 0, *more: str) -> list[str]:
    """The command of an echo."""
    return ["node", str(HERE / "echo.mjs"), "--era", era, "--tools", str(tools), *more]


@contextmanager
def echo(front: Front, era: Era, tools: int = 0) -> Iterator[Target]:
    """The upstream itself."""
    if front == "stdio":
        yield Target(echo_argv(era, tools))
        return
    with _running(echo_argv(era, tools, "--http"), {}, subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Target(url=f"http://127.0.0.1:{port}/mcp", pid=process.pid)


def entry(upstream: Target, **wf: Any) -> dict[str, Any]:
    """An upstream as a configuration names it; `wf`: our own settings of it."""
    where = {"url": upstream.url} if upstream.url else {"command": upstream.argv[0], "args": upstream.argv[1:]}
    return {**where, **({"wf": wf} if wf else {})}


@contextmanager
def wf_mcp(front: Front, servers: Mapping[str, Any], folder: Path) -> Iterator[Target]:
    """wf-mcp in front of `servers`; its state is in `folder`, so that a second start there is a restart."""
    config = _config(folder, servers)
    env = {f"WF_MCP_{name}_DIR": str(folder / name.lower()) for name in ("STATE", "CONFIG", "CACHE")}
    argv = [sys.executable, "-m", "wf_mcp", "serve", "--config", str(config)]
    with _front(front, argv, ["--http", "127.0.0.1:{port}"], env) as target:
        yield target


@contextmanager
def peer(program: str, front: Front, servers: Mapping[str, Any], folder: Path) -> Iterator[Target]:
    """One of the programs beside this file that stand for something else than wf-mcp, in front of `servers`."""
    plain = {name: {key: value for key, value in one.items() if key != "wf"} for name, one in servers.items()}
    argv = [sys.executable, str(HERE / program), str(_config(folder, plain))]
    with _front(front, argv, ["{port}"], {}) as target:
        yield target


def fastmcp(front: Front, servers: Mapping[str, Any], folder: Path) -> AbstractContextManager[Target]:
    """FastMCP's own proxies, mounted, in front of `servers`."""
    return peer("fastmcp_mount.py", front, servers, folder)


def bare_relay(front: Front, servers: Mapping[str, Any], folder: Path) -> AbstractContextManager[Target]:
    """A relay on the libraries that wf-mcp uses, which knows nothing of MCP."""
    return peer("bare_relay.py", front, servers, folder)


def _config(folder: Path, servers: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


@contextmanager
def _front(front: Front, argv: list[str], listening: list[str], env: Mapping[str, str]) -> Iterator[Target]:
    if front == "stdio":
        yield Target(argv, env=env)
        return
    port = _free_port()
    argv = [*argv, *(part.format(port=port) for part in listening)]
    started = time.perf_counter()
    with _running(argv, env, subprocess.DEVNULL) as process:
        _wait_for(port, process)
        yield Target(url=f"http://127.0.0.1:{port}/mcp", pid=process.pid, started=started)


@contextmanager
def _running(argv: list[str], env: Mapping[str, str], stdout: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args!r} ended with exit code {process.returncode}") from None
            time.sleep(0.005)
    raise RuntimeError(f"{process.args!r} does not listen after {READY_SECONDS:g} s")
