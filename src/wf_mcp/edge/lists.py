"""One list request answered: the upstreams' components and wf-mcp's own, in the form of names that this client gets,
page by page.

What is listed stays the same objects, and with them the text that they were written as, while nothing in it changes:
then an answer costs neither a copy nor JSON.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from wf_mcp.core.downgrade import held_tool
from wf_mcp.core.envelope import Era, bare_result
from wf_mcp.core.kinds import PROMPTS, TOOLS, Kind
from wf_mcp.core.merge import PARTIAL
from wf_mcp.core.paging import Pages, Section, sections
from wf_mcp.core.routing import Entry
from wf_mcp.core.seal import Sealer
from wf_mcp.core.wire import JsonObject, Written
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.listing import Listing, Listings
from wf_mcp.runtime.ports import Caller

OWN = "wf"
"""The owner of wf-mcp's own tools, whose section is the last; the label is reserved (design D6)."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A list in the form of names that a client gets, with its sections and its items' keys for paging."""

    entries: tuple[Entry, ...]
    items: Written
    sections: tuple[Section, ...]
    keys: list[str]


@dataclass(frozen=True, slots=True)
class _WithOwn:
    """A list, and the same one with some tools of wf-mcp's own."""

    base: _Kept
    own: list[JsonObject]
    whole: _Kept


_Key = tuple[Audience, str, str, Era]


class Lists:
    """Builds list results, keeping the last one of each kind as long as nothing in it changed; `sealer` seals cursors,
    which are good for as long as its key is.
    """

    def __init__(self, listings: Listings, page_size: Callable[[], int | None], sealer: Sealer) -> None:
        self._listings = listings
        self._page_size = page_size
        self._sealer = sealer
        self._lists: dict[_Key, _Kept] = {}
        self._with_own: dict[tuple[_Key, tuple[str, ...]], _WithOwn] = {}
        listings.when_released(self._forget)

    async def answer(self, caller: Caller, kind: Kind, cursor: object, own: list[JsonObject]) -> JsonObject:
        """The result of one list request; raises `InvalidParams` for a cursor that is not of this list."""
        listing = await self._listings.listing(caller, kind)
        kept = self._kept(caller, kind, listing, own)
        pages = Pages(kind.name, caller.principal, kept.sections, kept.keys)
        part, following = pages.page(cursor, self._page_size(), self._sealer, given=cursor is not None)
        result: JsonObject = {kind.key: kept.items.part(part.start, part.stop)}
        if following is not None:
            result["nextCursor"] = following
        if listing.missing:
            result["_meta"] = {**(listing.meta or {}), PARTIAL: list(listing.missing)}
        elif listing.meta is not None:
            result["_meta"] = listing.meta
        if caller.era == "modern":
            # What wf-mcp lists of its own depends on who asks.
            return result | (replace(listing.hints, scope="private") if own else listing.hints).as_fields()
        return bare_result(result)

    def _forget(self, audience: Audience) -> None:
        for key in [key for key in self._lists if key[0] == audience]:
            del self._lists[key]
        for owned in [owned for owned in self._with_own if owned[0][0] == audience]:
            del self._with_own[owned]

    def _kept(self, caller: Caller, kind: Kind, listing: Listing, own: list[JsonObject]) -> _Kept:
        key = (self._listings.viewpoint(caller.audience), kind.name, caller.style, caller.era)
        base = self._lists.get(key)
        if base is None or base.entries is not listing.entries:
            base = self._lists[key] = self._made(caller, kind, listing)
        if not own:
            return base
        # Clients that see the same of the upstreams may be offered different tools of our own.
        names = tuple(str(tool["name"]) for tool in own)
        found = self._with_own.get((key, names))
        if found is None or found.base is not base or found.own != own:
            shown = [_safe_own(tool) if caller.style == "safe" else tool for tool in own]
            found = self._with_own[key, names] = _WithOwn(base, own, _with_own(base, shown))
        return found.whole

    def _made(self, caller: Caller, kind: Kind, listing: Listing) -> _Kept:
        safe = caller.style == "safe" and kind in (TOOLS, PROMPTS)
        items = [{**entry.item, kind.field: entry.safe} if safe else entry.item for entry in listing.entries]
        if kind is TOOLS and caller.era == "handshake":
            modern = self._listings.modern(caller.audience)
            pairs = zip(items, listing.entries, strict=True)
            items = [held_tool(item) if entry.mount_id in modern else item for item, entry in pairs]
        owners = [entry.mount_id for entry in listing.entries]
        return _Kept(listing.entries, Written(items), sections(owners), [entry.local for entry in listing.entries])


def _with_own(kept: _Kept, own: list[JsonObject]) -> _Kept:
    """The list with wf-mcp's own tools at its end."""
    start = len(kept.items)
    last = Section(OWN, start, start + len(own))
    keys = [str(tool["name"]).replace("_", ".") for tool in own]
    return _Kept(kept.entries, Written(kept.items + own), (*kept.sections, last), kept.keys + keys)


def _safe_own(tool: JsonObject) -> JsonObject:
    return {**tool, "name": str(tool["name"]).replace(".", "_")}
