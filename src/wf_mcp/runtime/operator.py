"""What a person operates from inside the chat: reload, inventory, status, events (design D11, D12).

Reads and plans first, then changes; a configuration that cannot be used changes nothing.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import anyio.to_thread

from wf_mcp.core.config import Config
from wf_mcp.core.errors import ConfigError, PluginError
from wf_mcp.core.events import ConfigReloaded, Event, PromptsChanged, ReloadRefused, ResourcesChanged, ToolsChanged
from wf_mcp.core.kinds import KINDS, KindName
from wf_mcp.core.plan import Plan, plan_reload
from wf_mcp.core.reports import EventRecord, Inventory, ReloadReport, Status
from wf_mcp.core.secrets import Secrets
from wf_mcp.plugin.manager import Plugins
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.listing import Listings
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.reporting import Reporter
from wf_mcp.runtime.session import UpstreamSession

logger = logging.getLogger(__name__)

States = dict[KindName, tuple[str, ...]]

CHANGED: dict[KindName, Callable[[str], Event]] = {
    "tools": ToolsChanged,
    "prompts": PromptsChanged,
    "resources": ResourcesChanged,
    "templates": ResourcesChanged,
}


@dataclass(frozen=True, slots=True)
class Replacement:
    """Plug-ins loaded under another configuration, and what puts them in the place of those in use."""

    plugins: Plugins
    use: Callable[[], None]


class Operator:
    """Implements `plugin.types.Admin` over the running mounts.

    `replug` loads the plug-ins of a configuration, raising `PluginError` where a required one fails, and returns what
    puts them to use.
    """

    def __init__(
        self,
        config: Config,
        read: Callable[[], Config],
        replug: Callable[[Config], Replacement],
        mounts: Mounts,
        listings: Listings,
        reporter: Reporter,
        publish: Callable[[Event], None],
        recent: Callable[[int], list[EventRecord]],
    ) -> None:
        self.config = config
        self.secrets = Secrets(config.secrets)
        self._read = read
        self._replug = replug
        self._mounts = mounts
        self._listings = listings
        self._reporter = reporter
        self._publish = publish
        self._recent = recent
        self._one_at_a_time = anyio.Lock()

    async def reload(self) -> ReloadReport:
        """Read the configuration again and apply what changed."""
        async with self._one_at_a_time:
            try:
                config = await anyio.to_thread.run_sync(self._read)
                replaced = self._replug(config) if config.plugins != self.config.plugins else None
                made = self._mounts.prepare(config, replaced.plugins if replaced is not None else None)
            except (ConfigError, PluginError) as error:
                reason = self.secrets.mask(error.message)
                logger.warning("configuration not reloaded: %s", reason)
                self._publish(ReloadRefused(reason))
                return ReloadReport(error=reason)
            return await self._change_to(config, made, replaced)

    async def _change_to(self, config: Config, made: dict[str, Mount], replaced: Replacement | None) -> ReloadReport:
        plan = plan_reload(self.config, config)
        before = self._listings.snapshot(self._mounts.audiences)
        if replaced is not None:
            replaced.use()
        started = self._mounts.apply(made, config, plan)
        old, self.config = self.config, config
        self._warn_of_restart_only(old)
        self.secrets = Secrets(self.secrets.strings | config.secrets)
        for session in started:
            await self._arrival(session)
        own_tools = replaced is not None or (bool(old.admin), old.tools) != (bool(config.admin), config.tools)
        self._announce(before, self._listings.snapshot(self._mounts.audiences), own_tools=own_tools)
        failed = self._failed(config, plan, started)
        self._publish(ConfigReloaded(plan.added, plan.removed, plan.restarted, plan.unchanged, tuple(failed)))
        return ReloadReport(
            added=list(plan.added),
            removed=list(plan.removed),
            restarted=list(plan.restarted),
            unchanged=list(plan.unchanged),
            failed=failed,
        )

    async def _arrival(self, session: UpstreamSession) -> None:
        """Wait, within its deadlines, for a new upstream and its lists; one that is late announces itself."""
        if not await session.connection.settled(session.deadline) or session.state is not State.READY:
            session.owe_everything()
            return
        with anyio.move_on_after(self.config.list_wait):
            await session.catalogue.settled()
        for kind in KINDS:
            await session.catalogue.get(kind)

    def _announce(self, before: States, after: States, *, own_tools: bool) -> None:
        """One event for each kind of list that became another one, or, with `own_tools`, may have."""
        changed = [kind for kind in before if before[kind] != after[kind] or (own_tools and kind == "tools")]
        for event in dict.fromkeys(CHANGED[kind]("") for kind in changed):
            self._publish(event)

    def _failed(self, config: Config, plan: Plan, started: list[UpstreamSession]) -> dict[str, str]:
        new = {*plan.added, *plan.restarted}
        failed = {up.id: up.problem for up in config.upstreams if up.id in new and up.problem is not None}
        failed |= {
            session.upstream.id: session.reason or "it could not be started"
            for session in started
            if session.state in (State.FAILED, State.GONE)
        }
        failed |= {
            session.upstream.id: f"it has not answered within {config.list_wait:g} s; it appears once it does"
            for session in started
            if session.state is State.STARTING
        }
        return {name: self.secrets.mask(reason) for name, reason in failed.items()}

    def _warn_of_restart_only(self, old: Config) -> None:
        config = self.config
        if old.allowed_hosts != config.allowed_hosts or bool(old.tokens) != bool(config.tokens):
            logger.warning("the first token, the last one, and allowed_hosts take effect when wf-mcp is started again")

    async def inventory(self) -> Inventory:
        """What every upstream offers, under its public and its own names."""
        return Inventory.model_validate(self.secrets.mask_json(self._reporter.inventory(self.config).model_dump()))

    def status(self) -> Status:
        """The state of the proxy, its upstreams and its plug-ins."""
        return Status.model_validate(self.secrets.mask_json(self._reporter.status(self.config).model_dump()))

    def events(self, limit: int) -> list[EventRecord]:
        """The last `limit` events, newest last."""
        return [
            EventRecord.model_validate(self.secrets.mask_json(record.model_dump())) for record in self._recent(limit)
        ]
