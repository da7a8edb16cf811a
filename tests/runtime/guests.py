"""Modern clients of an HTTP front, and what they are asked."""

from dataclasses import replace
from itertools import count
from typing import Any

from tests.runtime.memory import TwinClient
from tests.runtime.upstreams import ABLE, modern_client

from wf_mcp.core.seal import KEY_SIZE
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.ports import Caller, Hello

FORM: JsonObject = {"message": "Who?", "requestedSchema": {"type": "object"}}
ACCEPT: JsonObject = {"action": "accept", "content": {"name": "Ann"}}
KEY = bytes(KEY_SIZE)

_requests = count(1)


def guest(capabilities: JsonObject | None = None, **fields: Any) -> Caller:
    """A modern client of an HTTP front: it shares its session, and each of its requests is by itself."""
    hello = Hello(ABLE if capabilities is None else capabilities, {"name": "t", "version": "1"}, "2025-11-25", "modern")
    port = TwinClient(f"request {next(_requests)}")
    return replace(modern_client(), audience=Audience("all", "all", "all"), hello=hello, port=port, **fields)


def answered(*answers: Any) -> JsonObject:
    return {"content": [], "structuredContent": {"answers": list(answers)}}
