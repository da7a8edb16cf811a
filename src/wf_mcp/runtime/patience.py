"""A time limit that begins again with each sign of life (2025-11-25 basic/lifecycle § Timeouts)."""

from dataclasses import replace

import anyio

from wf_mcp.core.errors import UpstreamTimeout
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.calls import Call
from wf_mcp.runtime.ports import Link, Sending


async def patiently(
    upstream: str, link: Link, method: str, params: JsonObject, sending: Sending, call: Call
) -> JsonObject:
    """Send one request whose `sending.timeout` counts from its last progress.

    Raises what `link.request` raises, and `UpstreamTimeout` after so many seconds of silence; the upstream is then told
    that the request is cancelled, and why.
    """
    limit = sending.timeout or 0.0
    said, why = f"no answer and no progress within {limit:g} s", sending.cancel_reason

    async def reason() -> str | None:
        if silence.cancel_called:
            return said
        return await why() if why is not None else None

    with anyio.move_on_after(limit) as silence:

        def alive() -> None:
            silence.deadline = anyio.current_time() + limit

        call.on_progress = alive
        return await link.request(method, params, replace(sending, timeout=None, cancel_reason=reason))
    raise UpstreamTimeout(f"Upstream {upstream!r}: {said} to {method}; the request was cancelled there")
