"""The fronts: one FastMCP server run over this process's pipes or over HTTP (design D1).

`build_server` makes the server with the wire lane first; the two `serve_*` functions return when the client, or the
person, is done.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import anyio
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import AuthProvider
from fastmcp.server.auth.middleware import RequireAuthMiddleware
from fastmcp.server.http import HostOriginGuardMiddleware, create_base_app
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from wf_mcp.core.errors import ConfigError
from wf_mcp.edge.front import WireLane
from wf_mcp.edge.http_front import STATELESS, HttpFront
from wf_mcp.edge.http_guard import ExplainedGuard
from wf_mcp.edge.http_protocol import FrontProtocol
from wf_mcp.edge.http_sessions import HttpLimits
from wf_mcp.edge.input_schemas import ParamHeaderCheck
from wf_mcp.edge.probes import HEALTH, READY, ProbedByAddress, Probes
from wf_mcp.edge.seams import low_level_server
from wf_mcp.edge.sessionless import SessionlessRules
from wf_mcp.edge.stdio_eras import serve_pipe
from wf_mcp.edge.stdio_front import serve_stdio_streams
from wf_mcp.edge.telemetry_front import FrontSpans

logger = logging.getLogger(__name__)

PATH = "/mcp"

GRACE = 2
"""Seconds that running calls get for their result when the front stops."""

PARTING = 2
"""Seconds after that in which their answers, and the ends of streams, are to reach the clients."""


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


def install(server: FastMCP, *lanes: WireLane | ParamHeaderCheck | SessionlessRules | FrontSpans) -> None:
    """Put the wire lane, and before it what stands outside it, before everything else that sees a request."""
    low_level_server(server).middleware[:0] = lanes


async def serve_stdio(server: FastMCP, watch: Callable[[Any], Any] = lambda stream: stream) -> None:
    """Serve the one client at this process's stdin and stdout; returns when stdin ends.

    `watch` is put around the stream of what the client sends.
    """
    low: Any = low_level_server(server)
    async with serve_stdio_streams() as (read, write), low.lifespan(low) as lifespan_state:
        await serve_pipe(low, watch(read), write, lifespan_state)


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


def http_app(
    server: FastMCP,
    front: HttpFront,
    allowed_hosts: tuple[str, ...],
    states: Callable[[], Mapping[str, int]] = dict,
) -> Starlette:
    """The front's endpoint with what stands around it: the Host and Origin guard, and FastMCP's own authentication."""
    endpoint: Any = front
    probes = Probes(lambda: front.sessions.stopping, states)
    middleware = [
        Middleware(ProbedByAddress, probes=probes),
        Middleware(ExplainedGuard),
        Middleware(HostOriginGuardMiddleware, allowed_hosts=list(allowed_hosts), mode="strict"),
    ]
    routes: list[BaseRoute] = []
    if server.auth is not None:
        middleware += server.auth.get_middleware()
        routes += server.auth.get_routes(mcp_path=PATH)
        endpoint = RequireAuthMiddleware(front, server.auth.required_scopes, None, server.auth.challenge_scopes)
    # Both spellings are served, since a redirect of a POST is not followed by all hosts.
    paths = (PATH, f"{PATH}{STATELESS}")
    routes += [Route(f"{path}{end}", endpoint=endpoint) for path in paths for end in ("", "/")]
    routes += [Route(path, endpoint=probes) for path in (HEALTH, READY)]
    app = create_base_app(routes, middleware)
    app.state.transport_type = "streamable-http"  # what FastMCP's `Context` tells tools about their caller
    return app


async def serve_http(
    server: FastMCP,
    address: Address,
    allowed_hosts: tuple[str, ...],
    stop: anyio.Event,
    limits: Callable[[], HttpLimits] = HttpLimits,
    *,
    stateless: bool = False,
    states: Callable[[], Mapping[str, int]] = dict,
) -> None:
    """Serve any number of clients over HTTP until `stop` is set; then calls get `GRACE` seconds for their result.

    With `stateless`, handshake clients get no sessions; `states` is what `/readyz` says of upstreams.

    Raises:
        ConfigError: `address` cannot be listened on.
    """
    front = HttpFront(low_level_server(server), limits, stateless=stateless)
    config = uvicorn.Config(
        http_app(server, front, allowed_hosts, states),
        host=address.host,
        port=address.port,
        http=FrontProtocol,
        log_config=None,
        access_log=logging.getLogger("uvicorn.access").isEnabledFor(logging.INFO),
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=GRACE + PARTING,
    )
    listener = _Server(config)

    async def watch() -> None:
        await stop.wait()
        listener.should_exit = True
        await front.drain(GRACE)

    failure: SystemExit | None = None
    async with front.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(watch, name="stop of the HTTP front")
        logger.info("serving %s", address.url)
        try:
            await listener.serve()
        except SystemExit as error:  # uvicorn's way of saying that it could not listen
            failure = error  # raised below: the task groups would wrap it
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise ConfigError(
            f"cannot listen on {address.host}:{address.port}: the address is in use or not allowed"
        ) from failure
