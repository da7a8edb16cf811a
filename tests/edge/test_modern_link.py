"""A link to a modern upstream: what each request carries, what is emulated, what is repaired (matrix A.1, A.2, A.5)."""

import logging
from dataclasses import replace
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.edge.peer import DISCOVERED, Hearing, Peer, hop_to, modern_to
from tests.inbox import JsonObject
from tests.runtime.stage import HELLO

from wf_mcp.core.envelope import Envelope
from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamTimeout, UpstreamUnavailable
from wf_mcp.core.trouble import Trouble
from wf_mcp.edge.hop import NoAgreement
from wf_mcp.edge.modern_link import ModernLink
from wf_mcp.runtime.ports import Sending

pytestmark = pytest.mark.anyio

QUIET: JsonObject = {**DISCOVERED, "capabilities": {"tools": {}}}
"""Nothing to listen to."""

ELICITS: JsonObject = {"elicitation": {}, "roots": {"listChanged": True}, "tasks": {}}


def error(code: int, message: str = "no", **data: Any) -> JsonObject:
    return {"error": {"code": code, "message": message, **({"data": data} if data else {})}}


def in_turn(*answers: JsonObject) -> Any:
    """One answer after the other; the last one stays."""
    left = list(answers)
    return lambda params: left.pop(0) if len(left) > 1 else left[0]


# -- opening -------------------------------------------------------------------------------------


async def test_discovering_is_told_in_the_shape_of_an_initialize_result() -> None:
    peer = Peer({"server/discover": QUIET})
    async with modern_to(peer, hello=replace(HELLO, capabilities=ELICITS)) as link:
        assert (link.era, link.process) == ("modern", None)
        assert link.initialized == {
            "protocolVersion": "2026-07-28",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
            "instructions": "be kind",
        }
    (asked,) = peer.came
    assert (asked["params"], asked["headers"]) == snapshot(
        (
            {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "roots": {}},
                }
            },
            {"mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover"},
        )
    )


@pytest.mark.parametrize(
    ("answer", "how", "why"),
    [
        (error(-32601, "no such method"), "refused", "it answered server/discover with error -32601: no such method"),
        (error(-32022, supported=["2026-07-28"]), "refused", "it answered server/discover with error -32022: no"),
        (error(-32022, supported=["2030-01-01"]), "refused", "it answered server/discover with error -32022: no"),
        (None, "silent", "it did not answer server/discover within 0.2 s (setting wf.init_timeout)"),
        (
            {**QUIET, "supportedVersions": ["2025-11-25"]},
            "refused",
            "it answered server/discover with the protocol versions ['2025-11-25'], of which wf-mcp speaks none",
        ),
        (
            {"supportedVersions": ["2026-07-28"]},
            "refused",
            "it answered server/discover with the protocol versions ['2026-07-28'], of which wf-mcp speaks none",
        ),
    ],
    ids=["unknown", "our own version", "another version", "silent", "older versions", "no capabilities"],
)
async def test_an_answer_that_is_not_modern_is_no_agreement(answer: JsonObject | None, how: str, why: str) -> None:
    async with hop_to(Peer({"server/discover": answer})) as hop:
        with pytest.raises(NoAgreement) as raised:
            await ModernLink(hop, Hearing(), HELLO, http=True).discover(0.2)
    assert (raised.value.how, raised.value.message) == (how, why)


async def test_there_is_nothing_to_listen_with_before_it_was_discovered() -> None:
    async with hop_to(Peer({})) as hop:
        with pytest.raises(RuntimeError):
            ModernLink(hop, Hearing(), HELLO, http=True).listening.unsubscribe("x")


# -- what a request carries ----------------------------------------------------------------------


async def test_a_request_says_who_asks_and_keeps_everything_else() -> None:
    peer = Peer({"server/discover": QUIET, "tools/call": {"content": []}})
    meta = {"progressToken": 7, "vendor": None, "io.modelcontextprotocol/clientInfo": {"name": "not on this hop"}}
    sending = Sending(
        headers={"authorization": "Bearer t", "Mcp-Name": "forged"}, envelope=Envelope(ELICITS, {"name": "c"}, "error")
    )
    async with modern_to(peer) as link:
        await link.request("tools/call", {"name": "ä", "arguments": {"x": None}, "_meta": meta}, sending)
    called = peer.came.of("tools/call")[0]
    assert (called["params"], called["headers"]) == snapshot(
        (
            {
                "name": "ä",
                "arguments": {"x": None},
                "_meta": {
                    "progressToken": 7,
                    "vendor": None,
                    "io.modelcontextprotocol/clientInfo": {"name": "c"},
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "roots": {}},
                    "io.modelcontextprotocol/logLevel": "error",
                },
            },
            {
                "authorization": "Bearer t",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "=?base64?w6Q=?=",
            },
        )
    )


async def test_over_stdio_there_are_no_headers_of_the_protocol_s_and_every_tool_is_kept() -> None:
    tools = [{"name": "bad", "inputSchema": {"type": "object", "x-mcp-header": "At-The-Root"}}]
    peer = Peer({"server/discover": QUIET, "tools/list": {"tools": tools}})
    async with modern_to(peer, http=False) as link:
        assert await link.request("tools/list", {}) == {"tools": tools}
    assert [each["headers"] for each in peer.came] == [{}, {}]


@pytest.mark.parametrize(("identity", "name"), [("client", "c"), ("proxy", "test")])
async def test_under_a_proxy_s_identity_the_upstream_does_not_see_the_client_s_name(identity: str, name: str) -> None:
    peer = Peer({"server/discover": QUIET, "x": {}})
    async with modern_to(peer, identity=identity) as link:
        await link.request("x", None, Sending(envelope=Envelope({}, {"name": "c"})))
        await link.request("x", None, Sending(envelope=Envelope({}, {})))
    names = [each["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] for each in peer.came.of("x")]
    assert names == [name, "test"]


async def test_annotated_arguments_travel_in_headers_once_a_list_has_passed() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    tools = [{"name": "t", "inputSchema": schema}, {"name": "bad", "inputSchema": {"x-mcp-header": 1}}]
    peer = Peer({"server/discover": QUIET, "tools/list": {"tools": tools}, "tools/call": {"content": []}})
    async with modern_to(peer) as link:
        assert await link.request("tools/list", {}) == {"tools": tools[:1]}
        await link.request("tools/call", {"name": "t", "arguments": {"region": "eu"}})
    assert peer.came.of("tools/call")[0]["headers"]["Mcp-Param-Region"] == "eu"


# -- what is emulated ----------------------------------------------------------------------------


async def test_a_ping_and_a_log_level_end_here_and_the_level_goes_with_requests_that_bring_none() -> None:
    peer = Peer({"server/discover": QUIET, "x": {}})
    async with modern_to(peer) as link:
        assert await link.request("ping", None) == {}
        assert await link.request("logging/setLevel", {"level": "warning"}) == {}
        await link.request("x", None)
        await link.request("x", None, Sending(envelope=Envelope({}, {}, "debug")))
        with pytest.raises(RelayedError) as raised:
            await link.request("logging/setLevel", {"level": "loud"})
        await link.notify("notifications/roots/list_changed", None)
        await link.request("x", None)
    assert raised.value.code == -32602
    assert [each["method"] for each in peer.came] == ["server/discover", "x", "x", "x"]
    levels = [each["params"]["_meta"]["io.modelcontextprotocol/logLevel"] for each in peer.came.of("x")]
    assert levels == ["warning", "debug", "warning"]


async def test_a_subscription_is_a_wider_listen_stream_and_answered_when_acknowledged() -> None:
    peer = Peer({"server/discover": DISCOVERED, "subscriptions/listen": None})
    inbox = Hearing()
    async with modern_to(peer, inbox) as link, anyio.create_task_group() as tasks:
        await peer.acknowledge(1)
        done = anyio.Event()

        async def subscribe() -> None:
            assert await link.request("resources/subscribe", {"uri": "demo://a"}) == {}
            done.set()

        tasks.start_soon(subscribe)
        second = await peer.listened(2)
        assert not done.is_set()
        await peer.acknowledge(2)
        await done.wait()
        await peer.say("notifications/resources/updated", {"uri": "demo://a", "_meta": {"k": 1}}, on=second["id"])
        assert await inbox.notes.wait_for("notifications/resources/updated") == {
            "method": "notifications/resources/updated",
            "params": {"uri": "demo://a", "_meta": {"k": 1}},
        }
        assert await link.request("resources/unsubscribe", {"uri": "demo://a"}) == {}
        third = await peer.listened(3)
    filters = [each["params"]["notifications"] for each in peer.came.of("subscriptions/listen")]
    assert filters == [
        {"toolsListChanged": True},
        {"toolsListChanged": True, "resourceSubscriptions": ["demo://a"]},
        {"toolsListChanged": True},
    ]
    assert third["headers"] == {"mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen"}


@pytest.mark.parametrize("params", [None, {}, {"uri": 3}], ids=str)
async def test_a_subscription_without_a_uri_is_invalid(params: JsonObject | None) -> None:
    async with modern_to(Peer({"server/discover": QUIET})) as link:
        for method in ("resources/subscribe", "resources/unsubscribe"):
            with pytest.raises(RelayedError) as raised:
                await link.request(method, params)
            assert raised.value.code == -32602


# -- what is repaired ----------------------------------------------------------------------------


async def test_a_header_mismatch_is_repaired_from_a_fresh_list_of_all_pages() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    pages = in_turn({"tools": [], "nextCursor": "2"}, {"tools": [{"name": "t", "inputSchema": schema}]})
    calls = in_turn(error(-32020), {"content": []})
    peer = Peer({"server/discover": QUIET, "tools/list": pages, "tools/call": calls})
    async with modern_to(peer) as link:
        call = {"name": "t", "arguments": {"region": "eu"}}
        assert await link.request("tools/call", call) == {"content": []}
    assert [each["method"] for each in peer.came][1:] == ["tools/call", "tools/list", "tools/list", "tools/call"]
    first, second = (each["headers"] for each in peer.came.of("tools/call"))
    assert ("Mcp-Param-Region" in first, second["Mcp-Param-Region"]) == (False, "eu")


async def test_a_list_that_repeats_its_cursor_is_not_read_for_ever() -> None:
    calls = in_turn(error(-32020), {"content": []})
    peer = Peer({"server/discover": QUIET, "tools/list": {"tools": [], "nextCursor": "1"}, "tools/call": calls})
    async with modern_to(peer) as link:
        assert await link.request("tools/call", {"name": "t"}) == {"content": []}
    assert len(peer.came.of("tools/list")) == 2


async def test_a_version_that_is_not_served_any_more_is_agreed_on_again() -> None:
    peer = Peer({"server/discover": QUIET, "x": in_turn(error(-32022, supported=["2026-07-28"]), {"ok": True})})
    async with modern_to(peer) as link:
        assert await link.request("x", None) == {"ok": True}
    assert [each["method"] for each in peer.came] == ["server/discover", "x", "server/discover", "x"]


@pytest.mark.parametrize("code", [-32020, -32022])
async def test_what_cannot_be_repaired_is_our_own_fault_and_never_relayed(code: int) -> None:
    peer = Peer({"server/discover": QUIET, "prompts/get": error(code, "your header is bad")})
    async with modern_to(peer) as link:
        with pytest.raises(RelayedError) as raised:
            await link.request("prompts/get", {"name": "x"})
    assert (raised.value.code, raised.value.data, len(peer.came.of("prompts/get"))) == (-32603, None, 2)
    assert raised.value.message == "Upstream 'up' does not take wf-mcp's own part of prompts/get: your header is bad"


async def test_where_the_repair_itself_fails_that_is_said() -> None:
    answers = in_turn(QUIET, error(-32601, "gone"))
    peer = Peer({"server/discover": answers, "x": error(-32022)})
    async with modern_to(peer) as link:
        with pytest.raises(RelayedError, match="it answered server/discover with error -32601: gone") as raised:
            await link.request("x", None)
    assert raised.value.code == -32603


async def test_an_error_of_the_second_time_is_relayed() -> None:
    peer = Peer({"server/discover": QUIET, "x": in_turn(error(-32022), error(-32021, "more", requiredCapabilities={}))})
    async with modern_to(peer) as link:
        with pytest.raises(RelayedError) as raised:
            await link.request("x", None)
    assert (raised.value.code, raised.value.data) == (-32021, {"requiredCapabilities": {}})


async def test_an_answer_that_broke_off_says_so_and_is_not_sent_again() -> None:
    broken = Trouble("reset", "the response stream ended", started=True)
    peer = Peer({"server/discover": QUIET, "x": broken})
    async with modern_to(peer) as link:
        with pytest.raises(UpstreamUnavailable, match="'up' gave no answer to x: the response stream ended") as raised:
            await link.request("x", None)
        assert not isinstance(raised.value, LinkLost)
    assert len(peer.came.of("x")) == 1


async def test_a_timeout_is_the_request_s_own() -> None:
    peer = Peer({"server/discover": QUIET, "x": None})
    async with modern_to(peer) as link:
        with pytest.raises(UpstreamTimeout):
            await link.request("x", None, Sending(timeout=0.05))
        assert (await peer.came.wait_for("notifications/cancelled"))["params"]["requestId"] == 2


# -- what the upstream says ----------------------------------------------------------------------


async def test_a_request_of_the_server_s_is_refused_and_its_notifications_are_heard() -> None:
    peer, inbox = Peer({"server/discover": QUIET}), Hearing({"roots": []})
    async with modern_to(peer, inbox):
        await peer.ask("roots/list")
        answered = await peer.came.wait_for(lambda item: "answer" in item)
        await peer.say("notifications/cancelled", {"requestId": 99})
        await peer.say("notifications/tools/list_changed", on="nobody's")
        await peer.say("notifications/progress", {"progressToken": 1, "progress": 1})
        await inbox.notes.wait_for("notifications/progress")
    assert answered["answer"]["error"]["code"] == -32601
    assert inbox.questions == []
    assert [note["method"] for note in inbox.notes] == ["notifications/progress"]


async def test_nothing_is_logged_as_a_warning_on_a_good_day(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        peer = Peer({"server/discover": DISCOVERED, "subscriptions/listen": None})
        async with modern_to(peer) as link:
            await peer.acknowledge(1)
            await link.listening.first()
    assert caplog.records == []
