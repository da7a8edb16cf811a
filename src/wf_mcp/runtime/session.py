"""One upstream for those who share one set of declared capabilities: its lists, its calls, what it says.

Its connection (`connection.py`) comes and goes; what is wanted of the upstream stays. A request that reached an
upstream which then died is never sent again (design D5).
"""

import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from anyio.abc import TaskGroup

from wf_mcp.core.config import Upstream
from wf_mcp.core.envelope import Era
from wf_mcp.core.errors import LinkLost, RelayedError, UpstreamTimeout
from wf_mcp.core.events import Event
from wf_mcp.core.kinds import KINDS, Kind
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.stored import Stored
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.asking import Asking
from wf_mcp.runtime.catalogue import Catalogue
from wf_mcp.runtime.connection import Connection, State
from wf_mcp.runtime.inbox import SessionInbox
from wf_mcp.runtime.keeper import Keeper
from wf_mcp.runtime.ports import NOBODY, Asker, ClientPort, Connector, Hello, Link, Sending, Withdrawn
from wf_mcp.runtime.questions import Translation
from wf_mcp.runtime.requests import Requests
from wf_mcp.runtime.starts import Starts

logger = logging.getLogger(__name__)


class UpstreamSession:
    """One connection to one upstream, kept under `key` for the callers that share it."""

    def __init__(
        self,
        upstream: Upstream,
        hello: Hello,
        connector: Connector,
        publish: Callable[[Event], None],
        *,
        key: str = "",
        list_wait: float = 5.0,
        owner: ClientPort | None = None,
        translation: Translation | None = None,
        asking: Asking | None = None,
        on_change: Callable[[], None] = lambda: None,
        starts: Starts | None = None,
        asleep: bool = False,
        on_apart: Callable[[], None] | None = None,
        lender: Callable[[], Catalogue | None] = lambda: None,
        keeper: Keeper | None = None,
    ) -> None:
        self.connection = Connection(upstream, hello, connector, publish, starts or Starts(), asleep=asleep)
        self._on_apart = on_apart
        self._lender = lender
        self.deadline = time.monotonic() + list_wait
        self.needed = False
        self.catalogue = Catalogue(upstream.label or upstream.id, self._late, list_wait, on_change)
        self.catalogue.page_timeout = upstream.settings.list_timeout
        self._keeper = keeper
        if keeper is not None and keeper.stored is not None:
            self.catalogue.seed(keeper.stored.lists, keeper.stored.at)
        self._confirming = False
        self.inbox = SessionInbox(
            upstream.id,
            key,
            self.catalogue,
            publish,
            translation or Translation(Namespace(upstream.id, upstream.label)),
            asking or Asking(),
            owner,
            self._spawn,
        )
        self.inbox.on_list_changed = self._list_for_itself
        self.requests = Requests(self.connection, self.inbox, self._spawn, self._is_needed)
        self._tasks: TaskGroup | None = None
        self._early: list[Callable[[], Coroutine[Any, Any, None]]] = []

    @property
    def upstream(self) -> Upstream:
        """The configured upstream."""
        return self.connection.upstream

    @property
    def hello(self) -> Hello:
        """What is declared to it."""
        return self.connection.hello

    @property
    def state(self) -> State:
        """Where its connection is in its life."""
        return self.connection.state

    @property
    def reason(self) -> str | None:
        """Why there is no connection."""
        return self.connection.reason

    @property
    def last_link(self) -> Link | None:
        """The present connection, or the last one."""
        return self.connection.last_link

    @property
    def initialized(self) -> JsonObject | None:
        """The upstream's `initialize` result, of the present or the last connection, or of one before a restart; `None`
        before the first.
        """
        said = self.last_link or self.stored
        return said.initialized if said is not None else None

    @property
    def era(self) -> Era:
        """The upstream's era, of the present or the last connection, or of one before a restart; handshake before the
        first.
        """
        said = self.last_link or self.stored
        return said.era if said is not None else "handshake"

    @property
    def stored(self) -> Stored | None:
        """What is kept of the upstream across restarts."""
        return self._keeper.stored if self._keeper is not None else None

    def offers(self, capability: str) -> bool:
        """Whether the upstream declared a capability."""
        return capability in ((self.initialized or {}).get("capabilities") or {})

    def adopt(self, upstream: Upstream, translation: Translation) -> None:
        """Go on under changed settings that need no new connection; one that failed is tried again at once."""
        self.connection.upstream, self.inbox.translation = upstream, translation
        self.catalogue.page_timeout = upstream.settings.list_timeout
        self.connection.retry()

    async def run(self) -> None:
        """Keep the connection open until cancelled, or asleep until somebody needs it."""
        await self.connection.run(self, self)

    async def moved_in(self, link: Link, tasks: TaskGroup) -> None:
        """Deliver in `tasks` what is heard from now on, and ask again for what was wanted of the connection before."""
        self._tasks = tasks
        early, self._early = self._early, []
        for work in early:
            self._spawn(work)
        await self._remind(link)

    @property
    def borrows(self) -> bool:
        """Whether another session's lists stand for this one's: the upstream has not said that its own are others."""
        return self._on_apart is not None

    def _list_for_itself(self) -> None:
        """The upstream says that this session's lists changed: from now on they are its own (design D4)."""
        if self._on_apart is None:
            return
        tell, self._on_apart = self._on_apart, None
        if (shown := self._lender()) is not None:
            self.catalogue.adopt(shown)
        link = self.connection.current
        if link is not None and self._tasks is not None:
            self._load_lists(link, self._tasks)
        tell()

    def busy(self) -> bool:
        """Whether ending the connection would take something away: a call, a subscription, or a task."""
        wishes = self.inbox.wishes
        return self.requests.under_way() or bool(wishes.subscriptions or wishes.tasks)

    def _is_needed(self) -> None:
        self.needed = True

    def settled_in(self, link: Link, tasks: TaskGroup) -> None:
        """Load the lists, unless another session's stand for them."""
        if not self.borrows:
            self._load_lists(link, tasks)

    def _load_lists(self, link: Link, tasks: TaskGroup) -> None:
        if self._keeper is not None:
            name = f"what is kept of {self.upstream.id}"
            tasks.start_soon(self._keeper.run, self.catalogue, link, lambda: self.requests.calls > 0, name=name)
        tasks.start_soon(self.catalogue.serve, link, name=f"catalogue of {self.upstream.id}")

    def sleep(self) -> None:
        """Close a connection that nobody uses; whoever needs it opens it again, and the lists stand meanwhile."""
        if self.state is State.READY:
            self.catalogue.rest()
            self.connection.sleep()

    async def keep(self) -> None:
        """Keep the lists as they are now; before `sleep`, which ends what would do so."""
        link = self.connection.current
        if self._keeper is not None and link is not None and self.catalogue.completions:
            await self._keeper.write(self.catalogue, link, self.catalogue.completions - 1)

    def lend(self, lister: "UpstreamSession") -> None:
        """List over this session's connection for one that shares the upstream and sleeps."""
        link = self.connection.current
        if link is not None and lister.state is State.ASLEEP:
            self._spawn(partial(lister.confirm, link))

    async def confirm(self, link: Link) -> None:
        """List over another session's connection, which knows the same lists, and keep them."""
        if self._confirming:
            return
        self._confirming, seen = True, self.catalogue.completions
        try:
            await self.catalogue.confirm(link)
        finally:
            self._confirming = False
        if self._keeper is not None and self.catalogue.completions > seen:
            await self._keeper.write(self.catalogue, link, seen)

    def moved_out(self) -> None:
        """Nothing more comes for the calls that were under way."""
        self._tasks = None
        self._early.clear()
        self.inbox.abandon()

    async def settled(self) -> bool:
        """Wait until the session is ready or asleep or has failed, at most until `deadline`; true if it has.

        One whose lists are known from before is not waited for.
        """
        if self.catalogue.remembered and self.initialized is not None:
            return True
        return await self.connection.settled(self.deadline)

    async def link(self, *, instead_of: Link | None = None) -> Link:
        """The open connection; see `Connection.link`."""
        self.needed = True
        return await self.connection.link(instead_of=instead_of)

    async def request(self, method: str, params: JsonObject, asker: Asker = NOBODY) -> JsonObject:
        """Relay one request and return the upstream's raw result.

        Raises `RelayedError`, `UpstreamTimeout` or `UpstreamUnavailable`. Sent a second time only if the first
        certainly did not arrive.
        """
        return await self.requests.send(method, params, asker)

    async def notify(self, method: str, params: JsonObject) -> None:
        """Send the upstream a notification, if it is connected."""
        if self.connection.current is not None:
            await self.connection.current.notify(method, params)

    async def _remind(self, link: Link) -> None:
        """After a new start, ask again for what clients wanted of the connection before."""
        for uri in self.inbox.wishes.subscriptions:
            await self._again(link, "resources/subscribe", {"uri": uri})
        for task in self.inbox.wishes.tasks:
            link.follow(task)
        await self._level_again(link)

    async def level_again(self) -> None:
        """Ask for the log level that suits everybody now; without a connection, the next one is asked."""
        if self.connection.current is not None:
            with suppress(LinkLost):
                await self._level_again(self.connection.current)

    async def _level_again(self, link: Link) -> None:
        level = self.inbox.wishes.level
        if level is not None and "logging" in (link.initialized.get("capabilities") or {}):
            await self._again(link, "logging/setLevel", {"level": level})

    async def _again(self, link: Link, method: str, params: JsonObject) -> None:
        try:
            await link.request(method, params, Sending(timeout=self.upstream.settings.init_timeout))
        except (RelayedError, UpstreamTimeout) as error:
            logger.warning("upstream %s did not take %s again: %s", self.upstream.id, method, error)

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._tasks is None:  # an upstream may speak before its handshake is done
            self._early.append(work)
        else:
            self._tasks.start_soon(work, name=f"notifications of {self.upstream.id}")

    async def asked(
        self, method: str, params: Mapping[str, Any] | None, withdrawn: Withdrawn | None = None
    ) -> JsonObject:
        """Ask the client that the question is for; raises `WfMcpError` where nobody can be asked."""
        return await self.inbox.asked(method, params, self.notify, withdrawn)

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Take a notification of the upstream's."""
        self.inbox.heard(method, params)

    def _late(self, kind: Kind) -> None:
        self.inbox.late(kind)

    def owe_everything(self) -> None:
        """Remember that a client was answered without this upstream, so that its arrival is announced."""
        for kind in KINDS:
            self.catalogue.owe(kind)
