"""What wf-mcp knows of itself, put into the reports that admin tools and commands show."""

import time
from collections.abc import Callable
from typing import Literal

from wf_mcp.core.config import Config, HttpTransport, SseTransport, Upstream
from wf_mcp.core.kinds import PROMPTS, RESOURCES, TEMPLATES, TOOLS, Kind
from wf_mcp.core.reports import (
    ClientStatus,
    FailureStatus,
    Inventory,
    NamedItem,
    PluginStatus,
    SessionStatus,
    Status,
    UpstreamInventory,
    UpstreamStatus,
    UriItem,
)
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.connection import Connection, State
from wf_mcp.runtime.listing import Listings
from wf_mcp.runtime.mount import Mount
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.session import UpstreamSession
from wf_mcp.runtime.shelves import Shelves
from wf_mcp.runtime.vitals import vitals


class Reporter:
    """Reads mounts and lists; changes nothing."""

    def __init__(
        self,
        mounts: Mounts,
        shelves: Shelves,
        listings: Listings,
        plugins: Callable[[], list[PluginStatus]],
        *,
        version: str,
        lane: str,
        front: str,
        style: str,
        clients: Callable[[], list[ClientStatus]] = list,
    ) -> None:
        self._mounts = mounts
        self._shelves = shelves
        self._listings = listings
        self._plugins = plugins
        self._clients = clients
        self._fixed = {"version": version, "lane": lane, "front": front, "names_style": style}

    def status(self, config: Config) -> Status:
        """The state of everything, in config order."""
        mounted = {mount.id: mount for mount in self._mounts}
        return Status(
            **self._fixed,
            config_file=config.file or None,
            process=vitals(),
            upstreams=[_upstream_status(upstream, mounted.get(upstream.id)) for upstream in config.upstreams],
            clients=self._clients(),
            plugins=self._plugins(),
            notes=list(config.notes),
            web_conflicts=self._listings.web_conflicts(),
            name_clashes=self._listings.name_clashes(),
        )

    def inventory(self, config: Config) -> Inventory:
        """What every upstream offers to the first audience that was served."""
        mounted = {mount.id: mount for mount in self._mounts}
        return Inventory(
            upstreams=[self._inventory(upstream, mounted.get(upstream.id)) for upstream in config.upstreams]
        )

    def _inventory(self, upstream: Upstream, mount: Mount | None) -> UpstreamInventory:
        session = next(iter(mount.sessions.values()), None) if mount is not None else None
        said = (session.initialized if session is not None else None) or {}
        return UpstreamInventory(
            id=upstream.id,
            label=upstream.label,
            state=_state(upstream, session)[0],
            capabilities=said.get("capabilities"),
            instructions=said.get("instructions"),
            tools=self._named(mount, TOOLS),
            prompts=self._named(mount, PROMPTS),
            resources=self._uris(mount, RESOURCES),
            templates=self._uris(mount, TEMPLATES),
        )

    def _named(self, mount: Mount | None, kind: Kind) -> list[NamedItem]:
        return [
            NamedItem(
                public_name=entry.dotted,
                safe_name=entry.safe,
                upstream_name=entry.local,
                title=_text(entry.item, "title"),
                description=_text(entry.item, "description"),
            )
            for entry in self._shelves.first_entries(mount, kind)
        ]

    def _uris(self, mount: Mount | None, kind: Kind) -> list[UriItem]:
        return [
            UriItem(
                public_uri=entry.dotted,
                upstream_uri=entry.local,
                name=_text(entry.item, "name"),
                mime_type=_text(entry.item, "mimeType"),
            )
            for entry in self._shelves.first_entries(mount, kind)
        ]


def _upstream_status(upstream: Upstream, mount: Mount | None) -> UpstreamStatus:
    sessions = list(mount.sessions.values()) if mount is not None else []
    state, reason = _state(upstream, sessions[0] if sessions else None)
    return UpstreamStatus(
        id=upstream.id,
        label=upstream.label,
        state=state,
        reason=reason,
        transport=_transport(upstream),
        sessions=[_session_status(session) for session in sessions],
    )


def _transport(upstream: Upstream) -> Literal["stdio", "http", "sse"]:
    if isinstance(upstream.transport, HttpTransport):
        return "http"
    return "sse" if isinstance(upstream.transport, SseTransport) else "stdio"


def _state(upstream: Upstream, session: UpstreamSession | None) -> tuple[str, str | None]:
    if not upstream.enabled:
        return "disabled", None
    if upstream.problem is not None:
        return "failed", upstream.problem
    return ("idle", None) if session is None else (session.state.value, session.reason)


def _session_status(session: UpstreamSession) -> SessionStatus:
    said = session.initialized or {}
    server = said.get("serverInfo") or {}
    process = session.last_link.process if session.last_link is not None else None
    ready, listed = session.state is State.READY, session.catalogue.at
    return SessionStatus(
        state=session.state.value,
        reason=session.reason,
        pid=process.pid if process is not None and process.returncode is None else None,
        era=session.era if said else None,
        protocol_version=_text(said, "protocolVersion"),
        server_name=_text(server, "name"),
        server_version=_text(server, "version"),
        uptime_seconds=round(time.monotonic() - session.connection.started, 3) if ready else None,
        lists_age_seconds=None if listed is None else round(max(0.0, time.time() - listed), 3),
        calls=session.requests.calls,
        errors=session.requests.errors,
        stderr_tail=process.stderr_tail() if process is not None else [],
        exit_code=process.returncode if process is not None else None,
        last_failure=_failure_status(session.connection),
    )


def _failure_status(connection: Connection) -> FailureStatus | None:
    failure, due = connection.failure, connection.next_start
    if failure is None:
        return None
    return FailureStatus(
        kind=failure.kind,
        reason=failure.reason,
        advice=failure.advice,
        at=round(connection.failed_at, 3),
        in_a_row=connection.failures,
        next_start_seconds=None if due is None else round(max(0.0, due - time.monotonic()), 3),
    )


def _text(item: JsonObject, key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) else None
