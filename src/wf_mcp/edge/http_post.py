"""One request as a POST, and its answer: plain JSON, or an event stream that may break off and be resumed (2025-11-25
basic/transports § Sending Messages to the Server, § Resumability and Redelivery).
"""

import logging
from collections.abc import Mapping
from contextlib import aclosing, suppress

import aiohttp
import anyio
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
)

from wf_mcp.core.trouble import Trouble
from wf_mcp.edge.http_client import Body, reading, redirect_of
from wf_mcp.edge.http_conversation import EVENTS, JSON, SESSION, HttpConversation
from wf_mcp.edge.http_events import HttpEvents
from wf_mcp.edge.http_trouble import HttpFailure
from wf_mcp.edge.messages import message_bytes, parse_message

logger = logging.getLogger(__name__)

RESUMPTIONS = 2
"""Attempts in a row to resume a stream that fail."""
REST = 1.0
"""Seconds that a stream gets to end by itself after its answer, so that its connection can be used again."""

OF_THE_WAY: frozenset[int] = frozenset({401, 403, 429, 502, 503, 504})
"""Statuses that say something about the way to the upstream, whatever JSON-RPC error comes with them."""


class HttpPost:
    """One request and its answer. `modern` says that its stream stands for it: closing that cancels it, and one that
    breaks off is not resumed (2026-07-28 basic/patterns/cancellation, changelog major item 9).
    """

    def __init__(
        self, conversation: HttpConversation, message: JSONRPCRequest, headers: Mapping[str, str], *, modern: bool
    ) -> None:
        self.message = message
        self.modern = modern
        self.scope = anyio.CancelScope()
        self._conversation = conversation
        self._headers = headers
        self._answered = False

    async def run(self) -> None:
        """Send it and deliver what comes, until its answer or its end."""
        where = self._conversation.where
        with self.scope:
            try:
                body = Body(message_bytes(self.message))
                response = await self._conversation.client.send("POST", self._headers, body)
                del body  # an answer may take long, and what was asked may be large
                try:
                    await self._receive(response)
                finally:
                    response.close()
            except HttpFailure as failure:
                logger.debug("%s of request %r", failure, self.message.id)
                self._conversation.fail(self.message.id, failure.trouble)
            except Exception as error:  # a defect costs this request only
                logger.exception("a request to %s failed in a way that was not foreseen", where)
                self._conversation.fail(
                    self.message.id, Trouble("reset", f"the exchange with {where} failed: {error!r}", started=True)
                )

    async def _receive(self, response: aiohttp.ClientResponse) -> None:
        kind = response.content_type
        if response.status >= 400:
            return await self._refused(response, kind)
        self._conversation.accepted()
        if (location := redirect_of(response)) is not None:
            target = location.with_user(None).with_query(None).with_fragment(None)
            self._ours(f"Redirect to {target} not followed; use that URL as the endpoint if it is the intended server")
        elif response.status in (202, 204):
            self._ours(f"server answered a request with {response.status} {response.reason}")
        elif kind == JSON:
            self._opened(response)
            with reading(self._conversation.where):
                data = await response.read()
            self._plain(data)
        elif kind == EVENTS:
            self._opened(response)
            await self._streamed(response)
        else:
            self._ours(f"Unexpected content type: {response.headers.get('content-type', 'none')}")

    def _opened(self, response: aiohttp.ClientResponse) -> None:
        """The answer to `initialize` names the session, if there is one."""
        if self.message.method == "initialize":
            self._conversation.session_id = response.headers.get(SESSION) or None

    async def _refused(self, response: aiohttp.ClientResponse, kind: str) -> None:
        """A refusal: the JSON-RPC error in its body, where there is one, and the status."""
        error = None
        if kind == JSON:
            with reading(self._conversation.where, started=False):
                data = await response.read()
            with suppress(ValueError):
                parsed = parse_message(data)
                error = parsed.error if isinstance(parsed, JSONRPCError) else None
        trouble = self._conversation.refused(response, self._headers, error)
        if trouble.kind == "session_lost":
            self._conversation.fail(self.message.id, trouble)
        elif error is None:
            self._conversation.refuse(self.message.id, trouble)
        else:
            of_the_way = trouble if response.status in OF_THE_WAY else None
            self._conversation.answer_with(self.message.id, error, of_the_way)

    def _ours(self, said: str, code: int = INVALID_REQUEST) -> None:
        """Answer with an error that the upstream did not write."""
        self._answered = True
        self._conversation.answer_with(self.message.id, ErrorData(code=code, message=said))

    def _plain(self, data: bytes) -> None:
        try:
            message = parse_message(data)
        except ValueError as error:
            self._ours(f"Failed to parse JSON response: {error}", PARSE_ERROR)
            return
        self._deliver(message)
        if not self._answered:
            self._ours("server answered a request with a message that is no answer")

    def _deliver(self, message: JSONRPCMessage) -> None:
        """Hand on one message; an answer on this request's stream is this request's, whatever id it has."""
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            if self._answered:
                return
            self._answered = True
            message.id = self.message.id
        self._conversation.deliver(message)

    async def _streamed(self, response: aiohttp.ClientResponse) -> None:
        where = self._conversation.where
        events = HttpEvents(where)
        await self._follow(events, response)
        if not self._answered and not self.modern:
            await self._resume(events)
        if not self._answered:
            broken = Trouble("reset", f"the response stream of {where} ended without an answer", started=True)
            self._conversation.fail(self.message.id, broken)

    async def _follow(self, events: HttpEvents, response: aiohttp.ClientResponse) -> None:
        """Deliver a stream's messages up to the answer or its end."""
        async with aclosing(events.messages(response)) as messages:
            async for message in messages:
                if isinstance(message, ValueError):
                    self._ours(f"Failed to parse SSE message: {message}", PARSE_ERROR)
                else:
                    self._deliver(message)
                if self._answered:
                    break
            else:
                return
        with anyio.move_on_after(REST), suppress(aiohttp.ClientError, OSError):
            await response.read()

    async def _resume(self, events: HttpEvents) -> None:
        """Ask for the rest of a stream that ended before the answer, as often as it goes on."""
        failed = 0
        while failed < RESUMPTIONS and not self._answered and events.last_id is not None:
            await anyio.sleep(events.retry)
            headers = {**self._conversation.headers(EVENTS), "last-event-id": events.last_id}
            try:
                response = await self._conversation.client.send("GET", headers)
            except HttpFailure as failure:
                logger.debug("a response stream could not be resumed: %s", failure)
                failed += 1
                continue
            try:
                if response.status == 200 and response.content_type == EVENTS:
                    failed = 0
                    await self._follow(events, response)
                else:
                    failed += 1
            finally:
                response.close()
