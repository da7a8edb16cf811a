"""What plug-ins offer and what they are given: the types of the hooks in `plugin/spec.py`.

Plug-ins import them from `wf_mcp.plugin`. Nothing here runs a plug-in: `plugin/manager.py` asks for offers,
`plugin/chain.py` applies them.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from wf_mcp.core.events import Event
from wf_mcp.core.reports import EventRecord, Inventory, ReloadReport, Status
from wf_mcp.core.views import Component, Result

Value = TypeVar("Value")
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ConfigSection:
    """A plug-in's own settings: `wf.plugins.<name>` in the configuration, validated by `model`.

    `name` is the plug-in's entry-point name. The keys `enabled` and `required` belong to wf-mcp and never reach the
    model.
    """

    name: str
    model: type[BaseModel]


@dataclass(frozen=True, slots=True)
class Sections:
    """The validated settings of the plug-in that is being asked; another plug-in's are not in it."""

    settings: BaseModel | None = None

    def get(self, model: type[Model]) -> Model:
        """Return the settings as `model`.

        Raises `LookupError` where the plug-in declares no section of that model in `wf_config_section`.
        """
        if not isinstance(self.settings, model):
            raise LookupError(f"wf_config_section declares no section with the model {model.__name__}")
        return self.settings


@dataclass(frozen=True, slots=True)
class CallInfo:
    """The request that a result answers, by its upstream's name for the target and by the client's."""

    mount_id: str
    label: str
    method: str
    local_target: str
    public_target: str


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One `tools/call`, `prompts/get` or `resources/read`, as the client sent it.

    `target` is the public name or URI, and stands in `params` too, where wf-mcp puts the upstream's own in its place.
    `mount_id` and `label` say which upstream the client's target belongs to.
    """

    method: str
    target: str
    params: Mapping[str, Any]
    mount_id: str
    label: str

    def replace(self, *, target: str | None = None, params: Mapping[str, Any] | None = None) -> "CallRequest":
        """Return the request with another target, which is resolved as a client's would be, or other parameters."""
        return dataclasses.replace(
            self,
            target=self.target if target is None else target,
            params=self.params if params is None else params,
        )


ComponentTransform: TypeAlias = Callable[[Component], Component | None]
"""Returns a listed component as it shall be listed, of the same kind; `None` hides it, and then it cannot be used."""

ResultTransform: TypeAlias = Callable[[Result, CallInfo], Result]
"""Returns the result that the client shall get."""

CallNext: TypeAlias = Callable[[CallRequest], Awaitable[Result]]
"""The rest of a call: the interceptors further in, and the upstream."""


class CallInterceptor(Protocol):
    """An async wrapper around one call."""

    def __call__(self, request: CallRequest, call_next: CallNext, /) -> Awaitable[Result]:
        """Return the result, as a rule that of `await call_next(request)`; raise `WfMcpError` to refuse the call."""
        ...


class EventSink(Protocol):
    """Someone who hears every event."""

    @property
    def name(self) -> str:
        """What to call it in logs."""
        ...

    def offer(self, event: Event) -> None:
        """Take one event; must not block, since every other sink and the publisher wait."""
        ...


@dataclass(frozen=True, slots=True)
class AdminTool:
    """A tool of wf-mcp itself, listed as `wf.admin.<name>`.

    `function` is async; its annotated parameters become the input schema, its returned pydantic model or dataclass the
    output schema. `read_only`, `destructive` and `idempotent` become the tool's annotations.
    """

    name: str
    function: Callable[..., Awaitable[Any]]
    title: str
    description: str
    read_only: bool
    destructive: bool = False
    idempotent: bool = False


class Admin(Protocol):
    """What an admin tool may ask of the running proxy."""

    async def reload(self) -> ReloadReport:
        """Read the configuration again and apply what changed."""
        ...

    async def inventory(self) -> Inventory:
        """Return what every upstream offers, under its public and its own names."""
        ...

    def status(self) -> Status:
        """Return the state of the proxy, its upstreams and its plug-ins."""
        ...

    def events(self, limit: int) -> list[EventRecord]:
        """Return the last `limit` events, newest last."""
        ...


@dataclass(frozen=True, slots=True)
class Owned(Generic[Value]):
    """Something offered, with the plug-in that offered it; `required` as its configuration says."""

    plugin: str
    value: Value
    required: bool = False


OnFailure: TypeAlias = Callable[[str, str, Exception], None]
"""Called with the plug-in, the hook and what was raised, once for each failure."""
