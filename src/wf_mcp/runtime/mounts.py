"""All mounts, and the sessions that are opened for their callers.

A session belongs to an audience: the callers that may share it (design D4). Mounts come and go while others serve;
stopping one never holds up another.
"""

from collections.abc import Callable, Collection, Coroutine, Iterator
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.config import Config
from wf_mcp.core.events import Event
from wf_mcp.core.ids import local_id
from wf_mcp.core.plan import Plan
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.manager import Plugins
from wf_mcp.runtime.asking import Asking
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.mount import Mount, mounted
from wf_mcp.runtime.ports import Caller, ClientPort, Connector, Hello
from wf_mcp.runtime.questions import Translation
from wf_mcp.runtime.session import UpstreamSession


class Mounts:
    """All mounts, in config order, and the task group that their sessions live in.

    `version` counts changes of the mounts, `changes` whatever may make a public list another one: what is computed from
    lists is good as long as it stays the same, however many mounts there are. Who keeps something for an audience lets
    go of it in `on_release`; who has to know of new sessions, by their keys, hears of them in `on_open`.
    """

    def __init__(
        self, connector: Connector, plugins: Plugins, publish: Callable[[Event], None], identity: JsonObject
    ) -> None:
        self._identity = identity
        self._connector = connector
        self._plugins = plugins
        self._publish = publish
        self._mounts: dict[str, Mount] = {}
        self._audiences: dict[Audience, tuple[Hello, ClientPort | None]] = {}
        self._levels: dict[Audience, str] = {}
        self._tasks: TaskGroup | None = None
        self._list_wait = 5.0
        self._by_label: dict[str, Mount] = {}
        self.asking = Asking()
        self.on_release: list[Callable[[Audience], None]] = []
        self.on_open: list[Callable[[Mount, str, UpstreamSession], None]] = []
        self.version = 0
        self.changes = 0

    def __iter__(self) -> Iterator[Mount]:
        return iter(self._mounts.values())

    def __getitem__(self, connection_id: str) -> Mount:
        return self._mounts[connection_id]

    def __len__(self) -> int:
        return len(self._mounts)

    @property
    def audiences(self) -> tuple[Audience, ...]:
        """Every audience that is attended."""
        return tuple(self._audiences)

    @property
    def labels(self) -> Collection[str]:
        """Every label in use, the empty one of a bare mount included."""
        return self._by_label.keys()

    def by_label(self, label: str) -> Mount:
        """The mount that carries `label`."""
        return self._by_label[label]

    def behind(self, public: str) -> tuple[Mount, str] | None:
        """The mount that a public id, such as a task's, belongs to, and its own id there (matrix C.2)."""
        label = public.partition(":")[0]
        mount = self._by_label.get(label) if label in self._by_label and label else self.bare
        local = local_id(mount.label, public) if mount is not None else None
        return (mount, local) if mount is not None and local is not None else None

    @property
    def bare(self) -> Mount | None:
        """The mount whose names and URIs are public as they are, if there is one."""
        return self._by_label.get("")

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Keep the sessions' task group until cancelled; returns when every upstream has been stopped."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            await anyio.sleep_forever()

    def prepare(self, config: Config, plugins: Plugins | None = None) -> dict[str, Mount]:
        """The mounts of `config`, not in use yet, with transforms from `plugins`, or from those in use.

        Raises `PluginError` where a required plug-in cannot serve one of them.
        """
        chosen = plugins or self._plugins
        return {up.id: mounted(up, chosen) for up in config.upstreams if up.enabled}

    def load(self, config: Config) -> None:
        """Mount every enabled upstream of `config`; nothing is started yet."""
        self._list_wait = config.list_wait
        self._put(self.prepare(config))

    def apply(self, made: dict[str, Mount], config: Config, plan: Plan) -> list[UpstreamSession]:
        """Change over to the mounts that `prepare` made of `config`: stop what is gone or different, keep what is the
        same, start what is new for every audience.

        Returns the sessions that were started.
        """
        self._list_wait = config.list_wait
        wishes = {
            (connection_id, key): session.inbox.wishes
            for connection_id in plan.restarted
            for key, session in self._mounts[connection_id].sessions.items()
        }
        for connection_id in (*plan.removed, *plan.restarted):
            self._stop(self._mounts[connection_id])
        fresh = {*plan.added, *plan.restarted}
        for mount in made.values():
            if mount.id not in fresh:
                self._keep(self._mounts[mount.id], mount)
        self._put(made)
        started: dict[UpstreamSession, None] = {}
        for audience in tuple(self._audiences):
            for mount in (each for each in made.values() if each.id in fresh):
                wanted = wishes.get((mount.id, mount.key(audience)))
                if mount.upstream.settings.start == "lazy" and not (wanted and wanted.subscriptions):
                    continue
                session = self._session(mount, audience)
                if session is not None:
                    session.inbox.wishes = wanted or session.inbox.wishes
                    started[session] = None
        return list(started)

    def _put(self, mounts: dict[str, Mount]) -> None:
        self._mounts = mounts
        self._by_label = {mount.label: mount for mount in mounts.values()}
        self.version += 1
        self._note_change()

    def _note_change(self) -> None:
        self.changes += 1

    def use(self, plugins: Plugins) -> None:
        """Take transforms from `plugins` from now on."""
        self._plugins = plugins

    def _keep(self, old: Mount, new: Mount) -> None:
        """Let `new` go on with the connections of `old`, under settings that need no new process."""
        new.sessions, new.scopes = old.sessions, old.scopes
        for session in new.sessions.values():
            session.adopt(new.upstream, self._translation(new))

    def _stop(self, mount: Mount) -> None:
        for key in tuple(mount.sessions):
            self._end(mount, key)

    def _end(self, mount: Mount, key: str) -> None:
        mount.sessions.pop(key)
        mount.scopes.pop(key).cancel()
        self._note_change()

    def attend(self, caller: Caller, *, wake: bool = True) -> list[tuple[Mount, UpstreamSession | None]]:
        """Every mount with the session that serves `caller`, started now if need be; `None` where it cannot be started.

        Without `wake`, upstreams with `start: lazy` are left asleep.
        """
        self._admit(caller)
        return [
            (mount, self._session(mount, caller.audience) if wake or mount.upstream.settings.start != "lazy" else None)
            for mount in self._mounts.values()
        ]

    def session(self, mount: Mount, caller: Caller) -> UpstreamSession | None:
        """The session of `mount` that serves `caller`, started now if need be; `None` where it cannot be started."""
        self._admit(caller)
        return self._session(mount, caller.audience)

    def open_spare(self, mount: Mount, caller: Caller, key: str) -> UpstreamSession:
        """Start another session of `mount` for those who share `caller`'s, under a key of its own."""
        self._admit(caller)
        return self._open(mount, caller.audience, key)

    def close_spare(self, mount: Mount, key: str) -> None:
        """End a session that `open_spare` started."""
        self._end(mount, key)

    def open_sessions(self, caller: Caller) -> list[tuple[Mount, UpstreamSession]]:
        """Every mount that has a session serving `caller`, with it; nothing is started."""
        found = ((mount, mount.session_of(caller.audience)) for mount in self._mounts.values())
        return [(mount, session) for mount, session in found if session is not None]

    def set_level(self, caller: Caller, level: str) -> None:
        """Remember the log level that a client asked for, for sessions that are opened later."""
        self._levels[caller.audience] = level

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task that nobody waits for; it ends with the mounts at the latest."""
        if self._tasks is not None:
            self._tasks.start_soon(work, name="aftermath of a client")

    def release(self, audience: Audience) -> tuple[tuple[UpstreamSession, tuple[str, ...]], ...]:
        """A client has gone: end the sessions that were its alone, and leave the shared ones.

        Returns the shared sessions with the resources that nobody is subscribed to there any more.
        """
        self._audiences.pop(audience, None)
        self._levels.pop(audience, None)
        left = []
        for mount in self._mounts.values():
            key = mount.key(audience)
            session = mount.sessions.get(key)
            if session is None:
                continue
            if audience.owns(key):
                self._end(mount, key)
                continue
            level = session.inbox.wishes.level
            if unwanted := session.inbox.leave(audience.client):
                left.append((session, unwanted))
            if session.inbox.wishes.level != level:
                self.spawn(session.level_again)
        for forget in self.on_release:
            forget(audience)
        return tuple(left)

    def _admit(self, caller: Caller) -> None:
        if caller.audience not in self._audiences:
            self._audiences[caller.audience] = (caller.hello, caller.standing)

    def _session(self, mount: Mount, audience: Audience) -> UpstreamSession | None:
        key = mount.key(audience)
        session = mount.sessions.get(key)
        if session is None and mount.startable():
            session = self._open(mount, audience, key)
        if session is not None and not session.inbox.owned:
            self._join(session, audience)
        return session

    def _join(self, session: UpstreamSession, audience: Audience) -> None:
        """Let a client of a shared session hear what it asks for, at the log level that it asked for before."""
        standing, level, wishes = self._audiences[audience][1], self._levels.get(audience), session.inbox.wishes
        if standing is not None:
            session.inbox.join(standing)
        if level is not None and wishes.level_of(audience.client) != level:
            before = wishes.level
            wishes.set_level(audience.client, level)
            if wishes.level != before:
                self.spawn(session.level_again)

    def _open(self, mount: Mount, audience: Audience, key: str) -> UpstreamSession:
        hello, standing = self._audiences[audience]
        own = audience.owns(key)
        if not own or mount.upstream.settings.identity == "proxy":
            hello = replace(hello, client_info=self._identity)
        session = UpstreamSession(
            mount.upstream,
            hello,
            self._connector,
            self._publish,
            key=key,
            list_wait=self._list_wait,
            owner=standing if own else None,
            translation=self._translation(mount),
            asking=self.asking,
            on_change=self._note_change,
        )
        if audience in self._levels:
            session.inbox.wishes.set_level(audience.client, self._levels[audience])
        mount.sessions[key] = session
        self._note_change()
        for note in self.on_open:
            note(mount, key, session)
        self._start(mount, key, session)
        return session

    def _translation(self, mount: Mount) -> Translation:
        settings = mount.upstream.settings
        return Translation(
            mount.namespace,
            lambda: len(self._mounts) > 1,
            attribution=settings.attribution == "label",
            include_context=settings.include_context == "relay",
        )

    def _start(self, mount: Mount, key: str, session: UpstreamSession) -> None:
        if self._tasks is None:
            raise RuntimeError("the mounts are not running")
        scope = mount.scopes[key] = anyio.CancelScope()

        async def live() -> None:
            with scope:
                await session.run()

        self._tasks.start_soon(live, name=f"upstream {mount.id}")
