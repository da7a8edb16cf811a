"""Which way a call takes between the eras (design D8; matrix A.5, D.3)."""

from dataclasses import replace
from typing import Any

import pytest
from tests.runtime.memory import Twin, TwinClient, text, tool
from tests.runtime.stage import Stage, stage
from tests.runtime.upstreams import DONE, FORM, asking, client, follow, modern, modern_client

from wf_mcp.core.errors import InvalidParams, RelayedError, UpstreamUnavailable
from wf_mcp.core.inputs import CannotAsk
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.bridge import Bridge
from wf_mcp.runtime.dispatch import Dispatch
from wf_mcp.runtime.ports import Caller, Hello
from wf_mcp.runtime.resolve import Route

pytestmark = pytest.mark.anyio

LINK: JsonObject = {"type": "resource_link", "uri": "demo://r", "name": "r"}


class Parked:
    """Takes note of the calls that it gets."""

    def __init__(self, result: JsonObject) -> None:
        self.result = result
        self.calls: list[tuple[str, str, str, JsonObject]] = []

    async def call(self, caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
        self.calls.append((route.mount.id, method, target, params))
        return self.result


def parking(s: Stage, parked: Parked) -> None:
    s.dispatch = Dispatch(s.resolver, lambda: (), s.plugins.report, Bridge(parking=parked))


def handshake(**lists: Any) -> Twin:
    return Twin("alpha", **{"tools": [tool("x")], **lists})


async def test_a_modern_clients_call_to_a_handshake_upstream_and_its_retry_are_parked() -> None:
    parked = Parked({"content": [LINK]})
    retry = {"requestState": "theirs", "inputResponses": {"a": {}}}
    async with stage(handshake()) as s:
        parking(s, parked)
        result = await s.call("alpha.x", modern_client(), arguments={})
        await s.call("alpha.x", modern_client(), **retry)
        assert s.twin("alpha").of("tools/call") == []
    assert result == {"content": [{**LINK, "uri": "demo://alpha/r"}]}
    assert parked.calls == [
        ("alpha", "tools/call", "alpha.x", {"name": "x", "arguments": {}}),
        ("alpha", "tools/call", "alpha.x", {"name": "x", **retry}),
    ]


async def test_nobody_elses_call_is_parked() -> None:
    parked = Parked({})
    async with stage(handshake()) as s:
        parking(s, parked)
        await s.call("alpha.x", client(TwinClient()))
    async with stage(modern(DONE)) as s:
        parking(s, parked)
        await s.call("alpha.x", client(TwinClient()))
        await s.call("alpha.x", modern_client())
    assert parked.calls == []


async def test_what_a_parked_call_asks_is_no_result_yet() -> None:
    async with stage(handshake()) as s:
        parked = Parked({**asking("s", who=FORM), "content": [LINK]})
        parking(s, parked)
        assert await s.call("alpha.x", modern_client()) == parked.result


async def test_without_parking_a_call_is_relayed_and_a_retry_refused() -> None:
    async with stage(handshake()) as s:
        assert await s.call("alpha.x", modern_client()) == text("alpha ran x")
        with pytest.raises(InvalidParams, match="'alpha' speaks a handshake revision and waits for no answers"):
            await s.call("alpha.x", modern_client(), requestState="s")
        assert len(s.twin("alpha").of("tools/call")) == 1


async def test_a_modern_upstreams_result_is_bare_for_a_handshake_client_and_whole_for_a_modern_one() -> None:
    hints = {"ttlMs": 5, "cacheScope": "public", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "u"}}}
    async with stage(modern({**DONE, **hints, "structuredContent": [1]})) as s:
        assert await s.call("alpha.x", client(TwinClient())) == {
            "content": [*text("done")["content"], {"type": "text", "text": "[1]"}]
        }
        assert await s.call("alpha.x", modern_client()) == {**DONE, **hints, "structuredContent": [1]}
        follow(s.twin("alpha"), "completion/complete", {"resultType": "complete", "completion": {"values": []}})
        ref = {"ref": {"type": "ref/resource", "uri": "demo://alpha/{id}"}}
        assert await s.dispatch.complete(client(TwinClient()), ref) == {"completion": {"values": []}}


async def test_a_link_that_an_old_client_does_not_know_is_told_by_its_public_address() -> None:
    async with stage(handshake()) as s:
        s.twin("alpha").give("tools/call", {"content": [LINK]})
        result = await s.call("alpha.x", client(TwinClient(), version="2025-03-26"))
    assert result == text("[resource r: demo://alpha/r]")


@pytest.mark.parametrize(
    ("era", "who", "code"),
    [
        ("modern", client(), -32002),
        ("modern", modern_client(), -32602),
        ("handshake", client(), -32602),
    ],
    ids=["handshake client", "modern client", "a handshake upstream's own"],
)
async def test_a_resource_that_is_not_found_has_the_code_of_the_clients_era(era: Any, who: Caller, code: int) -> None:
    twin = Twin("alpha", era=era)
    twin.fail("resources/read", RelayedError(-32602, "Resource not found", {"uri": "demo://r"}))
    async with stage(twin) as s:
        with pytest.raises(RelayedError) as raised:
            await s.read("demo://alpha/r", who)
    error = raised.value
    assert (error.code, error.message, error.data) == (code, "Resource not found", {"uri": "demo://alpha/r"})


REQUIRED = {"requiredCapabilities": {"elicitation": {"url": {}}}}


async def test_an_upstream_that_misses_a_capability_makes_a_result_that_names_it() -> None:
    missing = RelayedError(-32021, "Missing required client capability", REQUIRED)
    async with stage(modern(missing)) as s:
        result = await s.call("alpha.x", client(TwinClient()))
        with pytest.raises(CannotAsk) as raised:
            await s.read("demo://alpha/r", client(TwinClient()))
        with pytest.raises(RelayedError) as relayed:
            await s.call("alpha.x", modern_client())
    said = (
        "Upstream 'alpha' needs what this client did not declare: elicitation.url (Missing required client capability)"
    )
    assert result == {**text(said), "isError": True}
    assert (raised.value.code, raised.value.message, raised.value.data) == (-32603, said, REQUIRED)
    assert (relayed.value.code, relayed.value.data) == (-32021, REQUIRED)


@pytest.mark.parametrize("how", [RelayedError(-32021, "no", REQUIRED), asking("s", who=FORM)], ids=["refuses", "asks"])
async def test_a_client_whose_connection_cannot_be_asked_is_told_why(how: Any) -> None:
    async with stage(modern(how)) as s:
        who = replace(client(TwinClient()), hello=Hello({}, {}, "2025-11-25"), unasked="it has no session")
        result = await s.call("alpha.x", who)
    assert result["isError"] is True
    assert result["content"][0]["text"].endswith(" (it has no session)")


@pytest.mark.parametrize("data", [None, {}, {"requiredCapabilities": 3}], ids=repr)
async def test_one_that_does_not_say_which_is_relayed_so(data: Any) -> None:
    async with stage(modern(RelayedError(-32021, "no", data))) as s:
        result = await s.call("alpha.x", client(TwinClient()))
    assert result["content"][0]["text"].endswith("did not declare: one that it does not name (no)")


async def test_other_errors_stay_as_they_are() -> None:
    async with stage(modern(RelayedError(-32099, "odd", {"x": 1}))) as s:
        with pytest.raises(RelayedError) as raised:
            await s.call("alpha.x", client(TwinClient()))
    assert (raised.value.code, raised.value.message, raised.value.data) == (-32099, "odd", {"x": 1})


async def test_a_task_of_2025_is_not_asked_of_a_modern_upstream() -> None:
    async with stage(modern(DONE)) as s:
        assert await s.call("alpha.x", client(TwinClient()), task={"ttl": 1}) == text("done")
        assert s.twin("alpha").of("tools/call")[0].params == {"name": "x"}


async def test_a_modern_clients_task_carries_the_label() -> None:
    task = {"resultType": "task", "taskId": "t", "status": "working"}
    async with stage(modern(task)) as s:
        assert await s.call("alpha.x", modern_client()) == {**task, "taskId": "alpha:t"}


async def test_an_absent_upstream_is_named_in_every_cell() -> None:
    for twin, who in ((modern(), client()), (modern(), modern_client()), (handshake(), modern_client())):
        async with stage(twin) as s:
            await s.ready()
            twin.starts.extend(["it is broken"] * 9)
            twin.link.lose()
            with pytest.raises(UpstreamUnavailable, match="'alpha' is unavailable: it is broken"):
                await s.call("alpha.x", who)


async def test_urls_to_open_are_told_in_a_result_to_clients_before_2025_11_25() -> None:
    data = {"elicitations": [{"mode": "url", "elicitationId": "e", "url": "https://x.test/e", "message": "Sign in"}]}
    async with stage(handshake()) as s:
        s.twin("alpha").fail("tools/call", RelayedError(-32042, "URL needed", data))
        result = await s.call("alpha.x", client(TwinClient(), version="2025-06-18"))
        with pytest.raises(RelayedError):
            await s.call("alpha.x", client(TwinClient()))
    said = "URL needed. Open these addresses, then make the call again:\n- Sign in: https://x.test/e"
    assert result == {**text(said), "isError": True}
