"""The wire lane: a middleware outside everything of the SDK's that sees raw requests and returns raw results (design
D1).

What concerns upstreams is answered here and never becomes a model; what concerns wf-mcp itself goes on to FastMCP.
Errors are turned into the wire's in this one place.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from mcp.server.context import CallNext
from mcp.shared.exceptions import MCPError
from mcp_types import SERVER_INFO_META_KEY

from wf_mcp.core.envelope import bare_result, without_envelope
from wf_mcp.core.errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    NotServed,
    RelayedError,
    UnknownName,
    UpstreamTimeout,
    UpstreamUnavailable,
    WfMcpError,
)
from wf_mcp.core.fallback import listed, meant
from wf_mcp.core.hints import with_hints
from wf_mcp.core.inputs import is_retry
from wf_mcp.core.kinds import KIND_OF_LIST, TOOLS
from wf_mcp.core.merge import merged_capabilities, merged_instructions
from wf_mcp.core.names import ADMIN
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.admin import OwnTools
from wf_mcp.edge.callers import Callers, Context, is_modern
from wf_mcp.edge.error_watch import mcp_error
from wf_mcp.edge.fallbacks import Fallbacks
from wf_mcp.edge.listen import listen
from wf_mcp.edge.lists import OWN, Lists
from wf_mcp.edge.messages import result_object
from wf_mcp.runtime.dispatch import TARGET, Dispatch
from wf_mcp.runtime.extended_tasks import ExtendedTasks
from wf_mcp.runtime.listeners import Listeners
from wf_mcp.runtime.mount import offers
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.skills import Skills
from wf_mcp.runtime.standing import Standing
from wf_mcp.runtime.tasks import Tasks

logger = logging.getLogger(__name__)

Handler = Callable[[Context, CallNext], Awaitable[Any]]

SAFE_ADMIN = ADMIN.replace(".", "_")

OWN_NAMES = (f"{OWN}.", f"{OWN}_")

CACHEABLE = frozenset({"server/discover", "resources/read", "skills/list", "skills/get", *KIND_OF_LIST})
"""Methods whose modern results carry cache hints (2026-07-28 server/utilities/caching § Cacheable Results)."""


@dataclass(frozen=True, slots=True)
class Backstage:
    """What the lane works with."""

    callers: Callers
    mounts: Mounts
    lists: Lists
    dispatch: Dispatch
    standing: Standing
    tasks: Tasks
    extended_tasks: ExtendedTasks
    skills: Skills
    listeners: Listeners
    identity: JsonObject
    admin: Callable[[], bool]
    own_tools: OwnTools
    fallbacks: Fallbacks
    mask: Callable[[str], str]


TASK_METHODS = ("tasks/get", "tasks/result", "tasks/update", "tasks/cancel")
"""Of them each era has its own."""


class WireLane:
    """The middleware; put it first in `Server.middleware`."""

    def __init__(self, backstage: Backstage) -> None:
        self._stage = backstage
        self._handlers: dict[str, Handler] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "completion/complete": self._complete,
            "resources/subscribe": self._relayed(backstage.standing.subscribe),
            "resources/unsubscribe": self._relayed(backstage.standing.unsubscribe),
            "logging/setLevel": self._relayed(backstage.standing.set_level),
            "tasks/list": self._relayed(lambda caller, params: backstage.tasks.all(caller)),
            **dict.fromkeys(TASK_METHODS, self._task),
            **dict.fromkeys(Skills.METHODS, self._skills),
            "subscriptions/listen": self._listen,
            **dict.fromkeys(TARGET, self._call),
            **dict.fromkeys(KIND_OF_LIST, self._list),
        }

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        """Answer what upstreams serve; let everything else go on."""
        if ctx.request_id is None:
            return await self._hear(ctx, call_next)
        handler = self._handlers.get(ctx.method)
        if handler is None:
            return await call_next(ctx)
        try:
            return await handler(ctx, call_next)
        except WfMcpError as error:
            raise self._wire_error(error, modern=is_modern(ctx)) from error

    async def _hear(self, ctx: Context, call_next: CallNext) -> Any:
        """Pass on what a handshake client tells (matrix B.2); the SDK sees every notification too."""
        client = None if is_modern(ctx) else self._stage.callers.client_of(ctx)
        params = dict(ctx.params or {})
        if client is not None and ctx.method == "notifications/cancelled":
            client.cancellations.note(params.get("requestId"), params.get("reason"))
        elif client is not None and ctx.method == "notifications/progress":
            await self._stage.mounts.asking.progress(client.key, params)
        elif client is not None and ctx.method == "notifications/tasks/status":
            await self._stage.mounts.asking.status(client.key, params)
        elif client is not None and ctx.method == "notifications/roots/list_changed":
            await self._stage.standing.roots_changed(self._stage.callers.of(ctx), params)
        return await call_next(ctx)

    def _relayed(self, relay: Callable[[Caller, JsonObject], Awaitable[JsonObject]]) -> Handler:
        """A handler for requests that only handshake clients have; to a modern one there is no such method."""

        async def handle(ctx: Context, call_next: CallNext) -> Any:
            if is_modern(ctx):
                raise NotServed(f"{ctx.method} is not a method of {ctx.protocol_version}")
            return await relay(self._stage.callers.of(ctx), dict(ctx.params or {}))

        return handle

    async def _initialize(self, ctx: Context, call_next: CallNext) -> JsonObject:
        """Answer for all upstreams at once (2025-11-25 basic/lifecycle; matrix B.1 `initialize`)."""
        self._stage.callers.vet(ctx)
        answer = result_object(await call_next(ctx))
        return await self._face(self._stage.callers.arrived(ctx), answer)

    async def _discover(self, ctx: Context, call_next: CallNext) -> JsonObject:
        answer = result_object(await call_next(ctx))
        return self._stamped(ctx, await self._face(self._stage.callers.of(ctx), answer))

    async def _face(self, caller: Caller, answer: JsonObject) -> JsonObject:
        """`answer` with the capabilities and instructions of everything behind us, as far as they are known in time."""
        attended = self._stage.mounts.attend(caller, wake=False)
        for _, session in attended:
            if session is not None and not await session.settled():
                session.owe_everything()
        known = offers(attended)
        own_tools = self._stage.admin() or bool(self._stage.fallbacks.offered(caller))
        merged = merged_capabilities(known, own_tools=own_tools, modern=caller.era == "modern")
        face = {**answer, "capabilities": merged}
        face.pop("instructions", None)
        instructions = merged_instructions(known)
        return face if instructions is None else {**face, "instructions": instructions}

    async def _list(self, ctx: Context, call_next: CallNext) -> JsonObject:
        kind = KIND_OF_LIST[ctx.method]
        caller = self._stage.callers.of(ctx)
        own: list[JsonObject] = []
        if kind is TOOLS:
            own += listed(self._stage.fallbacks.offered(caller))
        if kind is TOOLS and self._stage.admin():
            own += await self._stage.own_tools.listed(ctx, call_next)
        result = await self._stage.lists.answer(caller, kind, (ctx.params or {}).get("cursor"), own)
        return self._stamped(ctx, result)

    async def _call(self, ctx: Context, call_next: CallNext) -> Any:
        params = dict(ctx.params or {})
        caller = self._stage.callers.of(ctx)
        if ctx.method == "tools/call" and _is_own(params.get("name")):
            if stands_for := meant(params, self._stage.fallbacks.offered(caller)):
                params = stands_for.params
                if stands_for.method == "resources/read":
                    return self._stamped(ctx, await self._stage.fallbacks.read(caller, without_envelope(params)))
            name = params.get("name")
            if isinstance(name, str) and name.startswith((ADMIN, SAFE_ADMIN)):
                return await self._admin(ctx, call_next, params, name)
        try:
            result = await self._stage.dispatch.call(caller, ctx.method, without_envelope(params))
        except (UpstreamUnavailable, UpstreamTimeout) as error:
            if ctx.method != "tools/call":
                raise
            # The model can react to an absent upstream, so it is told in a result (matrix B.1 `tools/call`).
            result = {"content": [{"type": "text", "text": self._stage.mask(error.message)}], "isError": True}
        return self._stamped(ctx, result)

    async def _admin(self, ctx: Context, call_next: CallNext, params: JsonObject, name: str) -> Any:
        if not self._stage.admin():
            raise UnknownName(f"Unknown tool: {name}")
        dotted = name if name.startswith(ADMIN) else ADMIN + name.removeprefix(SAFE_ADMIN)
        return await call_next(replace(ctx, params={**params, "name": dotted}))

    async def _complete(self, ctx: Context, call_next: CallNext) -> JsonObject:
        params = without_envelope(dict(ctx.params or {}))
        return self._stamped(ctx, await self._stage.dispatch.complete(self._stage.callers.of(ctx), params))

    async def _task(self, ctx: Context, call_next: CallNext) -> JsonObject:
        """A request about one task: of the session (2025-11-25), or of the extension (2026-07-28)."""
        tasks = self._stage.extended_tasks if is_modern(ctx) else self._stage.tasks
        if ctx.method not in tasks.METHODS:
            raise NotServed(f"{ctx.method} is not a method of {ctx.protocol_version}")
        params = without_envelope(dict(ctx.params or {}))
        return self._stamped(ctx, await tasks.one(self._stage.callers.of(ctx), ctx.method, params))

    async def _skills(self, ctx: Context, call_next: CallNext) -> JsonObject:
        params = without_envelope(dict(ctx.params or {}))
        result = await self._stage.skills.answer(self._stage.callers.of(ctx), ctx.method, params)
        return self._stamped(ctx, result) if is_modern(ctx) else bare_result(result)

    async def _listen(self, ctx: Context, call_next: CallNext) -> JsonObject:
        if not is_modern(ctx):
            raise NotServed(f"{ctx.method} is not a method of {ctx.protocol_version}")
        return self._stamped(ctx, await listen(self._stage.listeners, self._stage.callers.of(ctx), ctx))

    def _wire_error(self, error: WfMcpError, *, modern: bool) -> MCPError:
        """The JSON-RPC error for `error`: what an upstream said stays as it is, but for the one code that the eras do
        not share.
        """
        code = INVALID_PARAMS if modern and error.code == RESOURCE_NOT_FOUND else error.code
        said = error.message if isinstance(error, RelayedError) else self._stage.mask(error.message)
        return mcp_error(code, said, error.data)

    def _stamped(self, ctx: Context, result: JsonObject) -> JsonObject:
        """`result` with what every modern result has to carry (2026-07-28 basic/index); handshake results stay as they
        are.
        """
        if not is_modern(ctx):
            return result
        meta = result.get("_meta")
        stamped = {
            "resultType": "complete",
            **result,
            "_meta": {**(meta if isinstance(meta, dict) else {}), SERVER_INFO_META_KEY: self._stage.identity},
        }
        if ctx.method not in CACHEABLE:
            return stamped
        return with_hints(stamped, reusable=ctx.method != "server/discover" and not is_retry(ctx.params or {}))


def _is_own(name: object) -> bool:
    """Whether a tool's name can be that of one of wf-mcp's own, in either form; most are told from them by this."""
    return isinstance(name, str) and name.startswith(OWN_NAMES)
