"""Sessions beside a shared one, while a call there waits for its user (matrix D.4 item 8).

Over stdio nothing says to which call a question belongs. So that the next question of the waiting call is not taken for
somebody else's, other clients' calls get a session of their own for as long as they last.
"""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol

from wf_mcp.core.config_values import StdioTransport
from wf_mcp.runtime.clock import Clock
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.resolve import Route
from wf_mcp.runtime.session import UpstreamSession

SPARES: Final = 8
"""Sessions of this kind that one upstream may have; further calls share again."""

IDLE: Final = 60.0
"""Seconds after which one that nobody uses is closed."""

_PREFIX: Final = "spare "


class Opens(Protocol):
    """Opens and closes sessions under keys of their own."""

    def open_spare(self, mount: Mount, caller: Caller, key: str) -> UpstreamSession:
        """Start another session for those who share `caller`'s."""
        ...

    def close_spare(self, mount: Mount, key: str) -> None:
        """End it."""
        ...

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task that nobody waits for."""
        ...


class Spares:
    """All such sessions."""

    def __init__(self, mounts: Opens, clock: Clock) -> None:
        self._mounts = mounts
        self._clock = clock
        self._in_use: set[UpstreamSession] = set()
        self._used: dict[UpstreamSession, float] = {}

    def aside(self, caller: Caller, route: Route) -> Route:
        """The route to a session that nobody else uses, or `route` itself where there is none to be had.

        Whoever asks gives it back.
        """
        mount = route.mount
        settings, transport = mount.upstream.settings, mount.upstream.transport
        if settings.isolation == "shared" or not isinstance(transport, StdioTransport):
            return route
        suffix = f" {mount.key(caller.audience)}"
        taken = [key for key in mount.sessions if key.startswith(_PREFIX)]
        key = next((key for key in taken if key.endswith(suffix) and mount.sessions[key] not in self._in_use), None)
        if key is not None:
            session = mount.sessions[key]
        elif len(taken) < SPARES:
            number = next(n for n in range(1, SPARES + 1) if not any(k.startswith(f"{_PREFIX}{n} ") for k in taken))
            session = self._mounts.open_spare(mount, caller, f"{_PREFIX}{number}{suffix}")
        else:
            return route
        self._in_use.add(session)
        return replace(route, session=session)

    def give_back(self, route: Route) -> None:
        """The call is over; where `route` leads to a spare session, that is closed unless it is soon used again."""
        session = route.session
        if session not in self._in_use:
            return
        self._in_use.discard(session)
        self._used[session] = self._clock.now()
        self._mounts.spawn(partial(self._close_when_idle, route.mount, session))

    async def _close_when_idle(self, mount: Mount, session: UpstreamSession) -> None:
        await self._clock.sleep(IDLE)
        idle = session not in self._in_use and self._clock.now() - self._used.get(session, 0.0) >= IDLE
        key = next((key for key, each in mount.sessions.items() if each is session), None)
        if key is not None and idle:
            self._mounts.close_spare(mount, key)
        if key is None or idle:
            self._used.pop(session, None)
