"""A link to a 2026-07-28 upstream: each request says who asks, and what only handshake upstreams have is emulated, so
that the runtime asks every upstream in one way (design D2, D8; matrix A.1, A.2, A.5).
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcp_types import HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from wf_mcp.core.envelope import Envelope, Era, as_initialized, declared_to, extensions, with_envelope
from wf_mcp.core.errors import INTERNAL_ERROR, INVALID_PARAMS, NotServed, RelayedError
from wf_mcp.core.levels import LEVELS
from wf_mcp.core.tasks import TASKS_EXTENSION
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.cancellations import CANCELLED
from wf_mcp.edge.hop import Hop, NoAgreement
from wf_mcp.edge.listen_filter import subscription_of
from wf_mcp.edge.modern_listen import Listening
from wf_mcp.edge.modern_versions import newest, supported
from wf_mcp.edge.param_headers import ParamHeaders, routing_headers
from wf_mcp.runtime.ports import PLAIN, Hello, Inbox, ProcessView, Sending, Withdrawn

logger = logging.getLogger(__name__)


MAX_PAGES = 100
"""Pages of a tool list that are read to learn which arguments belong into headers."""

OF_THIS_HOP: Final = frozenset({HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION})
"""Errors about our own request, which a client would take for a verdict on its own (matrix A.5)."""


class ModernLink:
    """A link over one hop that was opened with `server/discover`; `http` says whether requests carry headers."""

    def __init__(self, hop: Hop, inbox: Inbox, hello: Hello, *, http: bool) -> None:
        self._hop = hop
        self._inbox = inbox
        self._own = Envelope(declared_to("modern", hello.capabilities, hello.era), hello.client_info)
        self._client_era = hello.era
        self._http = http
        self._version: str = MODERN_PROTOCOL_VERSIONS[-1]
        self._level: str | None = None
        self._initialized: JsonObject = {}
        self._params = ParamHeaders(hop.upstream.id)
        self._listening: Listening | None = None

    @property
    def era(self) -> Era:
        """This link's era."""
        return "modern"

    @property
    def initialized(self) -> JsonObject:
        """The upstream's `server/discover` result in the shape of an `initialize` result."""
        return self._initialized

    @property
    def process(self) -> ProcessView | None:
        """The child process behind a stdio link."""
        return self._hop.process

    @property
    def listening(self) -> Listening:
        """What the upstream is asked to tell; there is one once `discover` has returned."""
        if self._listening is None:
            raise RuntimeError("a modern link listens only after it was discovered")
        return self._listening

    # -- opening ---------------------------------------------------------------------------------

    async def discover(self, limit: float) -> None:
        """Ask who it is and which versions it speaks, within `limit` seconds (2026-07-28 server/discover).

        Raises `NoAgreement` where the upstream does not answer in time, refuses, or speaks no version that we know.
        """
        self._hop.receiver = self
        try:
            found = await self._discovered(limit)
        except NoAgreement as refusal:
            common = newest(supported(refusal))
            if common is None:
                raise  # else once more, also where it names the very version that it refused
            self._version = common
            found = await self._discovered(limit)
        offered = found.get("supportedVersions")
        common = newest(offered)
        if common is None or not isinstance(found.get("capabilities"), dict):
            raise NoAgreement(
                f"it answered server/discover with the protocol versions {offered!r}, of which wf-mcp speaks none",
                "refused",
            )
        self._version = common
        self._initialized = {**as_initialized(found), "protocolVersion": common}
        self._listening = Listening(
            self._hop.upstream.id,
            self._initialized["capabilities"],
            self._listen,
            self._hop.next_id,
            self._inbox.heard,
            limit,
        )

    async def _discovered(self, limit: float) -> JsonObject:
        params = with_envelope(None, self._own, self._version)
        return await self._hop.negotiate("server/discover", params, limit, self._headers("server/discover", params))

    async def _listen(self, request_id: int, params: JsonObject) -> JsonObject:
        """One `subscriptions/listen`, to its end; following tasks takes the extension (ext-tasks)."""
        envelope = self._own
        if "taskIds" in params["notifications"]:
            declared = {**extensions(envelope.capabilities), TASKS_EXTENSION: {}}
            envelope = replace(envelope, capabilities={**envelope.capabilities, "extensions": declared})
        return await self._sent("subscriptions/listen", params, Sending(envelope=envelope), request_id)

    # -- requests --------------------------------------------------------------------------------

    async def request(self, method: str, params: JsonObject | None, sending: Sending = PLAIN) -> JsonObject:
        """Send one request, or do what this era has in its place; see `Link.request`."""
        match method:
            case "resources/subscribe":
                await self.listening.subscribe(_uri(params), sending.timeout)
            case "resources/unsubscribe":
                self.listening.unsubscribe(_uri(params))
            case "logging/setLevel":
                self._set_level((params or {}).get("level"))
            case "ping":
                logger.debug("upstream %s: ping ends here, this era has none", self._hop.upstream.id)
            case _:
                return await self._repaired(method, params, sending)
        return {}

    def _set_level(self, level: object) -> None:
        """The level for requests that bring none (2026-07-28 server/utilities/logging § Per-request log level)."""
        if level not in LEVELS:
            raise RelayedError(INVALID_PARAMS, f"Invalid log level: {level!r}")
        self._level = str(level)

    async def _repaired(self, method: str, params: JsonObject | None, sending: Sending) -> JsonObject:
        """Send a request; where the upstream objects to what this hop adds, put that right and send it once more."""
        try:
            return await self._sent(method, params, sending)
        except RelayedError as error:
            if error.code not in OF_THIS_HOP:
                raise
            try:
                await self._repair(error.code, method)
                return await self._sent(method, params, sending)
            except (RelayedError, NoAgreement) as again:
                if isinstance(again, RelayedError) and again.code not in OF_THIS_HOP:
                    raise
                raise RelayedError(
                    INTERNAL_ERROR,
                    f"Upstream {self._hop.upstream.id!r} does not take wf-mcp's own part of {method}: {again.message}",
                ) from again

    async def _repair(self, code: int, method: str) -> None:
        """What the specification has a client do: learn the schemas again, or the versions (matrix A.5)."""
        if code == UNSUPPORTED_PROTOCOL_VERSION:
            found = await self._discovered(self._hop.upstream.settings.init_timeout)
            self._version = newest(found.get("supportedVersions")) or self._version
        elif method == "tools/call":
            await self._learn_tools()

    async def _learn_tools(self) -> None:
        cursor, seen = None, set[object]()
        for _ in range(MAX_PAGES):
            page = await self._sent("tools/list", None if cursor is None else {"cursor": cursor}, PLAIN)
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen:
                return
            seen.add(cursor)

    async def _sent(
        self, method: str, params: JsonObject | None, sending: Sending, request_id: int | None = None
    ) -> JsonObject:
        stamped = with_envelope(params, self._envelope(sending), self._version)
        headers = self._headers(method, stamped, sending.headers)
        result = await self._hop.request(method, stamped, sending, headers, request_id)
        return self._params.usable(result) if self._http and method == "tools/list" else result

    def _envelope(self, sending: Sending) -> Envelope:
        """Who asks: the request's own envelope, else the connection's; under `identity: proxy` always in our name."""
        envelope = sending.envelope or self._own
        proxy = self._hop.upstream.settings.identity == "proxy"
        return Envelope(
            declared_to("modern", envelope.capabilities, self._client_era),
            self._own.client_info if proxy or not envelope.client_info else envelope.client_info,
            envelope.log_level or self._level,
        )

    def _headers(self, method: str, params: JsonObject, beside: Mapping[str, str] | None = None) -> dict[str, str]:
        """The headers of one request: those configured or forwarded, then the protocol's (matrix A.2)."""
        headers = {name: value for name, value in (beside or {}).items() if not name.lower().startswith("mcp-")}
        if not self._http:
            return headers
        headers |= routing_headers(method, params, self._version)
        return (
            headers | self._params.of(params.get("name"), params.get("arguments"))
            if method == "tools/call"
            else headers
        )

    # -- everything else -------------------------------------------------------------------------

    async def notify(self, method: str, params: JsonObject | None) -> None:
        """Nothing is sent: what a client may notify in this era, a cancellation, the request itself does
        (2026-07-28 basic/patterns/cancellation, changelog major item 5).
        """
        logger.debug("upstream %s: %s is not sent, this era has none", self._hop.upstream.id, method)

    def follow(self, task_id: str) -> None:
        """Have a task's changes heard (ext-tasks), as part of what is listened to."""
        self.listening.follow(task_id)

    def unfollow(self, task_id: str) -> None:
        """Have them heard no longer."""
        self.listening.unfollow(task_id)

    async def closed(self) -> str:
        """Return, with the reason, once the connection is gone."""
        return await self._hop.closed()

    async def asked(
        self, method: str, params: Mapping[str, Any] | None, withdrawn: Withdrawn | None = None
    ) -> JsonObject:
        """Refuse: in this era servers send no requests (2026-07-28 basic/patterns § Message Patterns)."""
        raise NotServed(f"{method}: servers of protocol {self._version} send no requests")

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Pass on a notification of the upstream's; what belongs to a listen stream goes through that."""
        if method == CANCELLED:
            if self._listening is not None:
                self._listening.torn_down((params or {}).get("requestId"))
            return
        subscription, body = subscription_of(params)
        if subscription is None:
            self._inbox.heard(method, params)
        elif self._listening is not None:
            self._listening.take(subscription, method, body)


def _uri(params: JsonObject | None) -> str:
    uri = (params or {}).get("uri")
    if not isinstance(uri, str):
        raise RelayedError(INVALID_PARAMS, "uri: a string is required")
    return uri
