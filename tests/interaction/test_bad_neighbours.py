"""Upstreams that misbehave beside one that does not."""

import time
from contextlib import AsyncExitStack

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject, eventually
from tests.procs import all_gone, resident
from tests.rawclient import RawClient
from tests.rig import ERAS, FRONTS, Rig

pytestmark = pytest.mark.anyio
LIST_WAIT = 2
START_SECONDS = 3  # what importing may take on a busy machine
GOOD = ["good.echo", "good.who"]


def mount(rig: Rig) -> None:
    """A good one, one that never answers, one that exits at once, one with a missing command, a closed port."""
    rig.settings["list_wait"] = LIST_WAIT
    rig.upstream("silent", None, "--silent")
    rig.upstream("good")
    rig.upstream("exits", None, "--exit-at-once", "3")
    rig.entries["missing"] = {"command": "no-such-command-of-wf-mcp", "args": ["x"]}
    rig.entries["closed"] = {"type": "http", "url": "http://127.0.0.1:9/mcp"}


async def status(raw: RawClient) -> dict[str, JsonObject]:
    result = (await raw.call("wf.admin.status"))["structuredContent"]
    return {upstream["id"]: upstream for upstream in result["upstreams"]}


@covers("neighbours.first-answers", "The first initialize and list, with no catalogue, answer within list_wait + 1 s")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("front", FRONTS)
async def test_the_first_answers_come_in_time_and_hold_all_good_tools(rig: Rig, front, era) -> None:
    mount(rig)
    endpoint = rig.serve(front)
    # Over stdio the process starts with the client; a ping, where the era has one, tells that its interpreter is up.
    starting = START_SECONDS if (front, era) == ("stdio", "modern") else 0
    async with AsyncExitStack() as clients:
        start = time.monotonic()
        if front == "stdio":
            raw = await clients.enter_async_context(endpoint.raw(era, greet=False))
            if era == "handshake":
                await raw.request("ping")
                start = time.monotonic()
            await raw.greet()
        else:
            raw = await clients.enter_async_context(endpoint.raw(era))
        names = await raw.names()
        assert time.monotonic() - start < LIST_WAIT + 1 + starting
        assert set(GOOD) <= set(names)


@covers("neighbours.calls", "Calls to a good upstream are not delayed by bad ones, nor while these still start")
async def test_calls_to_the_good_one_are_not_delayed(rig: Rig) -> None:
    mount(rig)
    async with rig.serve().raw() as raw:
        await raw.text("good.who")
        for _ in range(10):
            with anyio.fail_after(1):
                await raw.text("good.who")


@covers("neighbours.reasons", "wf.admin.status tells the reason of each upstream that cannot be used")
async def test_status_tells_each_reason(rig: Rig) -> None:
    mount(rig)
    async with rig.serve().raw() as raw:
        await raw.names()

        async def settled() -> dict[str, JsonObject]:
            states = await status(raw)
            bad = ("exits", "missing", "closed")
            return states if all(states[name]["state"] == "failed" for name in bad) else {}

        states = await eventually(settled)
    assert states["good"]["state"] == "ready"
    assert states["silent"]["state"] == "starting"
    assert "no-such-command-of-wf-mcp" in states["missing"]["reason"]
    assert "3" in states["exits"]["reason"]
    assert states["closed"]["reason"]
    last = {name: states[name]["sessions"][0]["last_failure"]["kind"] for name in ("exits", "missing", "closed")}
    assert last == {"exits": "exited", "missing": "not_found", "closed": "unreachable"}
    everything_said = str(states["exits"])
    assert "boom: this server exits at once" in everything_said


@covers("neighbours.init-timeout", "An upstream that never answers initialize fails after its own init_timeout")
async def test_init_timeout_is_a_setting_of_each_upstream(rig: Rig) -> None:
    rig.settings["list_wait"] = 1
    rig.upstream("silent", None, "--silent", wf={"init_timeout": 1.5})
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        await raw.names()

        async def failed() -> bool:
            return bool((await status(raw))["silent"]["state"] == "failed")

        await eventually(failed)
        assert "1.5" in (await status(raw))["silent"]["reason"]


@covers("neighbours.late", "An upstream that starts slowly is announced by list_changed when it is ready")
async def test_a_slow_starter_appears_later(rig: Rig) -> None:
    rig.settings["list_wait"] = 1
    rig.upstream("late", None, "--init-delay", "4")
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        assert "late.echo" not in await raw.names()
        await raw.notes.wait_for("notifications/tools/list_changed", 15)
        assert "late.echo" in await raw.names()


@covers("neighbours.all-bad", "With no usable upstream wf-mcp still answers, with empty lists")
@pytest.mark.parametrize("era", ERAS)
async def test_all_upstreams_bad(rig: Rig, era) -> None:
    mount(rig)
    del rig.entries["good"]
    async with rig.serve().raw(era) as raw:
        assert await raw.names() == []
        assert await raw.names("prompts") == []
        assert await raw.items("resources/list", "resources") == []


@covers("neighbours.crash-loop", "An upstream that dies at start-up is not started in a tight loop")
async def test_no_tight_restart_loop(rig: Rig) -> None:
    starts = rig.folder / "starts"
    script = f"echo started >> {starts}; exit 3"
    rig.entries["exits"] = {"command": "sh", "args": ["-c", script]}
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        await raw.names()
        await raw.text("good.slow", {"seconds": 5})
    assert 1 <= starts.read_text().count("started") <= 6


@covers("neighbours.check", "`wf-mcp check` tells the reason of each bad upstream and exits with an error")
def test_check_tells_each_reason(rig: Rig) -> None:
    mount(rig)
    rig.entries["silent"]["wf"] = {"init_timeout": 2}
    done = rig.run("check", "--config", str(rig.write()))
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    said = done.stdout + done.stderr
    for word in ("good", "silent", "exits", "missing", "closed", "no-such-command-of-wf-mcp"):
        assert word in said


@covers("neighbours.noise", "Banner and log lines on an upstream's stdout are skipped, and never reach the client")
@pytest.mark.parametrize("flag", ["--banner", "--noise", "--half-lines", "--invalid-utf8", "--stderr-flood"])
async def test_noise_harms_nothing(rig: Rig, flag: str) -> None:
    rig.upstream("noisy", {"prompts": [{"name": "p"}]}, flag)
    async with rig.serve().raw() as raw:
        for number in range(20):
            assert (await raw.json("noisy.echo", {"n": number}))["arguments"] == {"n": number}
        assert await raw.names("prompts") == ["noisy.p"]
        assert raw.link.garbage == []
        assert len(rig["noisy"].pids) == 1


@covers("neighbours.stderr-tail", "The tail of an upstream's stderr is in the status, bounded")
async def test_the_stderr_tail_is_bounded(rig: Rig) -> None:
    rig.upstream("noisy", None, "--stderr-flood")
    async with rig.serve().raw() as raw:
        await raw.text("noisy.who")

        async def tail() -> list[str]:
            sessions = (await status(raw))["noisy"]["sessions"]
            lines: list[str] = sessions[0]["stderr_tail"]
            return lines

        lines = await eventually(tail)
    assert any("stderr noise" in line for line in lines)
    assert sum(len(line) for line in lines) < 200_000


@covers("neighbours.early-roots", "An upstream that asks for roots right after initialize gets the client's answer")
async def test_an_early_question_does_not_deadlock(rig: Rig) -> None:
    rig.upstream("eager", None, "--early-roots")
    async with rig.serve().raw() as raw:
        assert (await raw.json("eager.who"))["name"] == "eager"
        answer = (await rig["eager"].saw("early-roots"))["answer"]
        assert answer == {"result": raw.answers["roots/list"]}


MEGABYTES = 100


@covers("neighbours.endless-line", "100 MB without a newline from an upstream delay no other one, and harm nothing")
async def test_a_line_without_end_harms_nothing(rig: Rig) -> None:
    rig.upstream("endless", None, "--endless-line", str(MEGABYTES))
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        await raw.text("good.who")
        before = resident(raw.pid)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raw.text, "endless.who")
            await eventually(lambda: rig["endless"].calls("who"))
            for _ in range(10):
                with anyio.fail_after(5):
                    await raw.text("good.who")
        assert (await raw.json("endless.who"))["name"] == "endless"
        assert len(rig["endless"].pids) == 1
        assert resident(raw.pid) < before + 4 * MEGABYTES * 1_000_000


@covers("neighbours.stubborn", "Upstreams that ignore SIGTERM or fork hold up nobody, and leave nothing behind")
@pytest.mark.parametrize("flag", ["--stubborn", "--grandchild"])
async def test_what_upstreams_fork_is_ended_with_them(rig: Rig, flag: str) -> None:
    family = rig.folder / "pids"
    rig.upstream("bad", None, flag, str(family))
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        await raw.text("bad.who")
        first = [int(pid) for pid in family.read_text().split()]
        rig.entries["bad"]["env"] = {"AGAIN": "1"}
        rig.write()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raw.call, "wf.admin.reload_config")
            for _ in range(5):
                with anyio.fail_after(5):
                    await raw.text("good.who")
        assert await all_gone(first, 10) == []
        await raw.text("bad.who")
        second = [int(pid) for pid in family.read_text().split()][len(first) :]
    assert len(first) == len(second) == 2
    assert await all_gone(second, 10) == []
