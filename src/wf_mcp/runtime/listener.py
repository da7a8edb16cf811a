"""One open `subscriptions/listen` stream: what its client is told, and what still waits for it.

To the sessions that it hears it is a client like others, with a key of its own; it is never asked anything, and takes
nothing but what belongs on such a stream (2026-07-28 basic/patterns/subscriptions).
"""

import itertools
import json
from dataclasses import dataclass

import anyio

from wf_mcp.core.errors import FellBehind, NotServed
from wf_mcp.core.listen import TASKS, UPDATED, SubscriptionFilter, concerns
from wf_mcp.core.outbox import Outbox
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import Caller, Link, Withdrawn
from wf_mcp.runtime.session import UpstreamSession

BACKLOG = 1000
"""Different notifications that one stream may have waiting."""


@dataclass(slots=True, eq=False)
class Watch:
    """One resource that a stream hears of: as the client wrote it, as notifications have it here, as the upstream
    calls it, and the connection that was asked for it last.
    """

    uri: str
    public: str
    mount_id: str
    local: str
    link: Link | None = None


@dataclass(slots=True, eq=False)
class Followed:
    """One task that a stream hears of, as the client and as the upstream call it, and the session that tells of it."""

    public: str
    mount_id: str
    local: str
    session: UpstreamSession


class Listener:
    """The runtime's end of one stream; a port of the sessions that it joined, which `sessions` has by mount."""

    def __init__(self, client: str, caller: Caller, asked: SubscriptionFilter, backlog: int = BACKLOG) -> None:
        self.client = client
        self.caller = caller
        self.honoured = asked
        self.watches: list[Watch] = []
        self.followed: list[Followed] = []
        self.sessions: dict[str, UpstreamSession] = {}
        self.ended = anyio.Event()
        self.failure: FellBehind | None = None
        self._backlog = backlog
        self._outbox: Outbox[tuple[str, str, int]] = Outbox(backlog)
        self._numbers = itertools.count(1)
        self._news = anyio.Event()

    def hears_list(self, method: str, session: str) -> bool:
        """Whether this list change is for the client; `session` is the key of the session that it happened on."""
        return method in self.honoured.lists and (not session or session in self.caller.audience.keys)

    def offer(self, method: str, params: JsonObject) -> None:
        """Queue a notification; one that waits already says nothing new, unless it tells how a task goes on.

        A client that lets too many wait is lost.
        """
        number = next(self._numbers) if method == TASKS else 0
        if not self._outbox.offer((method, json.dumps(params, sort_keys=True), number)):
            self.failure = FellBehind(
                f"More than {self._backlog} notifications wait for this stream, which has ended. "
                "Listen again, and ask for lists and resources anew: what came since then is lost."
            )
            self.ended.set()
        self._news.set()

    async def take(self) -> list[tuple[str, JsonObject]]:
        """Everything that waits, in order; waits for something."""
        await self._news.wait()
        self._news = anyio.Event()
        return [(method, json.loads(params)) for method, params, _ in self._outbox.take()]

    def again(self, mount_id: str) -> None:
        """An upstream is back: what changed while it could not be heard is unknown, so that all of it may have."""
        session = self.sessions.get(mount_id)
        for watch in self.watches:
            if watch.mount_id == mount_id and session is not None and watch.link is not session.last_link:
                watch.link = session.last_link
                self.offer(UPDATED, {"uri": watch.uri})

    async def tell(self, method: str, params: JsonObject) -> None:
        """Take what an upstream says of a task that this stream follows, of a resource that it watches, or of one below
        that.
        """
        if method == TASKS and any(each.public == params.get("taskId") for each in self.followed):
            self.offer(TASKS, params)
        uri = params.get("uri")
        if method != UPDATED or not isinstance(uri, str):
            return  # progress and log messages never travel here
        found = next((watch for watch in self.watches if concerns(watch.public, uri)), None)
        if found is not None:
            exact = next((watch.uri for watch in self.watches if watch.public == uri), uri)
            self.offer(UPDATED, {**params, "uri": exact})

    async def ask(self, method: str, params: JsonObject, withdrawn: Withdrawn | None = None) -> JsonObject:
        """Refuse: nothing is asked on a listen stream."""
        raise NotServed(f"{method}: a client that only listens cannot be asked")

    async def cancel_reason(self) -> str | None:
        """A stream is closed without a reason."""
        return None
