"""What listen streams want to hear of single resources and tasks, at the upstreams: counted per session, given up with
the last stream that has it (matrix B.5).
"""

import logging
from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

import anyio

from wf_mcp.core.envelope import extensions
from wf_mcp.core.errors import NotServed, WfMcpError
from wf_mcp.core.tasks import TASKS_EXTENSION
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.listener import Followed, Listener, Watch
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.ports import Asker
from wf_mcp.runtime.resolve import Resolver
from wf_mcp.runtime.session import UpstreamSession
from wf_mcp.runtime.task_owners import TaskOwners

logger = logging.getLogger(__name__)


class Watching:
    """Subscribes sessions for listeners, and unsubscribes them."""

    def __init__(self, mounts: Mounts, resolver: Resolver, owners: TaskOwners) -> None:
        self._owners = owners
        self._mounts = mounts
        self._resolver = resolver
        self._locks: WeakKeyDictionary[UpstreamSession, anyio.Lock] = WeakKeyDictionary()

    async def watch(self, listener: Listener, uri: str) -> None:
        """Let `listener` hear of a resource by its public URI.

        Raises `WfMcpError` where nobody owns it, or its upstream is away, does not tell of changes, or refuses.
        """
        caller = listener.caller
        route = await self._resolver.uri(caller, uri)
        session, local = route.session, route.local
        await session.link()
        if not _tells(session):
            raise NotServed(f"Upstream {session.upstream.id!r} does not tell of changes of its resources")
        watch = Watch(uri, route.mount.namespace.public_uri(local), route.mount.id, local)
        listener.watches.append(watch)
        listener.sessions[route.mount.id] = session
        session.inbox.join(listener)
        try:
            async with self._lock(session):
                await self._subscribe(session, local, listener)
            watch.link = session.last_link
        except BaseException:
            listener.watches.remove(watch)
            raise

    async def _subscribe(self, session: UpstreamSession, local: str, listener: Listener) -> None:
        wishes = session.inbox.wishes
        if not wishes.subscribe(local, listener.client):
            return
        try:
            # Without a port: what an upstream logs meanwhile has no place on this stream.
            asker = Asker(envelope=replace(listener.caller.envelope, log_level=None))
            await session.request("resources/subscribe", {"uri": local}, asker)
        except BaseException:
            wishes.unsubscribe(local, listener.client)
            raise

    def follow(self, listener: Listener, public: str) -> bool:
        """Let `listener` hear of a task of the extension; false where it is none of the caller's, or never told of.

        Sessions may be shared, so that it takes the owner to hear of a task.
        """
        caller, found = listener.caller, self._mounts.behind(public)
        if found is None or not self._owners.allows(public, caller.principal):
            return False
        mount, local = found
        session = self._owners.home(public, caller.principal, mount) or mount.session_of(caller.audience)
        if session is None or not has_tasks(session):
            return False
        listener.followed.append(Followed(public, mount.id, local, session))
        listener.sessions.setdefault(mount.id, session)
        session.inbox.join(listener)
        if session.inbox.wishes.follow(local, listener.client) and session.last_link is not None:
            session.last_link.follow(local)
        return True

    def moved(self, listener: Listener, mount: Mount, session: UpstreamSession) -> None:
        """A new session serves the listener in the place of one that was ended: it is to tell the same."""
        listener.sessions[mount.id] = session
        session.inbox.join(listener)
        for watch in listener.watches:
            if watch.mount_id == mount.id:
                watch.link = None
                session.inbox.wishes.subscribe(watch.local, listener.client)
        for followed in listener.followed:
            if followed.mount_id == mount.id and followed.session not in mount.sessions.values():
                followed.session = session
                session.inbox.wishes.follow(followed.local, listener.client)

    def release(self, listener: Listener) -> None:
        """The stream is over: tell upstreams what nobody wants to hear of any more, without waiting for them."""
        for followed in listener.followed:
            session = followed.session
            last = session.inbox.wishes.unfollow(followed.local, listener.client)
            if last and session.last_link is not None:
                session.last_link.unfollow(followed.local)
        for session in {*listener.sessions.values(), *(followed.session for followed in listener.followed)}:
            if unwanted := session.inbox.leave(listener.client):
                self._mounts.spawn(partial(self._give_up, session, unwanted))

    async def _give_up(self, session: UpstreamSession, uris: tuple[str, ...]) -> None:
        async with self._lock(session):
            for uri in uris:
                # Somebody may have subscribed again by now, and a new connection knows of no old subscription.
                if uri in session.inbox.wishes.subscriptions or session.state is not State.READY:
                    continue
                try:
                    await session.request("resources/unsubscribe", {"uri": uri})
                except WfMcpError as error:
                    logger.warning("upstream %s did not take an unsubscription: %s", session.upstream.id, error)

    def _lock(self, session: UpstreamSession) -> anyio.Lock:
        return self._locks.setdefault(session, anyio.Lock())


def has_tasks(session: UpstreamSession) -> bool:
    """Whether an upstream is a modern one that has the tasks extension."""
    link = session.last_link
    capabilities = link.initialized.get("capabilities") if link is not None and link.era == "modern" else None
    return TASKS_EXTENSION in extensions(capabilities or {})


def _tells(session: UpstreamSession) -> bool:
    """Whether an upstream declared `resources.subscribe`, which both eras have."""
    resources = ((session.initialized or {}).get("capabilities") or {}).get("resources")
    return isinstance(resources, dict) and bool(resources.get("subscribe"))
