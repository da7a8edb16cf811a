"""The event stream of one HTTP upstream's answer, over however many responses it comes (2025-11-25 basic/transports
§ Resumability and Redelivery).
"""

import logging
from collections.abc import AsyncGenerator

import aiohttp
import anyio.lowlevel
from mcp_types import JSONRPCMessage

from wf_mcp.core.event_stream import EventReader, ServerEvent
from wf_mcp.edge.messages import parse_message

logger = logging.getLogger(__name__)

RETRY = 1.0
"""Seconds before a stream is resumed, where the server has not said."""
SHORTEST = 0.05
"""Seconds that pass at least."""
BURST = 64
"""Events after which others get their turn."""


class HttpEvents:
    """`last_id` is from where the stream can be resumed, `retry` the seconds to wait before that."""

    def __init__(self, where: str) -> None:
        self.last_id: str | None = None
        self.retry = RETRY
        self._where = where
        self._seen = 0

    async def messages(self, response: aiohttp.ClientResponse) -> AsyncGenerator[JSONRPCMessage | ValueError]:
        """The messages of one response, to its end or until it breaks off; an error for an event that is none."""
        reader = EventReader()
        try:
            async for chunk in response.content.iter_any():
                for event in reader.feed(chunk):
                    self._note(event)
                    if event.event == "message" and event.data:  # some servers send empty ones to keep it alive
                        yield self._message(event.data)
                    self._seen += 1
                    if self._seen % BURST == 0:
                        await anyio.lowlevel.checkpoint()
        except (aiohttp.ClientError, OSError) as error:
            logger.debug("%s: an event stream broke off: %r", self._where, error)

    def _note(self, event: ServerEvent) -> None:
        if event.id is not None:
            self.last_id = event.id or None
        if event.retry is not None:
            self.retry = max(SHORTEST, event.retry / 1000)

    def _message(self, data: bytes) -> JSONRPCMessage | ValueError:
        try:
            return parse_message(data)
        except ValueError as error:
            logger.warning("%s sent an event that is no message: %s", self._where, data[:200])
            return error
