"""A scripted HTTP endpoint on loopback: answers each POST as a function says, and keeps what it got."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.inbox import JsonObject

Answer = tuple[int, JsonObject | None, dict[str, str]]


@dataclass
class Script:
    """What to answer, and what came."""

    answer: Callable[[JsonObject], Answer]
    posts: list[tuple[JsonObject, dict[str, str]]] = field(default_factory=list)
    deletes: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def headers_of(self, method: str) -> dict[str, str]:
        """The headers of the last POST of one method."""
        return next(headers for message, headers in reversed(self.posts) if message["method"] == method)


def result(message: JsonObject, **fields: Any) -> Answer:
    """A JSON-RPC result."""
    return 200, {"jsonrpc": "2.0", "id": message["id"], "result": fields}, {}


def polite(message: JsonObject) -> Answer:
    """A server that has nothing and says so well."""
    if "id" not in message:
        return 202, None, {}
    if message["method"] == "initialize":
        status, body, _ = result(
            message, protocolVersion="2025-11-25", capabilities={}, serverInfo={"name": "s", "version": "1"}
        )
        return status, body, {"mcp-session-id": "session-1"}
    return result(message, echoed=message.get("params"))


@contextmanager
def scripted(answer: Callable[[JsonObject], Answer] = polite) -> Iterator[Script]:
    """The endpoint, for the time of the block."""
    script = Script(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            script.posts.append((message, {key.lower(): value for key, value in self.headers.items()}))
            self._send(*script.answer(message))

        def do_GET(self) -> None:
            self._send(405, None, {})

        def do_DELETE(self) -> None:
            script.deletes.append({key.lower(): value for key, value in self.headers.items()})
            self._send(200, None, {})

        def _send(self, status: int, body: JsonObject | None, headers: dict[str, str]) -> None:
            data = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {
                **headers,
                "content-length": str(len(data)),
                "content-type": "application/json",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
