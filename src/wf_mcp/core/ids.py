"""Ids that are unique at their upstream only: tasks and elicitations get the mount's label in front (matrix C.2).

The upstream's own id stays whole inside, so that an id which cannot be guessed stays one.
"""

from collections.abc import Callable
from typing import Any

from wf_mcp.core.wire import JsonObject

RELATED_TASK = "io.modelcontextprotocol/related-task"
"""The `_meta` key that ties a message to a task (2025-11-25 basic/utilities/tasks § Related Task Metadata)."""


def public_id(label: str, local: str) -> str:
    """An upstream's id as clients see it; a bare mount's stays as it is."""
    return f"{label}:{local}" if label else local


def local_id(label: str, public: str) -> str | None:
    """The upstream's own id behind `public`; `None` if it is not one of that upstream's."""
    if not label:
        return public
    start = f"{label}:"
    return public.removeprefix(start) if public.startswith(start) else None


def map_related_task(message: JsonObject, task: Callable[[str], str]) -> JsonObject:
    """`message` (params or a result) with the task id in its `_meta` mapped; the same object where there is none."""
    meta = message.get("_meta")
    related = meta.get(RELATED_TASK) if isinstance(meta, dict) else None
    if not isinstance(meta, dict) or not isinstance(related, dict) or not isinstance(related.get("taskId"), str):
        return message
    return {**message, "_meta": {**meta, RELATED_TASK: {**related, "taskId": task(related["taskId"])}}}


def map_task(result: JsonObject, task: Callable[[str], str]) -> JsonObject:
    """`result` with the ids of the tasks in it mapped: a created task, a task itself, or a list of tasks."""
    result = map_related_task(result, task)
    if isinstance(result.get("taskId"), str):
        result = {**result, "taskId": task(result["taskId"])}
    if isinstance(result.get("task"), dict):
        result = {**result, "task": map_task(result["task"], task)}
    if isinstance(result.get("tasks"), list):
        tasks = [map_task(each, task) if isinstance(each, dict) else each for each in result["tasks"]]
        result = {**result, "tasks": tasks}
    return result


def map_elicitations(data: Any, elicitation: Callable[[str], str]) -> Any:
    """An error's `data` with the ids of the elicitations that it asks for mapped (2025-11-25, code -32042)."""
    wanted = data.get("elicitations") if isinstance(data, dict) else None
    if not isinstance(wanted, list):
        return data
    return {**data, "elicitations": [_elicitation(each, elicitation) for each in wanted]}


def _elicitation(each: Any, elicitation: Callable[[str], str]) -> Any:
    if not isinstance(each, dict) or not isinstance(each.get("elicitationId"), str):
        return each
    return {**each, "elicitationId": elicitation(each["elicitationId"])}
