"""What the clients of one session asked for that lasts: resource subscriptions, tasks to hear of, and log levels.

They are kept here, so that they are asked for again when the connection was lost, given up when the last client that
wanted them goes, and told to exactly those who asked.
"""

from collections.abc import Iterable

from wf_mcp.core.levels import most_verbose, shows


class Wishes:
    """Who wants what of one session; clients are named by their keys, resources by the upstream's URIs."""

    def __init__(self) -> None:
        self._subscribers: dict[str, dict[str, None]] = {}
        self._followers: dict[str, dict[str, None]] = {}
        self._levels: dict[str, str] = {}

    def subscribe(self, uri: str, client: str) -> bool:
        """Note a subscription; true if nobody had it before, so that the upstream has to be told."""
        clients = self._subscribers.setdefault(uri, {})
        first = not clients
        clients[client] = None
        return first

    def unsubscribe(self, uri: str, client: str) -> bool:
        """Forget a subscription; true if it was the last one, so that the upstream has to be told."""
        clients = self._subscribers.get(uri)
        if clients is None or client not in clients:
            return False
        del clients[client]
        if clients:
            return False
        del self._subscribers[uri]
        return True

    def forget(self, client: str) -> tuple[str, ...]:
        """Forget everything that a client wanted; returns the URIs that nobody is subscribed to any more."""
        self._levels.pop(client, None)
        return tuple(uri for uri in tuple(self._subscribers) if self.unsubscribe(uri, client))

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """Every URI that somebody is subscribed to."""
        return tuple(self._subscribers)

    def subscribers(self, uri: str) -> tuple[str, ...]:
        """Who is to hear of a change of `uri`: its subscribers, and those of a resource above it (matrix B.4)."""
        found = dict(self._subscribers.get(uri, {}))
        for above, clients in self._subscribers.items():
            if uri.startswith(above.rstrip("/") + "/"):
                found.update(clients)
        return tuple(found)

    def follow(self, task: str, client: str) -> bool:
        """Note that a client is to hear of a task; true if nobody was before, so that the upstream has to be told."""
        clients = self._followers.setdefault(task, {})
        first = not clients
        clients[client] = None
        return first

    def unfollow(self, task: str, client: str) -> bool:
        """Forget that a client is to hear of a task; true if it was the last one."""
        clients = self._followers.get(task, {})
        if client not in clients:
            return False
        del clients[client]
        if not clients:
            del self._followers[task]
        return not clients

    @property
    def tasks(self) -> tuple[str, ...]:
        """Every task that somebody is to hear of."""
        return tuple(self._followers)

    def followers(self, task: object) -> tuple[str, ...]:
        """Who is to hear of a task."""
        return tuple(self._followers.get(task, ())) if isinstance(task, str) else ()

    def set_level(self, client: str, level: str) -> None:
        """Note the log level that a client asked for."""
        self._levels[client] = level

    def level_of(self, client: str) -> str | None:
        """The log level that a client asked for, if it did."""
        return self._levels.get(client)

    @property
    def level(self) -> str | None:
        """The level to ask the upstream for: the most verbose that any client wants."""
        return most_verbose(self._levels.values())

    def shows(self, client: str, level: object) -> bool:
        """Whether a client is to get a log message of `level`."""
        return shows(self._levels.get(client), level)

    def showing(self, clients: Iterable[str], level: object) -> tuple[str, ...]:
        """Those of `clients` that are to get a log message of `level`."""
        return tuple(client for client in clients if self.shows(client, level))
