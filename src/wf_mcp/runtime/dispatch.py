"""One call from request to result: every step is called from here, in order (`style.md` section 3.3)."""

from collections.abc import Callable, Mapping
from typing import Any

from wf_mcp.core.errors import InvalidParams, RelayedError
from wf_mcp.core.ids import map_related_task, map_task, public_id
from wf_mcp.core.inputs import is_input_required
from wf_mcp.core.kinds import PROMPTS, TOOLS
from wf_mcp.core.rewrite import web_uris
from wf_mcp.core.tasks import is_task
from wf_mcp.core.uris import is_web
from wf_mcp.core.views import Result
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.chain import apply_results, compose_interceptors
from wf_mcp.plugin.types import CallInfo, CallInterceptor, CallRequest, OnFailure, Owned
from wf_mcp.runtime.bridge import Bridge, held, held_code
from wf_mcp.runtime.onward import send
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.resolve import Resolver, Route
from wf_mcp.runtime.session import UpstreamSession

TARGET = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that says what a call is for."""

NoteTask = Callable[[JsonObject, str | None, UpstreamSession], None]
"""Is told of a result that is a task: for which principal, and on which session."""


class Dispatch:
    """Takes a client's call to the upstream that answers it, and the answer back."""

    def __init__(
        self,
        resolver: Resolver,
        interceptors: Callable[[], tuple[Owned[CallInterceptor], ...]],
        on_failure: OnFailure,
        bridge: Bridge | None = None,
    ) -> None:
        self._bridge = bridge or Bridge()
        self.on_task: NoteTask = lambda result, principal, session: None
        self._resolver = resolver
        self._interceptors = interceptors
        self._on_failure = on_failure

    async def call(self, caller: Caller, method: str, params: JsonObject) -> JsonObject:
        """Relay `tools/call`, `prompts/get` or `resources/read`; returns the upstream's result with public URIs.

        Raises `WfMcpError`: the caller's mistakes, the upstream's own errors, and its absence.
        """
        target = params.get(TARGET[method])
        if not isinstance(target, str):
            raise InvalidParams(f"{method} needs a string {TARGET[method]!r} in its params")
        route = await self._route(caller, method, target)
        interceptors = self._interceptors()
        if not interceptors:
            return await self._relay(caller, route, method, target, params)

        async def innermost(request: CallRequest) -> Result:
            onward = route if request.target == target else await self._route(caller, method, request.target)
            return Result(await self._relay(caller, onward, method, request.target, request.params))

        call = compose_interceptors(interceptors, innermost, self._on_failure)
        result = await call(CallRequest(method, target, params, route.mount.id, route.mount.label))
        return dict(result.raw)

    async def complete(self, caller: Caller, params: JsonObject) -> JsonObject:
        """Relay `completion/complete` to the upstream that its `ref` names (2025-11-25 server/utilities/completion)."""
        ref = params.get("ref")
        if not isinstance(ref, dict):
            raise InvalidParams("completion/complete needs a 'ref' object in its params")
        key = next((key for key in ("uri", "name") if isinstance(ref.get(key), str)), None)
        if key is None:
            raise InvalidParams("the 'ref' of completion/complete needs a 'name' or a 'uri'")
        target = ref[key]
        find = self._resolver.uri(caller, target) if key == "uri" else self._resolver.name(caller, PROMPTS, target)
        route = await find
        params = {**params, "ref": {**ref, key: route.local}}
        result = await self.send(caller, route, "completion/complete", target, params)
        return held(caller, route, "completion/complete", result)

    async def _route(self, caller: Caller, method: str, target: str) -> Route:
        if method == "resources/read":
            return await self._resolver.uri(caller, target)
        return await self._resolver.name(caller, TOOLS if method == "tools/call" else PROMPTS, target)

    async def _relay(
        self, caller: Caller, route: Route, method: str, target: str, params: Mapping[str, Any]
    ) -> JsonObject:
        onward = {**params, TARGET[method]: route.local}
        try:
            result = await self._bridge.call(caller, route, method, target, onward)
        except RelayedError as error:
            code = held_code(caller, route, method, error)
            if code == error.code:
                raise
            raise RelayedError(code, error.message, error.data) from error
        if method == "resources/read" and is_web(target):
            self._resolver.linked(route.mount, [target])
        label = route.mount.label
        if is_input_required(result) or is_task(result):  # no result yet
            result = map_task(result, lambda task: public_id(label, task))
            self.on_task(result, caller.principal, route.session)
            return result
        result = held(caller, route, method, self.finish(route, method, target, result))
        if "task" in params:
            return map_task(result, lambda task: public_id(label, task))
        return map_related_task(result, lambda task: public_id(label, task))

    def finish(self, route: Route, method: str, target: str, result: JsonObject) -> JsonObject:
        """An upstream's result as its client shall get it: remembered links, then the plug-ins' transforms."""
        self._resolver.linked(route.mount, web_uris(result))
        if not route.mount.results:
            return result
        info = CallInfo(route.mount.id, route.mount.label, method, route.local, target)
        return dict(apply_results(route.mount.results, Result(result), info, self._on_failure).raw)

    async def send(self, caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
        """Relay one request along its route; raises `WfMcpError`, an upstream's own error in the client's terms."""
        return await send(caller, route, method, target, params)
