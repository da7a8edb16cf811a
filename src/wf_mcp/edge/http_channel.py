"""Streamable HTTP towards an upstream, as the two message streams of a channel (design D2; 2025-11-25 basic/transports
§ Streamable HTTP, 2026-07-28 basic/transports/streamable-http).

Our own: with the SDK's, one POST that finds no connection ends the session with everything in it, nobody can tell
whether a message was sent, and a request costs three times as much.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Self

import anyio
from anyio.abc import TaskGroup
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, RequestId
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from wf_mcp.core.config import HttpTransport
from wf_mcp.edge.cancellations import CANCELLED
from wf_mcp.edge.channels import Channel
from wf_mcp.edge.http_client import Body, http_client
from wf_mcp.edge.http_conversation import EVENTS, JSON, SESSION, VERSION, HttpConversation
from wf_mcp.edge.http_listen import HttpListen
from wf_mcp.edge.http_post import HttpPost
from wf_mcp.edge.http_trouble import HttpFailure
from wf_mcp.edge.messages import message_bytes

logger = logging.getLogger(__name__)

IN_ORDER = 2.0
"""Seconds that the next notification waits for one to be accepted; a server that takes longer gets it meanwhile."""

LINGER = 1.0
"""Seconds that a cancelled request's stream stays open, and other requests get for their own answer after the session
was lost.
"""

CLOSING = 3.0
"""Seconds for saying goodbye (DELETE of the session)."""

ANSWERS: Final = f"{JSON}, {EVENTS}"


@asynccontextmanager
async def open_http(http: HttpTransport) -> AsyncIterator[Channel]:
    """Connect over streamable HTTP; nothing is sent before the first message."""
    async with http_client(http.url, http.headers) as client:
        conversation = HttpConversation(client)
        async with anyio.create_task_group() as tasks:
            posts = HttpPosts(conversation, tasks)
            tasks.start_soon(posts.until_lost, name=f"session at {client.where}")
            try:
                yield Channel(
                    conversation.arrivals,
                    posts,
                    conversation.trouble,
                    conversation.post_mortem,
                    failure=conversation.failure,
                )
            finally:
                tasks.cancel_scope.cancel()
                with anyio.move_on_after(CLOSING, shield=True):
                    await _goodbye(conversation)
                    await conversation.arrivals.aclose()


async def _goodbye(conversation: HttpConversation) -> None:
    """Tell the server that its session is over (2025-11-25 basic/transports § Session Management)."""
    if conversation.session_id is None or conversation.lost.is_set():
        return
    try:
        response = await conversation.client.send("DELETE", conversation.headers(ANSWERS))
    except HttpFailure as failure:
        logger.debug("the session could not be ended: %s", failure)
    else:
        response.close()


class HttpPosts:
    """The write stream: a POST for each message, with its own headers. A request does not wait for anything; other
    messages go in order.
    """

    def __init__(self, conversation: HttpConversation, tasks: TaskGroup) -> None:
        self._conversation = conversation
        self._tasks = tasks
        self._under_way: dict[RequestId, HttpPost] = {}
        self._landed = anyio.Event()
        self._order = anyio.Lock()
        self._closed = False

    async def send(self, item: SessionMessage) -> None:
        """Send one message. Raises `ClosedResourceError` after `aclose`."""
        if self._closed:
            raise anyio.ClosedResourceError
        message = item.message
        own = (item.metadata.headers if isinstance(item.metadata, ClientMessageMetadata) else None) or {}
        if isinstance(message, JSONRPCRequest):
            self._request(message, own)
            return
        cancelled = self._cancelled(message) if isinstance(message, JSONRPCNotification) else None
        if cancelled is not None and cancelled.modern:  # its stream stands for it, and no notification is sent
            cancelled.scope.cancel()
            return
        if own.get(VERSION) in MODERN_PROTOCOL_VERSIONS and isinstance(message, JSONRPCNotification):
            logger.debug("%s is not sent: the request has its answer", message.method)
            return
        await self._tell(item, own, cancelled)

    # -- requests --------------------------------------------------------------------------------

    def _request(self, message: JSONRPCRequest, own: dict[str, str]) -> None:
        headers = self._headers(message, own)
        post = HttpPost(self._conversation, message, headers, modern=headers.get(VERSION) in MODERN_PROTOCOL_VERSIONS)
        self._under_way[message.id] = post
        self._tasks.start_soon(self._run, post, name=f"POST {message.method}")

    async def _run(self, post: HttpPost) -> None:
        try:
            await post.run()
        finally:
            del self._under_way[post.message.id]
            if self._conversation.lost.is_set():
                self._landed.set()

    def _cancelled(self, message: JSONRPCNotification) -> HttpPost | None:
        """The request under way that a notification cancels."""
        if message.method != CANCELLED:
            return None
        request_id = cancelled_request_id_from_params(message.params)
        return self._under_way.get(request_id) if request_id is not None else None

    def _headers(self, message: object, own: dict[str, str]) -> dict[str, str]:
        """What goes with a message: the session and the version agreed on, unless it says otherwise itself."""
        conversation = self._conversation
        if isinstance(message, JSONRPCRequest) and message.method == "initialize":
            conversation.session_id = conversation.version = None
        elif VERSION in own:
            conversation.version = own[VERSION]
        headers = conversation.headers(ANSWERS)
        if conversation.version in MODERN_PROTOCOL_VERSIONS:
            headers.pop(SESSION, None)
        headers |= own
        headers["content-type"] = JSON
        return headers

    # -- everything else -------------------------------------------------------------------------

    async def _tell(self, item: SessionMessage, own: dict[str, str], cancelled: HttpPost | None) -> None:
        """Post a notification or an answer, and wait a little until it is accepted."""
        message = item.message
        headers = self._headers(message, own)
        async with self._order:
            if isinstance(message, JSONRPCNotification) and message.method == "notifications/initialized":
                self._listen()
            accepted = anyio.Event()
            self._tasks.start_soon(self._post, Body(message_bytes(message)), headers, accepted, cancelled)
            with anyio.move_on_after(IN_ORDER):
                await accepted.wait()

    def _listen(self) -> None:
        if self._conversation.session_id is not None:
            self._tasks.start_soon(HttpListen(self._conversation).run, name=f"GET {self._conversation.where}")

    async def _post(
        self, body: Body, headers: dict[str, str], accepted: anyio.Event, cancelled: HttpPost | None
    ) -> None:
        try:
            response = await self._conversation.client.send("POST", headers, body)
            try:
                if response.status >= 400:
                    refused = self._conversation.refused(response, headers)
                    logger.warning("a message was not accepted: %s", refused.message)
                else:
                    self._conversation.accepted()
                    if response.content_length is not None:
                        await response.read()  # else the connection could not be used again
            finally:
                response.close()
        except (HttpFailure, OSError) as failure:
            logger.warning("a message could not be sent: %s", failure)
        finally:
            accepted.set()
        if cancelled is not None:  # most servers leave its stream open, on which nothing more is to come
            await anyio.sleep(LINGER)
            cancelled.scope.cancel()

    # -- the end ---------------------------------------------------------------------------------

    async def until_lost(self) -> None:
        """Wait until the upstream has forgotten the session, let requests have their own answers, and end."""
        await self._conversation.lost.wait()
        with anyio.move_on_after(LINGER):
            while self._under_way:
                await self._landed.wait()
                self._landed = anyio.Event()
        self._conversation.arrivals.end()

    async def aclose(self) -> None:
        """Take no more messages."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
