"""Every private name of a dependency that wf-mcp uses: this says which one is missing when a release moves it."""

import ast
import inspect
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from tests.edge.wire import handshake
from tests.sources import MODULES, Source

from wf_mcp.edge.seams import connection_of, low_level_server, request_channel_of

EDGE = [source for source in MODULES if source.name.split(".")[1:2] in (["edge"], ["app"], ["cli"])]


def test_a_fastmcp_server_has_the_sdks_server_at__mcp_server() -> None:
    server: FastMCP[Any] = FastMCP("x")
    assert isinstance(getattr(server, "_mcp_server", None), Server), "fastmcp moved FastMCP._mcp_server"
    assert low_level_server(server) is server._mcp_server


def test_the_sdks_server_has_a_list_of_middleware_and_runs_over_streams() -> None:
    low = low_level_server(FastMCP("x"))
    assert isinstance(getattr(low, "middleware", None), list), "mcp moved Server.middleware"
    assert list(inspect.signature(low.run).parameters)[:2] == ["read_stream", "write_stream"]
    assert callable(getattr(low, "create_initialization_options", None))


def test_a_session_has_its_connection_at__connection() -> None:
    visitor = handshake()
    session = visitor.context("ping").session
    assert isinstance(session, ServerSession)
    assert getattr(session, "_connection", None) is visitor.connection, "mcp moved ServerSession._connection"
    assert connection_of(session) is visitor.connection


def test_a_session_has_the_stream_of_its_request_at__request_outbound() -> None:
    visitor = handshake()
    session = visitor.context("ping").session
    assert getattr(session, "_request_outbound", None) is visitor.own, "mcp moved ServerSession._request_outbound"
    assert request_channel_of(session) is visitor.own


@pytest.mark.parametrize("name", ["state", "exit_stack", "initialized", "outbound", "session_id", "protocol_version"])
def test_a_connection_has_what_outlives_a_request(name: str) -> None:
    assert hasattr(handshake().connection, name), f"mcp moved Connection.{name}"


@pytest.mark.parametrize("source", EDGE, ids=lambda source: source.name)
def test_no_other_module_uses_a_private_name_of_another_object(source: Source) -> None:
    """`self._x` and `cls._x` are one's own, and so is `_x` of a class of the same module."""
    if source.name == "wf_mcp.edge.seams":
        return
    own = {node.attr for node in ast.walk(source.tree()) if isinstance(node, ast.Attribute) and _is_self(node.value)}
    own |= {function.name for function in source.functions()}
    foreign = {
        ast.unparse(node)
        for node in ast.walk(source.tree())
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not _is_self(node.value)
        and node.attr not in own
    }
    # `os._exit` is a documented function with an odd name.
    assert foreign - {"os._exit"} == set()


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
