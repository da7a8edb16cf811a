"""Notices a connection that was swallowed without being closed (2025-11-25 basic/utilities/ping).

Only where the upstream's `ping` asks for it: one that cannot answer while it works would be cut off in the middle.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

from wf_mcp.core.errors import LinkLost, RelayedError
from wf_mcp.core.failures import Failure
from wf_mcp.core.trouble import SESSION_LOST
from wf_mcp.runtime.ports import Link, loss


async def ended(link: Link, interval: float | None) -> Failure:
    """Wait until the connection is gone, or a ping stays unanswered; returns which, and the reason."""
    if interval is None:
        return await _closed(link)
    found: list[Failure] = []
    async with anyio.create_task_group() as tasks:

        async def first(failure: Callable[[], Awaitable[Failure]]) -> None:
            found.append(await failure())
            tasks.cancel_scope.cancel()

        tasks.start_soon(first, lambda: _closed(link))
        tasks.start_soon(first, lambda: _unanswered(link, interval))
    return found[0]


async def _closed(link: Link) -> Failure:
    reason = await link.closed()
    return Failure(SESSION_LOST.kind if reason == SESSION_LOST.message else loss(link.process), reason)


async def _unanswered(link: Link, interval: float) -> Failure:
    """Ping every `interval` seconds, until there is no answer within as long."""
    while True:
        await anyio.sleep(interval)
        with anyio.move_on_after(interval) as waiting:
            try:
                with suppress(RelayedError):  # a server that refuses to be pinged is there
                    await link.request("ping", None)
            except LinkLost as lost:
                return Failure(loss(link.process), str(lost))
        if waiting.cancelled_caught:
            return Failure("unanswered", f"it did not answer a ping within {interval:g} s (setting wf.ping)")
