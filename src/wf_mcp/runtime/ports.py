"""What the runtime needs of the world, as protocols; `edge` implements them and tests may too."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from wf_mcp.core.config import Upstream
from wf_mcp.core.envelope import Envelope, Era
from wf_mcp.core.stored import CatalogueKey, Stored
from wf_mcp.core.trouble import TroubleKind
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.audience import Audience

Withdrawn = Callable[[], Awaitable[str | None]]
"""Tells why a question was withdrawn, if its asker said so."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What wf-mcp declares to an upstream for whom it opens a connection (matrix D.2).

    `protocol_version` is for a handshake; `era` is the client's own, which is tried first where an upstream's is not
    known (design D8).
    """

    capabilities: JsonObject
    client_info: JsonObject
    protocol_version: str
    era: Era = "handshake"


@dataclass(frozen=True, slots=True)
class Sending:
    """How one request is to travel: its limit in seconds, headers beside the protocol's own, and who asks.

    `cancel_reason` tells why the asker cancelled, if it said so. `envelope` is for modern upstreams, which are told who
    asks with each request; without it the connection speaks for itself, as it was opened.
    """

    timeout: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cancel_reason: Callable[[], Awaitable[str | None]] | None = None
    envelope: Envelope | None = None


PLAIN = Sending()
"""A request that needs nothing of the kind."""


class Inbox(Protocol):
    """Where an upstream's own messages go."""

    async def asked(
        self, method: str, params: Mapping[str, Any] | None, withdrawn: Withdrawn | None = None
    ) -> JsonObject:
        """Answer a request of the upstream's; raises `WfMcpError` to refuse it.

        Where the upstream cancels the request, this is cancelled, and `withdrawn` tells the reason.
        """
        ...

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Take a notification, in the order of arrival; must not block."""
        ...


class Link(Protocol):
    """One negotiated connection to an upstream, alive until `closed` returns."""

    @property
    def era(self) -> Era:
        """The era that was found to be the upstream's."""
        ...

    @property
    def initialized(self) -> JsonObject:
        """The upstream's `initialize` result, as it sent it; a modern upstream's `server/discover` in that shape."""
        ...

    async def request(self, method: str, params: JsonObject | None, sending: Sending = PLAIN) -> JsonObject:
        """Send one request and return its raw result; where the caller is cancelled, the upstream is told, with the
        reason that `sending.cancel_reason` gives.

        A modern link takes `resources/subscribe`, `resources/unsubscribe`, `logging/setLevel` and `ping` too, and does
        what that era has in their place, so that the runtime asks every upstream in one way.

        Raises `RelayedError` for the upstream's own error, `UpstreamTimeout` after `sending.timeout` seconds,
        `LinkLost` when the connection went away.
        """
        ...

    async def notify(self, method: str, params: JsonObject | None) -> None:
        """Send one notification; dropped when the connection is gone."""
        ...

    def follow(self, task_id: str) -> None:
        """Have `notifications/tasks` of a task heard from now on (the tasks extension, which handshake upstreams have
        not).
        """
        ...

    def unfollow(self, task_id: str) -> None:
        """Have them heard no longer."""
        ...

    async def closed(self) -> str:
        """Return, with the reason, once the connection is gone."""
        ...

    @property
    def process(self) -> "ProcessView | None":
        """The child process behind a stdio link."""
        ...


class ProcessView(Protocol):
    """What a status may know of a child process."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def stderr_tail(self) -> list[str]:
        """The last lines that it wrote to stderr."""
        ...


def loss(process: ProcessView | None) -> TroubleKind:
    """What the end of a connection was, by what became of the process behind it."""
    if process is None:
        return "reset"
    return "exited" if process.returncode is not None else "broken_pipe"


class Connector(Protocol):
    """Opens links."""

    def open(self, upstream: Upstream, hello: Hello, inbox: Inbox) -> AbstractAsyncContextManager[Link]:
        """Start or connect to `upstream` and complete the handshake; raises `UpstreamUnavailable` with the reason."""
        ...


class CatalogueStore(Protocol):
    """Keeps what upstreams listed, across restarts."""

    def load(self, key: CatalogueKey) -> Stored | None:
        """What was kept under `key`; `None` where there is nothing that can be used. Never fails."""
        ...

    async def save(self, key: CatalogueKey, stored: Stored) -> None:
        """Keep `stored` under `key`. Never fails: what cannot be kept is asked for again."""
        ...


class ClientPort(Protocol):
    """One client, as the runtime may address it."""

    @property
    def client(self) -> str:
        """Which client this is: two ports of one client have equal keys."""
        ...

    async def ask(self, method: str, params: JsonObject, withdrawn: Withdrawn | None = None) -> JsonObject:
        """Send the client a request; raises `WfMcpError` when it cannot be asked or refuses."""
        ...

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send the client a notification."""
        ...

    async def cancel_reason(self) -> str | None:
        """Why the client cancelled its request, if it said so."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking: what decides which sessions, names and answers a request gets.

    `audience` says which sessions serve this caller (design D4). `port` addresses the client during this
    request, `standing` outside any request, where it alone owns the audience's sessions; both are `None` where that is
    not possible. `principal` is whose token it brought, `log_level` what this request wants of the upstream's log,
    `unasked` why nobody can be asked, where the connection is the reason.
    """

    audience: Audience
    hello: Hello
    era: Era = "handshake"
    style: Literal["dotted", "safe"] = "dotted"
    headers: Mapping[str, str] = field(default_factory=dict)
    port: ClientPort | None = None
    standing: ClientPort | None = None
    principal: str | None = None
    log_level: str | None = None
    unasked: str | None = None

    @property
    def envelope(self) -> Envelope:
        """Who asks, as a modern upstream is told with this request."""
        return Envelope(self.hello.capabilities, self.hello.client_info, self.log_level)


@dataclass(frozen=True, slots=True)
class Asker:
    """On whose behalf a session sends a request: where what belongs to it goes, headers that the upstream's config
    asks for, and the envelope for a modern upstream.
    """

    port: ClientPort | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    envelope: Envelope | None = None


NOBODY = Asker()
"""wf-mcp itself."""


def asking_for(caller: Caller, headers: Mapping[str, str] | None = None) -> Asker:
    """The asker that stands for `caller`."""
    return Asker(caller.port, headers or {}, caller.envelope)
