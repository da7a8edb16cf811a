"""The watchdog ends what wf-mcp leaves behind when it is killed, and goes away itself."""

import os
import signal
import subprocess
import sys

import pytest
from tests.fixtures.procs import running, script, wait_until_gone

from wf_mcp.edge.reaper import Reaper
from wf_mcp.edge.reaper_main import MARKER


@pytest.fixture
def start_host():
    hosts = []

    def start(*argv):
        host = subprocess.Popen([sys.executable, script("host"), *argv], stdout=subprocess.PIPE, text=True)
        hosts.append(host)
        assert host.stdout is not None
        return host, [int(pid) for pid in host.stdout.readline().split()]

    yield start
    for host in hosts:
        host.kill()
        host.communicate(timeout=10)


@pytest.mark.parametrize("program", ["stubborn", "runaway"])
def test_kill_9_of_wf_mcp_leaves_nothing(start_host, program):
    host, (leader, grandchild, watchdog) = start_host(script(program))
    assert all(running(pid) for pid in (leader, grandchild, watchdog))
    host.send_signal(signal.SIGKILL)
    host.wait(timeout=5)
    assert wait_until_gone([leader, grandchild, watchdog], 5) < 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_watchdog_stands_apart_from_wf_mcp_and_its_signals(start_host, number):
    host, (leader, grandchild, watchdog) = start_host(script("stubborn"))
    assert os.getsid(watchdog) == watchdog
    os.kill(watchdog, number)
    host.send_signal(signal.SIGKILL)
    host.wait(timeout=5)
    wait_until_gone([leader, grandchild, watchdog], 5)


@pytest.fixture
def sleeper():
    process = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.pause()"],
        start_new_session=True,
        env={**os.environ, MARKER: "f" * 32},
    )
    yield process
    process.kill()
    process.wait(timeout=5)


def reap(pid):
    os.waitpid(pid, 0)


def test_with_nothing_registered_it_goes_at_once(sleeper):
    reaper = Reaper()
    reaper.watch("f" * 32, sleeper.pid)
    reaper.forget("f" * 32)
    assert reaper.pid is not None
    reaper.close()
    reap(reaper.pid)
    assert running(sleeper.pid)


@pytest.mark.parametrize("known", [True, False])
def test_a_child_is_ended_by_its_group_or_by_its_marker_alone(sleeper, known):
    reaper = Reaper()
    reaper.watch("f" * 32)
    if known:
        reaper.watch("f" * 32, sleeper.pid)
    assert reaper.pid is not None
    reaper.close()
    assert sleeper.wait(timeout=5) == -signal.SIGTERM
    reap(reaper.pid)


def test_a_killed_watchdog_is_replaced_and_told_everything_again(sleeper):
    reaper = Reaper()
    reaper.watch("f" * 32, sleeper.pid)
    first = reaper.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    reaper.watch("e" * 32)
    assert reaper.pid not in (None, first)
    reaper.close()
    assert sleeper.wait(timeout=5) == -signal.SIGTERM
    reap(reaper.pid)


def test_it_holds_nothing_of_ours_open():
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    reaper = Reaper()
    reaper.watch("d" * 32)
    os.close(write_end)
    os.set_blocking(read_end, True)
    assert os.read(read_end, 1) == b""
    os.close(read_end)
    assert reaper.pid is not None
    with open(f"/proc/{reaper.pid}/environ", "rb") as file:
        assert MARKER.encode() not in file.read()
    reaper.forget("d" * 32)
    reaper.close()
    reap(reaper.pid)
