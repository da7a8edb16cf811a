"""Finds out which era an upstream speaks (design D8; 2026-07-28 basic/versioning § Backward Compatibility).

What the configuration says or an earlier connection found comes first, then the client's own era. Any error answer
leads to the other era, never one fixed code: older servers answer what they do not know in every possible way.
"""

import logging
from dataclasses import dataclass

from wf_mcp.core.config import HttpTransport, SseTransport, Upstream
from wf_mcp.core.envelope import Era
from wf_mcp.edge.era_memory import EraMemory
from wf_mcp.edge.handshake_link import HandshakeLink
from wf_mcp.edge.hop import Hop, NoAgreement
from wf_mcp.edge.modern_link import ModernLink
from wf_mcp.edge.modern_versions import MODERN_CODES, says_modern
from wf_mcp.runtime.ports import Hello, Inbox

logger = logging.getLogger(__name__)

PROBE = 10.0
"""Seconds for an era that is only tried: servers of the handshake era may ignore what comes before `initialize`."""

ATTEMPTS = 4
"""Requests that may be spent on finding out."""


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt to open an upstream in an era, within so many seconds."""

    era: Era
    limit: float


class Search:
    """The attempts to open one connection, until one works or none is left."""

    def __init__(self, upstream: Upstream, hello: Hello, memory: EraMemory) -> None:
        self._upstream = upstream
        self._hello = hello
        self._memory = memory
        self._limit = upstream.settings.init_timeout
        self._fixed = _fixed(upstream)
        self._failed: list[tuple[Era, NoAgreement]] = []
        self._next = self._first()

    async def on(self, hop: Hop, inbox: Inbox) -> HandshakeLink | ModernLink | None:
        """The link over `hop`; `None` where the connection went away and the next attempt needs a new one.

        Raises `NoAgreement` when nothing is left to try.
        """
        while True:
            attempt = self._next
            try:
                link = await self._opened(attempt, hop, inbox)
            except NoAgreement as refusal:
                logger.debug("upstream %s, era %s: %s", self._upstream.id, attempt.era, refusal)
                self._memory.forget(self._upstream, self._hello.era)
                self._failed.append((attempt.era, refusal))
                following = self._following()
                if following is None:
                    raise self._verdict() from refusal
                self._next = following
                if refusal.how == "lost" or not hop.alive:
                    return None
            else:
                if self._fixed is None:
                    self._memory.keep(self._upstream, self._hello.era, attempt.era)
                return link

    async def _opened(self, attempt: Try, hop: Hop, inbox: Inbox) -> HandshakeLink | ModernLink:
        if attempt.era == "handshake":
            handshake = HandshakeLink(hop, inbox)
            await handshake.handshake(self._hello, attempt.limit)
            return handshake
        modern = ModernLink(hop, inbox, self._hello, http=isinstance(self._upstream.transport, HttpTransport))
        await modern.discover(attempt.limit)
        return modern

    def _first(self) -> Try:
        known = self._fixed or self._memory.get(self._upstream, self._hello.era)
        if known is not None:
            return Try(known, self._limit)
        return self._tried_out(self._hello.era)

    def _tried_out(self, era: Era) -> Try:
        return Try(era, self._limit if era == "handshake" else min(PROBE, self._limit))

    def _following(self) -> Try | None:
        """What to try after the attempts that failed so far."""
        era, refusal = self._failed[-1]
        if self._fixed is not None or len(self._failed) >= ATTEMPTS:
            return None
        return self._after_handshake(refusal) if era == "handshake" else self._after_modern(refusal)

    def _after_handshake(self, refusal: NoAgreement) -> Try | None:
        if refusal.how != "refused":
            return None
        before = self._refusals("modern")
        if not before:
            return self._tried_out("modern")
        # It may have been too slow for the first question, and answers now: in the modern era, if its code says so.
        slow = before[-1].how == "silent" and len(before) == 1
        return Try("modern", self._limit) if slow or (says_modern(refusal) and len(before) == 1) else None

    def _after_modern(self, refusal: NoAgreement) -> Try | None:
        before = self._refusals("handshake")
        if refusal.how == "lost" and before and before[-1].how == "refused" and len(self._refusals("modern")) == 1:
            return self._tried_out("modern")  # it ended after it had refused initialize: asked first, it may answer
        return None if before or says_modern(refusal) else self._tried_out("handshake")

    def _refusals(self, era: Era) -> list[NoAgreement]:
        return [refusal for each, refusal in self._failed if each == era]

    def _verdict(self) -> NoAgreement:
        """The refusal that says most: that of a server that is certainly modern, else the handshake's."""
        modern, handshake = self._refusals("modern"), self._refusals("handshake")
        certain = [refusal for refusal in modern if refusal.answered in MODERN_CODES]
        return (certain or handshake or modern)[-1]


def _fixed(upstream: Upstream) -> Era | None:
    """The era that needs no search: the configured one, and of HTTP+SSE the only one that it has."""
    era = upstream.settings.era
    if era != "auto":
        return era
    return "handshake" if isinstance(upstream.transport, SseTransport) else None
