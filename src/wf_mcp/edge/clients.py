"""The clients of a front: who is connected, how each is addressed, and who still has to hear what.

Handshake clients have a standing connection and hear changes on it, each once, coalesced. Modern ones hear only on a
listen stream (2026-07-28 basic/patterns/subscriptions), so nothing is sent to them here.
"""

import itertools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import Outbound
from mcp.shared.exceptions import MCPError
from mcp_types import RequestId

from wf_mcp.core.errors import NULL, NotServed, RelayedError
from wf_mcp.core.events import Event, PromptsChanged, ResourcesChanged, ToolsChanged
from wf_mcp.core.hosts import Choice
from wf_mcp.core.levels import shows
from wf_mcp.core.notify import notifications_for
from wf_mcp.core.outbox import Outbox
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.cancellations import CANCELLED, Cancellations
from wf_mcp.edge.error_watch import STATE_KEY as ERRORS_KEY
from wf_mcp.edge.error_watch import ErrorWatch
from wf_mcp.edge.seams import request_channel_of
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.ports import Withdrawn

logger = logging.getLogger(__name__)

BACKLOG = 100
"""Different notifications that one client may have waiting; there are three kinds, so that only a defect fills it."""


WITHDRAWING = 5.0
"""Seconds for telling a client that a question is withdrawn; one that stops reading must not hold up an upstream."""


class RawMessage:
    """A request or notification that is sent as it is: the SDK's session only asks for its dump."""

    def __init__(self, method: str, params: JsonObject | None) -> None:
        self.method = method
        self.params = params

    def model_dump(self, **_: Any) -> JsonObject:
        """The message; the SDK's own models would drop nulls and unknown fields."""
        return {"method": self.method} if self.params is None else {"method": self.method, "params": self.params}


_ids = itertools.count(1)


async def _ask(
    channel: Outbound, connection: Connection, method: str, params: JsonObject, withdrawn: Withdrawn | None
) -> JsonObject:
    """Send a client a request; where its upstream withdraws it, the client is told, with that upstream's reason."""
    # A string that is no number, so that it cannot meet an id that the SDK gives.
    request_id = f"ask-{next(_ids)}"
    try:
        return await channel.send_raw_request(
            method, params or None, {"request_id": request_id, "cancel_on_abandon": False}
        )
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(WITHDRAWING, shield=True):
            reason = await withdrawn() if withdrawn is not None else None
            said: JsonObject = {"requestId": request_id}
            await channel.notify(CANCELLED, said if reason is None else {**said, "reason": reason})
        raise
    except MCPError as error:
        watch = connection.state.get(ERRORS_KEY)
        null = isinstance(watch, ErrorWatch) and watch.null_data(request_id)
        raise RelayedError(error.code, error.message, NULL if null else error.data) from error


class RequestPort:
    """A client as addressed during one of its requests: what is sent rides that request's own stream."""

    def __init__(self, client: "Client", session: ServerSession, request_id: RequestId, connection: Connection) -> None:
        self._client = client
        self._channel = request_channel_of(session)
        self._request_id = request_id
        self._connection = connection

    @property
    def client(self) -> str:
        """Which client this is."""
        return self._client.key

    async def cancel_reason(self) -> str | None:
        """Why the client cancelled the request, if it said so."""
        return await self._client.cancellations.reason(self._request_id)

    async def ask(self, method: str, params: JsonObject, withdrawn: Withdrawn | None = None) -> JsonObject:
        """Send the client a request; raises `RelayedError` with the client's own refusal."""
        await self._connection.initialized.wait()
        # The request may have ended since the question was put to it; its client is still there.
        channel = self._channel if self._channel.can_send_request else self._connection.outbound
        return await _ask(channel, self._connection, method, params, withdrawn)

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send the client a notification."""
        await self._channel.notify(method, params or None)


class StandingPort:
    """A client as addressed outside any request: on stdio the pipe, over HTTP its GET stream."""

    def __init__(self, client: str, connection: Connection) -> None:
        self._client = client
        self._connection = connection

    @property
    def client(self) -> str:
        """Which client this is."""
        return self._client

    @property
    def initialized(self) -> bool:
        """Whether the client has said `notifications/initialized`."""
        return self._connection.initialized.is_set()

    async def cancel_reason(self) -> str | None:
        """Nothing is under way here that could be cancelled."""
        return None

    async def ask(self, method: str, params: JsonObject, withdrawn: Withdrawn | None = None) -> JsonObject:
        """Send the client a request, once it is initialized; raises `RelayedError` with its refusal."""
        await self._connection.initialized.wait()
        return await _ask(self._connection.outbound, self._connection, method, params, withdrawn)

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send the client a notification."""
        await self._connection.initialized.wait()
        await self._connection.outbound.notify(method, params or None)


class ModernPort:
    """A modern client during one of its requests: it can be told what belongs to the request, and never asked."""

    def __init__(self, client: str, session: ServerSession, request_id: RequestId, log_level: str | None) -> None:
        self._log_level = log_level
        self._client = client
        self._session: Any = session
        self._request_id = request_id

    def _logs(self, params: JsonObject) -> bool:
        """Whether the request asked for log messages of this level (2026-07-28 server/utilities/logging)."""
        return self._log_level is not None and shows(self._log_level, params.get("level"))

    @property
    def client(self) -> str:
        """Which client this is."""
        return self._client

    async def cancel_reason(self) -> str | None:
        """A modern client cancels by closing the stream, which says nothing."""
        return None

    async def ask(self, method: str, params: JsonObject, withdrawn: Withdrawn | None = None) -> JsonObject:
        """Refuse: a 2026-07-28 client is asked in the results of three methods only, and only for what it declared
        (basic/patterns/mrtr § Supported Requests); `runtime/parking.py` asks it then.
        """
        raise NotServed(
            f"{method}: this client speaks 2026-07-28, and cannot be asked that in answer to this request: it declared "
            "no such capability, or the request is none of tools/call, prompts/get and resources/read"
        )

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send what may travel on a request's own stream: its progress, and log messages if it asked for them."""
        if method == "notifications/progress" or (method == "notifications/message" and self._logs(params)):
            await self._session.send_notification(
                RawMessage(method, params or None), related_request_id=self._request_id
            )


class Client:
    """One connected handshake client and its backlog; `audience` says which sessions serve it, `names` is the form of
    names that it gets.
    """

    def __init__(self, key: str, port: StandingPort) -> None:
        self.key = key
        self.port = port
        self.initialize: JsonObject = {}
        self.audience: Audience | None = None
        self.names = Choice("dotted", "the client has not said yet who it is")
        self.cancellations = Cancellations()
        self.ended = anyio.Event()
        self._outbox: Outbox[str] = Outbox(BACKLOG)
        self._news = anyio.Event()

    def offer(self, method: str) -> bool:
        """Queue a notification without parameters; one that waits already is not queued again. False means that the
        client has fallen too far behind, and hears no more.

        A client that is not initialized yet has seen no list, so that nothing in one can have changed for it.
        """
        if not self.port.initialized:
            return True
        queued = self._outbox.offer(method)
        if not queued:
            logger.warning("client %s reads nothing; it hears no more", self.key)
            self.ended.set()
        self._news.set()
        return queued

    async def deliver(self) -> None:
        """Send what is queued until the client is gone; one client that reads slowly holds up nobody else."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send, name=f"notifications for {self.key}")
            await self.ended.wait()
            tasks.cancel_scope.cancel()

    async def _send(self) -> None:
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            for method in self._outbox.take():
                await self.port.tell(method, {})


class SessionSink:
    """Tells every connected handshake client, once each, what an event means for it (design D9).

    `concerns` says whether a client, by its audience, lists by a mount's session of a key; `dropped` counts what was
    not told to clients that read nothing.
    """

    name = "sessions"

    def __init__(self, concerns: Callable[[Audience, str, str], bool] = lambda audience, mount, key: True) -> None:
        self._concerns = concerns
        self._clients: dict[str, Client] = {}
        self._elsewhere: set[str] = set()
        self.dropped = 0
        self._tasks: TaskGroup | None = None

    def run_in(self, tasks: TaskGroup) -> None:
        """Let `tasks` own the sending tasks from now on."""
        self._tasks = tasks

    def connect(self, key: str, connection: Connection) -> Client:
        """Register a client; it is forgotten when its connection ends."""
        client = Client(key, StandingPort(key, connection))
        self._clients[key] = client
        if self._tasks is None:
            raise RuntimeError("the session sink is not running")
        self._tasks.start_soon(client.deliver, name=f"client {key}")
        connection.exit_stack.callback(self._forget, client)
        return client

    def _forget(self, client: Client) -> None:
        client.ended.set()
        if self._clients.get(client.key) is client:
            del self._clients[client.key]

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[Client]:
        return iter(tuple(self._clients.values()))

    def offer(self, event: Event) -> None:
        """Queue what `event` means for every client that it concerns and that is not told by another sink."""
        session = event.session if isinstance(event, ToolsChanged | PromptsChanged | ResourcesChanged) else ""
        for method, _ in notifications_for(event):
            for key, client in self._clients.items():
                if key not in self._elsewhere and (not session or self._hears(client, event.mount, session)):
                    self.dropped += not client.offer(method)

    def _hears(self, client: Client, mount_id: str, session: str) -> bool:
        return client.audience is not None and self._concerns(client.audience, mount_id, session)

    @contextmanager
    def told_elsewhere(self, key: str) -> Iterator[None]:
        """For the time of one request, leave client `key` to the sink of that request."""
        self._elsewhere.add(key)
        try:
            yield
        finally:
            self._elsewhere.discard(key)
