"""What all exchanges with one streamable HTTP upstream share: its session, what arrives, and what went wrong
(2025-11-25 basic/transports § Streamable HTTP, 2026-07-28 basic/transports/streamable-http).
"""

import logging
import re
from collections.abc import Mapping
from typing import Final

import aiohttp
import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
)

from wf_mcp.core.trouble import SESSION_LOST, Trouble
from wf_mcp.edge.http_client import HttpClient
from wf_mcp.edge.http_trouble import refusal
from wf_mcp.edge.http_wire import Inbound

logger = logging.getLogger(__name__)

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"

REMEMBERED = 1000
"""Failures remembered until somebody asks; each is asked about at once, unless nobody waits any more."""

_NO_SESSION = re.compile(
    r"session.*(not found|invalid|unknown|expired)|(no valid|invalid|unknown|expired).*session", re.I
)
"""How servers that should answer 404 say with 400 that they do not know a session."""


class HttpConversation:
    """One conversation: `session_id` and `version` once they are known, `lost` set when the upstream has forgotten it.

    `arrivals` is what the dispatcher reads.
    """

    def __init__(self, client: HttpClient) -> None:
        self.client = client
        self.arrivals = Inbound()
        self.session_id: str | None = None
        self.version: str | None = None
        self.lost = anyio.Event()
        self._failures: dict[RequestId, Trouble] = {}
        self._last_refusal: Trouble | None = None

    @property
    def where(self) -> str:
        """The upstream's address as it may be shown."""
        return self.client.where

    def headers(self, accept: str) -> dict[str, str]:
        """The headers that name the session and the version agreed on, and what may be answered."""
        headers = {"accept": accept}
        if self.session_id is not None:
            headers[SESSION] = self.session_id
        if self.version is not None:
            headers[VERSION] = self.version
        return headers

    def deliver(self, message: JSONRPCMessage) -> None:
        """Hand on what arrived, as said to whoever the calling task sends for; nobody may listen any more."""
        try:
            self.arrivals.put(SessionMessage(message))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("%s: a message came after the connection was closed", self.where)

    def answer_with(self, request_id: RequestId, error: ErrorData, trouble: Trouble | None = None) -> None:
        """Answer a request with an error that is ours, or the upstream's with what else is known of it."""
        if trouble is not None:
            self._failures[request_id] = trouble
            while len(self._failures) > REMEMBERED:
                del self._failures[next(iter(self._failures))]
        self.deliver(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))

    def fail(self, request_id: RequestId, trouble: Trouble) -> None:
        """Answer a request that came to no answer."""
        self.answer_with(request_id, ErrorData(code=INTERNAL_ERROR, message=trouble.message), trouble)

    def refuse(self, request_id: RequestId, trouble: Trouble) -> None:
        """Answer a request that the upstream refused with a status alone."""
        # Without a session, 404 is how HTTP says that there is no such method (2026-07-28 streamable-http).
        unknown = trouble.status == 404
        code, said = (
            (METHOD_NOT_FOUND, "Not Found") if unknown else (INTERNAL_ERROR, "Server returned an error response")
        )
        self.answer_with(request_id, ErrorData(code=code, message=f"{said} ({trouble.message})"), trouble)

    def failure(self, request_id: RequestId) -> Trouble | None:
        """What went wrong with a request; asked once."""
        return self._failures.pop(request_id, None)

    def accepted(self) -> None:
        """A POST was not refused."""
        self._last_refusal = None

    def refused(
        self, response: aiohttp.ClientResponse, sent: Mapping[str, str], error: ErrorData | None = None
    ) -> Trouble:
        """What it means that a POST was refused; `error` is what the answer's body says.

        Where the session is not known any more, the conversation is over.
        """
        if SESSION in sent and _forgotten(response.status, error):
            self.lost.set()
            return SESSION_LOST
        self._last_refusal = refusal(response.status, response.headers, self.where)
        return self._last_refusal

    def trouble(self) -> str | None:
        """The refusal of the last POST, in words."""
        return self._last_refusal.message if self._last_refusal is not None else None

    async def post_mortem(self) -> str:
        """Why the connection ended, as far as HTTP tells."""
        if self.lost.is_set():
            return SESSION_LOST.message
        return self.trouble() or f"the connection to {self.where} ended"


def _forgotten(status: int, error: ErrorData | None) -> bool:
    """Whether an answer says that there is no such session, and not that there is no such method."""
    if status == 404:
        return error is None or error.code != METHOD_NOT_FOUND
    return status == 400 and error is not None and _NO_SESSION.search(error.message) is not None
