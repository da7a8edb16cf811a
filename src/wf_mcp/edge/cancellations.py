"""Why a request was cancelled: what the side that asked said, for the side that was asked (matrix B.2, B.4)."""

import anyio
from mcp_types import RequestId

CANCELLED = "notifications/cancelled"

REMEMBERED = 100
"""Cancellations remembered until somebody asks."""


class Cancellations:
    """The reasons that one side gave for its cancellations, until the requests have ended.

    The SDK cancels a request's task before it hands on the notification that says why, so that the task has to wait a
    moment for the reason.
    """

    PATIENCE = 0.2
    """Seconds; the reason is behind the cancellation by one turn of the event loop."""

    def __init__(self) -> None:
        self._said: dict[RequestId, str | None] = {}
        self._news = anyio.Event()

    def note(self, request_id: object, reason: object) -> None:
        """A `notifications/cancelled` arrived."""
        if isinstance(request_id, str | int):
            self._said[request_id] = reason if isinstance(reason, str) else None
            while len(self._said) > REMEMBERED:
                del self._said[next(iter(self._said))]
            self._news.set()
            self._news = anyio.Event()

    async def reason(self, request_id: RequestId) -> str | None:
        """The reason for cancelling `request_id`, waiting for it if it is still on its way."""
        with anyio.move_on_after(self.PATIENCE):
            while request_id not in self._said:
                await self._news.wait()
        return self._said.pop(request_id, None)
