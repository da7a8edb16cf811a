"""The fronts: one FastMCP server run over this process's pipes or over HTTP (design D1).

`build_server` makes the server with the wire lane first; the two `serve_*` functions return when the client, or the
person, is done.
"""

import logging
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import anyio
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import AuthProvider

from wf_mcp.core.errors import ConfigError
from wf_mcp.edge.front import WireLane
from wf_mcp.edge.seams import low_level_server
from wf_mcp.edge.stdio_front import serve_stdio_streams

logger = logging.getLogger(__name__)

PATH = "/mcp"

GRACE = 2
"""Seconds that open HTTP requests get when the front stops."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the HTTP front listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `HOST:PORT`, `:PORT`, `PORT` or `[IPV6]:PORT`; raises `ConfigError`."""
        host, _, port = text.rpartition(":")
        bare_ipv6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
        if bare_ipv6 or not port.isdecimal() or int(port) > 65535:
            raise ConfigError(f"--http {text}: expected HOST:PORT, for example 127.0.0.1:8000")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The endpoint as a client writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"


def build_server(version: str, auth: AuthProvider | None = None) -> FastMCP:
    """The FastMCP server that carries wf-mcp's own tools; schemas stay as they are written."""
    return FastMCP("wf-mcp", version=version, auth=auth, dereference_schemas=False)


def install(server: FastMCP, lane: WireLane) -> None:
    """Put the wire lane before everything else that sees a request."""
    low_level_server(server).middleware.insert(0, lane)


async def serve_stdio(server: FastMCP) -> None:
    """Serve the one client at this process's stdin and stdout; returns when stdin ends."""
    low: Any = low_level_server(server)
    async with serve_stdio_streams() as (read, write):
        await low.run(read, write, low.create_initialization_options())


def check_exposed(address: Address, configured: Mapping[str, str]) -> None:
    """Refuse to listen where others can reach it without asking for a token (design D13)."""
    if not address.loopback and not configured:
        raise ConfigError(
            f"--http {address.host}:{address.port} can be reached from other machines, and no token is configured. "
            'Configure one ("wf": {"auth": {"tokens": {"me": "${WF_MCP_TOKEN}"}}}) or listen on 127.0.0.1.'
        )


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: it re-raises signals before our children are stopped."""

    @contextmanager
    def capture_signals(self) -> Any:
        """Leave signals to whoever runs the front."""
        yield


async def serve_http(server: FastMCP, address: Address, allowed_hosts: tuple[str, ...], stop: anyio.Event) -> None:
    """Serve any number of clients over HTTP until `stop` is set; checks Host and Origin."""
    app = server.http_app(path=PATH, host_origin_protection=True, allowed_hosts=list(allowed_hosts))
    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        log_config=None,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=GRACE,
    )
    front = _Server(config)

    async def watch() -> None:
        await stop.wait()
        front.should_exit = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, name="stop of the HTTP front")
        logger.info("serving %s", address.url)
        try:
            await front.serve()
        except SystemExit as error:  # uvicorn's way of saying that it could not listen
            raise ConfigError(
                f"cannot listen on {address.host}:{address.port}: the address is in use or not allowed"
            ) from error
        tasks.cancel_scope.cancel()
