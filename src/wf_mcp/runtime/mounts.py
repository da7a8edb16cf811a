"""The upstreams as they appear here: each with its namespace, its plug-ins' transforms and its sessions.

A session belongs to an audience: the callers that may share it (design D4). Mounts come and go while others serve;
stopping one never holds up another.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

import anyio
from anyio.abc import TaskGroup

from wf_mcp.core.config import Config, Upstream
from wf_mcp.core.events import Event
from wf_mcp.core.merge import Offer
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.plan import Plan
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.manager import Plugins
from wf_mcp.plugin.types import ComponentTransform, Owned, ResultTransform
from wf_mcp.runtime.ports import Caller, ClientPort, Connector, Hello
from wf_mcp.runtime.questions import to_client
from wf_mcp.runtime.session import UpstreamSession


@dataclass(slots=True, eq=False)
class Mount:
    """One upstream: what is configured, how its names look, and its sessions by audience."""

    upstream: Upstream
    namespace: Namespace
    components: tuple[Owned[ComponentTransform], ...]
    results: tuple[Owned[ResultTransform], ...]
    sessions: dict[str, UpstreamSession] = field(default_factory=dict)
    scopes: list[anyio.CancelScope] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The upstream's connection id."""
        return self.upstream.id

    @property
    def label(self) -> str:
        """The label that its names and URIs carry; empty for a bare mount."""
        return self.upstream.label

    @property
    def called(self) -> str:
        """What to call it towards people: the label, or the id of a bare mount."""
        return self.upstream.label or self.upstream.id

    def startable(self) -> bool:
        """Whether this upstream may be started at all."""
        return self.upstream.enabled and self.upstream.problem is None


class Mounts:
    """All mounts, in config order, and the task group that their sessions live in.

    `version` counts changes of the mounts, `changes` whatever may make a public list another one: what is computed from
    lists is good as long as it stays the same, however many mounts there are.
    """

    def __init__(
        self, connector: Connector, plugins: Plugins, publish: Callable[[Event], None], identity: JsonObject
    ) -> None:
        self._identity = identity
        self._connector = connector
        self._plugins = plugins
        self._publish = publish
        self._mounts: dict[str, Mount] = {}
        self._audiences: dict[str, tuple[Hello, ClientPort | None]] = {}
        self._tasks: TaskGroup | None = None
        self._list_wait = 5.0
        self._by_label: dict[str, Mount] = {}
        self.version = 0
        self.changes = 0

    def __iter__(self) -> Iterator[Mount]:
        return iter(self._mounts.values())

    def __getitem__(self, connection_id: str) -> Mount:
        return self._mounts[connection_id]

    def __len__(self) -> int:
        return len(self._mounts)

    @property
    def audiences(self) -> tuple[str, ...]:
        """Every audience that was ever attended."""
        return tuple(self._audiences)

    @property
    def labels(self) -> Collection[str]:
        """Every label in use, the empty one of a bare mount included."""
        return self._by_label.keys()

    def by_label(self, label: str) -> Mount:
        """The mount that carries `label`."""
        return self._by_label[label]

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
        return {up.id: _mount(up, chosen) for up in config.upstreams if up.enabled}

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
        for connection_id in (*plan.removed, *plan.restarted):
            self._stop(self._mounts[connection_id])
        fresh = {*plan.added, *plan.restarted}
        for mount in made.values():
            if mount.id not in fresh:
                self._keep(self._mounts[mount.id], mount)
        self._put(made)
        return [
            session
            for audience in tuple(self._audiences)
            for mount in made.values()
            if mount.id in fresh
            and mount.upstream.settings.start != "lazy"
            and (session := self._session(mount, audience))
        ]

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
            session.adopt(new.upstream, to_client(new.namespace))

    def _stop(self, mount: Mount) -> None:
        for scope in mount.scopes:
            scope.cancel()
        mount.sessions.clear()

    def attend(self, caller: Caller, *, wake: bool = True) -> list[tuple[Mount, UpstreamSession | None]]:
        """Every mount with the session that serves `caller`, started now if need be; `None` where it cannot be started.

        Without `wake`, upstreams with `start: lazy` are left asleep.
        """
        if caller.audience not in self._audiences:
            self._audiences[caller.audience] = (caller.hello, caller.standing)
        return [
            (mount, self._session(mount, caller.audience) if wake or mount.upstream.settings.start != "lazy" else None)
            for mount in self._mounts.values()
        ]

    def session(self, mount: Mount, caller: Caller) -> UpstreamSession | None:
        """The session of `mount` that serves `caller`, started now if need be; `None` where it cannot be started."""
        if caller.audience not in self._audiences:
            self._audiences[caller.audience] = (caller.hello, caller.standing)
        return self._session(mount, caller.audience)

    def _session(self, mount: Mount, audience: str) -> UpstreamSession | None:
        session = mount.sessions.get(audience)
        if session is None and mount.startable():
            hello, standing = self._audiences[audience]
            if mount.upstream.settings.identity == "proxy":
                hello = replace(hello, client_info=self._identity)
            session = UpstreamSession(
                mount.upstream,
                hello,
                self._connector,
                self._publish,
                list_wait=self._list_wait,
                standing=standing,
                on_change=self._note_change,
                translate=to_client(mount.namespace),
            )
            mount.sessions[audience] = session
            self._note_change()
            self._start(mount, session)
        return session

    def _start(self, mount: Mount, session: UpstreamSession) -> None:
        if self._tasks is None:
            raise RuntimeError("the mounts are not running")
        scope = anyio.CancelScope()
        mount.scopes.append(scope)

        async def live() -> None:
            with scope:
                await session.run()

        self._tasks.start_soon(live, name=f"upstream {mount.id}")


def _mount(upstream: Upstream, plugins: Plugins) -> Mount:
    namespace = Namespace(upstream.id, upstream.label)
    return Mount(upstream, namespace, plugins.component_transforms(namespace), plugins.result_transforms(namespace))


def offers(attended: Iterable[tuple[Mount, UpstreamSession | None]]) -> list[Offer]:
    """What each upstream said of itself, for merging; one that cannot start offers nothing, one that has not answered
    is unknown.
    """
    found: list[Offer] = []
    for mount, session in attended:
        if session is None:
            found.append(Offer(mount.label, None if mount.startable() else {}))
            continue
        said = session.initialized
        if said is None:
            found.append(Offer(mount.label, None))
        else:
            found.append(Offer(mount.label, said.get("capabilities") or {}, said.get("instructions")))
    return found
