"""Who sends a request: from the SDK's context to the runtime's `Caller` (design D4)."""

import copy

import anyio
import pytest
from tests.edge.wire import HANDSHAKE, IDENTITY, envelope, handshake, hello, modern, over_http

from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.callers import Callers, FrontSettings, is_modern, without_envelope
from wf_mcp.edge.clients import ModernPort, RequestPort, SessionSink
from wf_mcp.runtime.ports import Caller, Hello

pytestmark = pytest.mark.anyio

ROOTS: JsonObject = {"roots": {"listChanged": True}, "experimental": {"x": {}}}


async def arrived(kind: str, params: JsonObject, session_id: str | None = None) -> tuple[Caller, Caller]:
    """What a client is at `initialize`, and at its next request."""
    async with anyio.create_task_group() as tasks:
        sink = SessionSink()
        sink.run_in(tasks)
        callers = Callers(FrontSettings(kind, "safe", IDENTITY), sink)  # type: ignore[arg-type]
        visitor = handshake(session_id)
        first = callers.arrived(visitor.context("initialize", params))
        second = callers.of(visitor.context("tools/list", request=over_http(**{"X-A": "1"})))
        tasks.cancel_scope.cancel()
    return first, second


async def test_on_stdio_the_one_client_is_mirrored_whole() -> None:
    first, second = await arrived("stdio", hello(ROOTS, "2025-06-18", "claude"))
    said = hello(ROOTS, "2025-06-18", "claude")
    assert first.hello == second.hello == Hello(ROOTS, said["clientInfo"], "2025-06-18")
    assert (first.audience, first.era, first.style) == ("stdio", "handshake", "safe")
    assert second.standing is not None
    assert isinstance(second.port, RequestPort)
    assert second.port.client == second.standing.client


async def test_over_http_sessions_are_shared_under_our_own_name() -> None:
    one, _ = await arrived("http", hello(ROOTS, name="one"), "1")
    other, _ = await arrived("http", hello(ROOTS, name="other"), "2")
    assert one.audience == other.audience
    assert one.hello == other.hello == Hello(ROOTS, IDENTITY, HANDSHAKE)
    assert one.standing is None
    assert one.port is not None and other.port is not None
    assert one.port.client != other.port.client


@pytest.mark.parametrize("params", [hello({}), hello(ROOTS, "2025-06-18")], ids=["capabilities", "revision"])
async def test_over_http_other_capabilities_or_another_revision_are_another_audience(params: JsonObject) -> None:
    one, _ = await arrived("http", hello(ROOTS))
    other, _ = await arrived("http", params)
    assert one.audience != other.audience


@pytest.mark.parametrize("version", ["1999-01-01", None, 3, "2026-07-28"], ids=repr)
async def test_a_revision_that_we_do_not_know_becomes_the_latest(version: object) -> None:
    caller, _ = await arrived("stdio", {**hello(), "protocolVersion": version})
    assert caller.hello.protocol_version == HANDSHAKE


@pytest.mark.parametrize("odd", [{}, {"capabilities": None, "clientInfo": "me"}], ids=repr)
async def test_a_client_that_says_nothing_of_itself_is_served_under_our_name(odd: JsonObject) -> None:
    caller, _ = await arrived("stdio", odd)
    assert caller.hello == Hello({}, IDENTITY, HANDSHAKE)


async def test_headers_are_known_in_lower_case_and_only_over_http() -> None:
    first, second = await arrived("http", hello())
    assert (first.headers, second.headers) == ({}, {"x-a": "1"})


async def test_a_client_that_skipped_initialize_declared_nothing() -> None:
    caller = Callers(FrontSettings("stdio", "dotted", IDENTITY), SessionSink()).of(handshake().context("tools/list"))
    assert (caller.hello, caller.port, caller.standing) == (Hello({}, IDENTITY, HANDSHAKE), None, None)


@pytest.mark.parametrize(("kind", "name"), [("stdio", "one"), ("http", "wf-mcp")])
def test_a_modern_client_says_who_it_is_with_each_request(kind: str, name: str) -> None:
    context = modern().context("tools/list", {"_meta": envelope(ROOTS, "one")}, request_id=7)
    caller = Callers(FrontSettings(kind, "dotted", IDENTITY), SessionSink()).of(context)  # type: ignore[arg-type]
    assert is_modern(context)
    assert (caller.era, caller.standing) == ("modern", None)
    assert (caller.hello.capabilities, caller.hello.protocol_version) == (ROOTS, HANDSHAKE)
    assert caller.hello.client_info["name"] == name
    assert isinstance(caller.port, ModernPort)


async def test_over_http_a_modern_client_shares_sessions_with_handshake_clients_of_equal_capabilities() -> None:
    first, _ = await arrived("http", hello(ROOTS))
    context = modern().context("tools/list", {"_meta": envelope(ROOTS)})
    second = Callers(FrontSettings("http", "dotted", IDENTITY), SessionSink()).of(context)
    assert first.audience == second.audience


def test_over_http_every_modern_request_is_a_client_of_its_own() -> None:
    callers = Callers(FrontSettings("http", "dotted", IDENTITY), SessionSink())
    ports = [callers.of(modern().context("tools/call", request_id=number)).port for number in (1, 2)]
    assert len({port.client for port in ports if port is not None}) == 2


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"name": "x", "_meta": {**envelope(ROOTS), "vendor": 1}}, {"name": "x", "_meta": {"vendor": 1}}),
        ({"name": "x", "_meta": envelope()}, {"name": "x"}),
    ],
    ids=["beside others", "alone"],
)
def test_what_describes_the_clients_hop_ends_here(params: JsonObject, expected: JsonObject) -> None:
    before = copy.deepcopy(params)
    assert without_envelope(params) == expected
    assert params == before


@pytest.mark.parametrize(
    "params", [{"name": "x"}, {"_meta": None}, {"_meta": []}, {"_meta": {}}, {"_meta": {"progressToken": 1}}], ids=repr
)
def test_params_without_an_envelope_stay_the_same_object(params: JsonObject) -> None:
    assert without_envelope(params) is params
