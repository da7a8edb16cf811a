"""The ways to an upstream, and what can be told when one fails (design D2, D5)."""

import logging
import sys

import anyio
import pytest
from tests.edge.http_script import scripted
from tests.rig import free_port
from tests.runtime.stage import upstream

from wf_mcp.core.config import ShutdownSettings, SseTransport, StdioTransport
from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.core.failures import failure_of
from wf_mcp.edge.channels import open_sse, open_stdio_channel

pytestmark = pytest.mark.anyio

QUICK = ShutdownSettings(0.5, 0.5)


def python(code: str) -> StdioTransport:
    return StdioTransport(sys.executable, ("-c", code))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit(3)", "its process ended with exit code 3"),
        ("pass", "its process ended with exit code 0"),
        ("import os; os.kill(os.getpid(), 9)", "its process ended with signal 9"),
        (
            "import sys; print('a\\nb\\nc\\nd', file=sys.stderr); sys.exit(1)",
            "its process ended with exit code 1; stderr: b | c | d",
        ),
    ],
    ids=["exit", "success", "signal", "last words"],
)
async def test_a_process_that_ended_says_how_and_its_last_words(code: str, said: str) -> None:
    with anyio.fail_after(20):
        async with open_stdio_channel(upstream("alpha"), python(code), QUICK, {}) as channel:
            with pytest.raises(anyio.EndOfStream):
                await channel.read.receive()
            assert await channel.post_mortem() == said
            assert channel.trouble() is None
            assert channel.process is not None


async def test_a_process_knows_which_files_are_served_above_it() -> None:
    code = "import os, sys; print(os.environ['WF_CHAIN'], os.environ['MINE'], file=sys.stderr)"
    stdio = StdioTransport(sys.executable, ("-c", code), {"MINE": "1", "WF_CHAIN": "forged"})
    with anyio.fail_after(20):
        async with open_stdio_channel(upstream("alpha"), stdio, QUICK, {"WF_CHAIN": "abc"}) as channel:
            with pytest.raises(anyio.EndOfStream):
                await channel.read.receive()
            assert (await channel.post_mortem()).endswith("stderr: abc 1")


async def test_noise_on_stdout_is_logged_but_only_so_much(caplog: pytest.LogCaptureFixture) -> None:
    code = "[print('noise', number) for number in range(100)]"
    with caplog.at_level(logging.WARNING, "wf_mcp"), anyio.fail_after(20):
        async with open_stdio_channel(upstream("alpha"), python(code), QUICK, {}) as channel:
            with pytest.raises(anyio.EndOfStream):
                await channel.read.receive()
    assert len(caplog.records) == 21
    assert caplog.records[0].getMessage().endswith("is no message: noise 0")
    assert "further such lines are not logged" in caplog.records[-1].getMessage()


async def test_a_command_that_does_not_exist_is_named() -> None:
    with pytest.raises(UpstreamUnavailable, match="no-such-command"):
        async with open_stdio_channel(upstream("alpha"), StdioTransport("no-such-command"), QUICK, {}):
            raise AssertionError("it started")


async def test_an_sse_endpoint_that_cannot_be_reached_is_named_without_its_query() -> None:
    port = free_port()
    with anyio.fail_after(20), pytest.raises(UpstreamUnavailable) as raised:
        async with open_sse(SseTransport(f"http://127.0.0.1:{port}/sse?key=s3cr3t")):
            raise AssertionError("it connected")
    assert raised.value.message.startswith(f"http://127.0.0.1:{port}/sse cannot be reached: ConnectError")
    assert "s3cr3t" not in raised.value.message
    assert failure_of(raised.value, "").kind == "unreachable"


async def test_an_sse_endpoint_that_refuses_says_its_status() -> None:
    with (
        scripted() as script,
        anyio.fail_after(20),
        pytest.raises(UpstreamUnavailable, match=r"answered HTTP.*405") as raised,
    ):
        async with open_sse(SseTransport(script.url)):
            raise AssertionError("it connected")
    assert raised.value.trouble is not None
    assert (raised.value.trouble.kind, raised.value.trouble.status) == ("refused", 405)
