"""A store of catalogues in memory, and catalogues to put into it."""

from typing import Any

import anyio
from tests.inbox import Inbox
from tests.runtime.stage import HELLO, upstream

from wf_mcp.core.hints import Hints
from wf_mcp.core.kinds import KINDS
from wf_mcp.core.stored import CatalogueKey, Stored, StoredList, dump, parse
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.keeper import catalogue_key
from wf_mcp.runtime.ports import Hello


class Shelf:
    """Keeps what would be on disk; `arrivals` hears of each that is saved."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.loads = 0
        self.arrivals = Inbox()

    def load(self, key: CatalogueKey) -> Stored | None:
        self.loads += 1
        text = self.texts.get(key.text)
        return None if text is None else parse(text)

    async def save(self, key: CatalogueKey, stored: Stored) -> None:
        for _ in range(5):  # a disk takes its time too
            await anyio.lowlevel.checkpoint()
        self.texts[key.text] = dump(stored)
        self.arrivals.add({"method": key.digest.partition(" ")[0]})

    def put(self, stored: Stored, connection_id: str = "alpha", hello: Hello = HELLO, **options: Any) -> None:
        """As if an earlier run had kept it."""
        self.texts[catalogue_key(upstream(connection_id, **options), hello, None).text] = dump(stored)

    def of(self, connection_id: str = "alpha", hello: Hello = HELLO) -> Stored | None:
        """What is kept of an upstream."""
        return self.load(catalogue_key(upstream(connection_id), hello, None))

    async def saved(self, connection_id: str = "alpha", times: int = 1) -> None:
        """Wait until catalogues of an upstream were saved so often."""
        await self.arrivals.wait_for(lambda _: len(self.arrivals.of(connection_id)) >= times)


def stored(*tools: JsonObject, at: float = 1000.0, hints: Hints | None = None, **said: Any) -> Stored:
    """A catalogue with these tools, and nothing of the other kinds."""
    empty = {kind.name: StoredList(()) for kind in KINDS}
    initialized = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "kept"}}
    return Stored(at, "handshake", {**initialized, **said}, {**empty, "tools": StoredList(tools, None, hints)})
