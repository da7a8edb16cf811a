"""One upstream as it appears here: its namespace, its plug-ins' transforms, and its sessions by their keys."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from wf_mcp.core.config import Upstream
from wf_mcp.core.merge import Offer
from wf_mcp.core.namespace import Namespace
from wf_mcp.plugin.manager import Plugins
from wf_mcp.plugin.types import ComponentTransform, Owned, ResultTransform
from wf_mcp.runtime.audience import Audience
from wf_mcp.runtime.session import UpstreamSession


@dataclass(slots=True, eq=False)
class Mount:
    """One upstream: what is configured, how its names look, and its sessions by their keys."""

    upstream: Upstream
    namespace: Namespace
    components: tuple[Owned[ComponentTransform], ...]
    results: tuple[Owned[ResultTransform], ...]
    sessions: dict[str, UpstreamSession] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The upstream's connection id."""
        return self.upstream.id

    @property
    def label(self) -> str:
        """The label that its names and URIs carry; empty for a bare mount."""
        return self.upstream.label

    @property
    def called(self) -> str:
        """What to call it towards people: the label, or the id of a bare mount."""
        return self.upstream.label or self.upstream.id

    def key(self, audience: Audience) -> str:
        """The key of the session that serves `audience`."""
        return audience.key(self.upstream.settings.isolation)

    def control_key(self, audience: Audience) -> str:
        """The key of the session that lists for `audience`: its own would be opened for every client that connects, so
        that those who declare the same share one for lists and change notices (design D4).
        """
        own = self.key(audience)
        return audience.principal if audience.owns(own) else own

    def lister_key(self, audience: Audience) -> str:
        """The key of the session whose lists `audience` sees: its own once the upstream said that those are others."""
        own = self.key(audience)
        control = self.control_key(audience)
        session = self.sessions.get(own) if own != control else None
        return control if session is None or session.borrows else own

    def lister(self, audience: Audience) -> UpstreamSession | None:
        """The session whose lists `audience` sees, if it has been opened."""
        return self.sessions.get(self.lister_key(audience))

    def session_of(self, audience: Audience) -> UpstreamSession | None:
        """The session that serves `audience`, if it has been opened."""
        return self.sessions.get(self.key(audience))

    def startable(self) -> bool:
        """Whether this upstream may be started at all."""
        return self.upstream.enabled and self.upstream.problem is None


def mounted(upstream: Upstream, plugins: Plugins) -> Mount:
    """A mount of `upstream` without sessions yet; raises `PluginError` where a required plug-in cannot serve it."""
    namespace = Namespace(upstream.id, upstream.label)
    return Mount(upstream, namespace, plugins.component_transforms(namespace), plugins.result_transforms(namespace))


def offers(attended: Iterable[tuple[Mount, UpstreamSession | None]]) -> list[Offer]:
    """What each upstream said of itself, for merging; one that cannot start offers nothing, one that has not answered
    is unknown.
    """
    found: list[Offer] = []
    for mount, session in attended:
        if session is None:
            found.append(Offer(mount.label, None if mount.startable() else {}))
            continue
        said = session.initialized
        if said is None:
            found.append(Offer(mount.label, None))
        else:
            found.append(Offer(mount.label, said.get("capabilities") or {}, said.get("instructions")))
    return found
