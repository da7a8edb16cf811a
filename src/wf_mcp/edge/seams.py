"""Every private name of a dependency that wf-mcp uses, each with its reason (design D3).

`tests/edge/test_seams.py` names what is missing when a release moves one of them.
"""

from typing import Any

from fastmcp import FastMCP
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import DispatchContext


def low_level_server(server: FastMCP) -> Server[Any]:
    """The SDK server inside a FastMCP server: `FastMCP._mcp_server` (seen in fastmcp 4.2.3).

    Reason: the SDK's public middleware list, which the wire lane stands in, is reachable through this object only, and
    so is running a FastMCP server over streams of our own.
    """
    low: Server[Any] = server._mcp_server
    return low


def connection_of(session: ServerSession) -> Connection:
    """The connection behind a request's session object: `ServerSession._connection` (seen in mcp 2.3.0).

    Reason: a session object lives for one request, while the connection has what outlives it: scratch state, the
    standalone channel, and the exit stack that says when the client is gone. A middleware is given the session only.
    """
    connection: Connection = session._connection
    return connection


def request_channel_of(session: ServerSession) -> DispatchContext[Any]:
    """The stream of one request, towards the client: `ServerSession._request_outbound` (seen in mcp 2.3.0).

    Reason: what a client answers has to pass as it is, and the public `send_request` refuses every answer that the
    SDK's models do not know.
    """
    channel: DispatchContext[Any] = session._request_outbound
    return channel
