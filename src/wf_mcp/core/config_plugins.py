"""The settings of plug-ins, with their `${VAR}` references answered (design D11).

What a section means is its plug-in's business. A variable that is not set is an error, never an empty text: a plug-in
that redacts nothing, or lets everybody in, must not look as if it worked.
"""

from collections.abc import Mapping
from typing import Any

from wf_mcp.core.config_problems import Findings
from wf_mcp.core.expand import expand
from wf_mcp.core.positions import JsonPath
from wf_mcp.core.wire import JsonObject


def plugin_sections(raw: Mapping[str, JsonObject], env: Mapping[str, str], findings: Findings) -> dict[str, JsonObject]:
    """Every plug-in's section with all its strings expanded; what came from a variable becomes a secret."""
    return {name: _expanded(section, ("wf", "plugins", name), env, findings) for name, section in raw.items()}


def _expanded(value: Any, path: JsonPath, env: Mapping[str, str], findings: Findings) -> Any:
    if isinstance(value, dict):
        return {key: _expanded(item, (*path, key), env, findings) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(item, (*path, index), env, findings) for index, item in enumerate(value)]
    return _text(value, path, env, findings) if isinstance(value, str) else value


def _text(text: str, path: JsonPath, env: Mapping[str, str], findings: Findings) -> str:
    expanded = expand(text, env)
    faults = (*(f"the variable {each}, which is not set" for each in expanded.missing), *expanded.unsupported)
    for fault in faults:
        findings.problem(path, fault, "a variable that is set, or ${VAR:-default}")
    findings.secrets.update(value for _, value in expanded.used)
    return expanded.text
