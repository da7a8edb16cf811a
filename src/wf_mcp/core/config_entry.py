"""One entry of `mcpServers` to one `Upstream`: everything that an entry's own text and the environment decide.

Labels are compared across entries in `config.py`; what a kind needs is in `config_kind.py`.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from wf_mcp.core.config_check import checked
from wf_mcp.core.config_kind import Kind, kind_of, url_fault
from wf_mcp.core.config_models import ServerEntry, UpstreamWf
from wf_mcp.core.config_problems import Findings
from wf_mcp.core.config_resolve import Resolver
from wf_mcp.core.config_secrets import transport_secrets
from wf_mcp.core.config_values import (
    HttpTransport,
    SseTransport,
    StdioTransport,
    Transport,
    Upstream,
    UpstreamSettings,
)
from wf_mcp.core.names import label_of
from wf_mcp.core.positions import JsonPath

_KIND_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "stdio": ("command", "args", "env", "cwd"),
    "url": ("url", "headers"),
}


def read_entry(raw: Any, at: JsonPath, env: Mapping[str, str], base: str, findings: Findings) -> Upstream | None:
    """The upstream that `raw`, the value at `at`, describes; None after recording what is wrong with it."""
    entry = checked(ServerEntry, raw, at, findings)
    if entry is None:
        return None
    kind = kind_of(entry, at, findings)
    enabled = _enabled(entry, at, findings)
    if kind is None or enabled is None:
        return None
    _note_unused(entry, kind, raw, at, findings)
    # Nobody needs to hear what is missing for a server that is switched off.
    notes = len(findings.notes)
    resolver = Resolver(at, env, base, findings)
    transport = _transport(entry, kind, resolver)
    if not enabled:
        del findings.notes[notes:]
    findings.secrets.update(transport_secrets(transport))
    connection_id = str(at[-1])
    settings = _settings(entry.wf, enabled)
    return Upstream(
        id=connection_id,
        label=label_of(connection_id) if settings.namespace is None else settings.namespace,
        transport=transport,
        settings=settings,
        digest=_digest(connection_id, transport, settings, resolver.problem),
        enabled=enabled,
        problem=resolver.problem,
    )


def _enabled(entry: ServerEntry, at: JsonPath, findings: Findings) -> bool | None:
    """Whether the entry is used; None after recording that its switches contradict each other (F78)."""
    switches = {
        ("disabled",): None if entry.disabled is None else not entry.disabled,
        ("enabled",): entry.enabled,
        ("wf", "enabled"): entry.wf.enabled,
    }
    said = {inside: value for inside, value in switches.items() if value is not None}
    if len(set(said.values())) > 1:
        names = " and ".join(".".join(inside) for inside in said)
        findings.problem((*at, *list(said)[-1]), f"{names} that contradict each other", "one of them")
        return None
    return next(iter(said.values()), True)


def _note_unused(entry: ServerEntry, kind: Kind, raw: Mapping[str, Any], at: JsonPath, findings: Findings) -> None:
    for key in entry.model_extra or {}:
        if key == "oauth":
            findings.note((*at, key), "wf-mcp does not sign in with oauth; give the server its credentials in headers")
        else:
            findings.note((*at, key), "wf-mcp does not use this key")
    if kind == "host-only":
        return
    other = "url" if kind == "stdio" else "stdio"
    for key in _KIND_FIELDS[other]:
        if raw.get(key) is not None:
            findings.note((*at, key), f"not used for a server of the type {kind}")
    for name, value in (raw.get("env") or {}).items():
        if kind == "stdio" and not isinstance(value, str):
            findings.note((*at, "env", name), "a value that is no string is passed on as text")


def _transport(entry: ServerEntry, kind: Kind, resolver: Resolver) -> Transport:
    if kind == "stdio":
        return StdioTransport(
            command=resolver.command(entry.command or ""),
            args=tuple(resolver.path(("args", index), text) for index, text in enumerate(entry.args or ())),
            env={name: resolver.text(("env", name), text) for name, text in (entry.env or {}).items()},
            cwd=None if entry.cwd is None else resolver.cwd(entry.cwd),
        )
    if kind == "host-only":
        key, word = ("transport", entry.transport) if entry.type is None else ("type", entry.type)
        resolver.refuse((key,), f'the type "{word}" exists only inside the host that wrote it')
        return HttpTransport(url=entry.url or "", headers=dict(entry.headers or {}))
    headers = {name: resolver.header(name, text) for name, text in (entry.headers or {}).items()}
    url = _url(entry.url or "", resolver)
    return SseTransport(url, headers) if kind == "sse" else HttpTransport(url, headers)


def _url(raw: str, resolver: Resolver) -> str:
    url = resolver.text(("url",), raw)
    fault = url_fault(url)
    if fault is None:
        return url
    if "$" in raw:  # what a variable holds is not the file's mistake: the other servers can run
        if not resolver.reasons:
            resolver.refuse(("url",), f"with its variables it is {fault}")
    else:
        resolver.findings.problem((*resolver.at, "url"), fault, "an http or https URL")
    return url


def _settings(ours: UpstreamWf, enabled: bool) -> UpstreamSettings:
    return UpstreamSettings(
        namespace=ours.namespace,
        enabled=enabled,
        timeout=ours.timeout,
        timeout_resets=ours.timeout_resets,
        init_timeout=ours.init_timeout,
        list_timeout=ours.list_timeout,
        ping=ours.ping,
        isolation=ours.isolation,
        start=ours.start,
        identity=ours.identity,
        forward_headers=tuple(dict.fromkeys(ours.forward_headers)),
        attribution=ours.attribution,
        include_context=ours.include_context,
        era=ours.era,
        idle=ours.idle,
        max_sessions=ours.max_sessions,
    )


def _digest(connection_id: str, transport: Transport, settings: UpstreamSettings, problem: str | None) -> str:
    """Over what a running upstream was started with; names, time limits and forwarded headers apply in place."""
    parts = [
        connection_id,
        type(transport).__name__,
        {field.name: _plain(getattr(transport, field.name)) for field in dataclasses.fields(transport)},
        settings.ping,
        settings.isolation,
        settings.identity,
        settings.era,
        problem,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
