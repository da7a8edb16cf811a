"""One `subscriptions/listen` request as a modern link sent it (2026-07-28 basic/patterns/subscriptions)."""

import time
from dataclasses import dataclass, field

import anyio

from wf_mcp.core.errors import WfMcpError
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.listen_filter import URIS


@dataclass(eq=False)
class ListenStream:
    """One listen request, from its sending to its end; `settled` once it is acknowledged or has ended."""

    id: int
    filter: JsonObject
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    settled: anyio.Event = field(default_factory=anyio.Event)
    honoured: JsonObject | None = None
    error: WfMcpError | None = None
    alive: bool = True
    since: float = field(default_factory=time.monotonic)

    def honours(self, uri: str) -> bool:
        """Whether the acknowledgement names `uri`."""
        uris = (self.honoured or {}).get(URIS)
        return isinstance(uris, list) and uri in uris

    @property
    def working(self) -> bool:
        """Whether it was acknowledged and is still open."""
        return self.alive and self.honoured is not None
