"""What an upstream says by itself, and whom it is for (matrix B.3, B.4)."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from tests.runtime.memory import TwinClient

from wf_mcp.core.errors import INTERNAL_ERROR, NotServed, RelayedError
from wf_mcp.core.events import Event, PromptsChanged, ResourcesChanged, ToolsChanged
from wf_mcp.core.kinds import PROMPTS, RESOURCES, TEMPLATES, TOOLS
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.asking import Asking
from wf_mcp.runtime.calls import Call, Spawn
from wf_mcp.runtime.catalogue import Catalogue
from wf_mcp.runtime.inbox import SessionInbox
from wf_mcp.runtime.questions import Translation

pytestmark = pytest.mark.anyio

MESSAGE = "notifications/message"
UPDATED = "notifications/resources/updated"
PROGRESS = "notifications/progress"
VENDOR = "notifications/x-vendor"
ANYTHING = pytest.mark.parametrize(
    "method", [MESSAGE, UPDATED, VENDOR, "notifications/tasks/status", "notifications/elicitation/complete"]
)


class Room:
    """An inbox, and the events that it published; `owner` is the client that has the session to itself."""

    def __init__(self, spawn: Spawn, owner: TwinClient | None = None, *members: TwinClient) -> None:
        self.events: list[Event] = []
        self.catalogue = Catalogue("up", lambda kind: None, 5.0, lambda: None)
        self.asking = Asking()
        self.replies: list[tuple[str, JsonObject]] = []
        self.inbox = SessionInbox(
            "up",
            "key",
            self.catalogue,
            self.events.append,
            Translation(Namespace("up", "up")),
            self.asking,
            owner,
            spawn,
        )
        self._spawn = spawn
        for client in members:
            self.inbox.join(client)

    @contextmanager
    def calling(self, client: TwinClient | None, params: JsonObject | None = None) -> Iterator[tuple[Call, JsonObject]]:
        """While a call of `client` is in flight."""
        with self.inbox.calls.opened(client, params or {}, self._spawn) as opened:
            yield opened

    async def says(self, method: str, params: JsonObject | None = None) -> None:
        """The upstream says something; returns when everybody has it."""
        self.inbox.heard(method, params)
        await anyio.wait_all_tasks_blocked()

    async def asks(self, method: str, params: JsonObject | None = None) -> JsonObject:
        async def reply(method: str, params: JsonObject) -> None:
            self.replies.append((method, params))

        return await self.inbox.asked(method, params, reply)


@pytest.fixture
async def spawn() -> AsyncIterator[Spawn]:
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(20):

            def start(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
                tasks.start_soon(work)

            yield start
        tasks.cancel_scope.cancel()


def heard(*clients: TwinClient) -> list[list[str]]:
    return [[method for method, _ in client.heard] for client in clients]


@ANYTHING
async def test_everything_on_a_session_of_ones_own_reaches_its_owner(spawn: Spawn, method: str) -> None:
    owner = TwinClient("owner")
    room = Room(spawn, owner)
    assert room.inbox.owned
    await room.says(method, {"x-any": None})
    assert owner.heard == [(method, {"x-any": None})]


async def test_an_owner_hears_what_belongs_to_its_call_with_that_call(spawn: Spawn) -> None:
    owner, own = TwinClient("owner"), TwinClient("owner")
    room = Room(spawn, owner)
    with room.calling(own) as (call, _):
        await room.says(MESSAGE, {"level": "info", "data": 1})
        await call.settled()
    assert heard(owner, own) == [[], [MESSAGE]]


async def test_an_owners_log_is_not_filtered_here_since_the_upstream_knows_its_level(spawn: Spawn) -> None:
    owner = TwinClient("owner")
    room = Room(spawn, owner)
    room.inbox.wishes.set_level("owner", "emergency")
    await room.says(MESSAGE, {"level": "debug", "data": 1})
    with room.calling(owner):
        await room.says(MESSAGE, {"level": "debug", "data": 2})
    assert heard(owner) == [[MESSAGE, MESSAGE]]


async def test_an_owner_hears_of_every_update_as_a_direct_client_would(spawn: Spawn) -> None:
    owner = TwinClient("owner")
    room = Room(spawn, owner)
    await room.says(UPDATED, {"uri": "demo://never/subscribed"})
    assert owner.heard == [(UPDATED, {"uri": "demo://up/never/subscribed"})]


async def test_on_a_shared_session_a_log_message_is_for_those_who_asked_for_its_level(spawn: Spawn) -> None:
    verbose, terse, silent = TwinClient("verbose"), TwinClient("terse"), TwinClient("silent")
    room = Room(spawn, None, verbose, terse, silent)
    room.inbox.wishes.set_level("verbose", "debug")
    room.inbox.wishes.set_level("terse", "error")
    for level in ("info", "critical"):
        await room.says(MESSAGE, {"level": level, "data": 1})
    assert [len(each) for each in heard(verbose, terse, silent)] == [2, 1, 2]


async def test_on_a_shared_session_a_log_message_during_a_call_is_for_its_caller_alone(spawn: Spawn) -> None:
    caller, other = TwinClient("caller"), TwinClient("other")
    room = Room(spawn, None, caller, other)
    room.inbox.wishes.set_level("caller", "error")
    with room.calling(caller) as (call, _):
        await room.says(MESSAGE, {"level": "info", "data": "filtered"})
        await room.says(MESSAGE, {"level": "error", "data": "shown"})
        await call.settled()
    assert [params["data"] for _, params in caller.heard] == ["shown"]
    assert other.heard == []


async def test_on_a_shared_session_an_update_is_for_subscribers_each_once(spawn: Spawn) -> None:
    one, above, other = TwinClient("one"), TwinClient("above"), TwinClient("other")
    room = Room(spawn, None, one, above, other)
    for uri, client in (("demo://a/b", "one"), ("demo://a", "one"), ("demo://a", "above"), ("demo://c", "other")):
        room.inbox.wishes.subscribe(uri, client)
    await room.says(UPDATED, {"uri": "demo://a/b"})
    assert one.heard == above.heard == [(UPDATED, {"uri": "demo://up/a/b"})]
    assert other.heard == []


async def test_on_a_shared_session_an_update_during_a_call_is_for_subscribers_too(spawn: Spawn) -> None:
    caller, subscriber = TwinClient("caller"), TwinClient("subscriber")
    room = Room(spawn, None, caller, subscriber)
    room.inbox.wishes.subscribe("demo://a", "subscriber")
    with room.calling(caller):
        await room.says(UPDATED, {"uri": "demo://a"})
    assert heard(caller, subscriber) == [[], [UPDATED]]


@pytest.mark.parametrize("params", [None, {}, {"uri": None}, {"uri": ["demo://a"]}], ids=repr)
async def test_a_malformed_update_of_a_shared_session_is_for_nobody(spawn: Spawn, params: JsonObject | None) -> None:
    one = TwinClient("one")
    room = Room(spawn, None, one)
    room.inbox.wishes.subscribe("demo://a", "one")
    await room.says(UPDATED, params)
    assert one.heard == []


@pytest.mark.parametrize("method", [VENDOR, "notifications/tasks/status", "notifications/elicitation/complete"])
async def test_on_a_shared_session_what_belongs_to_no_call_is_for_nobody(spawn: Spawn, method: str) -> None:
    one, other = TwinClient("one"), TwinClient("other")
    room = Room(spawn, None, one, other)
    await room.says(method, {"x": 1})
    with room.calling(one), room.calling(other):
        await room.says(method, {"x": 2})
    assert heard(one, other) == [[], []]
    with room.calling(one) as (call, _):
        await room.says(method, {"x": 3})
        await call.settled()
    assert heard(one, other) == [[method], []]


async def test_a_client_that_left_hears_no_more_and_its_wishes_are_gone(spawn: Spawn) -> None:
    one, other = TwinClient("one"), TwinClient("other")
    room = Room(spawn, None, one, other)
    for client in ("one", "other"):
        room.inbox.wishes.subscribe("demo://a", client)
    room.inbox.wishes.subscribe("demo://b", "one")
    assert room.inbox.leave("one") == ("demo://b",)
    assert room.inbox.leave("one") == ()
    await room.says(UPDATED, {"uri": "demo://a"})
    await room.says(MESSAGE, {"level": "info", "data": 1})
    assert heard(one, other) == [[], [UPDATED, MESSAGE]]


async def test_joining_twice_is_hearing_once(spawn: Spawn) -> None:
    one = TwinClient("one")
    room = Room(spawn, None, one, one)
    await room.says(MESSAGE, {"level": "info", "data": 1})
    assert heard(one) == [[MESSAGE]]


@pytest.mark.parametrize("owned", [True, False])
async def test_a_client_that_does_not_read_holds_up_neither_upstream_nor_others(spawn: Spawn, owned: bool) -> None:
    slow, quick = TwinClient("slow"), TwinClient("quick")
    slow.patience = anyio.Event()
    room = Room(spawn, slow) if owned else Room(spawn, None, slow, quick)
    for number in range(3):
        await room.says(MESSAGE, {"level": "info", "data": number})
    assert slow.heard == []
    assert len(quick.heard) == (0 if owned else 3)
    slow.patience.set()
    await anyio.wait_all_tasks_blocked()
    assert [params["data"] for _, params in slow.heard] == [0, 1, 2]


@pytest.mark.parametrize(
    ("method", "event", "kinds"),
    [
        ("notifications/tools/list_changed", ToolsChanged("up", "key"), {TOOLS}),
        ("notifications/prompts/list_changed", PromptsChanged("up", "key"), {PROMPTS}),
        ("notifications/resources/list_changed", ResourcesChanged("up", "key"), {RESOURCES, TEMPLATES}),
    ],
)
async def test_a_change_is_published_for_the_clients_of_this_session(
    spawn: Spawn, method: str, event: Event, kinds: set[Any]
) -> None:
    owner = TwinClient("owner")
    room = Room(spawn, owner)
    await room.says(method)
    assert room.events == [event]
    assert owner.heard == []
    room.events.clear()
    for kind in kinds:
        room.inbox.late(kind)
    assert room.events == [event] * len(kinds)


async def test_progress_goes_to_the_call_that_it_belongs_to_even_among_several(spawn: Spawn) -> None:
    one, other = TwinClient("one"), TwinClient("other")
    room = Room(spawn, None, one, other)
    params = {"_meta": {"progressToken": "t"}}
    with room.calling(one, params) as (call, sent), room.calling(other, params):
        await room.says(PROGRESS, {"progressToken": sent["_meta"]["progressToken"], "progress": 1})
        await call.settled()
    assert (one.heard, other.heard) == ([(PROGRESS, {"progressToken": "t", "progress": 1})], [])


@pytest.mark.parametrize("owned", [True, False])
async def test_the_progress_of_a_task_goes_on_after_the_call_was_answered(spawn: Spawn, owned: bool) -> None:
    standing, during = TwinClient("me"), TwinClient("me")
    room = Room(spawn, standing if owned else None, standing)
    with room.calling(during, {"_meta": {"progressToken": "t"}}) as (call, sent):
        token = sent["_meta"]["progressToken"]
        await room.says(PROGRESS, {"progressToken": token, "progress": 1})
        room.inbox.goes_on(call)
    await room.says(PROGRESS, {"progressToken": token, "progress": 2})
    assert [params["progress"] for _, params in during.heard] == [1]
    assert standing.heard == [(PROGRESS, {"progressToken": "t", "progress": 2})]


async def test_a_task_without_a_token_or_a_standing_client_has_no_progress(spawn: Spawn) -> None:
    stranger, room = TwinClient("stranger"), Room(spawn)
    with room.calling(stranger) as (call, _):
        room.inbox.goes_on(call)
    with room.calling(stranger, {"_meta": {"progressToken": "t"}}) as (call, sent):
        room.inbox.goes_on(call)
    with room.calling(None, {"_meta": {"progressToken": "t"}}) as (call, _):
        room.inbox.goes_on(call)
    await room.says(PROGRESS, {"progressToken": sent["_meta"]["progressToken"], "progress": 1})
    assert stranger.heard == []


async def test_the_owner_can_be_asked_at_any_time(spawn: Spawn) -> None:
    owner = TwinClient("owner", roots_list={"roots": []})
    room = Room(spawn, owner)
    assert await room.asks("roots/list") == {"roots": []}
    assert owner.questions == [("roots/list", {})]


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"])
async def test_tasks_at_a_client_are_for_the_upstream_that_has_it_to_itself(spawn: Spawn, method: str) -> None:
    owner = TwinClient("owner")
    assert await Room(spawn, owner).asks(method, {"taskId": "its own"}) == {"asked": "owner"}
    assert owner.questions == [(method, {"taskId": "its own"})]
    room = Room(spawn, None, owner)
    with room.calling(owner), pytest.raises(NotServed, match="shared by several clients"):
        await room.asks(method, {"taskId": "its own"})
    assert len(owner.questions) == 1


async def test_on_a_shared_session_the_caller_is_asked_and_nobody_outside_a_call(spawn: Spawn) -> None:
    one, other = TwinClient("one"), TwinClient("other")
    room = Room(spawn, None, one, other)
    with pytest.raises(NotServed):
        await room.asks("roots/list")
    with room.calling(one):
        assert await room.asks("roots/list") == {"asked": "one"}
        with room.calling(other), pytest.raises(RelayedError) as refused:
            await room.asks("sampling/createMessage")
    assert refused.value.code == INTERNAL_ERROR
    assert (len(one.questions), other.questions) == (1, [])


async def test_a_clients_progress_on_a_question_goes_back_under_the_upstreams_token(spawn: Spawn) -> None:
    reported = anyio.Event()

    class Thinking(TwinClient):
        async def ask(self, method: str, params: JsonObject, withdrawn: Any = None) -> JsonObject:
            token = params["_meta"]["progressToken"]
            await room.asking.progress("another", {"progressToken": token, "progress": 0})
            await room.asking.progress(self.client, {"progressToken": token, "progress": 1})
            reported.set()
            return await super().ask(method, params)

    room = Room(spawn, Thinking("me"))
    await room.asks("sampling/createMessage", {"messages": [], "_meta": {"progressToken": "theirs"}})
    assert reported.is_set()
    assert room.replies == [(PROGRESS, {"progressToken": "theirs", "progress": 1})]


async def test_question_and_answer_go_through_the_translation(spawn: Spawn) -> None:
    link = {"type": "resource_link", "uri": "demo://up/a", "name": "a"}
    owner = TwinClient("owner", sampling_createMessage={"role": "assistant", "content": link})
    room = Room(spawn, owner)
    answer = await room.asks("sampling/createMessage", {"messages": [{"content": {**link, "uri": "demo://a"}}]})
    assert owner.questions == [("sampling/createMessage", {"messages": [{"content": link}]})]
    assert answer == {"role": "assistant", "content": {**link, "uri": "demo://a"}}


async def test_after_a_loss_nothing_old_is_delivered_and_new_messages_are(spawn: Spawn) -> None:
    owner = TwinClient("owner")
    owner.patience = anyio.Event()
    room = Room(spawn, owner)
    for number in range(3):
        await room.says(MESSAGE, {"level": "info", "data": number})
    room.inbox.abandon()
    owner.patience.set()
    await room.says(MESSAGE, {"level": "info", "data": "new"})
    # The first was on its way already; what waited behind it is dropped.
    assert [params["data"] for _, params in owner.heard if params["data"] != 0] == ["new"]
