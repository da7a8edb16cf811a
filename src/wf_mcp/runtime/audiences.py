"""Who is attended: as whom each audience sees the lists, and the sessions that are opened for it (design D4).

Which mounts there are is not known here; they are given with each question.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.pool import Opening, Pool
from wf_mcp.runtime.ports import Caller, ClientPort, Hello
from wf_mcp.runtime.session import UpstreamSession


@dataclass(frozen=True, slots=True)
class Attended:
    """What is kept for an audience: what was declared, how it is reached outside its requests, and its principal."""

    hello: Hello
    standing: ClientPort | None
    principal: str | None


class Audiences:
    """Every audience that is attended. Who keeps something for one lets go of it in `on_release`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._attended: dict[Audience, Attended] = {}
        self._levels: dict[Audience, str] = {}
        self._apart: set[str] = set()
        self._views: dict[Audience, None] = {}
        self.on_release: list[Callable[[Audience], None]] = []

    def __iter__(self) -> Iterator[Audience]:
        return iter(tuple(self._attended))

    def viewpoints(self) -> tuple[Audience, ...]:
        """Every audience; those that see the same lists by the same sessions are one."""
        return tuple(dict.fromkeys(self.viewpoint(each) for each in self._attended))

    def viewpoint(self, audience: Audience) -> Audience:
        """As whom `audience` sees the lists: as everybody who declares the same, until an upstream tells its session
        something else.
        """
        alone = not audience.owned or audience.client == audience.principal
        if alone or audience.client in self._apart:
            return audience
        view = Audience(audience.principal, audience.principal, audience.shared)
        self._views[view] = None
        return view

    def set_apart(self, client: str) -> None:
        """An upstream lists something else to the session of `client` than to those who declare the same."""
        self._apart.add(client)

    def admit(self, caller: Caller) -> None:
        """Attend whoever calls, from its first request on."""
        if caller.audience not in self._attended:
            self._attended[caller.audience] = Attended(caller.hello, caller.standing, caller.principal)

    def set_level(self, audience: Audience, level: str) -> None:
        """Remember the log level that a client asked for, for sessions that are opened later."""
        self._levels[audience] = level

    def serving(self, mount: Mount, audience: Audience, key: str) -> UpstreamSession | None:
        """The session of `mount` under `key`, opened for `audience` if need be; `None` where it cannot be started."""
        session = mount.sessions.get(key)
        if session is None and mount.startable():
            session = self.open(mount, audience, key)
        if session is not None and not session.inbox.owned and key == mount.key(audience):
            self._join(session, audience)
        return session

    def open(self, mount: Mount, audience: Audience, key: str) -> UpstreamSession:
        """Open a session of `mount` under `key`, as `audience` declares."""
        attended = self._attended[audience]
        own = audience.owns(key)
        control = mount.control_key(audience)
        opening = Opening(
            attended.hello,
            attended.standing,
            own,
            audience.client,
            self._levels.get(audience) if own or key == mount.key(audience) else None,
            lender=control if own and key != control else None,
            principal=attended.principal,
        )
        return self._pool.open(mount, key, opening)

    def _join(self, session: UpstreamSession, audience: Audience) -> None:
        """Let a client of a shared session hear what it asks for, at the log level that it asked for before."""
        standing, level = self._attended[audience].standing, self._levels.get(audience)
        wishes = session.inbox.wishes
        if standing is not None:
            session.inbox.join(standing)
        if level is not None and wishes.level_of(audience.client) != level:
            before = wishes.level
            wishes.set_level(audience.client, level)
            if wishes.level != before:
                self._pool.spawn(session.level_again)

    def leave(self, session: UpstreamSession, audience: Audience) -> tuple[str, ...]:
        """Take a client out of a shared session; the resources that nobody is subscribed to there any more."""
        level = session.inbox.wishes.level
        unwanted = session.inbox.leave(audience.client)
        if session.inbox.wishes.level != level:
            self._pool.spawn(session.level_again)
        return unwanted

    def wanted(self, mount: Mount, key: str, session: UpstreamSession) -> bool:
        """Whether a client that is connected now has the session, or lists by it."""
        return session.inbox.heard_by_somebody or any(
            key in (mount.key(audience), mount.control_key(audience))
            for audience, attended in self._attended.items()
            if attended.standing is not None
        )

    def release(self, audience: Audience) -> None:
        """A client has gone: nothing is kept for it any more."""
        self._attended.pop(audience, None)
        self._levels.pop(audience, None)
        self._apart.discard(audience.client)
        for forget in self.on_release:
            forget(audience)

    def forget(self, unserved: Callable[[Audience], bool]) -> None:
        """Let go of what is kept for callers without a connection that are `unserved`."""
        passing = [each for each, attended in self._attended.items() if attended.standing is None]
        for audience in dict.fromkeys((*passing, *self._views)):
            if unserved(audience):
                self._attended.pop(audience, None)
                self._views.pop(audience, None)
                for forget in self.on_release:
                    forget(audience)
