"""What an upstream says by itself, and whom it is for (matrix B.3, B.4).

A session that one client owns passes everything on to that client, as a direct connection would. On a shared one, what
belongs to a call goes to that call's client, and the rest to those who asked for it.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from wf_mcp.core.errors import NotServed
from wf_mcp.core.events import Event, PromptsChanged, ResourcesChanged, ToolsChanged
from wf_mcp.core.kinds import KINDS_OF_CHANGE, Kind
from wf_mcp.core.notify import event_of_change
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.asking import STATUS, Asking, Reply
from wf_mcp.runtime.calls import PROGRESS, Call, Calls, Delivery, Spawn
from wf_mcp.runtime.catalogue import Catalogue
from wf_mcp.runtime.ports import ClientPort, Withdrawn
from wf_mcp.runtime.questions import Translation
from wf_mcp.runtime.wishes import Wishes

logger = logging.getLogger(__name__)

MESSAGE = "notifications/message"
UPDATED = "notifications/resources/updated"
TASKS = "notifications/tasks"
"""Of the tasks extension: only for listen streams that named the task (matrix B.4)."""


class SessionInbox:
    """The inbox of one session; `key` is the session's key, `owner` the client that owns it, if one does.

    `on_list_changed` is told that a list of this session changed, before anybody else is.
    """

    def __init__(
        self,
        mount_id: str,
        key: str,
        catalogue: Catalogue,
        publish: Callable[[Event], None],
        translation: Translation,
        asking: Asking,
        owner: ClientPort | None,
        spawn: Spawn,
    ) -> None:
        self.calls = Calls()
        self.wishes = Wishes()
        self.translation = translation
        self._mount_id = mount_id
        self._key = key
        self._catalogue = catalogue
        self._publish = publish
        self._asking = asking
        self._spawn = spawn
        self._owner = owner
        self._members: dict[str, Delivery] = {}
        self.on_list_changed: Callable[[], None] = lambda: None
        if owner is not None:
            self.join(owner)

    @property
    def owned(self) -> bool:
        """Whether one client alone uses this session."""
        return self._owner is not None

    @property
    def heard_by_somebody(self) -> bool:
        """Whether a client's standing connection or listen stream is told of what comes here."""
        return bool(self._members)

    def join(self, port: ClientPort) -> None:
        """Let a client hear what it asks for outside its calls."""
        if port.client not in self._members:
            self._members[port.client] = Delivery(port, self._spawn)

    def leave(self, client: str) -> tuple[str, ...]:
        """A client has gone; returns the resources that nobody is subscribed to any more."""
        member = self._members.pop(client, None)
        if member is not None:
            member.close()
        return self.wishes.forget(client)

    def goes_on(self, call: Call) -> None:
        """A call was answered with a task, so that its progress goes to its client outside any call."""
        self.calls.outlive(call, self._members.get(call.client) if call.client is not None else None)

    def abandon(self) -> None:
        """The connection is gone, and the tasks that deliver with it."""
        self.calls.abandon()
        for member in self._members.values():
            member.close()

    async def asked(
        self, method: str, params: Mapping[str, Any] | None, reply: Reply, withdrawn: Withdrawn | None = None
    ) -> JsonObject:
        """Ask the client that the question is for; raises `WfMcpError` where nobody can be asked."""
        if method.startswith("tasks/") and not self.owned:
            raise NotServed(f"{method}: this session is shared by several clients, so none of them hosts tasks on it")
        port = self.calls.to_ask(self._owner)
        question = self.translation.to_client(method, dict(params or {}))
        with self._asking.asked(port.client, question, reply) as shown:
            answer = await port.ask(method, shown, withdrawn)
        if early := self._asking.hosts(port.client, answer, reply):
            self._spawn(partial(_in_turn, reply, early))  # after the answer, which the caller sends
        return self.translation.from_client(method, answer)

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Take a notification: stale lists are marked before anybody is told."""
        body = dict(params or {})
        if method in KINDS_OF_CHANGE:
            self._list_changed(method)
        elif method == PROGRESS:
            self.calls.progress(self.translation.to_client(method, body))
        else:
            self._pass_on(method, body)

    def _list_changed(self, method: str) -> None:
        self.on_list_changed()
        # An upstream that starts says that its lists changed as it fills them. Clients were shown what it listed to
        # another session, or before it slept: to them only a difference is news, and told once it is loaded.
        waking = all(self._catalogue.waking(kind) for kind in KINDS_OF_CHANGE[method])
        for kind in KINDS_OF_CHANGE[method]:
            self._catalogue.stale(kind)
            if waking:
                self._catalogue.want(kind)
        if not waking:
            self._tell_all(method)

    def late(self, kind: Kind) -> None:
        """A list came, or came back different, after somebody was answered without it."""
        self._tell_all(next(method for method, kinds in KINDS_OF_CHANGE.items() if kind in kinds))

    def _tell_all(self, method: str) -> None:
        event = event_of_change(method, self._mount_id)
        if isinstance(event, ToolsChanged | PromptsChanged | ResourcesChanged):
            self._publish(replace(event, session=self._key))

    def _pass_on(self, method: str, body: JsonObject) -> None:
        call = self.calls.meant()
        told = self.translation.to_client(method, body)
        if method == UPDATED:
            self._updated(body.get("uri"), told)
        elif method == TASKS:
            for client in self.wishes.followers(body.get("taskId")):
                if client in self._members:
                    self._members[client].tell(method, told)
        elif call is not None and call.client is not None:
            if method != MESSAGE or self.owned or self.wishes.shows(call.client, body.get("level")):
                call.tell(method, told)
        elif method == MESSAGE or self.owned:
            members = self._members if self.owned else self.wishes.showing(self._members, body.get("level"))
            for client in members:
                self._members[client].tell(method, told)
        else:
            logger.debug("upstream %s: %s belongs to no call in flight; dropped", self._mount_id, method)

    def _updated(self, uri: object, told: JsonObject) -> None:
        clients = self._members if self.owned else self.wishes.subscribers(uri) if isinstance(uri, str) else ()
        for client in clients:
            if client in self._members:
                self._members[client].tell(UPDATED, told)


async def _in_turn(reply: Reply, statuses: tuple[JsonObject, ...]) -> None:
    for params in statuses:
        await reply(STATUS, params)
