"""Tasks brought to their end for a client that cannot have them (matrix D.3 § tasks).

A modern upstream's task, of the extension `io.modelcontextprotocol/tasks`, for a handshake client: looked at until it
is over, its questions put to the client, cancelled when the call is. A handshake upstream's tool that runs as a task
only, for a modern client.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from wf_mcp.core.errors import INTERNAL_ERROR, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.core.inputs import RESPONSES, methods_of
from wf_mcp.core.kinds import TOOLS
from wf_mcp.core.tasks import failure, interval, is_over, must_be_task, wants_input
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.inquiry import Inquiry
from wf_mcp.runtime.onward import error_data, send
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.resolve import Route

logger = logging.getLogger(__name__)

PROGRESS = "notifications/progress"

CANCELLING = 5.0
"""Seconds for telling an upstream that its task is not wanted any more."""

HEARTBEAT = 1.0
"""Seconds between two reports of progress that say the same."""


async def drive_extension(
    caller: Caller, route: Route, target: str, params: JsonObject, task: JsonObject
) -> JsonObject:
    """The final result of a call that a modern upstream answered with `task`; raises `WfMcpError` with its failure."""
    driven = _Driven(caller, route, target, params, task["taskId"])
    inquiry = Inquiry(caller, route)
    known: frozenset[str] = frozenset()

    async def to_end() -> JsonObject:
        nonlocal known
        now = task
        while True:
            now = await driven.look(now)
            if is_over(now):
                return now
            asked = frozenset(methods_of(now)) - known if wants_input(now) else frozenset()
            if asked:
                answers = await inquiry.answers(now, known)
                await driven.ask("tasks/update", {RESPONSES: answers})
                known |= asked

    ended = await driven.bounded(to_end)
    if ended["status"] == "completed" and isinstance(ended.get("result"), dict):
        await inquiry.finished()
        return dict(ended["result"])
    raise _failed(route, target, ended)


async def drive_handshake(caller: Caller, route: Route, target: str, params: JsonObject) -> JsonObject:
    """The final result of a tool that a handshake upstream runs as a task only (2025-11-25 basic/utilities/tasks)."""
    created = await send(caller, route, "tools/call", target, {**params, "task": {}})
    task = created.get("task")
    if not isinstance(task, dict) or not isinstance(task.get("taskId"), str):
        return created
    driven = _Driven(caller, route, target, params, task["taskId"])

    # Awaited from the start: it blocks until the end (§ Result Retrieval), and what a task asks comes meanwhile
    # (§ Input Required Status).
    return await driven.bounded(partial(driven.awaited, task))


def task_only(route: Route) -> bool:
    """Whether the route leads to a tool of a handshake upstream that runs as a task only."""
    if not route.session.offers("tasks"):
        return False
    tools = route.session.catalogue.peek(TOOLS) or ()
    return any(tool.get("name") == route.local and must_be_task(tool) for tool in tools)


class _Driven:
    """One task that is being driven for one call."""

    def __init__(self, caller: Caller, route: Route, target: str, params: JsonObject, task: str) -> None:
        self._caller, self._route, self._target, self._task = caller, route, target, task
        meta = params.get("_meta")
        self._token = meta.get("progressToken") if isinstance(meta, dict) else None
        self._progress = 0
        self._said: object = None
        self._told = 0.0

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """A request about this task."""
        return await send(self._caller, self._route, method, self._target, {"taskId": self._task, **params})

    async def look(self, before: JsonObject) -> JsonObject:
        """The task as it is after the pause that it wishes for; the client hears that it goes on."""
        await anyio.sleep(interval(before))
        task = await self.ask("tasks/get", {})
        await self._report(task)
        return task

    async def awaited(self, task: JsonObject) -> JsonObject:
        """The task's result (2025-11-25 `tasks/result`), with reports of how it goes on until it comes."""
        outcome: list[JsonObject | WfMcpError] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, task, name=f"reports of a task of {self._route.mount.id}")
            try:
                outcome.append(await self.ask("tasks/result", {}))
            except WfMcpError as error:
                outcome.append(error)
            tasks.cancel_scope.cancel()
        if isinstance(outcome[0], WfMcpError):
            raise outcome[0]
        return outcome[0]

    async def _watch(self, task: JsonObject) -> None:
        """Look at a task until it has ended."""
        if self._caller.port is None or self._token is None:
            return
        try:
            while not is_over(task):
                task = await self.look(task)
        except WfMcpError as error:  # how the task ends is said by its result
            logger.debug("upstream %s: tasks/get failed: %s", self._route.mount.id, error)

    async def bounded(self, work: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        """Do `work` within the upstream's `timeout`; where it is left early, the upstream's task is cancelled."""
        timeout = self._route.session.upstream.settings.timeout
        over = False
        try:
            with anyio.move_on_after(timeout):
                result = await work()
                over = True
                return result
        except UpstreamUnavailable:
            over = True  # there is nobody to tell, and the caller is not to wait for a new start
            raise
        finally:
            if not over:
                with anyio.move_on_after(CANCELLING, shield=True):
                    await self._cancel()
        raise UpstreamTimeout(
            f"Upstream {self._route.mount.id!r} did not finish the task behind {self._target} within {timeout} s; "
            "it is cancelled. A longer `timeout` in its settings gives it more time."
        )

    async def _cancel(self) -> None:
        try:
            await self.ask("tasks/cancel", {})
        except WfMcpError:
            # Why the call ends is what its caller hears; an upstream that is gone has no task to cancel.
            return

    async def _report(self, task: JsonObject) -> None:
        port, said, now = self._caller.port, task.get("statusMessage"), time.monotonic()
        if port is None or self._token is None or (said == self._said and now - self._told < HEARTBEAT):
            return
        self._said, self._told = said, now
        self._progress += 1
        body: JsonObject = {"progressToken": self._token, "progress": self._progress}
        await port.tell(PROGRESS, {**body, "message": said} if isinstance(said, str) else body)


def _failed(route: Route, target: str, task: JsonObject) -> WfMcpError:
    said = failure(task)
    if task["status"] == "failed" and said is not None:
        code, message, data = said
        return RelayedError(code, message, error_data(data, route, target))
    about = task.get("statusMessage")
    detail = f": {about}" if isinstance(about, str) else ""
    return RelayedError(
        INTERNAL_ERROR, f"The task behind {target} at upstream {route.mount.id!r} ended as {task['status']}{detail}"
    )
