"""From what a client wrote to the upstream that answers: names by table, URIs by their label, web addresses by
ownership (design D6, D7).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from wf_mcp.core.errors import UnknownName, UnknownResource, UpstreamUnavailable
from wf_mcp.core.kinds import PROMPTS, RESOURCES, TEMPLATES, TOOLS, Kind
from wf_mcp.core.routing import Entry
from wf_mcp.core.uris import decode, is_web
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.listing import Listings
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.session import UpstreamSession
from wf_mcp.runtime.shelves import Shelves

LINK_CAP = 10_000
"""Web addresses remembered from links; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes: the mount, the session, and the upstream's own name or URI for what was asked."""

    mount: Mount
    session: UpstreamSession
    local: str


class Resolver:
    """Finds the route of one request."""

    def __init__(self, mounts: Mounts, shelves: Shelves, listings: Listings) -> None:
        self._mounts = mounts
        self._shelves = shelves
        self._listings = listings
        self._linked: dict[str, str] = {}

    def linked(self, mount: Mount, uris: Iterable[str]) -> None:
        """Remember that `mount` handed out these web addresses in a result."""
        for uri in uris:
            self._linked.pop(uri, None)
            self._linked[uri] = mount.id
        while len(self._linked) > LINK_CAP:
            del self._linked[next(iter(self._linked))]

    async def name(self, caller: Caller, kind: Kind, name: str) -> Route:
        """The route of a tool or prompt by either of its public names.

        Raises `UnknownName` (-32602), or `UpstreamUnavailable` where the name belongs to an upstream that cannot be
        asked.
        """
        entry = self._listings.table(caller.audience, kind).find(name)
        if entry is not None:
            mount = self._mounts[entry.mount_id]
            if self._lister(mount, caller).catalogue.fresh(kind):
                return Route(mount, self._session(mount, caller), entry.local)
            await self._up_to_date(mount, caller, kind)
        else:
            await self._listings.listing(caller, kind)
        entry = self._listings.table(caller.audience, kind).find(name)
        if entry is None:
            await self._wait_for_owner(caller, kind, name)
            entry = self._listings.table(caller.audience, kind).find(name)
        if entry is None and kind is TOOLS:
            entry = self._app_tool(caller, name)
        if entry is None:
            raise UnknownName(f"Unknown {_WORDS[kind.name]}: {name}")
        mount = self._mounts[entry.mount_id]
        return Route(mount, self._session(mount, caller), entry.local)

    def _app_tool(self, caller: Caller, name: str) -> Entry | None:
        """The tool that an app means, which calls it by the name at its own server; hosts pass that on as it is."""
        meant = self._listings.table(caller.audience, TOOLS).for_apps(name)
        if len(meant) > 1:
            candidates = ", ".join(entry.dotted for entry in meant)
            raise UnknownName(f"Unknown tool: {name}. Apps of several servers may mean it: {candidates}")
        return meant[0] if meant else None

    async def _wait_for_owner(self, caller: Caller, kind: Kind, name: str) -> None:
        """Where the name carries a mount's label, give that one upstream the time that it needs to say whether it has
        it.
        """
        mount = next(
            (m for m in self._mounts if m.label and name.startswith((f"{m.label}.", f"{_safe(m.label)}_"))), None
        )
        if mount is None:
            return
        await self._up_to_date(mount, caller, kind)
        catalogue = self._lister(mount, caller).catalogue
        if catalogue.peek(kind) is None and (why := catalogue.failure(kind)) is not None:
            raise UpstreamUnavailable(f"Upstream {mount.id!r} is unavailable: it did not list its {kind.name}: {why}")

    async def _up_to_date(self, mount: Mount, caller: Caller, kind: Kind) -> None:
        """Give one upstream, and no other, the time that it needs to list `kind`.

        Where the session that lists sleeps, the one that serves `caller` lists in its place: one is enough to start.
        """
        lister = self._lister(mount, caller)
        serving = lister if lister.state is not State.ASLEEP else self._session(mount, caller)
        await serving.link()
        serving.lend(lister)
        await lister.catalogue.get(kind, from_now=True)

    async def uri(self, caller: Caller, uri: str) -> Route:
        """The route of a resource by its public URI, listed or not.

        Raises `UnknownResource` (with `data.uri` as the client wrote it) where no upstream owns it.
        """
        found = decode(uri, self._mounts.labels)
        if found is not None and found[0]:
            mount, local = self._mounts.by_label(found[0]), found[1]
        else:
            mount, local = await self._unlabelled(caller, uri), uri
        if not self._lister(mount, caller).catalogue.fresh(RESOURCES):  # what plug-ins hide is known by the list only
            await self._up_to_date(mount, caller, RESOURCES)
        if any(local in self._shelves.hidden(mount, caller.audience, kind) for kind in (RESOURCES, TEMPLATES)):
            raise _unknown(uri)
        return Route(mount, self._session(mount, caller), local)

    async def _unlabelled(self, caller: Caller, uri: str) -> Mount:
        if is_web(uri):
            owner = self._listings.web(caller.audience).owner(uri) or self._linked.get(uri)
            if owner is None:
                await self._listings.listing(caller, RESOURCES)
                await self._listings.listing(caller, TEMPLATES)
                owner = self._listings.web(caller.audience).owner(uri)
            if owner is not None and owner in {mount.id for mount in self._mounts}:
                return self._mounts[owner]
        if self._mounts.bare is None:
            raise _unknown(uri)
        return self._mounts.bare

    def _lister(self, mount: Mount, caller: Caller) -> UpstreamSession:
        """The session that lists for `caller`; raises `UpstreamUnavailable` where it cannot be opened."""
        lister = self._mounts.lister(mount, caller)
        return lister if lister is not None else self._session(mount, caller)

    def _session(self, mount: Mount, caller: Caller) -> UpstreamSession:
        session = self._mounts.session(mount, caller)
        if session is None:
            raise UpstreamUnavailable(f"Upstream {mount.id!r} is unavailable: {mount.upstream.problem}")
        return session


_WORDS = {TOOLS.name: "tool", PROMPTS.name: "prompt"}


def _unknown(uri: str) -> UnknownResource:
    return UnknownResource(f"Resource not found: {uri}", {"uri": uri})


def _safe(label: str) -> str:
    return label.replace(".", "_").replace("-", "_")
