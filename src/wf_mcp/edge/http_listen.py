"""The GET stream of a session: what a streamable HTTP upstream says by itself (2025-11-25 basic/transports § Listening
for Messages from the Server).
"""

import logging
from contextlib import aclosing

import anyio

from wf_mcp.core.backoff import backoff
from wf_mcp.edge.http_conversation import EVENTS, HttpConversation
from wf_mcp.edge.http_events import HttpEvents
from wf_mcp.edge.http_trouble import HttpFailure

logger = logging.getLogger(__name__)

OPENED, NONE = 200, 405


class HttpListen:
    """Keeps the stream open, from where it broke off, until the upstream turns out to have none."""

    def __init__(self, conversation: HttpConversation) -> None:
        self._conversation = conversation
        self._events = HttpEvents(conversation.where)
        self._worked = False

    async def run(self) -> None:
        """Listen. An upstream that cannot be reached is tried again and again: its return is to be noticed, and that
        of one which has forgotten the session.
        """
        failures = 0
        while True:
            status: int | None = None
            try:
                status = await self._once()
            except HttpFailure as failure:
                logger.debug("the GET stream did not open: %s", failure)
            failures = 0 if status == OPENED else failures + 1
            if status == 404 and self._worked:
                self._conversation.lost.set()
                return
            if status is not None and not self._worked and _says_no(status):
                return
            await anyio.sleep(max(self._events.retry, backoff(failures)))

    async def _once(self) -> int:
        """One stream, to its end; the status."""
        headers = {**self._conversation.headers(EVENTS), "cache-control": "no-store"}
        if self._events.last_id is not None:
            headers["last-event-id"] = self._events.last_id
        response = await self._conversation.client.send("GET", headers)
        try:
            if response.status != OPENED or response.content_type != EVENTS:
                return response.status if response.status != OPENED else NONE
            self._worked = True
            async with aclosing(self._events.messages(response)) as messages:
                async for message in messages:
                    if not isinstance(message, ValueError):
                        self._conversation.deliver(message)
            return OPENED
        finally:
            response.close()


def _says_no(status: int) -> bool:
    """Whether a status means that there is no such stream, and not that there is none now."""
    return status == 501 or (status < 500 and status not in (OPENED, 429))
