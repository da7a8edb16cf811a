"""Which plug-ins there are, and which of them are fit for use; the reasons for the others.

Nothing that an installed package does wrong stops wf-mcp, unless its configuration says `"required": true`.
`plugin/checks.py` knows what is wrong, `plugin/manager.py` asks the plug-ins that are left.
"""

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pluggy
from pydantic import BaseModel

from wf_mcp.core.errors import PluginError
from wf_mcp.core.reports import PluginStatus
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin import NAME, spec
from wf_mcp.plugin.checks import Unusable, check_hooks, nearest, told, validated
from wf_mcp.plugin.types import ConfigSection, Sections

State: TypeAlias = Literal["active", "disabled", "failed", "missing"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plug-in that could be used; `load` imports it. `version` is that of its package."""

    name: str
    version: str | None
    load: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Member:
    """A plug-in in use."""

    name: str
    plugin: object
    required: bool
    sections: Sections


def installed(config: Mapping[str, JsonObject]) -> list[Candidate]:
    """Return what installed packages announce: what `config` names in its order, then the others by name."""
    found = sorted(importlib.metadata.entry_points(group=NAME), key=lambda entry: entry.name)
    places = {name: place for place, name in enumerate(config)}
    found.sort(key=lambda entry: places.get(entry.name, len(places)))
    return [Candidate(entry.name, entry.dist.version if entry.dist else None, entry.load) for entry in found]


class Loader:
    """Admits plug-ins one by one into a pluggy manager, and keeps a status of each."""

    def __init__(self, config: Mapping[str, JsonObject], blocked: frozenset[str]) -> None:
        self.manager = pluggy.PluginManager(NAME)
        self.manager.add_hookspecs(spec)
        self.statuses: list[PluginStatus] = []
        self._config = config
        self._blocked = blocked

    def admit_internal(self, name: str, plugin: object) -> Member:
        """Register one of wf-mcp's own, which nobody can switch off; raises `PluginError` where it cannot be used."""
        try:
            member = self._use(name, plugin, required=True)
        except Unusable as error:
            raise PluginError(f"the built-in plug-in {name!r} cannot be used: {error}") from error
        unmoved = "built in: it cannot be disabled" if self._config.get(name, {}).get("enabled") is False else None
        self._state("active", name, None, unmoved)
        return member

    def admit(self, candidate: Candidate) -> Member | None:
        """Load, check and register; `None` for a plug-in that is not used, with its status saying why.

        Raises `PluginError` where its configuration calls it required and it cannot be used.
        """
        name = candidate.name
        settings = self._config.get(name, {})
        try:
            if name in {status.name for status in self.statuses}:
                raise Unusable("another plug-in has this name already")
            if not _flag(settings, "enabled", True):
                self._state("disabled", name, candidate.version, "its configuration says so")
                return None
            if name in self._blocked:
                self._refuse("disabled", name, candidate.version, "blocked by WF_MCP_BLOCK_PLUGINS")
                return None
            member = self._use(name, _loaded(candidate), required=_flag(settings, "required", False))
        except Unusable as error:
            self._refuse("failed", name, candidate.version, str(error))
            return None
        self._state("active", name, candidate.version, None)
        return member

    def report_missing(self) -> None:
        """Add a status for each configured plug-in that no installed package provides; call it last."""
        known = [status.name for status in self.statuses]
        for name, settings in self._config.items():
            if name in known:
                continue
            if settings.get("enabled") is False:
                self._state("disabled", name, None, "its configuration says so; it is not installed")
            else:
                reason = f"no installed package provides it{nearest(name, known)}"
                self._refuse("missing", name, None, reason)

    def _use(self, name: str, plugin: object, *, required: bool) -> Member:
        check_hooks(self.manager, plugin)
        try:
            self.manager.register(plugin, name=name)
            self.manager.check_pending()
            return Member(name, plugin, required, Sections(self._settings(name, plugin)))
        except (pluggy.PluginValidationError, ValueError, Unusable) as error:
            if self.manager.has_plugin(name):
                self.manager.unregister(name=name)
            raise Unusable(" ".join(str(error).split())) from error

    def _settings(self, name: str, plugin: object) -> BaseModel | None:
        given = {key: value for key, value in self._config.get(name, {}).items() if key not in ("enabled", "required")}
        section = self._section(plugin)
        if section is None:
            if given:
                raise Unusable(f"it has no settings, and wf.plugins.{name} holds {', '.join(map(repr, given))}")
            return None
        if section.name != name:
            raise Unusable(f"its section is named {section.name!r} and its entry point {name!r}; name them alike")
        return validated(name, section.model, given)

    def _section(self, plugin: object) -> ConfigSection | None:
        others = [other for _, other in self.manager.list_name_plugin() if other is not plugin]
        caller = self.manager.subset_hook_caller("wf_config_section", others)
        try:
            answers = caller()
        except Exception as error:  # plug-in seam: a hook that raises is a reason, not a crash
            raise Unusable(f"wf_config_section raised {told(error)}") from error
        section = answers[0] if answers else None
        if section is not None and not isinstance(section, ConfigSection):
            raise Unusable(f"wf_config_section returned {type(section).__name__}, not ConfigSection")
        return section

    def _refuse(self, state: State, name: str, version: str | None, reason: str) -> None:
        if self._config.get(name, {}).get("required") is True:
            raise PluginError(f"plug-in {name!r} is required and cannot be used: {reason}")
        self._state(state, name, version, reason)

    def _state(self, state: State, name: str, version: str | None, reason: str | None) -> None:
        self.statuses.append(PluginStatus(name=name, version=version, state=state, reason=reason))


def _loaded(candidate: Candidate) -> object:
    try:
        return candidate.load()
    except (Exception, SystemExit) as error:  # plug-in seam: importing runs its author's code
        raise Unusable(f"it cannot be imported: {told(error)}") from error


def _flag(settings: JsonObject, key: str, default: bool) -> bool:
    value = settings.get(key, default)
    if not isinstance(value, bool):
        raise Unusable(f"{key!r} is true or false, not {value!r}")
    return value
