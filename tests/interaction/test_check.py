"""`wf-mcp check` as a doctor: how each upstream is, or what it has and what to do about it."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from threading import Thread
from typing import Any

from tests.covers import covers
from tests.rig import Rig, free_port

SILENT = "while True: input()"
TOOL = {"name": "t", "inputSchema": {"type": "object"}}


@contextmanager
def refusing(status: int) -> Iterator[str]:
    """The URL of a server that answers everything with this HTTP status."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()
            thread.join()


@covers("cli.check-row", "check tells state, transport, era, time to start, server and counts of each upstream")
def test_a_row_tells_how_an_upstream_is(rig: Rig) -> None:
    rig.upstream("alpha", {"tools": [TOOL], "builtins": False, "serverInfo": {"name": "Alpha", "version": "7.8"}})
    rig.full("beta", "modern", "http")
    done = rig.run("check", "--config", str(rig.write()))
    assert done.returncode == 0, done.stderr
    head, alpha, beta = (re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines())
    columns = "upstream names state transport era start server tools prompts resources"
    assert " ".join(head) == columns
    assert alpha[:5] == ["alpha", "alpha.*", "ready", "stdio", "handshake 2025-11-25"]
    assert alpha[6:] == ["Alpha 7.8", "1", "0", "0"]
    assert beta[:5] == ["beta", "beta.*", "ready", "http", "modern 2026-07-28"]
    assert re.fullmatch(r"\d+\.\d s", alpha[5]) and re.fullmatch(r"\d+\.\d s", beta[5])


@covers("cli.check-advice", "check tells the class of each failure and what to do about it, and ends with 1")
def test_what_is_wrong_is_told_with_what_to_do(rig: Rig) -> None:
    rig.upstream("good")
    rig.entries |= {
        "absent": {"command": "no-such-command-of-wf-mcp"},
        "exits": {"command": sys.executable, "args": ["-c", "import sys; sys.exit('out of beans')"]},
        "silent": {"command": sys.executable, "args": ["-c", SILENT], "wf": {"init_timeout": 1}},
        "closed": {"type": "http", "url": f"http://127.0.0.1:{free_port()}/mcp"},
        "unset": {"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}},
        "off": {"command": "x", "disabled": True},
    }
    with refusing(401) as url:
        rig.entries["locked"] = {"type": "http", "url": url}
        done = rig.run("check", "--config", str(rig.write()))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    pairs = [(what, do) for what, do in pairwise(lines) if do.startswith("  → ")]
    told = {what.partition(": ")[0]: (what, do) for what, do in pairs}
    assert set(told) == {"absent", "exits", "silent", "closed", "unset", "locked"}
    for upstream, kind, said, advice in (
        ("absent", "not_found", f"PATH: {rig.env['PATH'].split(':')[0]}", "its whole path"),
        ("exits", "exited", "exit code 1; stderr: out of beans", "stderr"),
        ("silent", "unanswered", "did not answer initialize within 1 s", "wf.init_timeout"),
        ("closed", "unreachable", "cannot be reached", "the server is running"),
        ("unset", "not started", "NOT_SET_ANYWHERE is not set", "correct its entry"),
        ("locked", "needs_auth", "401", "token"),
    ):
        what, do = told[upstream]
        assert what.startswith(f"{upstream}: {kind}: ") and said in what and advice in do, (what, do)
