"""Applying what plug-ins offered: transforms are folded, interceptors composed, failures confined.

Pure but for what the plug-ins do. A failure is reported with the plug-in's name and costs only what it touched: the
transform is skipped for that item, the interceptor for that call. A *required* plug-in fails closed instead: the item
is hidden, the call an error.
"""

from collections.abc import Sequence

from wf_mcp.core.errors import PluginError, WfMcpError
from wf_mcp.core.views import Component, Result
from wf_mcp.plugin.types import (
    CallInfo,
    CallInterceptor,
    CallNext,
    CallRequest,
    ComponentTransform,
    OnFailure,
    Owned,
    ResultTransform,
)

COMPONENTS = "wf_component_transforms"
RESULTS = "wf_result_transforms"
CALLS = "wf_call_interceptors"


def apply_components(
    transforms: Sequence[Owned[ComponentTransform]], component: Component, on_failure: OnFailure
) -> Component | None:
    """Pass a listed component through every transform in order; `None` hides it from lists and calls alike."""
    current = component
    for owned in transforms:
        try:
            changed = owned.value(current)
            if changed is not None and type(changed) is not type(current):
                raise TypeError(f"a {type(current).__name__} became {type(changed).__name__}")
        except Exception as error:  # plug-in seam: one odd component must not cost a mount its list
            on_failure(owned.plugin, COMPONENTS, error)
            if owned.required:
                return None
            continue
        if changed is None:
            return None
        current = changed
    return current


def apply_results(
    transforms: Sequence[Owned[ResultTransform]], result: Result, info: CallInfo, on_failure: OnFailure
) -> Result:
    """Pass a result through every transform in order; raises `PluginError` where one of a required plug-in fails."""
    current = result
    for owned in transforms:
        try:
            current = _as_result(owned.value(current, info))
        except Exception as error:  # plug-in seam: the result passes as it was
            on_failure(owned.plugin, RESULTS, error)
            if owned.required:
                raise _withheld(owned.plugin) from error
    return current


def compose_interceptors(
    interceptors: Sequence[Owned[CallInterceptor]], call: CallNext, on_failure: OnFailure
) -> CallNext:
    """Return `call` with every interceptor around it, the first one outermost."""
    composed = call
    for owned in reversed(interceptors):
        composed = _Layer(owned, composed, on_failure)
    return composed


class _Inner:
    """The rest of one call, with what became of it: an interceptor that fails must not cost the client the answer."""

    def __init__(self, call_next: CallNext) -> None:
        self._call_next = call_next
        self.started = False
        self.result: Result | None = None
        self.error: Exception | None = None

    async def __call__(self, request: CallRequest) -> Result:
        self.started = True
        self.result = self.error = None
        try:
            self.result = await self._call_next(request)
        except Exception as error:  # noted, for telling it from the interceptor's own, and passed on
            self.error = error
            raise
        return self.result


class _Layer:
    """One interceptor around the rest of the call."""

    def __init__(self, owned: Owned[CallInterceptor], call_next: CallNext, on_failure: OnFailure) -> None:
        self._owned = owned
        self._call_next = call_next
        self._on_failure = on_failure

    async def __call__(self, request: CallRequest) -> Result:
        inner = _Inner(self._call_next)
        try:
            return _as_result(await self._owned.value(request, inner))
        except WfMcpError:
            raise  # on purpose: the interceptor's refusal, or an error of the rest that it let through
        except Exception as error:  # plug-in seam: the call goes on as if the interceptor were not there
            if error is inner.error:
                raise
            self._on_failure(self._owned.plugin, CALLS, error)
            if self._owned.required:
                raise _withheld(self._owned.plugin) from error
            return await self._without(request, inner)

    async def _without(self, request: CallRequest, inner: _Inner) -> Result:
        if not inner.started:
            return await self._call_next(request)
        if inner.error is not None:
            raise inner.error
        if inner.result is not None:
            return inner.result
        # Begun and abandoned, by a deadline of the interceptor's for example: the upstream may have acted on it.
        raise PluginError(f"plug-in {self._owned.plugin!r} ended the call before it was answered; it is not run again")


def _as_result(value: object) -> Result:
    if not isinstance(value, Result):
        raise TypeError(f"a Result was expected, not {type(value).__name__}")
    return value


def _withheld(plugin: str) -> PluginError:
    # Without what was raised: its text may quote the very thing that the plug-in is there to keep back.
    return PluginError(f"plug-in {plugin!r} failed on this call; it is required, so there is no result")
