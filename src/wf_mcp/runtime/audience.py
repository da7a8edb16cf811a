"""Who shares a session with whom (design D4).

An upstream is configured to keep its sessions per client, per principal, or shared by all; a caller brings the key for
each. Two callers with equal keys use one session, and see its state.
"""

from dataclasses import dataclass

from wf_mcp.core.config_values import Isolation


@dataclass(frozen=True, slots=True)
class Audience:
    """One caller's keys, by each way of sharing.

    `owned` says that `client` belongs to one connected client alone: the session is then opened with its name and its
    capabilities, may ask it at any time, and ends with it. Where a caller has no connection of its own, `client` is the
    key of its principal, or the shared one.
    """

    client: str
    principal: str
    shared: str
    owned: bool = False

    def key(self, isolation: Isolation) -> str:
        """The key of this caller's session with an upstream that is configured so."""
        match isolation:
            case "client":
                return self.client
            case "principal":
                return self.principal
            case "shared":
                return self.shared

    def owns(self, key: str) -> bool:
        """Whether sessions under `key` are this caller's alone."""
        return self.owned and key == self.client

    @property
    def keys(self) -> frozenset[str]:
        """Every key of this caller."""
        return frozenset((self.client, self.principal, self.shared))


def alone(key: str) -> Audience:
    """The audience of the only client there is: whatever the isolation, every session is its own."""
    return Audience(key, key, key, owned=True)
