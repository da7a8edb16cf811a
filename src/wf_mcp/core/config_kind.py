"""How one server entry is reached: stdio, streamable HTTP, SSE, or only inside another host (field case F77)."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from wf_mcp.core.config_models import ServerEntry
from wf_mcp.core.config_problems import Findings, described
from wf_mcp.core.positions import JsonPath

Kind: TypeAlias = Literal["stdio", "http", "sse", "host-only"]

_KINDS: Final[Mapping[str, Kind]] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "sse": "sse",
    "sseide": "host-only",
    "wside": "host-only",
    "ws": "host-only",
    "sdk": "host-only",
    "claudeaiproxy": "host-only",
}
_WORDS: Final = '"stdio", "http", "streamable-http" or "sse"'

OTHER_URL_KEYS: Final = ("serverUrl", "httpUrl", "endpoint", "uri")
"""What other hosts call `url`; only used to explain an entry without one."""


def kind_of(entry: ServerEntry, at: JsonPath, findings: Findings) -> Kind | None:
    """The kind of `entry`; None after recording why it has none."""
    named = [
        _named(word, (*at, key), findings)
        for key, word in (("type", entry.type), ("transport", entry.transport))
        if word is not None
    ]
    if None in named:
        return None
    if len(set(named)) > 1:
        findings.problem((*at, "transport"), "a transport that contradicts type", "one of the two, or the same")
        return None
    kind = named[0] if named else None
    if kind == "host-only":
        return kind
    return _fitting(kind, entry, at, findings)


def _named(word: str, path: JsonPath, findings: Findings) -> Kind | None:
    kind = _KINDS.get(word.lower().replace("-", "").replace("_", ""))
    if kind is None:
        findings.problem(path, described(word, path), _WORDS)
    return kind


def _fitting(kind: Kind | None, entry: ServerEntry, at: JsonPath, findings: Findings) -> Kind | None:
    """`kind`, or a guess where it is None, if `command` and `url` agree with it."""
    if entry.command is not None and entry.url is not None:
        findings.problem(at, "both command and url", "one of them")
    elif entry.command is None and entry.url is None:
        other = next((key for key in OTHER_URL_KEYS if key in (entry.model_extra or {})), None)
        hint = f" (write {other} as url)" if other else ""
        findings.problem(at, "neither command nor url", f"one of them{hint}")
    elif entry.command is not None and kind in ("http", "sse"):
        findings.problem((*at, "command"), f"a command for the type {kind}", 'a url, or the type "stdio"')
    elif entry.url is not None and kind == "stdio":
        findings.problem((*at, "url"), "a url for the type stdio", 'a command, or the type "http" or "sse"')
    else:
        return kind or ("stdio" if entry.url is None else guessed(entry.url))
    return None


def guessed(url: str) -> Kind:
    """SSE where the path of `url` ends in `/sse`, streamable HTTP otherwise, as hosts guess."""
    path = url.partition("?")[0].partition("#")[0]
    return "sse" if path.rstrip("/").endswith("/sse") else "http"


def url_fault(url: str) -> str | None:
    """Why `url` is no endpoint, without repeating it; None when it is one."""
    try:
        parts = urlsplit(url)
        port_is_legal = parts.port is None or parts.port > 0
    except ValueError:
        return "a malformed URL"
    if parts.scheme not in ("http", "https"):
        return "a URL that is not http or https"
    return None if parts.hostname and port_is_legal else "a URL without a host or with port 0"
