"""Keeps what one session's upstream lists where it outlives this process (design D5).

What a call may have changed is the session's own, and gone with it; so that is not kept which an upstream lists after
it was called, but what it lists to whoever comes new.
"""

import time
from collections.abc import Callable

from wf_mcp.core.config import Upstream
from wf_mcp.core.stored import CatalogueKey, Stored
from wf_mcp.runtime.catalogue import Catalogue
from wf_mcp.runtime.ports import CatalogueStore, Hello, Link


class Keeper:
    """Reads what `store` has under `key`, and writes there what a catalogue holds."""

    def __init__(self, store: CatalogueStore, key: CatalogueKey) -> None:
        self._store = store
        self._key = key
        self.stored = store.load(key)

    async def run(self, catalogue: Catalogue, link: Link, called: Callable[[], bool]) -> None:
        """Write whenever all lists were loaded over `link`, until cancelled; once `called`, no more."""
        seen = await self.write(catalogue, link, catalogue.completions)
        while not called():
            await catalogue.completed(seen)
            if not called():
                seen = await self.write(catalogue, link, seen)

    async def write(self, catalogue: Catalogue, link: Link, seen: int) -> int:
        """Write all lists, once they are up to date more often than they were `seen`; returns how often they are."""
        lists = await catalogue.completed(seen)
        seen = catalogue.completions
        self.stored = Stored(catalogue.at or time.time(), link.era, link.initialized, lists)
        await self._store.save(self._key, self.stored)
        return seen


def catalogue_key(upstream: Upstream, hello: Hello, principal: str | None) -> CatalogueKey:
    """The key of what `upstream` lists to those who say `hello`; sessions that all share are nobody's in particular."""
    declared = {"capabilities": hello.capabilities, "era": hello.era, "version": hello.protocol_version}
    configured = f"{upstream.id} {upstream.digest}"
    return CatalogueKey(configured, declared, None if upstream.settings.isolation == "shared" else principal)
