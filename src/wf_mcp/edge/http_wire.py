"""What the SDK's dispatcher reads from and writes to in an HTTP session."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from typing import Self

import anyio
import anyio.lowlevel
from mcp.shared.message import SessionMessage

_BURST = 64
"""Messages after which those who read them get their turn."""


class Inbound:
    """The dispatcher's read stream. `last_context` is how the SDK learns whose context variables a message brings.

    Unbounded: a client knows its session only once `initialize`, the one message that holds up the reading of others,
    is answered.
    """

    def __init__(self) -> None:
        self.last_context: contextvars.Context | None = None
        self._waiting: deque[tuple[contextvars.Context, SessionMessage]] = deque()
        self._news: asyncio.Future[None] | None = None
        self._ended = False
        self._closed = False
        self._burst = 0

    def put(self, message: SessionMessage) -> None:
        """Hand on one message, with the context of whoever sends it. Raises `ClosedResourceError` after the end."""
        if self._ended:
            raise anyio.ClosedResourceError
        self._waiting.append((contextvars.copy_context(), message))
        self._wake()

    def end(self) -> None:
        """No more will come."""
        self._ended = True
        self._wake()

    async def receive(self) -> SessionMessage | Exception:
        """The next message, for one reader at a time; raises `EndOfStream` after the last one."""
        self._burst += 1
        if self._burst % _BURST == 0:
            await anyio.lowlevel.checkpoint()
        while not self._waiting or self._closed:
            if self._closed:
                raise anyio.ClosedResourceError
            if self._ended:
                raise anyio.EndOfStream
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        self.last_context, message = self._waiting.popleft()
        return message

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Stop reading; whoever still sends is told so."""
        self._closed = self._ended = True
        self._waiting.clear()
        self._wake()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Outward:
    """The dispatcher's write stream: each message is delivered in the task that sends it, and waits for no reader."""

    def __init__(self, deliver: Callable[[SessionMessage], None]) -> None:
        self._deliver = deliver
        self._burst = 0

    async def send(self, item: SessionMessage, /) -> None:
        """Deliver one message."""
        self._deliver(item)
        self._burst += 1
        if self._burst % _BURST == 0:
            await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Nothing is held that would have to be closed."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
