"""Whom each task of the tasks extension was made for, and where: an id is a handle that whoever has it could use at the
upstream, and the session that made a task may lead to the only process that knows it (ext-tasks; matrix C.2).
"""

import weakref
from typing import Final

from wf_mcp.core.tasks import is_task
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.session import UpstreamSession

REMEMBERED: Final = 10_000
"""Tasks whose owner is known; of more, those made first are anybody's who knows their id, as at the upstream itself."""


class TaskOwners:
    """What is known of each task, by public id; tasks from before a restart are not known.

    Processes that number their tasks may give several principals one id: each then has its own task under it.
    """

    def __init__(self) -> None:
        self._made: dict[str, dict[str | None, weakref.ref[UpstreamSession]]] = {}

    def made(self, result: JsonObject, principal: str | None, session: UpstreamSession) -> None:
        """Note whom a result that is a task, in the client's terms, was given to, and where it came from."""
        if not is_task(result):
            return
        self._made.setdefault(str(result["taskId"]), {})[principal] = weakref.ref(session)
        while len(self._made) > REMEMBERED:
            del self._made[next(iter(self._made))]

    def allows(self, task: str, principal: str | None) -> bool:
        """Whether a task is this principal's, as far as is known."""
        return principal in self._made.get(task, (principal,))

    def home(self, task: str, principal: str | None, mount: Mount) -> UpstreamSession | None:
        """The session of `mount` that made a task for this principal, while it lasts.

        A request with other capabilities is served by another session, and over stdio so by another process.
        """
        made = self._made.get(task, {}).get(principal)
        session = made() if made is not None else None
        return session if any(each is session for each in mount.sessions.values()) else None
