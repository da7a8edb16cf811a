"""Who each task of the extension was made for (matrix C.2: ids act as handles, bound to their principal)."""

import pytest

from wf_mcp.runtime import task_owners
from wf_mcp.runtime.task_owners import TaskOwners


def test_a_task_is_its_principals_alone_and_an_unknown_one_whoevers() -> None:
    owners = TaskOwners()
    owners.made({"resultType": "task", "taskId": "t"}, "alice")
    assert [owners.allows("t", principal) for principal in ("alice", "bob", None)] == [True, False, False]
    assert owners.allows("from before a restart", "bob")


def test_of_too_many_tasks_the_oldest_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_owners, "REMEMBERED", 2)
    owners = TaskOwners()
    for number in range(3):
        owners.made({"resultType": "task", "taskId": f"t{number}"}, "alice")
    owners.made({"content": []}, "alice")
    assert [owners.allows(f"t{number}", "bob") for number in range(3)] == [True, False, False]
