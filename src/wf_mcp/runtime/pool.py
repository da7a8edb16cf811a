"""The sessions that are open, in the task group that they live in: opened under a key, bounded in number, ended.

What a session is opened for is said by who opens it (`Opening`); which of them serves whom is decided in `mounts.py`.
"""

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.config import StdioTransport
from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.core.events import Event
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.asking import Asking
from wf_mcp.runtime.catalogue import Catalogue
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.keeper import Keeper, catalogue_key
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.ports import CatalogueStore, ClientPort, Connector, Hello
from wf_mcp.runtime.questions import Translation
from wf_mcp.runtime.refreshing import Refreshing
from wf_mcp.runtime.session import UpstreamSession
from wf_mcp.runtime.starts import AT_ONCE, Starts

SPARED: Final = 30.0
"""Seconds after its last use for which an idle session is not ended to make room for another: callers that come by
turns would only replace each other's.
"""


@dataclass(frozen=True, slots=True)
class Opening:
    """For whom a session is opened: what is declared, the client that alone owns it, if one does, the log level that is
    wanted of it from the start, and the principal, where there is one.

    With a `lender`, that session's lists stand for its own until the upstream says that its own are others.
    """

    hello: Hello
    owner: ClientPort | None = None
    own: bool = False
    client: str = ""
    level: str | None = None
    lender: str | None = None
    principal: str | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many sessions there may be in all, how many processes may be starting, and in seconds how long the first
    lists wait for an upstream and from which age on remembered ones are loaded anew (`None`: never).
    """

    sessions: int = 1000
    list_wait: float = 5.0
    starts: int = AT_ONCE
    refresh: float | None = 86_400.0


class Pool:
    """All sessions. `changed` is told whenever a public list may be another one for it, `apart` of the key of a session
    that lists for itself from now on, `on_open` of new sessions; `wanted` says which ones a connected client has.
    """

    def __init__(
        self,
        connector: Connector,
        publish: Callable[[Event], None],
        identity: JsonObject,
        *,
        changed: Callable[[], None],
        apart: Callable[[str], None],
        several: Callable[[], bool],
        catalogues: CatalogueStore | None = None,
    ) -> None:
        self._connector = connector
        self._publish = publish
        self._identity = identity
        self._changed = changed
        self._apart = apart
        self._several = several
        self._tasks: TaskGroup | None = None
        self._open: dict[UpstreamSession, tuple[Mount, str]] = {}
        self._scopes: dict[UpstreamSession, anyio.CancelScope] = {}
        self.bounds = Bounds()
        self.starts = Starts(lambda: self.bounds.starts)
        self._catalogues = catalogues
        self._refreshing = Refreshing(self.spawn, lambda: self.bounds.refresh, lambda: self.bounds.starts)
        self.asking = Asking()
        self.on_open: list[Callable[[Mount, str, UpstreamSession], None]] = []
        self.wanted: Callable[[Mount, str, UpstreamSession], bool] = lambda mount, key, session: True

    def __len__(self) -> int:
        return len(self._open)

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Keep the sessions' task group until cancelled; returns when every upstream has been stopped."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            await anyio.sleep_forever()

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task that nobody waits for; it ends with the sessions at the latest."""
        if self._tasks is not None:
            self._tasks.start_soon(work, name="aftermath of a client")

    def open(self, mount: Mount, key: str, opening: Opening) -> UpstreamSession:
        """Open a session of `mount` under `key`.

        Raises `UpstreamUnavailable` where there are as many as there may be, and none of them is idle.
        """
        if self._tasks is None:
            raise RuntimeError("the pool is not running")
        self._make_room(mount)
        hello = opening.hello
        if not opening.own or mount.upstream.settings.identity == "proxy":
            hello = replace(hello, client_info=self._identity)
        keeper = self._keeper(mount, opening)
        known = keeper is not None and keeper.stored is not None
        session = UpstreamSession(
            mount.upstream,
            hello,
            self._connector,
            self._publish,
            key=key,
            list_wait=self.bounds.list_wait,
            owner=opening.owner if opening.own else None,
            translation=self.translation(mount),
            asking=self.asking,
            on_change=self._changed,
            starts=self.starts if isinstance(mount.upstream.transport, StdioTransport) else None,
            asleep=known and mount.upstream.settings.start != "eager",
            keeper=keeper,
            on_apart=partial(self._apart, key) if opening.lender is not None else None,
            lender=partial(_catalogue, mount, opening.lender),
        )
        if opening.level is not None:
            session.inbox.wishes.set_level(opening.client, opening.level)
        mount.sessions[key] = session
        self._changed()
        for note in self.on_open:
            note(mount, key, session)
        self._start(mount, key, session)
        if session.state is State.ASLEEP:
            self._wake_if_due(session)
        return session

    def _wake_if_due(self, session: UpstreamSession) -> None:
        if session.inbox.wishes.subscriptions or session.inbox.wishes.tasks:
            session.connection.wake()
        else:
            self._refreshing.opened(session)

    def _keeper(self, mount: Mount, opening: Opening) -> Keeper | None:
        if self._catalogues is None or opening.lender is not None:
            return None
        return Keeper(self._catalogues, catalogue_key(mount.upstream, opening.hello, opening.principal))

    def knows(self, mount: Mount, hello: Hello, principal: str | None) -> bool:
        """Whether what `mount` lists is known from before, so that opening a session does not start anything."""
        keeper = self._keeper(mount, Opening(hello, principal=principal))
        return keeper is not None and keeper.stored is not None

    def end(self, mount: Mount, key: str) -> None:
        """End the session of `mount` under `key`; its upstream is stopped without anybody waiting for it."""
        session = mount.sessions.pop(key)
        self._open.pop(session, None)
        self._scopes.pop(session).cancel()
        self._changed()

    def keep(self, old: Mount, new: Mount) -> None:
        """Let `new` go on with the sessions of `old`, under settings that need no new process."""
        new.sessions = old.sessions
        for key, session in new.sessions.items():
            self._open[session] = (new, key)
            session.adopt(new.upstream, self.translation(new))

    def translation(self, mount: Mount) -> Translation:
        """How an upstream's own messages are put to clients."""
        settings = mount.upstream.settings
        return Translation(
            mount.namespace,
            self._several,
            attribution=settings.attribution == "label",
            include_context=settings.include_context == "relay",
        )

    def idle(self) -> list[tuple[Mount, str, UpstreamSession]]:
        """The sessions with nothing under way that nobody wants, the one that was used longest ago first."""
        found = [
            (mount, key, session)
            for session, (mount, key) in self._open.items()
            if not session.busy() and not self.wanted(mount, key, session)
        ]
        return sorted(found, key=lambda each: each[2].requests.used)

    def _make_room(self, mount: Mount) -> None:
        """End what is idle where one more session would be too many; raises `UpstreamUnavailable` where nothing is."""
        self._keep_below(mount.upstream.settings.max_sessions, mount, mount)
        self._keep_below(self.bounds.sessions, mount, None)

    def _keep_below(self, most: int, asking: Mount, only: Mount | None) -> None:
        count = len(self) if only is None else len(only.sessions)
        if count < most:
            return
        longest_ago = time.monotonic() - SPARED
        for mount, key, session in self.idle():
            if (only is None or mount is only) and session.requests.used <= longest_ago:
                self.end(mount, key)
                return
        setting = "wf.max_sessions" + (" of the server" if only is not None else "")
        raise UpstreamUnavailable(
            f"Upstream {asking.id!r} gets no further session: {count} are open and in use, and {most} may be "
            f"(setting {setting})"
        )

    def _start(self, mount: Mount, key: str, session: UpstreamSession) -> None:
        scope = anyio.CancelScope()
        self._open[session] = (mount, key)
        self._scopes[session] = scope

        async def live() -> None:
            with scope:
                await session.run()

        if self._tasks is not None:
            self._tasks.start_soon(live, name=f"upstream {mount.id}")


def _catalogue(mount: Mount, key: str | None) -> Catalogue | None:
    """What the session of `mount` under `key` lists."""
    session = mount.sessions.get(key) if key is not None else None
    return session.catalogue if session is not None else None
