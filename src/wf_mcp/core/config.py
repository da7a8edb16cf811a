"""From the text of a configuration file to a checked, resolved `Config` (design D11).

Decides and never reads a file: `edge/configfile.py` brings text, environment and base folder. Every problem of the
file is reported at once, each with its place. The steps live beside: `positions.py` (where), `config_models.py`
(shape), `config_entry.py` (one server), `expand.py` (variables), `guard.py` (not serving oneself).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import json5

from wf_mcp.core.config_check import checked, did_you_mean
from wf_mcp.core.config_entry import read_entry
from wf_mcp.core.config_models import TopWf, config_schema
from wf_mcp.core.config_plugins import plugin_sections
from wf_mcp.core.config_problems import BadConfig, Findings, Problem, described
from wf_mcp.core.config_values import (
    Config,
    HttpTransport,
    NamesSettings,
    ParkedSettings,
    ShutdownSettings,
    SseTransport,
    StdioTransport,
    ToolsSettings,
    Transport,
    Upstream,
    UpstreamSettings,
)
from wf_mcp.core.expand import expand
from wf_mcp.core.guard import CHAIN_VARIABLE, guarded
from wf_mcp.core.names import label_clashes
from wf_mcp.core.positions import JsonPath, json_path, scan, whole
from wf_mcp.core.secrets import worth_hiding

__all__ = [
    "BadConfig",
    "Config",
    "HttpTransport",
    "NamesSettings",
    "ParkedSettings",
    "Problem",
    "ShutdownSettings",
    "SseTransport",
    "StdioTransport",
    "ToolsSettings",
    "Transport",
    "Upstream",
    "UpstreamSettings",
    "config_schema",
    "load_config",
]

_SERVERS: Final = "mcpServers"
_ALIAS: Final = "servers"
_KNOWN: Final = frozenset({_SERVERS, _ALIAS, "wf", "$schema"})


def load_config(text: str, *, file: str, base: str, env: Mapping[str, str]) -> Config:
    """Return what `text` configures.

    `file` is named in messages and compared by the self-start guard (give its absolute path); relative paths in the
    text start at `base`; `env` answers `${VAR}`.

    Raises:
        BadConfig: the text cannot be used; names every problem.
    """
    findings = Findings(file, scan(text.removeprefix("\ufeff")))
    raw = _parsed(findings)
    top = checked(TopWf, raw.get("wf", {}), ("wf",), findings)
    upstreams = _upstreams(raw, base, env, findings)
    tokens = _tokens(raw, env, findings)
    plugins = plugin_sections(top.plugins if top is not None else {}, env, findings)
    _check_labels(upstreams, findings)
    if findings.problems or top is None:
        raise BadConfig(findings.ordered())
    config = Config(
        file=file,
        upstreams=tuple(upstream for _, upstream in upstreams),
        admin=top.admin,
        plugins=plugins,
        names=NamesSettings(top.names.style, top.names.budget),
        tools=ToolsSettings(top.tools.fallback),
        page_size=top.page_size,
        list_wait=top.list_wait,
        starts=top.starts,
        refresh=top.refresh,
        shutdown=ShutdownSettings(top.shutdown.eof, top.shutdown.term),
        parked=ParkedSettings(top.parked.expiry, top.parked.per_upstream, top.parked.per_principal),
        tokens=tokens,
        allowed_hosts=tuple(dict.fromkeys(top.allowed_hosts)),
        max_request_bytes=top.max_request_bytes,
        max_sessions=top.max_sessions,
        session_idle=top.session_idle,
        notes=tuple(findings.notes),
        secrets=frozenset(filter(worth_hiding, findings.secrets)),
    )
    return _guarded(config, upstreams, findings, env)


def _parsed(findings: Findings) -> dict[str, Any]:
    """The root object; raises after recording why the text has none."""
    positions = findings.positions
    for path, first, second in positions.duplicates:
        line, column = positions.line_column(first)
        found = f'a second "{path[-1]}" (the first is at line {line}, column {column})'
        place = positions.line_column(second)
        findings.problems.append(Problem(findings.file, *place, json_path(path), found, "each key once"))
    fault = positions.fault
    if not positions.values and (fault is None or fault.offset == len(positions.text)):
        findings.problem((), "an empty file", f'an object such as {{"{_SERVERS}": {{}}}}')
    elif fault is not None:
        place = positions.line_column(fault.offset)
        findings.problems.append(
            Problem(findings.file, *place, json_path(fault.path), fault.found, f"{fault.expected} (JSON5)")
        )
    if findings.problems:
        raise BadConfig(findings.ordered())
    return _root(_json5_value(findings), findings)


def _json5_value(findings: Findings) -> Any:
    try:
        value, error, offset = json5.parse(findings.positions.text, allow_duplicate_keys=False)
    except RecursionError:
        findings.problem((), "a value nested too deeply", "fewer levels")
        raise BadConfig(findings.problems) from None
    if error is not None:
        place = findings.positions.line_column(offset)
        path = json_path(findings.positions.at(offset))
        found = "an escape or a number that JSON5 does not have"
        raise BadConfig([Problem(findings.file, *place, path, found, "legal JSON5")])
    return _whole(value)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return {whole(key): _whole(item) for key, item in value.items()} if isinstance(value, dict) else value


def _root(value: Any, findings: Findings) -> dict[str, Any]:
    expected = f'an object with the key "{_SERVERS}"'
    if not isinstance(value, dict):
        findings.problem((), described(value, ()), expected)
        raise BadConfig(findings.problems)
    if _SERVERS not in value and _ALIAS not in value:
        # A file that means to have servers and misspells the key must not start with none.
        near = next((key for key in value if key not in _KNOWN and did_you_mean(key, [_SERVERS])), None)
        if near is not None:
            findings.problem((near,), f'the key "{near}"', f'"{_SERVERS}"', key=True)
        elif "wf" not in value:
            findings.problem((), "an object without it" if value else "an empty object", expected)
    return value


def _upstreams(
    raw: Mapping[str, Any], base: str, env: Mapping[str, str], findings: Findings
) -> list[tuple[JsonPath, Upstream]]:
    """Every usable entry with its path, in the order of the file; notes about keys at the top that nobody reads."""
    servers_key = _SERVERS if _SERVERS in raw or _ALIAS not in raw else _ALIAS
    if servers_key == _ALIAS:
        findings.note((_ALIAS,), f'read as "{_SERVERS}"')
    for key in raw:
        if key not in _KNOWN or (key == _ALIAS and servers_key == _SERVERS):
            findings.note((key,), "wf-mcp does not use this key")
    entries = raw.get(servers_key, {})
    if not isinstance(entries, dict):
        findings.problem((servers_key,), described(entries, (servers_key,)), "an object with one key per server")
        return []
    paths: list[JsonPath] = [(servers_key, key) for key in entries]
    read = [(path, read_entry(entries[path[-1]], path, env, base, findings)) for path in paths]
    return [(path, upstream) for path, upstream in read if upstream is not None]


def _tokens(raw: Mapping[str, Any], env: Mapping[str, str], findings: Findings) -> dict[str, str]:
    """The HTTP front's tokens. One that is missing or empty would let nobody, or everybody, in: always an error."""
    tokens: dict[str, str] = {}
    for name, text in _token_texts(raw):
        path = ("wf", "auth", "tokens", name)
        expanded = expand(text, env)
        token = expanded.text.strip()
        for fault in (*(f"the variable {each}, which is not set" for each in expanded.missing), *expanded.unsupported):
            findings.problem(path, fault, "a token")
        if expanded.missing or expanded.unsupported:
            continue
        if not token:
            findings.problem(path, "an empty token", "a token that nobody can guess")
        elif not all("!" <= character <= "~" for character in token):
            findings.problem(path, "a token with characters that no HTTP header carries", "visible ASCII characters")
        elif token in tokens.values():
            twin = next(each for each, value in tokens.items() if value == token)
            findings.problem(path, f'the same token as that of "{twin}"', "a token of its own")
        tokens[name] = token
        findings.secrets.add(token)
    return tokens


def _token_texts(raw: Any) -> list[tuple[str, str]]:
    """The strings under `wf.auth.tokens`; whatever has another shape is a problem already."""
    for key in ("wf", "auth", "tokens"):
        raw = raw.get(key) if isinstance(raw, dict) else None
    return [(name, text) for name, text in raw.items() if isinstance(text, str)] if isinstance(raw, dict) else []


def _check_labels(upstreams: list[tuple[JsonPath, Upstream]], findings: Findings) -> None:
    """Record every clash of labels among the servers in use (design D6)."""
    paths = {upstream.id: path for path, upstream in upstreams}
    for clash in label_clashes({upstream.id: upstream.label for _, upstream in upstreams if upstream.enabled}):
        expected = 'another key, or another "namespace" under its "wf"'
        found = f"a label that cannot be used: {clash.reason}"
        if clash.second_id is not None:
            first = paths[clash.first_id]
            line, column = findings.positions.of(first, key=True)
            found = f"a label that clashes with {json_path(first)} at line {line}, column {column}: {clash.reason}"
        findings.problem(paths[clash.second_id or clash.first_id], found, expected, key=True)


def _guarded(
    config: Config, upstreams: list[tuple[JsonPath, Upstream]], findings: Findings, env: Mapping[str, str]
) -> Config:
    """`config` after the self-start guard, with a note for each server that it stopped."""
    result = guarded(config, env.get(CHAIN_VARIABLE))
    for (path, before), after in zip(upstreams, result.upstreams, strict=True):
        if after is not before and after.enabled:
            findings.note(path, f"{after.problem}; this server is not started")
    return dataclasses.replace(result, notes=tuple(findings.notes))
