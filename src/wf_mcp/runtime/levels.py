"""The log level that modern clients want of a handshake upstream (matrix D.3): each request names its own, while the
upstream has one level for its whole session.
"""

from wf_mcp.core.levels import most_verbose
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.session import UpstreamSession

MODERN = "requests of 2026-07-28"
"""Who wants the level, as a session's wishes know it: all such requests together, since none of them lasts."""


async def raised(caller: Caller, session: UpstreamSession) -> None:
    """Before a request: let the upstream log as much as it wants; each client is told no more than it asked for."""
    if caller.log_level is None:
        return
    wishes = session.inbox.wishes
    before = wishes.level
    known = wishes.level_of(MODERN)
    wanted = most_verbose([caller.log_level] if known is None else [caller.log_level, known])
    if wanted is None or wanted == known:
        return
    wishes.set_level(MODERN, wanted)
    if wishes.level != before:
        await session.level_again()
