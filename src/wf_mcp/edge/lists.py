"""One list request answered: the upstreams' components and wf-mcp's own, in the form of names that this client gets,
page by page.
"""

import secrets
from collections.abc import Callable
from dataclasses import replace

from wf_mcp.core.downgrade import held_tool
from wf_mcp.core.envelope import Era, bare_result
from wf_mcp.core.kinds import PROMPTS, TOOLS, Kind
from wf_mcp.core.paging import page
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.listing import Listing, Listings
from wf_mcp.runtime.ports import Caller

PARTIAL = "wf-mcp/partial"
"""The `_meta` key that names upstreams missing from a list, or in it with what they offered before."""


class Lists:
    """Builds list results, keeping the last one of each kind as long as nothing in it changed."""

    def __init__(self, listings: Listings, page_size: Callable[[], int | None]) -> None:
        self._listings = listings
        self._page_size = page_size
        self._key = secrets.token_bytes(32)
        self._kept: dict[tuple[Audience, str, str, Era], tuple[str, list[JsonObject]]] = {}
        listings.when_released(self._forget)

    async def answer(self, caller: Caller, kind: Kind, cursor: object, own: list[JsonObject]) -> JsonObject:
        """The result of one list request; raises `InvalidParams` for a cursor that is not of this list."""
        listing = await self._listings.listing(caller, kind)
        items = self._items(caller, kind, listing)
        if own:
            items = items + [_safe_own(tool) if caller.style == "safe" else tool for tool in own]
        size = self._page_size()
        part, following = page(items, cursor, kind=kind.name, size=size, state=listing.state, key=self._key)
        result: JsonObject = {kind.key: list(part)}
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
        for key in [key for key in self._kept if key[0] == audience]:
            del self._kept[key]

    def _items(self, caller: Caller, kind: Kind, listing: Listing) -> list[JsonObject]:
        key = (caller.audience, kind.name, caller.style, caller.era)
        kept = self._kept.get(key)
        if kept is None or kept[0] != listing.state:
            safe = caller.style == "safe" and kind in (TOOLS, PROMPTS)
            items = [{**entry.item, kind.field: entry.safe} if safe else entry.item for entry in listing.entries]
            if kind is TOOLS and caller.era == "handshake":
                modern = self._listings.modern(caller.audience)
                pairs = zip(items, listing.entries, strict=True)
                items = [held_tool(item) if entry.mount_id in modern else item for item, entry in pairs]
            kept = (listing.state, items)
            self._kept[key] = kept
        return kept[1]


def _safe_own(tool: JsonObject) -> JsonObject:
    return {**tool, "name": str(tool["name"]).replace(".", "_")}
