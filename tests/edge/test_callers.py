"""Who sends a request: from the SDK's context to the runtime's `Caller` (design D4)."""

from typing import Any

import anyio
import pytest
from tests.edge.wire import HANDSHAKE, IDENTITY, envelope, handshake, hello, modern, over_http

from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.callers import MODERN_SEEN, Callers, FrontSettings, is_modern
from wf_mcp.edge.clients import ModernPort, RequestPort, SessionSink
from wf_mcp.runtime.audience import Audience, alone
from wf_mcp.runtime.ports import Caller, Hello

pytestmark = pytest.mark.anyio

ROOTS: JsonObject = {"roots": {"listChanged": True}, "experimental": {"x": {}}}


def callers_of(kind: str, style: str = "dotted", left: list[Audience] | None = None, sink: Any = None) -> Callers:
    settings = FrontSettings(kind, style, IDENTITY)
    return Callers(settings, SessionSink() if sink is None else sink, (left if left is not None else []).append)


async def arrived(
    kind: str, params: JsonObject, session_id: str | None = None, **request: Any
) -> tuple[Caller, Caller]:
    """What a client is at `initialize`, and at its next request; `request` is what its HTTP requests carry."""
    async with anyio.create_task_group() as tasks:
        sink = SessionSink()
        sink.run_in(tasks)
        callers = callers_of(kind, "safe", sink=sink)
        visitor = handshake(session_id)
        first = callers.arrived(
            visitor.context("initialize", params, request=over_http(**request) if request else None)
        )
        second = callers.of(visitor.context("tools/list", request=over_http(**{**request, "X-A": "1"})))
        tasks.cancel_scope.cancel()
    return first, second


async def test_on_stdio_the_one_client_is_mirrored_whole() -> None:
    first, second = await arrived("stdio", hello(ROOTS, "2025-06-18", "claude"))
    said = hello(ROOTS, "2025-06-18", "claude")
    assert first.hello == second.hello == Hello(ROOTS, said["clientInfo"], "2025-06-18")
    assert (first.audience, first.era, first.style) == (alone("stdio"), "handshake", "safe")
    assert second.standing is not None
    assert isinstance(second.port, RequestPort)
    assert second.port.client == second.standing.client == second.audience.client


async def test_over_http_a_client_has_sessions_of_its_own_under_its_own_name() -> None:
    one, again = await arrived("http", hello(ROOTS, name="one"), "session-1")
    other, _ = await arrived("http", hello(ROOTS, name="other"), "session-2")
    assert one.audience == again.audience
    assert one.audience.client != other.audience.client
    assert one.audience.owns(one.audience.client)
    assert one.hello == again.hello == Hello(ROOTS, hello(name="one")["clientInfo"], HANDSHAKE)
    assert again.port is not None and again.standing is not None and other.port is not None
    assert again.port.client == again.standing.client == one.audience.client != other.port.client


async def test_the_key_of_a_client_does_not_give_its_session_id_away() -> None:
    caller, _ = await arrived("http", hello(), "secret-session-id")
    assert "secret-session-id" not in repr(caller.audience)


async def test_over_http_those_who_declare_the_same_may_share() -> None:
    one, _ = await arrived("http", hello(ROOTS, name="one"), "1")
    other, _ = await arrived("http", hello(ROOTS, name="other"), "2")
    assert one.audience.shared == other.audience.shared == one.audience.principal == other.audience.principal
    assert not one.audience.owns(one.audience.shared)


async def test_a_principal_shares_with_itself_and_with_nobody_else() -> None:
    alice, _ = await arrived("http", hello(ROOTS), "1", principal="alice")
    again, _ = await arrived("http", hello(ROOTS), "2", principal="alice")
    bob, _ = await arrived("http", hello(ROOTS), "3", principal="bob")
    nobody, _ = await arrived("http", hello(ROOTS), "4")
    assert alice.audience.principal == again.audience.principal
    assert len({each.audience.principal for each in (alice, bob, nobody)}) == 3
    assert len({each.audience.shared for each in (alice, bob, nobody)}) == 1


@pytest.mark.parametrize("params", [hello({}), hello(ROOTS, "2025-06-18")], ids=["capabilities", "revision"])
async def test_over_http_other_capabilities_or_another_revision_are_shared_with_others(params: JsonObject) -> None:
    one, _ = await arrived("http", hello(ROOTS), "1", principal="alice")
    other, _ = await arrived("http", params, "2", principal="alice")
    assert one.audience.shared != other.audience.shared
    assert one.audience.principal != other.audience.principal


async def test_what_a_client_declares_in_another_order_is_the_same() -> None:
    one, _ = await arrived("http", hello({"roots": {}, "sampling": {}}), "1")
    other, _ = await arrived("http", hello({"sampling": {}, "roots": {}}), "2")
    assert one.audience.shared == other.audience.shared


@pytest.mark.parametrize(("kind", "session_id"), [("stdio", None), ("http", "1")])
async def test_whoever_needs_to_know_is_told_when_a_client_has_gone(kind: str, session_id: str | None) -> None:
    left: list[Audience] = []
    visitor = handshake(session_id)
    async with anyio.create_task_group() as tasks:
        sink = SessionSink()
        sink.run_in(tasks)
        callers = callers_of(kind, left=left, sink=sink)
        caller = callers.arrived(visitor.context("initialize", hello()))
        (client,) = sink
        assert client is callers.client_of(visitor.context("tools/list"))
        assert client.audience == caller.audience
        assert left == []
        await visitor.connection.exit_stack.aclose()
        assert left == [caller.audience]
        tasks.cancel_scope.cancel()


async def test_a_client_that_initializes_again_stays_the_same_client() -> None:
    visitor = handshake("1")
    async with anyio.create_task_group() as tasks:
        sink = SessionSink()
        sink.run_in(tasks)
        callers = callers_of("http", sink=sink)
        first = callers.arrived(visitor.context("initialize", hello(name="before")))
        second = callers.arrived(visitor.context("initialize", hello(name="after")))
        assert (len(sink), first.audience.client) == (1, second.audience.client)
        assert second.hello.client_info["name"] == "after"
        tasks.cancel_scope.cancel()


async def test_what_requests_have_in_common_is_kept_until_the_client_or_its_principal_is_another() -> None:
    async with anyio.create_task_group() as tasks:
        sink = SessionSink()
        sink.run_in(tasks)
        callers, visitor = callers_of("http", sink=sink), handshake("s")

        def next_request(principal: str) -> Caller:
            return callers.of(visitor.context("tools/list", request=over_http(principal)))

        callers.arrived(visitor.context("initialize", hello(), request=over_http("alice")))
        one, two = next_request("alice"), next_request("alice")
        assert (one.audience, one.hello) == (two.audience, two.hello)
        assert one.hello is two.hello
        assert one.port is not two.port
        assert next_request("bob").audience.principal != one.audience.principal
        assert next_request("bob").principal == "bob"
        callers.arrived(visitor.context("initialize", hello(ROOTS), request=over_http("alice")))
        assert next_request("alice").hello.capabilities == ROOTS
        tasks.cancel_scope.cancel()


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
    caller = callers_of("stdio").of(handshake().context("tools/list"))
    assert (caller.hello, caller.port, caller.standing) == (Hello({}, IDENTITY, HANDSHAKE), None, None)
    assert not caller.audience.owned


@pytest.mark.parametrize(("kind", "owned"), [("stdio", True), ("http", False)])
def test_a_modern_client_says_who_it_is_with_each_request(kind: str, owned: bool) -> None:
    context = modern().context("tools/list", {"_meta": envelope(ROOTS, "one")}, request_id=7)
    caller = callers_of(kind).of(context)
    assert caller.audience.owned == owned
    assert is_modern(context)
    assert (caller.era, caller.standing) == ("modern", None)
    assert (caller.hello.capabilities, caller.hello.protocol_version) == (ROOTS, HANDSHAKE)
    assert caller.hello.client_info["name"] == "one"
    assert isinstance(caller.port, ModernPort)


@pytest.mark.parametrize("principal", [None, "alice"])
async def test_over_http_a_modern_client_shares_with_its_principal_or_with_those_who_declare_the_same(
    principal: str | None,
) -> None:
    first, _ = await arrived("http", hello(ROOTS), "1", principal=principal)
    context = modern().context("tools/list", {"_meta": envelope(ROOTS)}, request=over_http(principal))
    second = callers_of("http").of(context)
    assert (first.audience.principal, first.audience.shared) == (second.audience.principal, second.audience.shared)
    assert second.audience.client == second.audience.principal


@pytest.mark.parametrize("ids", [(1, 2), (1, 1), (1, "1")], ids=repr)
def test_over_http_every_modern_request_is_a_client_of_its_own(ids: tuple[Any, Any]) -> None:
    """Two clients may use equal ids, and what one call is told is not for the other."""
    callers = callers_of("http")
    ports = [callers.of(modern().context("tools/call", request_id=each)).port for each in ids]
    assert len({port.client for port in ports if port is not None}) == 2


async def test_a_client_keeps_the_form_of_names_that_it_got_at_initialize() -> None:
    async with anyio.create_task_group() as tasks:
        sink = SessionSink()
        sink.run_in(tasks)
        callers = callers_of("http", "auto", sink=sink)
        styles = []
        for number, (name, query) in enumerate([("claude-code", {}), ("x", {}), ("x", {"names": "safe"})]):
            visitor = handshake(str(number))
            callers.arrived(visitor.context("initialize", hello(name=name), request=over_http(query=query)))
            styles.append(callers.of(visitor.context("tools/list", request=over_http())).style)
        statuses = callers.statuses()
        tasks.cancel_scope.cancel()
    assert styles == ["safe", "dotted", "safe"]
    assert [(each.name, each.version, each.era, each.style) for each in statuses] == [
        ("claude-code", "1", "handshake", "safe"),
        ("x", "1", "handshake", "dotted"),
        ("x", "1", "handshake", "safe"),
    ]
    assert len({each.why for each in statuses}) == 3


@pytest.mark.parametrize(("query", "style"), [({}, "dotted"), ({"names": "safe"}, "safe"), ({"other": "x"}, "dotted")])
def test_a_modern_client_gets_what_its_url_or_the_front_says(query: dict[str, str], style: str) -> None:
    context = modern().context("tools/list", {"_meta": envelope(name="claude-code")}, request=over_http(query=query))
    assert callers_of("http", "auto").of(context).style == style


def test_a_form_of_names_that_there_is_not_is_refused() -> None:
    callers = callers_of("http")
    request = over_http(query={"names": "pretty"})
    with pytest.raises(InvalidParams, match="names=pretty: expected dotted or safe"):
        callers.vet(handshake("1").context("initialize", hello(), request=request))
    with pytest.raises(InvalidParams):
        callers.of(modern().context("tools/list", request=request))
    callers.vet(handshake("1").context("initialize", hello(), request=over_http()))


def test_of_modern_clients_each_is_remembered_once_and_the_latest_only() -> None:
    callers = callers_of("http")
    for name in ["first", *(str(number) for number in range(MODERN_SEEN)), "0"]:
        callers.of(modern().context("tools/list", {"_meta": envelope(name=name)}))
    names = [each.name for each in callers.statuses()]
    assert names == [*(str(number) for number in range(1, MODERN_SEEN)), "0"]


@pytest.mark.parametrize(("said", "level"), [("error", "error"), ("loud", None), (7, None), ([], None)], ids=repr)
def test_a_log_level_that_there_is_not_asks_for_nothing(said: object, level: str | None) -> None:
    """What goes to an upstream with the request has to be a level (2026-07-28 server/utilities/logging)."""
    meta = {**envelope(), "io.modelcontextprotocol/logLevel": said}
    assert callers_of("http").of(modern().context("tools/call", {"_meta": meta})).log_level == level
