"""Wiring: the one place where the parts meet, and the order in which they start and stop. Holds no behaviour."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import anyio
from fastmcp import FastMCP

from wf_mcp.builtin import admin as admin_plugin
from wf_mcp.builtin import links, namespace
from wf_mcp.builtin.history import HistorySink
from wf_mcp.core.config import Config
from wf_mcp.core.config_values import NamesStyle
from wf_mcp.core.events import PluginFailed
from wf_mcp.core.guard import CHAIN_VARIABLE, chain_value, path_digest
from wf_mcp.core.seal import Sealer
from wf_mcp.edge.admin import OwnTools
from wf_mcp.edge.auth import ConfiguredTokens
from wf_mcp.edge.callers import Callers, FrontSettings
from wf_mcp.edge.catalogue_store import FOLDER, CatalogueFiles
from wf_mcp.edge.clients import SessionSink
from wf_mcp.edge.era_memory import ERAS, EraMemory
from wf_mcp.edge.fallbacks import Fallbacks
from wf_mcp.edge.folders import cache_dir, state_dir
from wf_mcp.edge.front import Backstage, WireLane
from wf_mcp.edge.input_schemas import ParamHeaderCheck
from wf_mcp.edge.keys import sealing_key
from wf_mcp.edge.lists import Lists
from wf_mcp.edge.serving import build_server, install
from wf_mcp.edge.sessionless import SessionlessRules
from wf_mcp.edge.telemetry import OTelTelemetry
from wf_mcp.edge.telemetry_front import FrontSpans
from wf_mcp.edge.telemetry_metrics import LifeMetrics, observe
from wf_mcp.edge.upstream import SdkConnector
from wf_mcp.plugin.manager import Plugins, build_plugins, log_failure
from wf_mcp.plugin.types import AdminTool, CallInterceptor, EventSink, Owned
from wf_mcp.runtime.ages import Ages
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.bridge import Bridge
from wf_mcp.runtime.bus import EventBus
from wf_mcp.runtime.clock import SystemClock
from wf_mcp.runtime.dispatch import Dispatch
from wf_mcp.runtime.extended_tasks import ExtendedTasks
from wf_mcp.runtime.idling import Idling
from wf_mcp.runtime.listeners import Listeners
from wf_mcp.runtime.listing import Listings
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.operator import Operator, Replacement
from wf_mcp.runtime.parking import Parking
from wf_mcp.runtime.ports import Caller, Hello
from wf_mcp.runtime.reporting import Reporter
from wf_mcp.runtime.resolve import Resolver
from wf_mcp.runtime.shelves import Shelves
from wf_mcp.runtime.skills import Skills
from wf_mcp.runtime.spares import Spares
from wf_mcp.runtime.standing import Standing, give_up
from wf_mcp.runtime.task_owners import TaskOwners
from wf_mcp.runtime.tasks import Tasks
from wf_mcp.version import VERSION

IDENTITY = {"name": "wf-mcp", "version": VERSION}

NOBODY = Caller(Audience("unattended", "unattended", "unattended"), hello=Hello({}, IDENTITY, "2025-11-25"))
"""Who asks when nobody does: `wf-mcp check`, and upstreams that start before the first client."""


def chain_of(config: Config, env: Mapping[str, str]) -> dict[str, str]:
    """What a child is told of the files that are being served above it, this one included."""
    served = path_digest(os.path.realpath(config.file))
    return {CHAIN_VARIABLE: chain_value(env.get(CHAIN_VARIABLE), served)}


@dataclass(frozen=True, slots=True)
class Front:
    """How this process is reached: `kind` of front, and its setting for the form of names that it lists."""

    kind: Literal["stdio", "http"]
    style: NamesStyle


@dataclass(frozen=True, slots=True)
class Offered:
    """What plug-ins offer for the whole proxy."""

    sinks: tuple[EventSink, ...]
    interceptors: tuple[Owned[CallInterceptor], ...]
    tools: tuple[Owned[AdminTool], ...]


class App:
    """Everything that runs behind one front; with `remember`, what upstreams list is kept for the next start."""

    def __init__(
        self,
        config: Config,
        front: Front,
        *,
        read: Callable[[], Config],
        env: Mapping[str, str] = os.environ,
        remember: bool = False,
        telemetry: OTelTelemetry | None = None,
    ) -> None:
        self._env = env
        self._front = front
        self.telemetry = telemetry or OTelTelemetry(self._mask)
        self.bus = EventBus()
        self.history = HistorySink()
        self.sessions = SessionSink(lambda *change: self.mounts.concerns(*change))
        self.plugins = self._load_plugins(config)
        self._interceptors: tuple[Owned[CallInterceptor], ...] = ()
        eras = EraMemory(state_dir(env) / ERAS)
        chain = chain_of(config, env)
        connector = SdkConnector(lambda: self.operator.config.shutdown, chain, eras, self.telemetry)
        key = sealing_key(state_dir(env))
        catalogues = CatalogueFiles(cache_dir(env) / FOLDER, key) if remember else None
        self.mounts = Mounts(connector, self.plugins, self.bus.publish, IDENTITY, catalogues=catalogues)
        shelves = Shelves(self.mounts, self._plugin_failed, lambda: self.operator.config.names.budget)
        self.listings = Listings(self.mounts, shelves)
        self.operator = Operator(
            config,
            read,
            self._replug,
            self.mounts,
            self.listings,
            self._reporter(shelves),
            self.bus.publish,
            self.history.records,
        )
        resolver = Resolver(self.mounts, shelves, self.listings)
        self.standing = Standing(self.mounts, resolver)
        owners = TaskOwners()
        self.listeners = Listeners(self.mounts, resolver, owners=owners)
        self._sealer = sealer = Sealer(key)
        spares = Spares(self.mounts, SystemClock())
        parking = Parking(sealer, self.mounts.spawn, lambda: self.operator.config.parked, spares=spares)
        self.dispatch = Dispatch(resolver, lambda: self._interceptors, self._plugin_failed, Bridge(sealer, parking))
        self.dispatch.on_task = owners.made
        self.skills = Skills(self.mounts, resolver)
        self.extended_tasks = ExtendedTasks(self.mounts, self.dispatch, owners)
        self.callers = Callers(FrontSettings(front.kind, front.style, IDENTITY), self.sessions, self._left)
        self.own_tools = OwnTools(self.bus, self.sessions)
        self.server = self._build_server(config)
        self._unplug = self._plug(self._offered(self.plugins))
        self._connect(parking)

    def _reporter(self, shelves: Shelves) -> Reporter:
        return Reporter(
            self.mounts,
            shelves,
            self.listings,
            lambda: self.plugins.statuses(),
            version=VERSION,
            lane="wire",
            front=self._front.kind,
            style=self._front.style,
            clients=lambda: self.callers.statuses(),
        )

    def _connect(self, parking: Parking) -> None:
        """Add the bus's own sinks, and let metrics tell what there is at the moment."""
        for sink in (self.sessions, self.listeners, LifeMetrics(self.telemetry.meter)):
            self.bus.add(sink)
        observe(
            self.telemetry.meter,
            self.mounts,
            clients=lambda: len(self.sessions),
            streams=lambda: len(self.listeners),
            parked=lambda: len(parking),
            dropped=lambda: self.sessions.dropped + self.listeners.dropped,
        )

    def _load_plugins(self, config: Config) -> Plugins:
        def failed(plugin: str, hook: str, error: Exception) -> None:
            log_failure(plugin, hook, error)
            self.bus.publish(PluginFailed(plugin, hook, str(error) or type(error).__name__))

        blocked = frozenset(name for name in self._env.get("WF_MCP_BLOCK_PLUGINS", "").split(",") if name)
        internal = [("history", self.history), ("admin", admin_plugin), ("namespace", namespace), ("links", links)]
        return build_plugins(internal, config.plugins, blocked=blocked, on_failure=failed)

    def _plugin_failed(self, plugin: str, hook: str, error: Exception) -> None:
        self.plugins.report(plugin, hook, error)

    def _offered(self, plugins: Plugins) -> Offered:
        """What plug-ins offer besides transforms; raises `PluginError` where a required one fails."""
        return Offered(
            tuple(owned.value for owned in plugins.event_sinks()),
            plugins.call_interceptors(),
            plugins.admin_tools(self.operator),
        )

    def _plug(self, offered: Offered) -> Callable[[], None]:
        """Put to use what the plug-ins offer; returns what takes it away again."""
        for sink in offered.sinks:
            self.bus.add(sink)
        self._interceptors = offered.interceptors
        remove_tools = self.own_tools.register(self.server, offered.tools)

        def unplug() -> None:
            remove_tools()
            for sink in offered.sinks:
                self.bus.remove(sink)

        return unplug

    def _replug(self, config: Config) -> Replacement:
        """Load the plug-ins anew under other settings; nothing changes before they are put to use."""
        plugins = self._load_plugins(config)
        offered = self._offered(plugins)

        def change() -> None:
            self._unplug()
            self.plugins = plugins
            self.mounts.use(plugins)
            self._unplug = self._plug(offered)

        return Replacement(plugins, change)

    def _build_server(self, config: Config) -> FastMCP:
        protected = self._front.kind == "http" and bool(config.tokens)
        server = build_server(VERSION, ConfiguredTokens(lambda: self.operator.config.tokens) if protected else None)
        lane = WireLane(
            Backstage(
                callers=self.callers,
                mounts=self.mounts,
                lists=Lists(self.listings, lambda: self.operator.config.page_size, self._sealer),
                dispatch=self.dispatch,
                standing=self.standing,
                tasks=Tasks(self.mounts, self.dispatch),
                extended_tasks=self.extended_tasks,
                skills=self.skills,
                listeners=self.listeners,
                identity=IDENTITY,
                admin=self._admin_served,
                own_tools=self.own_tools,
                fallbacks=Fallbacks(lambda: self.operator.config.tools.fallback, self.dispatch, self._mask),
                mask=self._mask,
            )
        )
        spans = FrontSpans(self.telemetry, "pipe" if self._front.kind == "stdio" else "tcp")
        install(server, spans, SessionlessRules(), ParamHeaderCheck(self.callers, self.listings), lane)
        return server

    def _mask(self, text: str) -> str:
        return self.operator.secrets.mask(text)

    def _left(self, audience: Audience) -> None:
        """A client has gone: its sessions end, and what it alone was subscribed to is given up."""
        for session, uris in self.mounts.release(audience):
            self.mounts.spawn(partial(give_up, session, uris))

    def _admin_served(self) -> bool:
        """On stdio unless switched off; over HTTP only where every client holds a configured token (design D12)."""
        config = self.operator.config
        return bool(config.admin) and (self._front.kind == "stdio" or bool(config.tokens))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Mount the upstreams for the time of the block; on leaving, every child process is stopped."""
        async with anyio.create_task_group() as tasks:
            self.sessions.run_in(tasks)
            self.mounts.load(self.operator.config)
            await tasks.start(self.mounts.run, name="upstreams")
            tasks.start_soon(Idling(self.mounts, SystemClock()).run, name="idle sessions")
            tasks.start_soon(Ages(self.mounts, SystemClock()).run, name="ages of calls")
            for mount in self.mounts:
                # A stdio front's one client is there at once, and each upstream has one process for it (design D4).
                if mount.upstream.settings.start == "eager" and self._front.kind == "http":
                    self.mounts.session(mount, NOBODY)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
