"""`subscriptions/listen`: one long-lived stream of notifications to a modern client (2026-07-28
basic/patterns/subscriptions, matrix A.4).

The acknowledgement comes first; every message carries the id of the request; a stream that ends in good order has a
result.
"""

import logging
from typing import Any

import anyio

from wf_mcp.core.envelope import extensions
from wf_mcp.core.errors import InvalidParams, MissingCapability
from wf_mcp.core.listen import ACKNOWLEDGED, asked_for, names_tasks, stamped
from wf_mcp.core.tasks import TASKS_EXTENSION
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.callers import Context
from wf_mcp.edge.clients import RawMessage
from wf_mcp.edge.http_exchanges import stopping_of
from wf_mcp.edge.seams import connection_of
from wf_mcp.runtime.listener import Listener
from wf_mcp.runtime.listeners import Listeners
from wf_mcp.runtime.ports import Caller

logger = logging.getLogger(__name__)


async def listen(listeners: Listeners, caller: Caller, ctx: Context) -> JsonObject:
    """Serve one stream until its client closes it, which cancels this, or until wf-mcp stops; returns the result.

    Raises `InvalidParams` for a filter that is none, `MissingCapability` for tasks without their extension, and
    `FellBehind` where the client reads too slowly.
    """
    params = dict(ctx.params or {})
    asked = asked_for(params)
    if names_tasks(params) and TASKS_EXTENSION not in extensions(caller.hello.capabilities):
        raise MissingCapability(
            f"notifications.taskIds needs the extension {TASKS_EXTENSION} in the request's client capabilities",
            {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}},
        )
    subscription = ctx.request_id
    if subscription is None:
        raise InvalidParams("subscriptions/listen is a request and needs an id")
    stream = _Stream(ctx, subscription)
    async with listeners.open(caller, asked) as listener:
        await stream.send(ACKNOWLEDGED, {"notifications": listener.honoured.as_json()})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.pour, listener, name=f"listen stream {subscription}")
            tasks.start_soon(_end_with_front, ctx, listener, name=f"end of listen stream {subscription}")
            await listener.ended.wait()
            tasks.cancel_scope.cancel()
        if listener.failure is not None:
            logger.warning("a listen stream ended: %s", listener.failure)
            raise listener.failure
    return stamped({}, subscription)


async def _end_with_front(ctx: Context, listener: Listener) -> None:
    """End the stream in good order when the front that it came by says that it stops."""
    stopping = stopping_of(connection_of(ctx.session))
    if stopping is not None:
        await stopping.wait()
        listener.ended.set()


class _Stream:
    """The stream of one listen request."""

    def __init__(self, ctx: Context, subscription: str | int) -> None:
        self._session: Any = ctx.session
        self._subscription = subscription

    async def send(self, method: str, params: JsonObject) -> None:
        """Send one notification; what an upstream put into its `_meta` stays."""
        message = RawMessage(method, stamped(params, self._subscription))
        await self._session.send_notification(message, related_request_id=self._subscription)

    async def pour(self, listener: Listener) -> None:
        """Send what comes, for as long as anything may."""
        while True:
            for method, params in await listener.take():
                await self.send(method, params)
