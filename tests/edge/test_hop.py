"""What both eras of links share: ids, cancellation, errors and losses (design D2, D5)."""

from functools import partial
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.edge.peer import Hearing, Peer, hop_to
from tests.inbox import JsonObject

from wf_mcp.core.errors import (
    NULL,
    LinkLost,
    NotServed,
    RelayedError,
    UpstreamTimeout,
    UpstreamUnavailable,
    WfMcpError,
)
from wf_mcp.core.trouble import SESSION_LOST, Trouble
from wf_mcp.edge.hop import NoAgreement
from wf_mcp.runtime.ports import PLAIN, Sending

pytestmark = pytest.mark.anyio


async def test_requests_have_ids_of_their_own_and_carry_their_headers() -> None:
    peer = Peer({"x": lambda params: {"got": params}})
    async with hop_to(peer) as hop:
        assert await hop.request("x", {"a": None}, PLAIN, {"h": "1"}) == {"got": {"a": None}}
        assert await hop.request("x", None, PLAIN, {}, hop.next_id()) == {"got": {}}
        assert await hop.negotiate("x", {}, 1.0, {"n": "2"}) == {"got": {}}
    assert [(each["id"], each["headers"]) for each in peer.came] == [(1, {"h": "1"}), (2, {}), (3, {"n": "2"})]


async def why() -> str | None:
    return "changed my mind"


@pytest.mark.parametrize(("reason", "said"), [(why, {"reason": "changed my mind"}), (None, {})], ids=["said", "unsaid"])
async def test_a_cancelled_request_is_cancelled_there_with_the_headers_that_it_had(reason: Any, said: Any) -> None:
    peer = Peer({"slow": None})
    async with hop_to(peer) as hop:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(hop.request, "slow", None, Sending(cancel_reason=reason), {"v": "1"}))
            await peer.came.wait_for("slow")
            tasks.cancel_scope.cancel()
        cancelled = await peer.came.wait_for("notifications/cancelled")
    assert (cancelled["params"], cancelled["headers"]) == ({"requestId": 1, **said}, {"v": "1"})


async def test_what_takes_too_long_is_cancelled_and_said() -> None:
    peer = Peer({"slow": None})
    async with hop_to(peer) as hop:
        with pytest.raises(UpstreamTimeout, match=r"'up' did not answer slow within 0\.05 s"):
            await hop.request("slow", None, Sending(timeout=0.05), {})
        cancelled = await peer.came.wait_for("notifications/cancelled")
    assert cancelled["params"] == {"requestId": 1, "reason": "no answer within 0.05 s"}


@pytest.mark.parametrize("data", [{}, {"data": None}, {"data": {"why": 1}}], ids=str)
async def test_an_error_of_the_upstream_s_passes_word_for_word(data: JsonObject) -> None:
    async with hop_to(Peer({"x": {"error": {"code": -31234, "message": "no", **data}}})) as hop:
        with pytest.raises(RelayedError) as raised:
            await hop.request("x", None, PLAIN, {})
    expected = NULL if data == {"data": None} else data.get("data")
    assert (raised.value.code, raised.value.message, raised.value.data) == (-31234, "no", expected)


@pytest.mark.parametrize(
    ("trouble", "kind", "said"),
    [
        (Trouble("refused", "HTTP 503 from x", status=503), RelayedError, "HTTP 503 from x"),
        (Trouble("unreachable", "x cannot be reached"), UpstreamUnavailable, "Upstream 'up' is unavailable: x cannot"),
        (Trouble("reset", "it broke off", started=True), UpstreamUnavailable, "it broke off. It may have acted on the"),
    ],
    ids=lambda each: each.kind if isinstance(each, Trouble) else "",
)
async def test_trouble_on_the_way_costs_the_request_and_not_the_link(
    trouble: Trouble, kind: type[WfMcpError], said: str
) -> None:
    async with hop_to(Peer({"x": trouble, "y": {}})) as hop:
        with pytest.raises(kind, match=said) as raised:
            await hop.request("x", None, PLAIN, {})
        assert raised.value.trouble == trouble and not isinstance(raised.value, LinkLost)
        assert hop.alive and await hop.request("y", None, PLAIN, {}) == {}


async def test_a_session_that_is_lost_takes_the_link_with_it_and_the_request_may_be_sent_again() -> None:
    async with hop_to(Peer({"x": SESSION_LOST, "y": {}})) as hop:
        for method in ("x", "y"):
            with pytest.raises(LinkLost, match="no longer knows our session") as raised:
                await hop.request(method, None, PLAIN, {})
            assert not raised.value.started
        assert not hop.alive


async def test_what_carries_headers_ends_with_its_stream() -> None:
    peer = Peer({"silent": None})
    async with hop_to(peer) as hop:
        with pytest.raises(NoAgreement):
            await hop.negotiate("silent", {}, 0.05, {"mcp-protocol-version": "2026-07-28"})
        cancelled = await peer.came.wait_for("notifications/cancelled")
    assert cancelled["params"]["requestId"] == 1


async def test_an_error_with_the_code_that_the_sdk_has_for_timeouts_is_relayed() -> None:
    peer = Peer({"x": {"error": {"code": -32001, "message": "no such session"}}})
    async with hop_to(peer) as hop:
        with pytest.raises(RelayedError, match="no such session"):
            await hop.request("x", None, Sending(timeout=5), {})
    assert peer.came.of("notifications/cancelled") == []


async def test_a_loss_takes_what_is_in_flight_with_it_and_later_requests_do_not_start() -> None:
    peer = Peer({"slow": None})
    async with hop_to(peer) as hop:
        lost: list[bool] = []

        async def ask() -> None:
            with pytest.raises(LinkLost, match="the peer ended") as raised:
                await hop.request("slow", None, PLAIN, {})
            lost.append(raised.value.started)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await peer.came.wait_for("slow")
            assert hop.alive
            await peer.end()
        assert await hop.closed() == "the peer ended"
        await ask()
        await hop.notify("notifications/x", None, {})
        assert not hop.alive
    assert lost == [True, False]


async def test_why_an_era_was_not_agreed_on_is_told_apart() -> None:
    peer = Peer({"refused": {"error": {"code": -32022, "message": "no", "data": {"supported": []}}}, "silent": None})
    found, kinds = [], []
    async with hop_to(peer) as hop:
        for method in ("refused", "silent", "lost"):
            if method == "lost":
                await peer.end()
            with pytest.raises(NoAgreement) as raised:
                await hop.negotiate(method, {}, 0.05)
            assert raised.value.trouble is None or raised.value.trouble.message == raised.value.message
            kinds.append(raised.value.trouble and raised.value.trouble.kind)
            found.append((raised.value.how, raised.value.answered, raised.value.message))
    assert kinds == [None, "unanswered", "reset"]
    assert found == snapshot(
        [
            ("refused", -32022, "it answered refused with error -32022: no"),
            ("silent", None, "it did not answer silent within 0.05 s (setting wf.init_timeout)"),
            ("lost", None, "it went away before it answered lost: the peer ended"),
        ]
    )
    assert peer.came.of("notifications/cancelled") == []


async def test_an_upstream_that_cannot_be_reached_needs_no_other_era() -> None:
    trouble = Trouble("unreachable", "x cannot be reached: Connection refused")
    peer = Peer({"one": trouble, "two": Trouble("reset", "it broke off", started=True)})
    async with hop_to(peer) as hop:
        with pytest.raises(UpstreamUnavailable, match=r"^x cannot be reached: Connection refused$") as raised:
            await hop.negotiate("one", {}, 5)
        assert raised.value.trouble == trouble and not isinstance(raised.value, NoAgreement)
        with pytest.raises(NoAgreement, match="it went away before it answered two: it broke off") as lost:
            await hop.negotiate("two", {}, 5)
        assert lost.value.how == "lost"


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ({"roots": []}, {"result": {"roots": []}}),
        (NotServed("nobody", {"x": 1}), {"error": {"code": -32601, "message": "nobody", "data": {"x": 1}}}),
    ],
    ids=["answered", "refused"],
)
async def test_a_question_of_the_upstream_s_goes_to_the_receiver(
    answer: JsonObject | WfMcpError, sent: JsonObject
) -> None:
    peer, inbox = Peer({}), Hearing(answer)
    async with hop_to(peer, inbox):
        await peer.ask("roots/list", {"a": 1})
        answered = await peer.came.wait_for(lambda item: "answer" in item)
    assert inbox.questions == [("roots/list", {"a": 1})]
    assert answered["answer"] == {"jsonrpc": "2.0", "id": "q", **sent}
