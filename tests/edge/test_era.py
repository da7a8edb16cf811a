"""Which era an upstream is spoken to in, and how that is found out (design D8)."""

from dataclasses import replace
from typing import Any

import pytest
from tests.edge.peer import DISCOVERED, INITIALIZED, NO_METHOD, Answer, Hearing, Peer, hop_to
from tests.inbox import JsonObject
from tests.runtime.stage import HELLO, upstream

from wf_mcp.core.config import SseTransport, Upstream
from wf_mcp.core.envelope import Era
from wf_mcp.edge import era as era_module
from wf_mcp.edge.era import Search
from wf_mcp.edge.era_memory import EraMemory
from wf_mcp.edge.hop import NoAgreement

pytestmark = pytest.mark.anyio

HANDSHAKE, MODERN = HELLO, replace(HELLO, era="modern")
QUIET = {**DISCOVERED, "capabilities": {}}
OLD_ONLY: dict[str, Answer] = {"initialize": INITIALIZED}
NEW_ONLY: dict[str, Answer] = {"server/discover": QUIET}
BOTH: dict[str, Answer] = {**OLD_ONLY, **NEW_ONLY}


def refusing(code: int, message: str = "no", **data: Any) -> JsonObject:
    return {"error": {"code": code, "message": message, **({"data": data} if data else {})}}


async def found(
    answers: dict[str, Answer], client: Era, memory: EraMemory | None = None, up: Upstream | None = None
) -> tuple[str | None, list[str]]:
    """The era that is agreed on (or why none is), and what was asked for that, in order."""
    peer = Peer(answers)
    up = up or upstream("up", init_timeout=0.2)
    search = Search(up, replace(HELLO, era=client), memory or EraMemory())
    async with hop_to(peer) as hop:
        try:
            link = await search.on(hop, Hearing())
            agreed: str | None = None if link is None else link.era
        except NoAgreement as refusal:
            agreed = refusal.message
    return agreed, [each["method"] for each in peer.came if "notifications" not in each["method"]]


@pytest.mark.parametrize("client", ["handshake", "modern"])
async def test_an_upstream_of_both_eras_is_spoken_to_in_the_client_s_own(client: Era) -> None:
    asked = {"handshake": "initialize", "modern": "server/discover"}[client]
    assert await found(BOTH, client) == (client, [asked])


@pytest.mark.parametrize("code", [-32601, -32602, -32603, -32600, -32000, -32001, 0, 404, -32022])
async def test_any_error_to_initialize_leads_to_the_modern_era(code: int) -> None:
    answers = {**NEW_ONLY, "initialize": refusing(code)}
    assert await found(answers, "handshake") == ("modern", ["initialize", "server/discover"])


@pytest.mark.parametrize("code", [-32601, -32602, -32603, -32600, -32000, -32001, 0, 404])
async def test_any_error_to_discover_that_is_not_a_modern_one_leads_to_the_handshake(code: int) -> None:
    answers = {**OLD_ONLY, "server/discover": refusing(code)}
    assert await found(answers, "modern") == ("handshake", ["server/discover", "initialize"])


@pytest.mark.parametrize(
    "answer",
    [None, {"protocolVersion": "2025-11-25"}, {**QUIET, "supportedVersions": ["2025-11-25"]}],
    ids=["silence", "some result", "a result that names older versions"],
)
async def test_what_is_no_discovery_leads_to_the_handshake(answer: JsonObject | None) -> None:
    answers: dict[str, Answer] = {**OLD_ONLY, "server/discover": answer}
    assert await found(answers, "modern") == ("handshake", ["server/discover", "initialize"])


async def test_an_unsupported_version_leads_where_the_supported_ones_are() -> None:
    older = refusing(-32022, supported=["2025-11-25"])
    assert await found({**OLD_ONLY, "server/discover": older}, "modern") == (
        "handshake",
        ["server/discover", "initialize"],
    )
    newer = refusing(-32022, "not that one", supported=["2030-01-01"])
    assert await found({**OLD_ONLY, "server/discover": newer}, "modern") == (
        "it answered server/discover with error -32022: not that one",
        ["server/discover"],
    )


async def test_a_server_that_was_slow_and_is_modern_is_asked_once_more() -> None:
    answers = iter([None, QUIET])
    slow: dict[str, Answer] = {
        "server/discover": lambda params: next(answers),
        "initialize": refusing(-32022, supported=["2026-07-28"]),
    }
    assert await found(slow, "modern") == ("modern", ["server/discover", "initialize", "server/discover"])


@pytest.mark.parametrize("client", ["handshake", "modern"])
async def test_where_no_era_works_the_handshake_s_reason_is_given(client: Era) -> None:
    reason, asked = await found({"initialize": refusing(-32000, "no key")}, client)
    assert reason == "it answered initialize with error -32000: no key"
    assert sorted(asked) == ["initialize", "server/discover"]


async def test_the_reason_of_a_server_that_is_certainly_modern_is_given() -> None:
    answers: dict[str, Answer] = {"initialize": NO_METHOD, "server/discover": refusing(-32021, "more, please")}
    assert await found(answers, "handshake") == (
        "it answered server/discover with error -32021: more, please",
        ["initialize", "server/discover"],
    )


async def test_a_handshake_that_is_not_answered_at_all_is_no_sign_of_another_era() -> None:
    assert await found({"initialize": None, **NEW_ONLY}, "handshake") == (
        "it did not answer initialize within 0.2 s (setting wf.init_timeout)",
        ["initialize"],
    )


async def test_an_era_that_is_only_tried_has_a_shorter_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(era_module, "PROBE", 0.05)
    answers: dict[str, Answer] = {**OLD_ONLY, "server/discover": None}
    patient = upstream("up", init_timeout=60.0)
    assert (await found(answers, "modern", up=patient))[0] == "handshake"


# -- what is known beforehand --------------------------------------------------------------------


async def test_what_was_found_is_asked_first_from_then_on() -> None:
    memory = EraMemory()
    assert (await found(NEW_ONLY, "handshake", memory))[1] == ["initialize", "server/discover"]
    assert (await found(NEW_ONLY, "handshake", memory))[1] == ["server/discover"]
    assert (await found(OLD_ONLY, "modern", memory))[1] == ["server/discover", "initialize"]
    assert (await found(OLD_ONLY, "modern", memory))[1] == ["initialize"]


async def test_what_is_not_true_any_more_is_forgotten_and_found_again() -> None:
    memory = EraMemory()
    await found(NEW_ONLY, "handshake", memory)
    assert await found(OLD_ONLY, "handshake", memory) == ("handshake", ["server/discover", "initialize"])
    assert (await found(OLD_ONLY, "handshake", memory))[1] == ["initialize"]
    await found({}, "handshake", memory)
    assert memory.get(upstream("up"), "handshake") is None


@pytest.mark.parametrize("setting", ["handshake", "modern"])
@pytest.mark.parametrize("client", ["handshake", "modern"])
async def test_a_configured_era_is_the_only_one(setting: Era, client: Era) -> None:
    up, memory = upstream("up", era=setting, init_timeout=0.2), EraMemory()
    method = {"handshake": "initialize", "modern": "server/discover"}[setting]
    assert await found(BOTH, client, memory, up) == (setting, [method])
    assert await found({}, client, memory, up) == (
        f"it answered {method} with error -32601: Method not found",
        [method],
    )
    assert memory.get(up, client) is None


async def test_http_with_sse_has_the_handshake_only() -> None:
    up = upstream("up", transport=SseTransport("http://x/sse"))
    assert await found(BOTH, "modern", up=up) == ("handshake", ["initialize"])


# -- connections that end ------------------------------------------------------------------------


class Mortal(Peer):
    """A peer that ends instead of answering what it does not know."""

    async def _answer(self, request_id: Any, method: str, params: JsonObject) -> None:
        if method in self.answers:
            await super()._answer(request_id, method, params)
        else:
            await self.end()


async def processes(client: Era, *each: dict[str, Answer]) -> list[list[str]]:
    """What is asked of one process after the other, and what comes of it."""
    search = Search(upstream("up", init_timeout=1.0), replace(HELLO, era=client), EraMemory())
    asked = []
    for answers in each:
        peer = Mortal(answers)
        async with hop_to(peer) as hop:
            try:
                link = await search.on(hop, Hearing())
                outcome = "another one" if link is None else link.era
            except NoAgreement as refusal:
                outcome = str(refusal)
        asked.append([*(item["method"] for item in peer.came if item["id"] is not None), outcome])
    return asked


async def test_a_process_that_ends_at_the_modern_question_is_followed_by_one_that_is_asked_the_other() -> None:
    assert await processes("modern", OLD_ONLY, OLD_ONLY) == [
        ["server/discover", "another one"],
        ["initialize", "handshake"],
    ]


async def test_a_process_that_ends_after_it_refused_initialize_is_followed_by_one_that_is_asked_first() -> None:
    assert await processes("handshake", {"initialize": NO_METHOD}, NEW_ONLY) == [
        ["initialize", "server/discover", "another one"],
        ["server/discover", "modern"],
    ]


async def test_a_process_that_ends_at_initialize_is_no_sign_of_another_era() -> None:
    assert await processes("handshake", NEW_ONLY) == [
        ["initialize", "it went away before it answered initialize: the peer ended"]
    ]


async def test_attempts_come_to_an_end() -> None:
    nothing: dict[str, Answer] = {"initialize": NO_METHOD}
    assert await processes("handshake", nothing, {}) == [
        ["initialize", "server/discover", "another one"],
        ["server/discover", "it answered initialize with error -32601: Method not found"],
    ]
