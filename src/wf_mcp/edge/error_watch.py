"""Errors whose `data` is null: the SDK's exception for an error cannot tell that from no data at all."""

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, RequestId

from wf_mcp.core.errors import NULL

REMEMBERED = 100
"""Errors remembered until somebody asks; each is asked about at once."""


STATE_KEY = "wf_mcp.errors"
"""Where a connection's scratch state keeps the `ErrorWatch` over what its client sends."""


def mcp_error(code: int, message: str, data: Any) -> MCPError:
    """The SDK's exception for an error; `NULL` for data is sent as null."""
    if data is not NULL:
        return MCPError(code, message, data)
    error = MCPError(code, message)
    error.error = ErrorData(code=code, message=message, data=None)  # set, and so sent
    return error


class ErrorWatch:
    """A stream of messages, passed on as it is, that remembers which requests were answered with `"data": null`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._seen: dict[RequestId | None, None] = {}

    @property
    def last_context(self) -> Any:
        """The sender's context of the last message, where the stream knows it."""
        return getattr(self._stream, "last_context", None)

    def null_data(self, request_id: RequestId) -> bool:
        """Whether the error that answered `request_id` had null for data; asked once."""
        return self._seen.pop(request_id, self) is None

    async def receive(self) -> Any:
        """The next message."""
        return self._noted(await self._stream.receive())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> "ErrorWatch":
        """The stream itself; leaving closes it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the stream."""
        await self.aclose()

    def __aiter__(self) -> "ErrorWatch":
        """Every message, until the stream ends."""
        return self

    async def __anext__(self) -> Any:
        """The next message; ends with the stream."""
        return self._noted(await anext(self._stream))

    def _noted(self, item: Any) -> Any:
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCError):
            error = item.message.error
            if error.data is None and "data" in error.model_fields_set:
                self._seen[item.message.id] = None
                while len(self._seen) > REMEMBERED:
                    del self._seen[next(iter(self._seen))]
        return item
