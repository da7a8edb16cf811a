"""Asking every plug-in what it offers.

Each plug-in is asked by itself, so that everything offered carries its owner's name into `plugin/chain.py`. There is no
manager at module level: whoever needs plug-ins builds them, and a reload builds them again. Which ones there are is
decided in `plugin/loading.py`.
"""

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from wf_mcp.core.errors import PluginError
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.reports import PluginStatus
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.checks import told
from wf_mcp.plugin.loading import Candidate, Loader, Member, installed
from wf_mcp.plugin.types import (
    Admin,
    AdminTool,
    CallInterceptor,
    ComponentTransform,
    EventSink,
    OnFailure,
    Owned,
    ResultTransform,
)

logger = logging.getLogger(__name__)

ADMIN_NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""What an admin tool may be called, so that its safe form needs no hash."""


def log_failure(plugin: str, hook: str, error: Exception) -> None:
    """Say in the log which plug-in failed where; what `build_plugins` does with failures unless told otherwise."""
    logger.warning("plug-in %s failed in %s and was skipped: %s", plugin, hook, told(error))


class Plugins:
    """The plug-ins in use, with one method for each hook; every method asks them all and keeps who offered what.

    Each method raises `PluginError` where the hook of a required plug-in fails.
    """

    def __init__(self, loader: Loader, own: Sequence[Member], others: Sequence[Member], on_failure: OnFailure) -> None:
        self._manager = loader.manager
        self._statuses = tuple(loader.statuses)
        self._own = tuple(own)
        self._others = tuple(others)
        self._on_failure = on_failure
        self._troubles: dict[str, str] = {}

    def statuses(self) -> list[PluginStatus]:
        """Return the state of every plug-in; an active one that failed since says how, the last time."""
        return [self._with_trouble(status) for status in self._statuses]

    def report(self, plugin: str, hook: str, error: Exception) -> None:
        """Tell of one failure: kept for `statuses`, and handed on. `plugin/chain.py` is given this as `on_failure`.

        The same one again is not handed on: a transform that fails on 500 tools has one thing to say, not 500.
        """
        trouble = f"{hook}: {told(error)}"
        if self._troubles.get(plugin) == trouble:
            return
        self._troubles[plugin] = trouble
        self._on_failure(plugin, hook, error)

    def component_transforms(self, mount: Namespace) -> tuple[Owned[ComponentTransform], ...]:
        """Return the transforms for what `mount` lists, in the order in which to apply them: wf-mcp's own last."""
        return tuple(self._ask("wf_component_transforms", self._others + self._own, _not_a_transform, mount=mount))

    def result_transforms(self, mount: Namespace) -> tuple[Owned[ResultTransform], ...]:
        """Return the transforms for results of `mount`, in the order in which to apply them: wf-mcp's own last."""
        return tuple(self._ask("wf_result_transforms", self._others + self._own, _not_a_transform, mount=mount))

    def call_interceptors(self) -> tuple[Owned[CallInterceptor], ...]:
        """Return the interceptors, outermost first."""
        return tuple(self._ask("wf_call_interceptors", self._own + self._others, _not_an_interceptor))

    def event_sinks(self) -> tuple[Owned[EventSink], ...]:
        """Return the sinks, wf-mcp's own first."""
        return tuple(self._ask("wf_event_sinks", self._own + self._others, _not_a_sink))

    def admin_tools(self, admin: Admin) -> tuple[Owned[AdminTool], ...]:
        """Return the admin tools, wf-mcp's own first; no two have one name."""
        taken: set[str] = set()

        def complaint(value: object) -> str | None:
            if not isinstance(value, AdminTool):
                return f"an AdminTool was expected, not {type(value).__name__}"
            if not ADMIN_NAME.fullmatch(value.name):
                return f"{value.name!r} is no name for an admin tool: small letters, digits and single underscores"
            if value.name in taken:
                return f"an admin tool {value.name!r} exists already"
            taken.add(value.name)
            return None

        return tuple(self._ask("wf_admin_tools", self._own + self._others, complaint, admin=admin))

    def _ask(
        self, hook: str, members: Iterable[Member], complaint: Callable[[Any], str | None], **given: object
    ) -> Iterator[Owned[Any]]:
        for member in members:
            try:
                values = self._offers(member, hook, given)
            except Exception as error:  # plug-in seam: one plug-in's hook must not cost the others theirs
                self._fail(member, hook, error)
                continue
            for value in values:
                wrong = complaint(value)
                if wrong is None:
                    yield Owned(member.name, value, member.required)
                else:
                    self._fail(member, hook, TypeError(wrong))

    def _offers(self, member: Member, hook: str, given: Mapping[str, object]) -> list[Any]:
        others = [other.plugin for other in self._own + self._others if other is not member]
        answers = self._manager.subset_hook_caller(hook, others)(sections=member.sections, **given)
        return [value for answer in answers for value in answer]

    def _fail(self, member: Member, hook: str, error: Exception) -> None:
        self.report(member.name, hook, error)
        if member.required:
            raise PluginError(f"plug-in {member.name!r} is required and failed in {hook}: {told(error)}") from error

    def _with_trouble(self, status: PluginStatus) -> PluginStatus:
        trouble = self._troubles.get(status.name) if status.state == "active" else None
        return status if trouble is None else status.model_copy(update={"reason": trouble})


def build_plugins(
    internal: Sequence[tuple[str, object]],
    plugins_config: Mapping[str, JsonObject],
    *,
    load_entry_points: bool = True,
    blocked: frozenset[str] = frozenset(),
    extra: Sequence[tuple[str, object]] = (),
    on_failure: OnFailure = log_failure,
) -> Plugins:
    """Load, check and register plug-ins.

    `internal` are wf-mcp's own, in order. `plugins_config` is the `wf.plugins` object: by plug-in name, its settings
    and our `enabled` and `required`. Installed packages are found by their entry points; those that `plugins_config`
    names come in its order, then the others by name; `blocked` names are not imported. `extra` are objects treated like
    installed ones, ahead of them. Every later failure goes to `on_failure`. Raises `PluginError` where a required
    plug-in cannot be used.
    """
    loader = Loader(plugins_config, blocked)
    own = [loader.admit_internal(name, plugin) for name, plugin in internal]
    candidates = [_at_hand(name, plugin) for name, plugin in extra]
    if load_entry_points:
        candidates += installed(plugins_config)
    others = [member for candidate in candidates if (member := loader.admit(candidate)) is not None]
    loader.report_missing()
    return Plugins(loader, own, others, on_failure)


def _at_hand(name: str, plugin: object) -> Candidate:
    return Candidate(name, None, lambda: plugin)


def _not_a_transform(value: object) -> str | None:
    if inspect.iscoroutinefunction(value):
        return "a transform is an ordinary function, not async"
    return None if callable(value) else f"a function was expected, not {type(value).__name__}"


def _not_an_interceptor(value: object) -> str | None:
    return None if callable(value) else f"an async function was expected, not {type(value).__name__}"


def _not_a_sink(value: object) -> str | None:
    fits = isinstance(getattr(value, "name", None), str) and callable(getattr(value, "offer", None))
    return None if fits else f"a sink has a name and an offer method; {type(value).__name__} has not"
