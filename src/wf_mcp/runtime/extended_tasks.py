"""The tasks extension of 2026-07-28 for modern clients: an upstream's task asked about, answered and cancelled under
its public id (ext-tasks; matrix B.1 `tasks/*`, C.2).

An id acts as a handle that whoever has it may use; towards us it is good for the principal that it was given to.
"""

from functools import partial
from typing import Final

from wf_mcp.core.envelope import extensions
from wf_mcp.core.errors import InvalidParams, MissingCapability
from wf_mcp.core.ids import map_task, public_id
from wf_mcp.core.inputs import RESPONSES, map_requests, map_responses
from wf_mcp.core.tasks import TASKS_EXTENSION
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.dispatch import Dispatch
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.onward import error_data
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.resolve import Route
from wf_mcp.runtime.task_owners import TaskOwners
from wf_mcp.runtime.watching import has_tasks

_REQUIRED: Final[JsonObject] = {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}


class ExtendedTasks:
    """Relays `tasks/get`, `tasks/update` and `tasks/cancel` of modern clients."""

    METHODS: Final = ("tasks/get", "tasks/update", "tasks/cancel")

    def __init__(self, mounts: Mounts, dispatch: Dispatch, owners: TaskOwners) -> None:
        self._mounts = mounts
        self._dispatch = dispatch
        self._owners = owners

    async def one(self, caller: Caller, method: str, params: JsonObject) -> JsonObject:
        """A request about one task.

        Raises `MissingCapability` (-32021) where the request did not declare the extension, `InvalidParams` (-32602)
        for a task that the caller does not have.
        """
        if TASKS_EXTENSION not in extensions(caller.hello.capabilities):
            raise MissingCapability(f"{method} needs the extension {TASKS_EXTENSION} in clientCapabilities", _REQUIRED)
        public = params.get("taskId")
        route = await self._route(caller, public) if isinstance(public, str) else None
        if route is None:
            raise InvalidParams(f"Unknown task: {public}")
        translation = route.session.inbox.translation
        onward = {**params, "taskId": route.local}
        if RESPONSES in params:
            onward[RESPONSES] = map_responses(params[RESPONSES], {}, translation.from_client)
        result = await self._dispatch.send(caller, route, method, str(public), onward)
        named = map_task(result, partial(public_id, route.mount.label))
        return self._whole(route, str(public), map_requests(named, translation.to_client))

    def _whole(self, route: Route, public: str, task: JsonObject) -> JsonObject:
        """A task with what it ended with in the client's terms, as the call that made it would have had it."""
        result, error = task.get("result"), task.get("error")
        if isinstance(result, dict):
            task = {**task, "result": self._dispatch.finish(route, "tools/call", public, result)}
        if isinstance(error, dict) and "data" in error:
            task = {**task, "error": {**error, "data": error_data(error["data"], route, public)}}
        return task

    async def _route(self, caller: Caller, public: str) -> Route | None:
        found = self._mounts.behind(public)
        if found is None or not self._owners.allows(public, caller.principal):
            return None
        mount, local = found
        session = self._owners.home(public, caller.principal, mount) or self._mounts.session(mount, caller)
        if session is None:
            return None
        await session.link()
        return Route(mount, session, local) if has_tasks(session) else None
