"""What a handshake client without a session is promised and refused (matrix D.5)."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from wf_mcp.core.sessionless import REFUSED, bare_face


def test_nothing_that_needs_a_session_is_promised() -> None:
    face = {
        "protocolVersion": "2025-11-25",
        "capabilities": {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True, "x-own": 1},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "logging": {},
            "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
            "extensions": {"io.modelcontextprotocol/ui": {"listChanged": True}},
        },
        "x-own": None,
    }
    assert bare_face(face) == snapshot(
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {},
                "prompts": {"x-own": 1},
                "resources": {},
                "completions": {},
                "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}},
                "extensions": {"io.modelcontextprotocol/ui": {"listChanged": True}},
            },
            "x-own": None,
        }
    )


@pytest.mark.parametrize("face", [{}, {"capabilities": None}, {"capabilities": {"tools": None}}], ids=str)
def test_what_is_no_capability_object_is_left_alone(face: dict[str, Any]) -> None:
    assert bare_face(face) == face


def test_every_refusal_says_why_and_what_to_do() -> None:
    assert all("no session" in why and "use a session" in why for why in REFUSED.values())
