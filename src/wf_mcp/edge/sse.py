"""The old HTTP+SSE transport towards an upstream (2024-11-05 basic/transports § HTTP with SSE).

Our own: the SDK's refuses an event of more than 1 MiB, lets one slow POST hold up all messages after it, and drops a
message's headers.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Self
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.shared.message import ClientMessageMetadata, SessionMessage

from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.edge.messages import parse_message

logger = logging.getLogger(__name__)

ENDPOINT_WAIT = 30.0
"""Seconds until the server has to have named the endpoint to post to."""
IN_ORDER = 2.0
"""Seconds that the next message waits for one to be accepted; a server that takes longer gets it meanwhile."""
_STREAM = {"accept": "text/event-stream", "cache-control": "no-store"}
_JSON = {"content-type": "application/json"}


@asynccontextmanager
async def sse_streams(client: httpx2.AsyncClient, url: str) -> AsyncIterator[tuple["Events", "Posts"]]:
    """Open the event stream and wait for its first event, which names the endpoint.

    Raises `HTTPStatusError` or `TransportError` of httpx2, the second also later and in a group, for a message that
    could not be posted; `UpstreamUnavailable` where no endpoint is named in time, or one on another origin.
    """
    response = await _sent(client, client.build_request("GET", url, headers=_STREAM))
    try:
        response.raise_for_status()
        async with aclosing(_events(response)) as events:
            endpoint = await _endpoint(events, url)
            async with anyio.create_task_group() as tasks:
                yield Events(events), Posts(client, endpoint, tasks)
                tasks.cancel_scope.cancel()
    finally:
        await response.aclose()


class Events:
    """The read stream: the messages of an event stream, one reader at a time."""

    def __init__(self, events: AsyncGenerator[httpx2.ServerSentEvent]) -> None:
        self._events = events

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises `EndOfStream` when the server, or the network, has ended the stream."""
        try:
            async for event in self._events:
                if event.event == "message" and event.data:  # some servers send empty ones to keep it alive
                    return _message(event.data)
        except httpx2.TransportError as error:
            logger.debug("an event stream broke off: %s: %s", type(error).__name__, error)
            raise anyio.EndOfStream from error
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Give nothing more."""
        await self._events.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()


class Posts:
    """The write stream: one POST per message, in order, with the message's own headers.

    One that cannot be sent ends the connection, since its answer would be waited for in vain; a status of refusal is
    for the client's response hook to see.
    """

    def __init__(self, client: httpx2.AsyncClient, endpoint: str, tasks: TaskGroup) -> None:
        self._client = client
        self._endpoint = endpoint
        self._tasks = tasks
        self._closed = False

    async def send(self, item: SessionMessage) -> None:
        """Post one message, and wait a little until it is accepted. Raises `ClosedResourceError` after `aclose`."""
        if self._closed:
            raise anyio.ClosedResourceError
        data = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        own = item.metadata.headers if isinstance(item.metadata, ClientMessageMetadata) else None
        request = self._client.build_request("POST", self._endpoint, content=data, headers={**(own or {}), **_JSON})
        accepted = anyio.Event()
        self._tasks.start_soon(self._post, request, accepted)
        with anyio.move_on_after(IN_ORDER):
            await accepted.wait()

    async def _post(self, request: httpx2.Request, accepted: anyio.Event) -> None:
        try:
            response = await _sent(self._client, request)
            try:
                await response.aread()  # else the connection could not be used again
            finally:
                await response.aclose()
        finally:
            accepted.set()

    async def aclose(self) -> None:
        """Take no more messages."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()


async def _events(response: httpx2.Response) -> AsyncGenerator[httpx2.ServerSentEvent]:
    async for event in httpx2.EventSource(response, max_event_size=None):
        yield event


async def _endpoint(events: AsyncGenerator[httpx2.ServerSentEvent], url: str) -> str:
    with anyio.move_on_after(ENDPOINT_WAIT):
        async for event in events:
            if event.event == "endpoint":
                endpoint = urljoin(url, event.data)
                if urlsplit(endpoint)[:2] != urlsplit(url)[:2]:
                    raise UpstreamUnavailable("its event stream names an endpoint on another origin")
                return endpoint
    raise UpstreamUnavailable("its event stream did not name the endpoint to post to")


def _message(data: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(parse_message(data.encode()))
    except ValueError as error:
        logger.warning("an upstream sent an event that is no message: %s", data[:200])
        return error


async def _sent(client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    """The answer, its body unread; a redirect is followed where it keeps method and origin, and so every header."""
    for _ in range(client.max_redirects):
        response = await client.send(request, stream=True, follow_redirects=False)
        following = response.next_request
        if following is None or following.method != request.method or _origin(following) != _origin(request):
            return response
        try:
            await response.aread()
        finally:
            await response.aclose()
        request = following
    return await client.send(request, stream=True, follow_redirects=False)


def _origin(request: httpx2.Request) -> tuple[str, str, int | None]:
    return request.url.scheme, request.url.host, request.url.port
