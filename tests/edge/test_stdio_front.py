"""The front's wire: nothing but messages on it, never in the way of a shutdown, whatever the descriptors are."""

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest
from tests.fixtures.procs import script

from wf_mcp.edge import stdio_front

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xc3\xa9"}}\n'
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"a": "é"}}


@pytest.fixture(params=["asyncio", "uvloop"])
def env(request):
    return {**os.environ, "UVLOOP": "1" if request.param == "uvloop" else ""}


@contextmanager
def front(env, stdin=subprocess.PIPE, stdout=subprocess.PIPE):
    process = subprocess.Popen(
        [sys.executable, script("front")], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=env
    )
    try:
        assert process.stderr is not None
        diverted = [process.stderr.readline() for _ in range(3)]
        assert sorted(diverted) == [b"nor this\n", b"not for the wire\n", b"up\n"]
        yield process
    finally:
        process.kill()
        process.communicate(timeout=10)


def parsed(output):
    """The messages on the wire, and what was printed after it was given back."""
    *messages, printed = output.splitlines()
    assert printed == b"wire is back"
    return [json.loads(line) for line in messages]


def test_only_messages_are_on_the_wire_and_eof_ends_it(env):
    with front(env) as process:
        out, err = process.communicate(REQUEST + b"\n \r\n" + REQUEST, timeout=10)
    assert parsed(out) == [ANSWER, ANSWER]
    assert process.returncode == 0
    assert err == b"bye\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"hello", -32700),
        (b'{"jsonrpc":"2.0","id":1,', -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"id":1,"method":"m"}', -32600),
        (b'"' + b"x" * 61_000_000, -32600),
    ],
)
def test_what_is_no_message_is_answered_and_the_next_one_served(env, line, code):
    with front(env) as process:
        out, err = process.communicate(line + b"\n" + REQUEST, timeout=20)
    error, answer = parsed(out)
    assert (error["id"], error["error"]["code"]) == (None, code)
    assert answer == ANSWER
    assert err.count(b"read ") == 1


def test_invalid_bytes_and_a_last_line_without_newline_are_served(env):
    with front(env) as process:
        out, _ = process.communicate(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xff\\ud83d"}}', timeout=10)
    assert parsed(out) == [{"jsonrpc": "2.0", "id": 1, "result": {"a": "��"}}]


@pytest.mark.parametrize("stuck", [False, True], ids=["idle", "stuck in writing"])
def test_sigterm_ends_it_at_once(env, stuck):
    with front(env) as process:
        if stuck:
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"size":5000000}}\n' * 3)
            process.stdin.flush()
            assert select.select([process.stdout], [], [], 10)[0]
        process.send_signal(signal.SIGTERM)
        if stuck:
            # Its last line, printed once the wire is back, would wait for us to read.
            assert process.stderr.readline() == b"bye\n"
        else:
            assert process.wait(timeout=5) == 0


def test_an_answer_of_50_mb_reaches_a_host_that_reads_late(env):
    with front(env) as process:
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"size":50000000}}\n')
        process.stdin.flush()
        assert select.select([process.stdout], [], [], 10)[0]
        out, _ = process.communicate(timeout=30)
    assert [len(message["result"]["text"]) for message in parsed(out)] == [50_000_000]


def test_a_host_that_closes_stdout_ends_the_front(env):
    with front(env) as process:
        process.stdout.close()
        process.stdout = None
        process.stdin.write(REQUEST)
        process.stdin.flush()
        assert process.stderr.readline() == b"broken\n"
        assert process.stderr.readline() == b"bye\n"


def test_sockets_as_node_gives_them(env):
    ours, theirs = socket.socketpair()
    with front(env, theirs, theirs), theirs, ours:
        theirs.close()
        ours.sendall(REQUEST + b'{"jsonrpc":"2.0","id":2,"method":"m","params":{"size":5000000}}\n')
        ours.shutdown(socket.SHUT_WR)
        with ours.makefile("rb") as file:
            first, second = parsed(file.read())
    assert first == ANSWER
    assert len(second["result"]["text"]) == 5_000_000


def test_files_as_stdin_and_stdout(env, tmp_path):
    (tmp_path / "in").write_bytes(REQUEST * 1000)
    stdin, stdout = (tmp_path / "in").open("rb"), (tmp_path / "out").open("wb")
    with stdin, stdout, front(env, stdin, stdout) as process:
        assert process.wait(timeout=10) == 0
    assert parsed((tmp_path / "out").read_bytes()) == [ANSWER] * 1000


def test_the_null_device_as_stdin_is_an_empty_wire(env):
    with front(env, subprocess.DEVNULL) as process:
        assert process.communicate(timeout=10)[0] == b"wire is back\n"


def test_descriptors_come_back_as_they_were(env):
    """Their flags belong to whoever shares them: a poll by uvloop must not leave them non-blocking."""
    read_end, write_end = os.pipe()
    with front(env, read_end, write_end) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == 0
    assert os.get_blocking(read_end)
    assert os.get_blocking(write_end)
    os.close(read_end)
    os.close(write_end)


def test_a_pipe_that_a_message_fills_is_made_to_hold_more(env):
    read_end, write_end = os.pipe()
    before = fcntl.fcntl(read_end, fcntl.F_GETPIPE_SZ)
    with front(env, stdout=write_end) as process:
        os.close(write_end)
        process.stdin.write(REQUEST + b'{"jsonrpc":"2.0","id":2,"method":"m","params":{"size":5000000}}\n')
        process.stdin.close()
        process.stdin = None
        with open(read_end, "rb") as file:
            assert json.loads(file.readline()) == ANSWER
            assert len(file.readline()) > 5_000_000
            assert fcntl.fcntl(read_end, fcntl.F_GETPIPE_SZ) > before


def test_a_named_pipe_is_served_to_its_end(env, tmp_path):
    """Opened once more, one whose writer has gone already would never say so."""
    os.mkfifo(tmp_path / "in")
    both = os.open(tmp_path / "in", os.O_RDWR)
    stdin = os.open(tmp_path / "in", os.O_RDONLY)
    os.write(both, REQUEST)
    os.close(both)
    with front(env, stdin) as process:
        os.close(stdin)
        assert parsed(process.communicate(timeout=10)[0]) == [ANSWER]


def test_a_pipe_whose_writer_has_gone_before_the_start_is_served_to_its_end(env):
    read_end, write_end = os.pipe()
    os.write(write_end, REQUEST)
    os.close(write_end)
    with front(env, read_end) as process:
        os.close(read_end)
        assert parsed(process.communicate(timeout=10)[0]) == [ANSWER]


@pytest.mark.anyio
async def test_it_cannot_be_claimed_twice():
    with stdio_front._claimed(), pytest.raises(RuntimeError, match="already being served"):
        async with stdio_front.serve_stdio_streams():
            pass
