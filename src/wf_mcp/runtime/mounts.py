"""All mounts, and the sessions of each that serve a caller.

A session belongs to an audience: the callers that may share it (`audiences.py`). Mounts come and go while others serve;
stopping one never holds up another.
"""

import logging
import time
from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Any

import anyio

from wf_mcp.core.config import Config
from wf_mcp.core.errors import UpstreamUnavailable
from wf_mcp.core.events import Event
from wf_mcp.core.ids import local_id
from wf_mcp.core.plan import Plan
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.manager import Plugins
from wf_mcp.runtime.asking import Asking
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.audiences import Audiences
from wf_mcp.runtime.mount import Mount, mounted
from wf_mcp.runtime.pool import Bounds, Pool
from wf_mcp.runtime.ports import Caller, CatalogueStore, Connector
from wf_mcp.runtime.session import UpstreamSession

logger = logging.getLogger(__name__)


class Mounts:
    """All mounts, in config order, and the task group that their sessions live in.

    `version` counts changes of the mounts, `changes` whatever may make a public list another one: what is computed from
    lists is good as long as it stays the same, however many mounts there are. Who keeps something for an audience lets
    go of it in `on_release`; who has to know of new sessions, by their keys, hears of them in `on_open`.
    """

    def __init__(
        self,
        connector: Connector,
        plugins: Plugins,
        publish: Callable[[Event], None],
        identity: JsonObject,
        *,
        catalogues: CatalogueStore | None = None,
    ) -> None:
        self._plugins = plugins
        self._mounts: dict[str, Mount] = {}
        self._by_label: dict[str, Mount] = {}
        self.pool = Pool(
            connector,
            publish,
            identity,
            changed=self._note_change,
            apart=lambda client: self._audiences.set_apart(client),
            several=lambda: len(self._mounts) > 1,
            catalogues=catalogues,
        )
        self._audiences = Audiences(self.pool)
        self.pool.wanted = self._audiences.wanted
        self.version = 0
        self.changes = 0

    def __iter__(self) -> Iterator[Mount]:
        return iter(self._mounts.values())

    def __getitem__(self, connection_id: str) -> Mount:
        return self._mounts[connection_id]

    def get(self, connection_id: str) -> Mount | None:
        """The mount with that connection id, if there is one."""
        return self._mounts.get(connection_id)

    def __len__(self) -> int:
        return len(self._mounts)

    @property
    def audiences(self) -> tuple[Audience, ...]:
        """Every audience that is attended; those that see the same lists by the same sessions are one."""
        return self._audiences.viewpoints()

    @property
    def asking(self) -> Asking:
        """What clients are being asked."""
        return self.pool.asking

    @property
    def on_release(self) -> list[Callable[[Audience], None]]:
        """Who lets go of what it keeps for an audience."""
        return self._audiences.on_release

    @property
    def on_open(self) -> list[Callable[[Mount, str, UpstreamSession], None]]:
        """Who is told of new sessions, by their keys."""
        return self.pool.on_open

    def viewpoint(self, audience: Audience) -> Audience:
        """As whom `audience` sees the lists: as everybody who declares the same, until an upstream tells its session
        something else.
        """
        return self._audiences.viewpoint(audience)

    def concerns(self, audience: Audience, mount_id: str, key: str) -> bool:
        """Whether a change of the lists of session `key` is one for `audience`."""
        mount = self._mounts.get(mount_id)
        return mount is not None and mount.lister_key(audience) == key

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
        await self.pool.run(task_status=task_status)

    def prepare(self, config: Config, plugins: Plugins | None = None) -> dict[str, Mount]:
        """The mounts of `config`, not in use yet, with transforms from `plugins`, or from those in use.

        Raises `PluginError` where a required plug-in cannot serve one of them.
        """
        chosen = plugins or self._plugins
        return {up.id: mounted(up, chosen) for up in config.upstreams if up.enabled}

    def load(self, config: Config) -> None:
        """Mount every enabled upstream of `config`; nothing is started yet."""
        self.pool.bounds = bounds(config)
        self._put(self.prepare(config))

    def apply(self, made: dict[str, Mount], config: Config, plan: Plan) -> list[UpstreamSession]:
        """Change over to the mounts that `prepare` made of `config`: stop what is gone or different, keep what is the
        same, start what is new for every audience.

        Returns the sessions that were started.
        """
        self.pool.bounds = bounds(config)
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
                self.pool.keep(self._mounts[mount.id], mount)
        self._put(made)
        started: dict[UpstreamSession, None] = {}
        for audience in self._audiences:
            for mount in (each for each in made.values() if each.id in fresh):
                own, control = mount.key(audience), mount.control_key(audience)
                for key in dict.fromkeys((control, own)):
                    wanted = wishes.get((mount.id, key))
                    subscribed = wanted is not None and bool(wanted.subscriptions)
                    if not subscribed and (key != control or mount.upstream.settings.start == "lazy"):
                        continue
                    session = self._audiences.serving(mount, audience, key)
                    if session is not None:
                        session.inbox.wishes = wanted or session.inbox.wishes
                        session.connection.wake()  # who changes a configuration is told what came of it
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

    def _stop(self, mount: Mount) -> None:
        for key in tuple(mount.sessions):
            self.pool.end(mount, key)

    def attend(self, caller: Caller, *, wake: bool = True) -> list[tuple[Mount, UpstreamSession | None]]:
        """Every mount with the session that lists for `caller`, started now if need be; `None` where it cannot be
        started.

        Without `wake`, upstreams with `start: lazy` are left asleep.
        """
        self._audiences.admit(caller)
        return [
            (mount, self.lister(mount, caller) if wake or self._free(mount, caller) else None)
            for mount in self._mounts.values()
        ]

    def _free(self, mount: Mount, caller: Caller) -> bool:
        """Whether a session may be opened before anybody needs it: a lazy upstream's only where that starts nothing."""
        if mount.upstream.settings.start != "lazy" or mount.lister(caller.audience) is not None:
            return True
        return self.pool.knows(mount, caller.hello, caller.principal)

    def lister(self, mount: Mount, caller: Caller) -> UpstreamSession | None:
        """The session of `mount` that lists for `caller`, started now if need be; `None` where it cannot be started."""
        self._audiences.admit(caller)
        try:
            session = self._audiences.serving(mount, caller.audience, mount.lister_key(caller.audience))
        except UpstreamUnavailable as full:
            logger.warning("%s", full)
            return None
        if session is not None:
            session.requests.used = time.monotonic()
        return session

    def session(self, mount: Mount, caller: Caller) -> UpstreamSession | None:
        """The session of `mount` that serves `caller`, started now if need be; `None` where it cannot be started.

        Raises `UpstreamUnavailable` where there are too many sessions already.
        """
        self._audiences.admit(caller)
        return self._audiences.serving(mount, caller.audience, mount.key(caller.audience))

    def open_spare(self, mount: Mount, caller: Caller, key: str) -> UpstreamSession:
        """Start another session of `mount` for those who share `caller`'s, under a key of its own."""
        self._audiences.admit(caller)
        return self._audiences.open(mount, caller.audience, key)

    def close_spare(self, mount: Mount, key: str) -> None:
        """End a session that `open_spare` started."""
        self.pool.end(mount, key)

    def open_sessions(self, caller: Caller) -> list[tuple[Mount, UpstreamSession]]:
        """Every mount that has a session serving `caller`, with it; nothing is started."""
        found = ((mount, mount.session_of(caller.audience)) for mount in self._mounts.values())
        return [(mount, session) for mount, session in found if session is not None]

    def set_level(self, caller: Caller, level: str) -> None:
        """Remember the log level that a client asked for, for sessions that are opened later."""
        self._audiences.set_level(caller.audience, level)

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task that nobody waits for; it ends with the mounts at the latest."""
        self.pool.spawn(work)

    def release(self, audience: Audience) -> tuple[tuple[UpstreamSession, tuple[str, ...]], ...]:
        """A client has gone: end the sessions that were its alone, and leave the shared ones.

        Returns the shared sessions with the resources that nobody is subscribed to there any more.
        """
        left = []
        for mount in self._mounts.values():
            if audience.owns(own := mount.key(audience)) and own in mount.sessions:
                self.pool.end(mount, own)
            shared = mount.sessions.get(mount.control_key(audience))
            if shared is not None and (unwanted := self._audiences.leave(shared, audience)):
                left.append((shared, unwanted))
        self._audiences.release(audience)
        return tuple(left)

    def forget_unserved(self) -> None:
        """Let go of what is kept for callers without a connection for whom no session is left."""
        self._audiences.forget(self._unserved)

    def _unserved(self, audience: Audience) -> bool:
        return all(audience.keys.isdisjoint(mount.sessions) for mount in self._mounts.values())


def bounds(config: Config) -> Bounds:
    """What a configuration says of the number of sessions, and of how long they are waited for."""
    return Bounds(config.max_sessions, config.list_wait, config.starts, config.refresh)
