"""Whom each task of the tasks extension was made for: an id is a handle that whoever has it could use at the upstream
(ext-tasks; matrix C.2).
"""

from typing import Final

from wf_mcp.core.tasks import is_task
from wf_mcp.core.wire import JsonObject

REMEMBERED: Final = 10_000
"""Tasks whose owner is known; of more, those made first are anybody's who knows their id, as at the upstream itself."""


class TaskOwners:
    """Which principal each task was made for, by public id; tasks from before a restart are not known."""

    def __init__(self) -> None:
        self._owners: dict[str, str | None] = {}

    def made(self, result: JsonObject, principal: str | None) -> None:
        """Note whom a result that is a task, in the client's terms, was given to."""
        if not is_task(result):
            return
        self._owners[str(result["taskId"])] = principal
        while len(self._owners) > REMEMBERED:
            del self._owners[next(iter(self._owners))]

    def allows(self, task: str, principal: str | None) -> bool:
        """Whether a task is this principal's, as far as is known."""
        return self._owners.get(task, principal) == principal
