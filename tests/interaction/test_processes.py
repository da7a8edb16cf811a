"""One process and one initialize, and nothing left behind, however it ends."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

import anyio
import pytest
from tests import servers
from tests.covers import covers
from tests.inbox import eventually
from tests.procs import alive, all_gone, descendants
from tests.rawclient import RawClient, RawError
from tests.rig import ERAS, Rig

pytestmark = pytest.mark.anyio
KINDS = ("--grandchild", "--stubborn")


@covers("process.one", "300 calls through one stdio upstream use one process and one initialize")
@pytest.mark.parametrize("era", ERAS)
async def test_many_calls_use_one_process(rig: Rig, era) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw(era) as raw:
        pids = {(await raw.json("alpha.who"))["pid"] for _ in range(300)}
    assert [*pids] == rig["alpha"].pids
    assert len(rig["alpha"].events("request", method="initialize")) == 1
    assert len(rig["alpha"].events("notification", method="notifications/initialized")) == 1


@covers(
    "process.latency",
    "A call reaches its own upstream alone; its median takes less than 20 ms longer with five configured (`make long`)",
)
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_what_a_call_costs(rig: Rig, kind: str) -> None:
    for number in range(4):
        rig.upstream(f"other-{number}")
    upstream = (rig.upstream if kind == "stdio" else rig.http_upstream)("alpha")
    async with upstream.direct().raw() as direct, rig.serve().raw() as through:
        costs = []
        for _ in range(3):  # the machine may be busy with something else, but not three times
            took = {
                raw: [await seconds(raw, name) for _ in range(50)]
                for raw, name in ((direct, "who"), (through, "alpha.who"))
            }
            costs.append(median(took[through]) - median(took[direct]))
        if os.environ.get("WF_MCP_LONG"):  # a time says something on a quiet machine only
            assert min(costs) < 0.02, costs
    others = [rig[f"other-{number}"].events("request", method="tools/call") for number in range(4)]
    assert others == [[], [], [], []]


async def seconds(raw: RawClient, name: str) -> float:
    start = time.perf_counter()
    await raw.text(name)
    return time.perf_counter() - start


@covers("process.identity", "On a stdio front the upstream sees the real client's name and capabilities")
async def test_the_upstream_sees_the_real_client(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw(name="the-real-one", capabilities={"roots": {}}) as raw:
        await raw.text("alpha.who")
    (hello,) = rig["alpha"].events("request", method="initialize")
    assert hello["params"]["clientInfo"] == {"name": "the-real-one", "version": "1.0"}
    assert hello["params"]["capabilities"] == {"roots": {}}


async def family(rig: Rig, raw: RawClient, kind: str) -> list[int]:
    """Two upstreams with a child of their own are called once; every process below wf-mcp."""
    for name in ("one", "two"):
        await raw.text(f"{name}.who")
    return pids_of(rig)


def mount(rig: Rig, kind: str) -> None:
    for name in ("one", "two"):
        rig.upstream(name, None, kind, str(pid_file(rig, name)))


def pid_file(rig: Rig, name: str) -> Path:
    return rig.folder / f"{name}.pids"


def pids_of(rig: Rig) -> list[int]:
    pids = [int(pid) for name in ("one", "two") for pid in pid_file(rig, name).read_text().split()]
    # Two servers with a child each, once for every client that has a session over HTTP.
    assert len(pids) >= 4 and len(pids) % 2 == 0 and all(alive(pid) for pid in pids)
    return pids


@covers("process.eof", "At EOF on its stdin wf-mcp ends with status 0 and leaves no child or grandchild")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
async def test_after_eof_nothing_is_left(rig: Rig, kind: str, busy: bool) -> None:
    mount(rig, kind)
    async with rig.serve().raw() as raw, anyio.create_task_group() as tasks:
        pids = await family(rig, raw, kind)
        if busy:
            tasks.start_soon(fails, raw, "one.slow")
            await rig["one"].saw("slow")
        pids += descendants(raw.pid)
        await raw.link.close_stdin()
        assert await all_gone(pids) == []
        with anyio.fail_after(5):
            assert await raw.link.process.wait() == 0
        tasks.cancel_scope.cancel()


@covers("process.signals", "SIGTERM and SIGINT end wf-mcp, its children and their children")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
async def test_after_a_signal_nothing_is_left(rig: Rig, kind: str, number: signal.Signals) -> None:
    mount(rig, kind)
    async with rig.serve().raw() as raw:
        pids = await family(rig, raw, kind)
        pids += descendants(raw.pid)
        raw.link.process.send_signal(number)
        assert await all_gone([*pids, raw.pid]) == []


@covers("process.killed", "After kill -9 of wf-mcp itself no child or grandchild is left")
@pytest.mark.parametrize("kind", KINDS)
async def test_after_kill_9_of_wf_mcp_nothing_is_left(rig: Rig, kind: str) -> None:
    mount(rig, kind)
    async with rig.serve().raw() as raw:
        pids = await family(rig, raw, kind)
        pids += descendants(raw.pid)
        raw.link.process.kill()
        assert await all_gone(pids) == []


@covers("process.host-killed", "After kill -9 of the host wf-mcp ends by itself, with all below it")
@pytest.mark.parametrize("kind", KINDS)
async def test_after_kill_9_of_the_host_nothing_is_left(rig: Rig, kind: str) -> None:
    rig.upstream("one", None, kind, str(pid_file(rig, "one")))
    argv = [servers.sys.executable, str(servers.FIXTURES / "host.py"), "--call", "one.who", *rig.serve().argv]
    host = rig.spawn(argv, "host", stdout=subprocess.PIPE)
    assert host.stdout is not None
    with anyio.fail_after(30):
        wf_mcp = int(await anyio.to_thread.run_sync(host.stdout.readline))
    pids = [wf_mcp, *descendants(wf_mcp), *(int(pid) for pid in pid_file(rig, "one").read_text().split())]
    host.kill()
    assert await all_gone(pids) == []


@covers("process.http-sigterm", "SIGTERM ends an HTTP front with open streams and a call in flight, and all below it")
@pytest.mark.parametrize("kind", KINDS)
async def test_sigterm_with_open_streams_over_http(rig: Rig, kind: str) -> None:
    mount(rig, kind)
    endpoint = rig.serve("http")
    process = rig.process
    async with endpoint.raw() as first, endpoint.raw() as second, anyio.create_task_group() as tasks:
        await family(rig, first, kind)
        await second.names()
        tasks.start_soon(fails, first, "one.slow")
        await rig["one"].saw("slow")
        pids = [process.pid, *descendants(process.pid), *pids_of(rig)]
        process.send_signal(signal.SIGTERM)
        assert await all_gone(pids, 10) == []
        tasks.cancel_scope.cancel()


async def fails(raw: RawClient, name: str) -> None:
    """A call whose answer does not matter, because its server is about to end."""
    with suppress(RawError):
        await raw.call(name, {"seconds": 30})


@covers("process.http-killed", "After kill -9 of an HTTP front no child or grandchild is left")
@pytest.mark.parametrize("kind", KINDS)
async def test_kill_9_over_http(rig: Rig, kind: str) -> None:
    mount(rig, kind)
    endpoint = rig.serve("http")
    async with endpoint.raw("modern") as raw:
        await family(rig, raw, kind)
    pids = [*descendants(rig.process.pid), *pids_of(rig)]
    rig.process.kill()
    assert await all_gone(pids) == []


@covers("process.idle-exit", "An upstream that exits by itself takes its own children with it")
async def test_the_group_of_a_dead_upstream_is_ended_too(rig: Rig) -> None:
    rig.upstream("one", None, "--grandchild", str(pid_file(rig, "one")))
    async with rig.serve().raw() as raw:
        await raw.text("one.who")
        leader, grandchild = (int(pid) for pid in pid_file(rig, "one").read_text().split())
        os.kill(leader, signal.SIGKILL)
        assert await all_gone([leader, grandchild]) == []


@covers("process.stderr", "Nothing but JSON-RPC is on a stdio front's stdout")
async def test_stdout_carries_messages_only(rig: Rig) -> None:
    rig.upstream("alpha", None, "--banner", "--noise")
    rig.entries["missing"] = {"command": "no-such-command-of-wf-mcp"}
    endpoint = rig.serve("stdio", "-v") if "-v" in rig.run("serve", "--help").stdout else rig.serve()
    async with endpoint.raw() as raw:
        await raw.names()
        await raw.text("alpha.who")
        assert raw.link.garbage == []
    await eventually(lambda: rig.log() != "")
