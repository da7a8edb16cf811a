"""The upstream's transport: whole messages whatever the bytes, nobody else disturbed, nothing left at the end."""

import json
import sys
from contextlib import asynccontextmanager
from hashlib import sha256

import anyio
import pytest
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from tests.fixtures.procs import running, script, wait_until_gone

from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.edge.stdio import open_stdio

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request):
    return ("asyncio", {"use_uvloop": request.param == "uvloop"})


@asynccontextmanager
async def upstream(name, *args, noise=None, **options):
    options = {"eof_grace": 0.3, "term_grace": 0.3, **options}
    heard = [] if noise is None else noise
    with anyio.fail_after(30):
        async with open_stdio(sys.executable, [script(name), *args], on_noise=heard.append, **options) as channel:
            yield channel


def request(number, **params):
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="do", params=params))


async def ask(channel, number, **params):
    await channel.write_stream.send(request(number, **params))
    answer = await channel.read_stream.receive()
    assert isinstance(answer, SessionMessage)
    assert isinstance(answer.message, JSONRPCResponse)
    assert answer.message.id == number
    return answer.message.result


async def rest_of(channel):
    return [item.message async for item in channel.read_stream]


def notification(method):
    return JSONRPCNotification(jsonrpc="2.0", method=method)


async def test_messages_go_both_ways_and_the_process_ends_with_the_channel():
    async with upstream("big", eof_grace=10) as channel:
        for number in range(50):
            assert await ask(channel, number, text=f"héllo\n{number}") == {"text": f"héllo\n{number}"}
    assert channel.process.returncode == 0
    assert not running(channel.process.pid)


async def test_a_line_of_50_mb_passes_in_each_direction():
    async with upstream("big") as channel:
        answer = await ask(channel, 1, size=50_000_000)
        assert sha256(answer["text"].encode()).digest() == sha256("é".encode() * 25_000_000).digest()
        text = "x" * 50_000_000
        assert (await ask(channel, 2, text=text))["text"] == text


async def test_banners_and_logs_between_messages_are_noise():
    noise = []
    async with upstream("banner", noise=noise) as channel:
        assert await ask(channel, 1) == {"ok": True}
        assert await ask(channel, 2) == {"ok": True}
    talk = ["🚀 Welcome!", "version 1", "", '{"half": ', "plain � bytes"]
    assert noise == [*talk, "handling it now", "handling it now"]


async def test_invalid_bytes_and_half_characters_cost_no_message():
    lines = [r'{"jsonrpc":"2.0","method":"a\xffb"}', r'{"jsonrpc":"2.0","method":"c\\ud83d"}']
    async with upstream("answer", *lines) as channel:
        assert await rest_of(channel) == [notification("a�b"), notification("c�")]


async def test_a_line_over_the_limit_is_noise_and_the_next_one_passes():
    noise = []
    lines = ['{"jsonrpc":"2.0","method":"' + "x" * 1000 + '"}', '{"jsonrpc":"2.0","method":"ok"}']
    async with upstream("answer", *lines, line_limit=900, noise=noise) as channel:
        assert await rest_of(channel) == [notification("ok")]
    assert len(noise) == 1
    assert noise[0].startswith('{"jsonrpc":"2.0","method":"xxx')
    assert len(noise[0]) <= 500


async def test_a_flood_of_stderr_does_not_silence_the_answers():
    async with upstream("flooder") as channel:
        for number in range(20):
            await channel.write_stream.send(request(number))
            echo = await channel.read_stream.receive()
            assert echo.message.id == number
        assert sum(map(len, channel.process.stderr_tail())) < 20_000


async def test_what_was_written_before_death_is_delivered_then_the_stream_ends():
    lines = [json.dumps({"jsonrpc": "2.0", "method": str(number)}) for number in range(500)]
    async with upstream("answer", *lines, env={"FLAG": "unfinished"}) as channel:
        assert await channel.process.wait() == 0
        assert await rest_of(channel) == [*(notification(str(number)) for number in range(500)), notification("last")]
        with pytest.raises(anyio.EndOfStream):
            await channel.read_stream.receive()


async def test_a_dead_upstream_ends_the_stream_although_a_descendant_holds_its_stdout():
    lines = [json.dumps({"jsonrpc": "2.0", "method": str(number)}) for number in range(500)]
    async with upstream("answer", *lines, env={"FLAG": "orphan"}) as channel:
        await channel.read_stream.ended.wait()  # nobody read while it lived, and nothing is lost
        assert await rest_of(channel) == [notification(str(number)) for number in range(500)]
        assert channel.process.returncode == 0


async def test_the_reason_of_an_early_death_can_be_told():
    async with upstream("boom") as channel:
        assert await rest_of(channel) == []
        assert await channel.process.wait() == 3
        assert channel.process.stderr_tail() == ["boom"]
        with pytest.raises(anyio.BrokenResourceError):
            while True:
                await channel.write_stream.send(request(1))


async def test_the_dispatcher_reports_a_closed_connection():
    async def refuse(*args):
        raise AssertionError("nothing is asked")

    async with upstream("answer", '{"jsonrpc":"2.0","method":"m"}') as channel:
        seen = []

        async def on_notify(context, method, params):
            seen.append(method)

        await JSONRPCDispatcher(channel.read_stream, channel.write_stream).run(refuse, on_notify)
        with pytest.raises(anyio.ClosedResourceError):
            await channel.write_stream.send(request(1))


async def test_an_upstream_that_stops_reading_holds_up_only_its_own_senders():
    text = "x" * 3_000_000
    async with (
        upstream("answer", env={"FLAG": "deaf"}) as deaf,
        upstream("big") as good,
        anyio.create_task_group() as tasks,
    ):
        for number in range(5):
            tasks.start_soon(deaf.write_stream.send, request(number, text=text))
        await anyio.wait_all_tasks_blocked()
        assert await ask(good, 1, text=text) == {"text": text}
        with anyio.move_on_after(0.05) as scope:
            await deaf.write_stream.send(request(9))
        assert scope.cancelled_caught
        tasks.cancel_scope.cancel()


async def test_a_cancelled_sender_leaves_no_torn_line():
    text = "x" * 3_000_000
    async with upstream("big") as channel:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await channel.write_stream.send(request(1, text=text))
        with anyio.move_on_after(0):
            await channel.write_stream.send(request(2, text=text))
        answers = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.write_stream.send, request(3, text=text))
            async for item in channel.read_stream:
                answers.append(item.message.id)
                if item.message.id == 3:
                    break
        assert answers[-2:] == [2, 3] or answers == [1, 3]


async def test_concurrent_big_messages_stay_whole():
    async with upstream("big") as channel, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(channel.write_stream.send, request(number, text=str(number) * 200_000))
        for _ in range(20):
            message = (await channel.read_stream.receive()).message
            assert message.result == {"text": str(message.id) * 200_000}


async def test_cancelling_the_caller_still_ends_a_stubborn_family():
    pids = []

    def heard(text):
        pids.extend(int(pid) for pid in text.split())
        scope.cancel()

    with anyio.CancelScope() as scope, anyio.fail_after(20):
        async with open_stdio(
            sys.executable, [script("stubborn")], eof_grace=0.1, term_grace=0.1, on_noise=heard
        ) as channel:
            await channel.read_stream.receive()
    assert scope.cancelled_caught
    assert len(pids) == 2
    wait_until_gone(pids, 1)


async def test_an_upstream_stuck_in_writing_still_hears_eof():
    """It has written more than a pipe holds and nobody reads: it must be able to leave by itself."""
    async with upstream("big", eof_grace=10) as channel:
        await channel.write_stream.send(request(1, size=10_000_000))
    assert channel.process.returncode == 0


async def test_a_missing_command_is_reported_as_such():
    with pytest.raises(UpstreamUnavailable, match="no-such-command"):
        async with open_stdio("no-such-command"):
            pass


async def test_an_error_of_the_caller_comes_out_as_it_is():
    with pytest.raises(LookupError, match="mine"):
        async with upstream("big"):
            raise LookupError("mine")
