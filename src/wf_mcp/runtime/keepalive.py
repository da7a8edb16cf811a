"""Notices a connection that was swallowed without being closed (2025-11-25 basic/utilities/ping).

Only where the upstream's `ping` asks for it: one that cannot answer while it works would be cut off in the middle.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

from wf_mcp.core.errors import LinkLost, RelayedError
from wf_mcp.runtime.ports import Link


async def ended(link: Link, interval: float | None) -> str:
    """Wait until the connection is gone, or a ping stays unanswered; returns the reason."""
    if interval is None:
        return await link.closed()
    reasons: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def first(reason: Callable[[], Awaitable[str]]) -> None:
            reasons.append(await reason())
            tasks.cancel_scope.cancel()

        tasks.start_soon(first, link.closed)
        tasks.start_soon(first, lambda: _unanswered(link, interval))
    return reasons[0]


async def _unanswered(link: Link, interval: float) -> str:
    """Ping every `interval` seconds, until there is no answer within as long."""
    while True:
        await anyio.sleep(interval)
        with anyio.move_on_after(interval) as waiting:
            try:
                with suppress(RelayedError):  # a server that refuses to be pinged is there
                    await link.request("ping", None)
            except LinkLost as lost:
                return str(lost)
        if waiting.cancelled_caught:
            return f"it did not answer a ping within {interval:g} s (setting wf.ping)"
