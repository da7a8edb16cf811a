"""One call from request to result: every step is called from here, in order (`style.md` section 3.3)."""

from collections.abc import Callable, Mapping
from typing import Any

from wf_mcp.core.errors import InvalidParams, RelayedError
from wf_mcp.core.ids import local_id, map_elicitations, map_related_task, map_task, public_id
from wf_mcp.core.kinds import PROMPTS, TOOLS
from wf_mcp.core.rewrite import map_error_data, web_uris
from wf_mcp.core.uris import is_web
from wf_mcp.core.views import Result
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.chain import apply_results, compose_interceptors
from wf_mcp.plugin.types import CallInfo, CallInterceptor, CallRequest, OnFailure, Owned
from wf_mcp.runtime.ports import Caller, asking_for
from wf_mcp.runtime.resolve import Resolver, Route

TARGET = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that says what a call is for."""


class Dispatch:
    """Takes a client's call to the upstream that answers it, and the answer back."""

    def __init__(
        self, resolver: Resolver, interceptors: Callable[[], tuple[Owned[CallInterceptor], ...]], on_failure: OnFailure
    ) -> None:
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
        return await self.send(caller, route, "completion/complete", target, params)

    async def _route(self, caller: Caller, method: str, target: str) -> Route:
        if method == "resources/read":
            return await self._resolver.uri(caller, target)
        return await self._resolver.name(caller, TOOLS if method == "tools/call" else PROMPTS, target)

    async def _relay(
        self, caller: Caller, route: Route, method: str, target: str, params: Mapping[str, Any]
    ) -> JsonObject:
        result = await self.send(caller, route, method, target, {**params, TARGET[method]: route.local})
        if method == "resources/read" and is_web(target):
            self._resolver.linked(route.mount, [target])
        result = self.finish(route, method, target, result)
        label = route.mount.label
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
        label = route.mount.label
        params = map_related_task(params, lambda task: local_id(label, task) or task)
        headers = self._headers(caller, route)
        try:
            return await route.session.request(method, params, asking_for(caller, headers))
        except RelayedError as error:
            raise RelayedError(error.code, error.message, _error_data(error.data, route, target)) from error

    def _headers(self, caller: Caller, route: Route) -> dict[str, str]:
        """The caller's headers that this upstream's config asks for; none by default (design D13)."""
        wanted = route.mount.upstream.settings.forward_headers
        return {name: caller.headers[name.lower()] for name in wanted if name.lower() in caller.headers}


def _error_data(data: Any, route: Route, target: str) -> Any:
    """An error's data in the client's terms: what it asked for reads as it wrote it."""

    def public(uri: str) -> str:
        return target if uri == route.local else route.mount.namespace.public_uri(uri)

    return map_elicitations(map_error_data(data, public), lambda each: public_id(route.mount.label, each))
