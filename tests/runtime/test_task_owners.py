"""Who each task of the extension was made for, and where (matrix C.2: ids act as handles, bound to their principal)."""

import pytest
from tests.runtime.memory import Twin
from tests.runtime.stage import session_of, stage

from wf_mcp.runtime import task_owners
from wf_mcp.runtime.task_owners import TaskOwners

SESSION = session_of(Twin("alpha"))


def test_a_task_is_its_principals_alone_and_an_unknown_one_whoevers() -> None:
    owners = TaskOwners()
    owners.made({"resultType": "task", "taskId": "t"}, "alice", SESSION)
    assert [owners.allows("t", principal) for principal in ("alice", "bob", None)] == [True, False, False]
    assert owners.allows("from before a restart", "bob")


def test_of_too_many_tasks_the_oldest_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_owners, "REMEMBERED", 2)
    owners = TaskOwners()
    for number in range(3):
        owners.made({"resultType": "task", "taskId": f"t{number}"}, "alice", SESSION)
    owners.made({"content": []}, "alice", SESSION)
    assert [owners.allows(f"t{number}", "bob") for number in range(3)] == [True, False, False]


@pytest.mark.anyio
async def test_a_task_is_at_home_on_the_session_that_made_it_for_each_principal_of_one_id() -> None:
    owners = TaskOwners()
    async with stage(Twin("alpha")) as s:
        mount = s.mounts["alpha"]
        hers, his = session_of(Twin("alpha")), session_of(Twin("alpha"))
        mount.sessions |= {"hers": hers, "his": his}
        for principal, session in (("alice", hers), ("bob", his)):
            owners.made({"resultType": "task", "taskId": "t"}, principal, session)
        homes = [owners.home("t", principal, mount) for principal in ("alice", "bob", None)]
        assert homes == [hers, his, None]
        assert [owners.allows("t", principal) for principal in ("alice", "bob", None)] == [True, True, False]
        del mount.sessions["hers"]
        assert owners.home("t", "alice", mount) is None
        del mount.sessions["his"]
