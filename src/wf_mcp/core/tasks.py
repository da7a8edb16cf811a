"""Tasks of both eras as wf-mcp drives them for a client that has none of the upstream's era (2025-11-25
basic/utilities/tasks; the extension `io.modelcontextprotocol/tasks` of 2026-07-28; matrix D.3).
"""

from typing import Any, Final

from wf_mcp.core.wire import JsonObject

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
"""The tasks extension of 2026-07-28."""

TASK: Final = "task"
"""The `resultType` of an answer that is a task."""

TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})

SHORTEST, LONGEST, USUAL = 0.05, 5.0, 1.0
"""Seconds between two looks at a task: bounds, and where the upstream names none."""


def is_task(result: JsonObject) -> bool:
    """Whether a modern upstream answered with a task (the extension's `CreateTaskResult`, which is flat)."""
    return result.get("resultType") == TASK and isinstance(result.get("taskId"), str)


def interval(task: JsonObject) -> float:
    """Seconds until a task is worth another look."""
    wanted = task.get("pollIntervalMs", task.get("pollInterval"))
    if isinstance(wanted, bool) or not isinstance(wanted, int | float):
        return USUAL
    return min(max(wanted / 1000, SHORTEST), LONGEST)


def is_over(task: JsonObject) -> bool:
    """Whether a task has ended."""
    return task.get("status") in TERMINAL


def wants_input(task: JsonObject) -> bool:
    """Whether a task waits for answers."""
    return task.get("status") == "input_required"


def failure(task: JsonObject) -> tuple[int, str, Any] | None:
    """Code, message and data of the error that ended a task of the extension, where there is one."""
    error = task.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return None
    return error["code"], str(error.get("message", "")), error.get("data")


def must_be_task(tool: JsonObject) -> bool:
    """Whether a handshake server runs a tool as a task only (2025-11-25 server/tools § `execution.taskSupport`)."""
    execution = tool.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"
