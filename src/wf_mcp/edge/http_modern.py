"""Requests of 2026-07-28 over HTTP: each is one POST, checked against its headers and served by itself (2026-07-28
basic/transports/streamable-http; matrix A.2, A.5, E.2).
"""

from collections.abc import Mapping

from mcp.server.connection import Connection
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    decode_header_value,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp_types import (
    HEADER_MISMATCH,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)
from starlette.requests import Request
from starlette.types import Receive, Send

from wf_mcp.core import http_rules
from wf_mcp.core.http_rules import Refusal
from wf_mcp.edge.http_exchange import Exchange
from wf_mcp.edge.http_exchanges import HttpExchanges
from wf_mcp.edge.http_plain import refuse, reply, unacceptable
from wf_mcp.edge.http_stream import Pace
from wf_mcp.edge.messages import message_bytes

TASK_METHODS = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
"""Methods whose `Mcp-Name` is the task's id (TASKS § Streamable HTTP: Routing Headers)."""


class HttpModern:
    """Serves what a modern client posts."""

    def __init__(self, exchanges: HttpExchanges, pace: Pace) -> None:
        self._exchanges, self._pace = exchanges, pace

    async def post(self, request: Request, message: JSONRPCMessage | Refusal, receive: Receive, send: Send) -> None:
        """Answer one POST; a client that closes its response cancels the request (basic/patterns/cancellation)."""
        refused = unacceptable(request)
        if isinstance(message, Refusal):
            refused = message
        elif self._exchanges.stopping:
            refused = http_rules.STOPPING
        if refused is not None:
            return await refuse(send, refused)
        match message:
            case JSONRPCRequest():
                return await self._request(request, message, receive, send)
            case JSONRPCNotification():
                return await self._notification(request, send)
            case _:  # answers, which this era's clients do not send
                return await refuse(send, http_rules.NO_ANSWERS)

    async def _request(self, request: Request, message: JSONRPCRequest, receive: Receive, send: Send) -> None:
        route = verdict(request, message)
        if isinstance(route, InboundLadderRejection):
            return await _reject(send, route, message.id)
        exchange = Exchange(message, request, self._pace)
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        self._exchanges.begin(exchange, connection)
        try:
            await exchange.respond(receive, send, ERROR_CODE_HTTP_STATUS)
        finally:
            exchange.cancel_requested.set()
            exchange.scope.cancel()

    async def _notification(self, request: Request, send: Send) -> None:
        """Take note: the era has no notification from clients over HTTP, and its requests no state to act on."""
        requested = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, "")
        unsupported = unsupported_protocol_version_rejection(requested)
        if unsupported is not None:
            return await _reject(send, unsupported, None)
        return await reply(send, 202, b"")


def verdict(request: Request, message: JSONRPCRequest) -> InboundModernRoute | InboundLadderRejection:
    """Who asks, or why the request is refused: its envelope, or headers that its body contradicts (§ Server
    Validation).

    `Mcp-Param-*` are checked where the called tool's schema is known, in `input_schemas.py`.
    """
    duplicated = find_duplicated_routing_header(request.headers.items())
    if duplicated is not None:
        return InboundLadderRejection(HEADER_MISMATCH, f"{duplicated} header appears more than once")
    route = classify_inbound_request({"method": message.method, "params": message.params}, headers=request.headers)
    if isinstance(route, InboundLadderRejection):
        return route
    return _task_mismatch(message.method, message.params or {}, request.headers) or route


def _task_mismatch(
    method: str, params: Mapping[str, object], headers: Mapping[str, str]
) -> InboundLadderRejection | None:
    task_id = params.get("taskId") if method in TASK_METHODS else None
    if task_id is None or decode_header_value(headers.get(MCP_NAME_HEADER)) == task_id:
        return None
    return InboundLadderRejection(
        HEADER_MISMATCH, f"{MCP_NAME_HEADER} header does not match the request body's 'taskId' parameter"
    )


async def _reject(send: Send, rejection: InboundLadderRejection, request_id: RequestId | None) -> None:
    given = {} if rejection.data is None else {"data": rejection.data}
    error = ErrorData(code=rejection.code, message=rejection.message, **given)
    status = ERROR_CODE_HTTP_STATUS.get(rejection.code, 400)
    await reply(send, status, message_bytes(JSONRPCError(jsonrpc="2.0", id=request_id, error=error)))
