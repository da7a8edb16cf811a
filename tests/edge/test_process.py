"""A child process begins clean, is heard on stderr, and ends with everything it started."""

import os
import signal
import sys
from contextlib import asynccontextmanager

import anyio
import pytest
from tests.fixtures.procs import running, script, wait_until_gone

from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.edge.process import ChildProcess, base_environment, resolve_command
from wf_mcp.edge.reaper import process_reaper

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request):
    return ("asyncio", {"use_uvloop": request.param == "uvloop"})


@asynccontextmanager
async def child_of(*argv, env=None, cwd=None, eof_grace=0.3, term_grace=0.3):
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            child = await ChildProcess.start(tasks, sys.executable, argv, env, cwd)
            try:
                yield child
            finally:
                await child.stop(eof_grace, term_grace)


async def read(child):
    await anyio.wait_readable(child.stdout_fd)
    return os.read(child.stdout_fd, 100_000).decode()


async def pids_of(child):
    return [int(pid) for pid in (await read(child)).split()]


async def test_a_willing_child_ends_by_eof_with_its_own_status():
    async with child_of("-c", "import sys; sys.stdin.read(); sys.exit(7)", eof_grace=10) as child:
        assert child.returncode is None
        assert running(child.pid)
        await child.stop(10, 10)
        assert child.returncode == 7
        await child.stop()
    assert not running(child.pid)


async def test_a_stubborn_child_and_its_grandchild_are_killed_within_the_graces():
    async with child_of(script("stubborn")) as child:
        leader, grandchild = await pids_of(child)
        assert leader == child.pid == os.getpgid(grandchild)
        started = anyio.current_time()
        await child.stop(0.2, 0.2)
        assert anyio.current_time() - started < 3
        assert child.returncode == -signal.SIGKILL
    wait_until_gone([leader, grandchild], 1)


async def test_the_group_is_signalled_when_its_leader_left_at_eof():
    async with child_of(script("stubborn"), "leave", eof_grace=10) as child:
        leader, grandchild = await pids_of(child)
        await child.stop(10, 0.2)
        assert child.returncode == 0
    wait_until_gone([leader, grandchild], 1)


async def test_the_group_is_signalled_when_its_leader_was_killed_long_before():
    async with child_of(script("stubborn")) as child:
        leader, grandchild = await pids_of(child)
        os.kill(leader, signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
        assert running(grandchild)
    wait_until_gone([grandchild], 1)


@pytest.mark.skipif(sys.platform != "linux", reason="strays are found in /proc")
async def test_a_descendant_in_another_session_is_found_by_its_marker():
    async with child_of(script("runaway")) as child:
        leader, stray = await pids_of(child)
        assert os.getpgid(stray) != leader
    wait_until_gone([leader, stray], 1)


async def test_stop_finishes_when_its_caller_is_cancelled():
    async with anyio.create_task_group() as tasks:
        child = await ChildProcess.start(tasks, sys.executable, [script("stubborn")])
        pids = await pids_of(child)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await child.stop(0.1, 0.1)
        assert not any(running(pid) for pid in pids)


async def test_a_group_number_that_passed_on_is_not_signalled(monkeypatch):
    """With the leader reaped, a process that has its pid again is somebody else."""
    async with child_of("-c", "") as child:
        await child.wait()
        struck = []
        monkeypatch.setattr(os, "kill", lambda pid, number: struck.append((pid, number)))
        monkeypatch.setattr(os, "killpg", lambda group, number: struck.append((-group, number)))
        await child.stop(0, 0)
        monkeypatch.undo()
    assert struck == [(child.pid, 0)]


async def test_a_flood_of_stderr_blocks_nobody_and_leaves_a_bounded_tail():
    async with child_of(script("flooder")) as child:
        for _ in range(5):
            os.write(child.stdin_fd, b"ping\n")
            assert await read(child) == "ping\n"
        while child.stderr_tail()[-1:] != ["last � words"]:
            await anyio.lowlevel.checkpoint()
        tail = child.stderr_tail()
        assert tail[0].startswith("…xxx")
        assert sum(map(len, tail)) < 20_000


async def test_the_last_words_are_kept_after_death():
    async with child_of(script("boom")) as child:
        assert await child.wait() == 3
        assert child.stderr_tail() == ["boom"]
    assert child.stderr_tail() == ["boom"]


async def test_a_child_gets_the_base_environment_its_own_and_nothing_else(monkeypatch):
    monkeypatch.setenv("CANARY_SECRET", "1")
    monkeypatch.setenv("LC_TIME", "C")
    async with child_of(script("answer"), env={"FLAG": "environment", "B": "2"}) as child:
        lines = (await read(child)).splitlines()
        env = dict(line.split("=", 1) for line in lines)
    assert env.pop("WF_MCP_RUN") == child.marker
    env.pop("LC_CTYPE", None)  # Python itself sets it in the C locale
    expected = base_environment(os.environ)
    expected.pop("LC_CTYPE", None)
    assert env == {**expected, "FLAG": "environment", "B": "2"}


def test_the_base_environment_names_what_it_takes():
    given = dict.fromkeys(["HOME", "PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "AWS_SECRET", "LD_PRELOAD"], "v")
    assert set(base_environment(given)) == {"HOME", "PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER"}
    assert base_environment({"TERM": "() { evil; }"}) == {}


async def test_errors_of_the_start_name_what_is_wrong(tmp_path):
    file = tmp_path / "file"
    file.write_text("not executable")
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    async with anyio.create_task_group() as tasks:
        for command, env, cwd, message in [
            ("no-such-tool", {"PATH": "/x:/y"}, None, "command 'no-such-tool' not found .*PATH: /x:/y"),
            (str(file), {}, None, "command '.*file' not found .*no such executable file"),
            (sys.executable, {}, str(tmp_path / "none"), "^cwd '.*none' does not exist$"),
            (sys.executable, {}, str(file), "^cwd '.*file' is not a folder$"),
            (str(broken), {}, None, "command '.*broken' could not be started: No such file"),
            (sys.executable, {"A": "\0"}, None, "could not be started: a null character"),
        ]:
            before = set(os.listdir("/dev/fd"))
            with pytest.raises(UpstreamUnavailable, match=message):
                await ChildProcess.start(tasks, command, [], env, cwd)
            assert set(os.listdir("/dev/fd")) == before
    assert process_reaper()._targets == {}


def test_a_command_is_looked_up_where_the_child_will_stand(tmp_path):
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert resolve_command("tool", {"PATH": str(tool.parent)}, None) == str(tool)
    assert resolve_command("./bin/tool", {"PATH": ""}, str(tmp_path)) == str(tool)
    with pytest.raises(UpstreamUnavailable):
        resolve_command("tool", {"PATH": ""}, str(tool.parent))


async def test_nothing_stays_open_after_many_children():
    async with child_of("-c", ""):
        pass
    before = set(os.listdir("/dev/fd"))
    for _ in range(10):
        async with child_of("-c", ""):
            pass
    assert set(os.listdir("/dev/fd")) == before
