"""What is wrong with a plug-in, in words that its author can act on.

pluggy takes a misspelled hook for somebody else's and an async hook for an ordinary one, so both are looked for here
before a plug-in is registered (`plugin/manager.py`).
"""

import difflib
import inspect
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pluggy
from pydantic import BaseModel, ValidationError

from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.spec import HOOKS

HOOK_NAMES: Final = tuple(hook.__name__ for hook in HOOKS)


class Unusable(Exception):
    """A plug-in cannot be used; the message is the reason that the status gives."""


def check_hooks(manager: pluggy.PluginManager, plugin: object) -> None:
    """Raise `Unusable` for the first hook that would not work the way its author expects."""
    if plugin.__hash__ is None:
        raise Unusable("the object that its entry point names cannot be hashed; name a module, or an object that can")
    implemented = 0
    for name in dir(plugin):
        options = manager.parse_hookimpl_opts(plugin, name)
        if options is None:
            if name in HOOK_NAMES and inspect.isroutine(inspect.getattr_static(plugin, name)):
                raise Unusable(f"{name} is not marked: put @impl above it")
            continue
        implemented += 1
        _check_options(name, dict(options))
        _check_function(name, inspect.getattr_static(plugin, name))
    if not implemented:
        raise Unusable("it implements no hook of wf-mcp")


def validated(name: str, model: type[BaseModel], settings: JsonObject) -> BaseModel:
    """Return a plug-in's settings as its model; raises `Unusable` with the JSON path of every mistake.

    The values found are not repeated, since a setting may be a secret. Keys that the model does not know are mistakes,
    unless the model itself says what to do with them.
    """
    try:
        return model.model_validate(settings, extra=None if "extra" in model.model_config else "forbid")
    except ValidationError as error:
        raise Unusable("; ".join(_mistakes(name, error))) from error
    except Exception as error:  # plug-in seam: a validator of the plug-in's own
        raise Unusable(f"its settings could not be checked: {told(error)}") from error


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question to put behind "unknown name", or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def told(error: BaseException) -> str:
    """Return an exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _check_options(name: str, options: dict[str, Any]) -> None:
    if name not in HOOK_NAMES and not options.get("optionalhook"):
        raise Unusable(f"unknown hook {name!r}{nearest(name, HOOK_NAMES)}")
    # Plug-ins are asked one by one, so there is nothing to wrap, and the owner of a result must be certain.
    for option in ("wrapper", "hookwrapper", "specname"):
        if options.get(option):
            raise Unusable(f"{name} uses the option {option!r} of @impl, which wf-mcp does not have")


def _check_function(name: str, found: object) -> None:
    function = getattr(found, "__func__", found)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise Unusable(f"{name} is async: hooks are synchronous, what they return may be awaited")


def _mistakes(name: str, error: ValidationError) -> Iterator[str]:
    for mistake in error.errors(include_url=False, include_context=False, include_input=False):
        path = ".".join(str(part) for part in ("wf", "plugins", name, *mistake["loc"]))
        yield f"{path}: {mistake['msg']}"
