"""The runtime as `app.py` wires it, over in-memory upstreams: one sentence sets up what a test needs.

async with stage(Twin("alpha", tools=[tool("echo")])) as s:
    assert await s.call("alpha.echo") == text("alpha ran echo")
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from tests.inbox import Inbox as Arrivals
from tests.runtime.memory import Twin, TwinClient, TwinConnector

from wf_mcp.builtin import links, namespace
from wf_mcp.core.config import Config, StdioTransport, Upstream, UpstreamSettings
from wf_mcp.core.events import Event, UpstreamReady, kind_of
from wf_mcp.core.kinds import PROMPTS, RESOURCES, TEMPLATES, TOOLS, Kind
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.manager import Plugins, build_plugins
from wf_mcp.plugin.types import CallInterceptor, Owned
from wf_mcp.runtime.audience import Audience, alone
from wf_mcp.runtime.bus import EventBus
from wf_mcp.runtime.dispatch import Dispatch
from wf_mcp.runtime.listeners import Listeners
from wf_mcp.runtime.listing import Listings
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.operator import Operator, Replacement
from wf_mcp.runtime.ports import Caller, CatalogueStore, ClientPort, Hello
from wf_mcp.runtime.reporting import Reporter
from wf_mcp.runtime.resolve import Resolver
from wf_mcp.runtime.session import UpstreamSession
from wf_mcp.runtime.shelves import Shelves
from wf_mcp.runtime.standing import Standing
from wf_mcp.runtime.tasks import Tasks

IDENTITY = {"name": "proxy", "version": "0"}
HELLO = Hello({}, {"name": "test", "version": "1"}, "2025-11-25")
A = alone("a")


class Ear:
    """A sink that keeps every event."""

    name = "ear"

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._arrivals = Arrivals()

    def offer(self, event: Event) -> None:
        self.events.append(event)
        self._arrivals.add({"method": kind_of(event)})

    def of(self, kind: type[Event]) -> list[Event]:
        """The events of one type."""
        return [event for event in self.events if isinstance(event, kind)]

    async def hears(self, event: Event | type[Event], times: int = 1, seconds: float = 5) -> Event:
        """Wait for an event, or one of a type, also one that came earlier."""

        def found() -> list[Event]:
            return [each for each in self.events if each == event or type(each) is event]

        await self._arrivals.wait_for(lambda _: len(found()) >= times, seconds)
        return found()[times - 1]


def upstream(connection_id: str, label: str | None = None, *, digest: str = "1", **options: Any) -> Upstream:
    """One configured upstream; `options` are its settings, or `enabled`, `problem`, `transport`."""
    entry = {key: options.pop(key) for key in ("enabled", "problem") if key in options}
    transport = options.pop("transport", StdioTransport("x"))
    label = connection_id if label is None else label
    return Upstream(connection_id, label, transport, UpstreamSettings(**options), digest, **entry)


def config(*upstreams: Upstream, **settings: Any) -> Config:
    """A configuration as it stands after loading."""
    return Config("wf-mcp.json", upstreams, **settings)


def caller(audience: Audience | str = A, **fields: Any) -> Caller:
    """Who asks: by its audience, or as the client whose key it is and whose sessions are all its own."""
    if isinstance(audience, str):
        audience = alone(audience)
    return Caller(audience, fields.pop("hello", HELLO), **fields)


def visitor(client: ClientPort, **fields: Any) -> Caller:
    """A client of an HTTP front: its own sessions where isolation is `client`, else those of `team` or of `all`."""
    return caller(Audience(client.client, "team", "all", owned=True), port=client, standing=client, **fields)


class Stage:
    """Everything of the runtime, wired."""

    def __init__(
        self,
        connector: TwinConnector,
        first: Config,
        load: Callable[[Config], Plugins],
        catalogues: CatalogueStore | None = None,
    ) -> None:
        self.connector, self._load = connector, load
        plugins = load(first)
        self.bus, self.ear = EventBus(), Ear()
        self.bus.add(self.ear)
        self.next: Config | Exception = first
        self.plugins = plugins
        self.mounts = Mounts(connector, plugins, self.bus.publish, IDENTITY, catalogues=catalogues)
        self.shelves = Shelves(self.mounts, plugins.report, lambda: self.operator.config.names.budget)
        self.listings = Listings(self.mounts, self.shelves)
        self.reporter = Reporter(
            self.mounts,
            self.shelves,
            self.listings,
            plugins.statuses,
            version="1",
            lane="wire",
            front="http",
            style="dotted",
        )
        self.operator = Operator(
            first,
            self._read,
            self._replug,
            self.mounts,
            self.listings,
            self.reporter,
            self.bus.publish,
            lambda limit: [],
        )
        self.interceptors: tuple[Owned[CallInterceptor], ...] = plugins.call_interceptors()
        self.resolver = Resolver(self.mounts, self.shelves, self.listings)
        self.dispatch = Dispatch(self.resolver, lambda: self.interceptors, plugins.report)
        self.standing = Standing(self.mounts, self.resolver)
        self.tasks = Tasks(self.mounts, self.dispatch)
        self.listeners = Listeners(self.mounts, self.resolver)
        self.bus.add(self.listeners)

    def _read(self) -> Config:
        if isinstance(self.next, Exception):
            raise self.next
        return self.next

    def _replug(self, new: Config) -> Replacement:
        """Plug-ins under other settings, from the same objects."""
        plugins = self._load(new)

        def use() -> None:
            self.plugins = plugins
            self.mounts.use(plugins)

        return Replacement(plugins, use)

    def twin(self, connection_id: str) -> Twin:
        return self.connector.twins[connection_id]

    def session(self, connection_id: str, key: str = "a") -> UpstreamSession:
        return self.mounts[connection_id].sessions[key]

    async def ready(self, who: Caller | None = None) -> None:
        """Wait until every list is known to `who`, and the sessions that are its own are open."""
        for kind in (TOOLS, PROMPTS, RESOURCES, TEMPLATES):
            await self.listings.listing(who or caller(), kind)
        for mount in self.mounts:
            session = self.mounts.session(mount, who or caller())
            if session is not None:
                await session.settled()

    async def listed(self, kind: Kind = TOOLS, who: Caller | None = None) -> list[str]:
        """The public names or URIs of one kind."""
        with anyio.fail_after(10):
            listing = await self.listings.listing(who or caller(), kind)
        return [entry.dotted for entry in listing.entries]

    async def call(self, name: str, who: Caller | None = None, **params: Any) -> JsonObject:
        """`tools/call`."""
        return await self.ask("tools/call", {"name": name, **params}, who)

    async def read(self, uri: str, who: Caller | None = None) -> JsonObject:
        """`resources/read`."""
        return await self.ask("resources/read", {"uri": uri}, who)

    async def ask(self, method: str, params: JsonObject, who: Caller | None = None) -> JsonObject:
        """Any call that is dispatched."""
        with anyio.fail_after(10):
            return await self.dispatch.call(who or caller(), method, params)


@asynccontextmanager
async def stage(
    *twins: Twin,
    config_of: Config | None = None,
    plugins: Mapping[str, object] | None = None,
    settings: Mapping[str, JsonObject] | None = None,
    catalogues: CatalogueStore | None = None,
    **options: Any,
) -> AsyncIterator[Stage]:
    """The runtime with `twins` mounted under their ids, or as `config_of` has it; `options` as for `config`."""
    extra = list((plugins or {}).items())

    def load(new: Config) -> Plugins:
        own = [("namespace", namespace), ("links", links)]
        return build_plugins(own, {**(settings or {}), **new.plugins}, load_entry_points=False, extra=extra)

    first = config_of or config(*(upstream(twin.id) for twin in twins), **options)
    made = Stage(TwinConnector(*twins), first, load, catalogues)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            made.mounts.load(first)
            await tasks.start(made.mounts.run)
            yield made
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def running(session: UpstreamSession) -> AsyncIterator[UpstreamSession]:
    """One session by itself, run for the time of the block."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run)
            yield session
            tasks.cancel_scope.cancel()


def session_of(twin: Twin, ear: Ear | None = None, **options: Any) -> UpstreamSession:
    """A session with `twin` as its upstream; `options` are the session's, or settings of the upstream."""
    own = {
        key: options.pop(key)
        for key in ("list_wait", "owner", "translation", "asking", "key", "hello", "starts", "asleep", "keeper")
        if key in options
    }
    hello = own.pop("hello", HELLO)
    return UpstreamSession(upstream(twin.id, **options), hello, TwinConnector(twin), (ear or Ear()).offer, **own)


__all__ = [
    "HELLO",
    "IDENTITY",
    "A",
    "Ear",
    "Stage",
    "TwinClient",
    "UpstreamReady",
    "caller",
    "config",
    "running",
    "session_of",
    "stage",
    "upstream",
    "visitor",
]
