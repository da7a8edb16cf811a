"""The handshake and what follows it (2025-11-25 basic/lifecycle); the rest is in test_upstream.py and test_hop.py."""

from dataclasses import replace

import pytest
from tests.edge.peer import INITIALIZED, Hearing, Peer, hop_to
from tests.inbox import JsonObject
from tests.runtime.stage import HELLO

from wf_mcp.edge.handshake_link import HandshakeLink
from wf_mcp.edge.hop import NoAgreement
from wf_mcp.runtime.ports import Hello, Sending

pytestmark = pytest.mark.anyio

CAPABILITIES: JsonObject = {"roots": {"listChanged": True}, "tasks": {}, "sampling": {}}


@pytest.mark.parametrize(
    ("hello", "declared"),
    [
        (replace(HELLO, capabilities=CAPABILITIES), CAPABILITIES),
        (
            replace(HELLO, capabilities=CAPABILITIES, era="modern"),
            {"roots": {}, "tasks": {}, "sampling": {}},
        ),
    ],
    ids=["handshake client", "modern client"],
)
async def test_initialize_declares_what_the_client_did_and_the_version_is_sent_from_then_on(
    hello: Hello, declared: JsonObject
) -> None:
    peer = Peer({"initialize": INITIALIZED, "x": {}})
    async with hop_to(peer) as hop:
        link = HandshakeLink(hop, Hearing())
        await link.handshake(hello, 1.0)
        assert (link.era, link.initialized, link.process) == ("handshake", INITIALIZED, None)
        await link.request("x", None, Sending(headers={"h": "1"}))
    first, second, third = peer.came
    assert first["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": declared,
        "clientInfo": HELLO.client_info,
    }
    assert (second["method"], second["headers"]) == (
        "notifications/initialized",
        {"mcp-protocol-version": "2025-11-25"},
    )
    assert third["headers"] == {"mcp-protocol-version": "2025-11-25", "h": "1"}


@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", None], ids=str)
async def test_a_version_of_no_handshake_revision_is_no_agreement(version: object) -> None:
    async with hop_to(Peer({"initialize": {**INITIALIZED, "protocolVersion": version}})) as hop:
        with pytest.raises(NoAgreement, match="which wf-mcp does not speak") as raised:
            await HandshakeLink(hop, Hearing()).handshake(HELLO, 1.0)
    assert raised.value.how == "refused"


async def test_pings_are_answered_here_and_cancellations_stay_here() -> None:
    peer, inbox = Peer({"initialize": INITIALIZED}), Hearing({"roots": []})
    async with hop_to(peer, inbox) as hop:
        await HandshakeLink(hop, inbox).handshake(HELLO, 1.0)
        await peer.ask("ping")
        answered = await peer.came.wait_for(lambda item: "answer" in item)
        await peer.say("notifications/cancelled", {"requestId": "gone"})
        await peer.say("notifications/message", {"level": "info", "data": 1})
        await inbox.notes.wait_for("notifications/message")
    assert answered["answer"]["result"] == {}
    assert inbox.questions == []
    assert [note["method"] for note in inbox.notes] == ["notifications/message"]
