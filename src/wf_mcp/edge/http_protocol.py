"""uvicorn's side of one connection to the HTTP front: its writes brought together, its headers read as they are meant.

uvicorn writes the head of a response and its body apart, and each of them goes out as a packet that wakes the client:
for a short answer that is a tenth of the whole time.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

AT_ONCE = 65_536
"""Bytes that do not wait for more."""


class Together:
    """A transport whose writes of one turn of the event loop go out together; in all else it is the one around which it
    is put.
    """

    def __init__(self, transport: asyncio.Transport, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._transport = transport
        self._call_soon = call_soon
        self._parts: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write `data` with what else is written in this turn."""
        if not data:
            return
        self._parts.append(data)
        self._size += len(data)
        if self._size > AT_ONCE:
            self._flush()
        elif len(self._parts) == 1:
            self._call_soon(self._flush)

    def close(self) -> None:
        """Close the connection behind what was written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts:
            self._transport.writelines(parts)


class FrontProtocol(HttpToolsProtocol):
    """One connection of a client."""

    def connection_made(self, transport: Any) -> None:  # what uvicorn is given is an `asyncio.Transport`
        """Take the connection."""
        super().connection_made(transport)
        together: Any = Together(transport, self.loop.call_soon)
        self.transport = together

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header without the white space around its value, which is no part of it (RFC 9110 § 5.5)."""
        super().on_header(name, value.strip(b" \t"))
