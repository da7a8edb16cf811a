"""Tasks of 2025-11-25: asked for by a public id, found in the very session that made them (basic/utilities/tasks).

An id carries its mount's label, and a caller reaches only its own sessions, so that one client's task cannot be seen,
awaited or cancelled by another.
"""

import logging
from typing import Final

from wf_mcp.core.errors import InvalidParams, WfMcpError
from wf_mcp.core.ids import map_task, public_id
from wf_mcp.core.merge import merged_meta
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.catalogue import PAGE_CAP
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.dispatch import Dispatch
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.ports import Caller, asking_for
from wf_mcp.runtime.resolve import Route
from wf_mcp.runtime.session import UpstreamSession

logger = logging.getLogger(__name__)


class Tasks:
    """Relays `tasks/get`, `tasks/result`, `tasks/cancel` and `tasks/list`."""

    METHODS: Final = ("tasks/get", "tasks/result", "tasks/cancel")

    def __init__(self, mounts: Mounts, dispatch: Dispatch) -> None:
        self._mounts = mounts
        self._dispatch = dispatch

    async def one(self, caller: Caller, method: str, params: JsonObject) -> JsonObject:
        """A request about one task; raises `InvalidParams` (-32602) for one that the caller does not have."""
        public = params.get("taskId")
        found = self._find(caller, public) if isinstance(public, str) else None
        if found is None:
            raise InvalidParams(f"Unknown task: {public}")
        mount, session, local = found
        route = Route(mount, session, local)
        result = await self._dispatch.send(caller, route, method, str(public), {**params, "taskId": local})
        if method == "tasks/result":
            result = self._dispatch.finish(route, "tools/call", str(public), result)
        return map_task(result, lambda task: public_id(mount.label, task))

    async def all(self, caller: Caller) -> JsonObject:
        """`tasks/list`: every task in the caller's sessions, in config order.

        An upstream that cannot list its tasks costs the others nothing; raises `WfMcpError` where none can.
        """
        tasks: list[JsonObject] = []
        meta: JsonObject | None = None
        failures: list[WfMcpError] = []
        opened = self._mounts.open_sessions(caller)
        able = [each for each in opened if each[1].offers("tasks") and each[1].state is not State.ASLEEP]
        for mount, session in able:
            try:
                found, said = await self._tasks(caller, mount, session)
                tasks += found
                meta = merged_meta(meta, said)
            except WfMcpError as error:
                logger.warning("upstream %s did not list its tasks: %s", mount.id, error)
                failures.append(error)
        if failures and len(failures) == len(able):
            raise failures[0]
        return {"tasks": tasks} if meta is None else {"tasks": tasks, "_meta": meta}

    async def _tasks(
        self, caller: Caller, mount: Mount, session: UpstreamSession
    ) -> tuple[list[JsonObject], JsonObject | None]:
        found: list[JsonObject] = []
        meta: JsonObject | None = None
        params: JsonObject = {}
        for _ in range(PAGE_CAP):
            page = await session.request("tasks/list", params, asking_for(caller))
            meta = merged_meta(meta, page.get("_meta"))
            found += map_task(page, lambda task: public_id(mount.label, task)).get("tasks") or []
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or params.get("cursor") == cursor:
                break
            params = {"cursor": cursor}
        return found, meta

    def _find(self, caller: Caller, public: str) -> tuple[Mount, UpstreamSession, str] | None:
        found = self._mounts.behind(public)
        session = found[0].session_of(caller.audience) if found is not None else None
        return (found[0], session, found[1]) if found is not None and session is not None else None
