"""What the SDK's dispatcher reads from and writes to in an HTTP session, and messages as they go over the wire."""

import contextvars
import json
import math
from collections.abc import Callable
from typing import Self

import anyio
import anyio.lowlevel
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage
from pydantic_core import PydanticSerializationError

_BURST = 64
"""Messages after which those who read them get their turn."""


def wire_bytes(message: JSONRPCMessage) -> bytes:
    """`message` as JSON: what was set, nulls included, and nothing else."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except PydanticSerializationError:  # a lone surrogate, which JSON can carry as an escape only
        return json.dumps(message.model_dump(by_alias=True, exclude_unset=True, mode="python")).encode()


class Inbound:
    """The dispatcher's read stream. `last_context` is how the SDK learns whose context variables a message brings."""

    def __init__(self) -> None:
        # Unbounded: a client knows its session only once `initialize`, the one message that holds up the reading of
        # others, is answered.
        self._send, self._receive = anyio.create_memory_object_stream[tuple[contextvars.Context, SessionMessage]](
            math.inf
        )
        self.last_context: contextvars.Context | None = None

    def put(self, message: SessionMessage) -> None:
        """Hand on one message, with the context of whoever sends it."""
        self._send.send_nowait((contextvars.copy_context(), message))

    def end(self) -> None:
        """No more will come."""
        self._send.close()

    async def receive(self) -> SessionMessage | Exception:
        """The next message; raises `EndOfStream` after the last one."""
        self.last_context, message = await self._receive.receive()
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Stop reading; whoever still sends is told so."""
        self._send.close()
        self._receive.close()

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
