"""Multi-round-trip requests run for a handshake client: the upstream's questions become requests to the client, and its
answers a retry (2026-07-28 basic/patterns/mrtr; matrix A.3, D.3).
"""

import anyio

from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.inputs import RESPONSES, STATE, input_requests, is_input_required
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.inquiry import Inquiry
from wf_mcp.runtime.onward import send
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.resolve import Route

ROUND_CAP = 10
"""Times that one call may come back for more."""

SHORTEST, LONGEST = 0.05, 0.25
"""Seconds before a retry for which nothing was asked; they grow."""


async def run_rounds(caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
    """Send a request, and again with the client's answers as long as the upstream asks; returns its final result.

    Each retry has the upstream's `requestState` as it gave it, and none where it gave none. Raises `WfMcpError`, among
    others where the upstream does not come to an end.
    """
    inquiry = Inquiry(caller, route)
    onward, idle = params, 0
    for _ in range(ROUND_CAP + 1):
        result = await send(caller, route, method, target, onward)
        if not is_input_required(result):
            await inquiry.finished()
            return result
        state = result.get(STATE)
        onward = params if state is None else {**params, STATE: state}
        if input_requests(result):
            onward = {**onward, RESPONSES: await inquiry.answers(result)}
        elif state is None:
            raise WfMcpError(
                f"Upstream {route.mount.id!r} needs input for {method} and does not say which; "
                "its author has to mend that"
            )
        else:
            await anyio.sleep(min(SHORTEST * 2**idle, LONGEST))
            idle += 1
    raise WfMcpError(
        f"Upstream {route.mount.id!r} asked for input {ROUND_CAP} times in one {method} and was not done; "
        "wf-mcp gave up"
    )
