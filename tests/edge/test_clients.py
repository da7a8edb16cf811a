"""Who is connected, how each is addressed, and who still has to hear what (design D9)."""

from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from tests.edge.wire import Visitor, handshake, modern

from wf_mcp.core.errors import NotServed, RelayedError
from wf_mcp.core.events import ConfigReloaded, PromptsChanged, ResourcesChanged, ToolsChanged, UpstreamReady
from wf_mcp.edge.clients import Cancellations, Client, ModernPort, RawMessage, RequestPort, SessionSink, StandingPort
from wf_mcp.edge.seams import connection_of
from wf_mcp.runtime.audience import alone

pytestmark = pytest.mark.anyio

TOOLS, PROMPTS = "notifications/tools/list_changed", "notifications/prompts/list_changed"


class Sink:
    """A running sink."""

    def __init__(self, sink: SessionSink | None = None) -> None:
        self._sink = SessionSink() if sink is None else sink

    async def __aenter__(self) -> SessionSink:
        self._tasks = anyio.create_task_group()
        tasks = await self._tasks.__aenter__()
        self._sink.run_in(tasks)
        return self._sink

    async def __aexit__(self, *exc: Any) -> None:
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(*exc)


def ports(visitor: Visitor) -> dict[str, Any]:
    session = visitor.context("tools/call").session
    connection = connection_of(session)
    standing = StandingPort("c", connection)
    return {"request": RequestPort(Client("c", standing), session, 1, connection), "standing": standing}


def test_a_message_is_dumped_as_it_is() -> None:
    params = {"a": None, "b": {"x": 1}}
    assert RawMessage("m", params).model_dump(by_alias=True, exclude_none=True) == {"method": "m", "params": params}
    assert RawMessage("m", None).model_dump() == {"method": "m"}


@pytest.mark.parametrize("which", ["request", "standing"])
async def test_what_a_client_is_asked_and_told_arrives_whole(which: str) -> None:
    visitor = handshake()
    port = ports(visitor)[which]
    wire = visitor.own if which == "request" else visitor.peer
    wire.answer = {"roots": "not as the SDK knows it", "x-future": {"a": None}, "_meta": {"b": 1}}
    with anyio.fail_after(5):
        assert await port.ask("roots/list", {"x": None}) == wire.answer
        await port.tell("notifications/message", {"data": None})
    assert wire.asked == [("roots/list", {"x": None})]
    assert list(wire.notes) == [{"method": "notifications/message", "params": {"data": None}}]


@pytest.mark.parametrize("which", ["request", "standing"])
async def test_a_clients_refusal_keeps_its_code_message_and_data(which: str) -> None:
    visitor = handshake()
    refusal = MCPError(-1, "declined", {"by": "user"})
    visitor.own.answer = visitor.peer.answer = refusal
    with pytest.raises(RelayedError) as raised:
        await ports(visitor)[which].ask("sampling/createMessage", {})
    assert (raised.value.code, raised.value.message, raised.value.data) == (-1, "declined", {"by": "user"})


@pytest.mark.parametrize("which", ["request", "standing"])
async def test_a_client_is_asked_nothing_before_it_is_initialized(which: str) -> None:
    visitor = handshake(initialized=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ports(visitor)[which].ask, "roots/list", {})
        await anyio.wait_all_tasks_blocked()
        assert visitor.own.asked == visitor.peer.asked == []
        visitor.connection.initialized.set()


async def test_a_modern_client_is_told_what_belongs_to_its_request_and_never_asked() -> None:
    visitor = modern()
    port = ModernPort("c", visitor.context("tools/call").session, 1, "info")
    for method in ("notifications/progress", "notifications/message", TOOLS, "notifications/x"):
        await port.tell(method, {"level": "warning"})
    assert visitor.own.heard == ["notifications/progress", "notifications/message"]
    assert visitor.peer.heard == []
    with pytest.raises(NotServed, match=r"sampling/createMessage.*2026-07-28"):
        await port.ask("sampling/createMessage", {})


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [(None, []), ("error", ["error", "x-level"]), ("debug", ["debug", "error", "x-level"])],
    ids=repr,
)
async def test_a_modern_client_is_told_the_log_messages_that_its_request_asked_for(
    wanted: str | None, shown: list[str]
) -> None:
    visitor = modern()
    port = ModernPort("c", visitor.context("tools/call").session, 1, wanted)
    for level in ("debug", "error", "x-level"):
        await port.tell("notifications/message", {"level": level, "data": 1})
    assert [note["params"]["level"] for note in visitor.own.notes] == shown


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        ([(1, "mine")], "mine"),
        ([("1", "another's")], None),
        ([(2, "another's"), (1, "mine")], "mine"),
        ([(1, None)], None),
        ([(1, ["odd"])], None),
        ([(None, "odd"), ({}, "odd")], None),
    ],
    ids=repr,
)
async def test_a_cancelled_request_has_the_reason_that_its_client_gave(noted: list[Any], expected: str | None) -> None:
    client = Client("c", StandingPort("c", handshake().connection))
    port = RequestPort(client, handshake().context("tools/call").session, 1, handshake().connection)
    reasons: list[str | None] = []
    async with anyio.create_task_group() as tasks:

        async def cancelled() -> None:
            reasons.append(await port.cancel_reason())

        tasks.start_soon(cancelled)  # it may ask before the reason has arrived
        await anyio.wait_all_tasks_blocked()
        for request_id, reason in noted:
            client.cancellations.note(request_id, reason)
    assert reasons == [expected]


async def test_a_reason_is_given_once_and_only_the_newest_are_kept() -> None:
    cancellations = Cancellations()
    for number in range(1000):
        cancellations.note(number, f"why {number}")
    cancellations.PATIENCE = 0.01
    assert [await cancellations.reason(number) for number in (999, 999, 0)] == ["why 999", None, None]


async def test_a_standing_client_and_a_modern_one_give_no_reasons() -> None:
    visitor = modern()
    assert await StandingPort("c", visitor.connection).cancel_reason() is None
    assert await ModernPort("c", visitor.context("tools/call").session, 1, None).cancel_reason() is None


async def test_a_change_in_a_session_is_told_to_those_whom_it_serves() -> None:
    own, sharing, other = handshake("1"), handshake("2"), handshake("3")
    served = {"own": {"own"}, "all": {"own", "sharing"}}
    async with Sink(SessionSink(lambda who, mount, key: mount == "alpha" and who.client in served[key])) as sink:
        for visitor, key in ((own, "own"), (sharing, "sharing"), (other, "other")):
            sink.connect(key, visitor.connection).audience = alone(key)
        sink.offer(ToolsChanged("alpha", "own"))
        sink.offer(PromptsChanged("alpha", "all"))
        sink.offer(ResourcesChanged("alpha"))
        for visitor in (own, sharing, other):
            await visitor.peer.notes.wait_for("notifications/resources/list_changed")
    resources = "notifications/resources/list_changed"
    assert own.peer.heard == [TOOLS, PROMPTS, resources]
    assert sharing.peer.heard == [PROMPTS, resources]
    assert other.peer.heard == [resources]


async def test_every_connected_client_hears_a_change_once() -> None:
    one, other = handshake("1"), handshake("2")
    async with Sink() as sink:
        sink.connect("1", one.connection)
        sink.connect("2", other.connection)
        sink.offer(ToolsChanged("alpha"))
        await one.peer.notes.wait_for(TOOLS)
        await other.peer.notes.wait_for(TOOLS)
        await anyio.wait_all_tasks_blocked()
    assert list(one.peer.notes) == list(other.peer.notes) == [{"method": TOOLS, "params": None}]


async def test_changes_that_come_together_are_told_as_one() -> None:
    visitor = handshake()
    async with Sink() as sink:
        sink.connect("1", visitor.connection)
        for mount in ("alpha", "beta", ""):
            sink.offer(ToolsChanged(mount))
        sink.offer(PromptsChanged("alpha"))
        sink.offer(ToolsChanged("alpha"))
        await visitor.peer.notes.wait_for(PROMPTS)
    assert visitor.peer.heard == [TOOLS, PROMPTS]


async def test_what_only_an_operator_cares_about_is_told_to_nobody() -> None:
    visitor = handshake()
    async with Sink() as sink:
        sink.connect("1", visitor.connection)
        sink.offer(UpstreamReady("alpha", "", ""))
        sink.offer(ConfigReloaded())
        await anyio.wait_all_tasks_blocked()
    assert visitor.peer.heard == []


async def test_a_client_that_does_not_read_holds_up_nobody() -> None:
    slow, quick = handshake("1"), handshake("2")
    slow.peer.reads = anyio.Event()
    async with Sink() as sink:
        sink.connect("1", slow.connection)
        sink.connect("2", quick.connection)
        for event in (ToolsChanged("a"), PromptsChanged("a"), ResourcesChanged("a")):
            sink.offer(event)
        await quick.peer.notes.wait_for("notifications/resources/list_changed")
        assert slow.peer.heard == []
        slow.peer.reads.set()
        await slow.peer.notes.wait_for("notifications/resources/list_changed")


async def test_a_client_that_has_seen_no_list_yet_hears_of_no_change() -> None:
    visitor = handshake(initialized=False)
    async with Sink() as sink:
        sink.connect("1", visitor.connection)
        sink.offer(ToolsChanged("alpha"))
        visitor.connection.initialized.set()
        sink.offer(PromptsChanged("alpha"))
        await visitor.peer.notes.wait_for(PROMPTS)
    assert visitor.peer.heard == [PROMPTS]


async def test_a_client_whose_connection_ended_is_forgotten() -> None:
    visitor = handshake()
    async with Sink() as sink:
        client = sink.connect("1", visitor.connection)
        assert len(sink) == 1
        await visitor.connection.exit_stack.aclose()
        assert len(sink) == 0
        assert client.ended.is_set()
        sink.offer(ToolsChanged("alpha"))
        await anyio.wait_all_tasks_blocked()
    assert visitor.peer.heard == []


async def test_a_client_that_came_back_under_the_same_key_is_not_forgotten_with_its_old_connection() -> None:
    old, new = handshake("1"), handshake("1")
    async with Sink() as sink:
        sink.connect("1", old.connection)
        client = sink.connect("1", new.connection)
        await old.connection.exit_stack.aclose()
        assert len(sink) == 1
        assert not client.ended.is_set()


async def test_a_client_that_a_request_tells_itself_is_left_out_for_its_time() -> None:
    one, other = handshake("1"), handshake("2")
    async with Sink() as sink:
        sink.connect("1", one.connection)
        sink.connect("2", other.connection)
        with sink.told_elsewhere("1"):
            sink.offer(ToolsChanged("alpha"))
        sink.offer(PromptsChanged("alpha"))
        await one.peer.notes.wait_for(PROMPTS)
        await other.peer.notes.wait_for(PROMPTS)
    assert (one.peer.heard, other.peer.heard) == ([PROMPTS], [TOOLS, PROMPTS])


async def test_a_client_too_far_behind_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    visitor = handshake()
    client = Client("1", StandingPort("1", visitor.connection))
    queued = [client.offer(f"notifications/{number}") for number in range(200)]
    assert (queued[:100], queued[100:]) == ([True] * 100, [False] * 100)
    assert client.ended.is_set()
    assert "client 1 reads nothing" in caplog.text


def test_a_sink_has_to_run_before_clients_come() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        SessionSink().connect("1", handshake().connection)
