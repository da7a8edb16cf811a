"""Calls of modern clients at handshake upstreams, which may ask while they answer (design D8; matrix D.4).

Such a call runs in a task of its own. Where its upstream asks, the client's request is answered with the question and a
sealed state; the request that brings the answers goes on with the very same upstream call. None is ever made a second
time because the first is gone.
"""

import logging
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio

from wf_mcp.core.config_values import ParkedSettings
from wf_mcp.core.elicited import as_questions, elicitations
from wf_mcp.core.errors import InvalidParams, MissingCapability, RelayedError, WfMcpError
from wf_mcp.core.inputs import ELICITATION, RESPONSES, STATE, is_retry, lacking
from wf_mcp.core.parked import AGAIN, PURPOSE, as_input_request, input_required, sealed_claims
from wf_mcp.core.passing import Binding, binding, refusal
from wf_mcp.core.seal import Sealer, SealError
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.bridge import to_handshake
from wf_mcp.runtime.clock import Clock, SystemClock
from wf_mcp.runtime.driving import task_only
from wf_mcp.runtime.levels import raised
from wf_mcp.runtime.parked import ParkedCall
from wf_mcp.runtime.ports import Caller, ClientPort
from wf_mcp.runtime.resolve import Route
from wf_mcp.runtime.session import UpstreamSession
from wf_mcp.runtime.spares import Spares

logger = logging.getLogger(__name__)

Spawn = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
"""Starts a task that outlives the request that it is started in."""

ASKED = ("elicitation", "sampling", "roots")
"""The client capabilities that an upstream may make use of while it answers."""

GONE = "the server was restarted or the call expired; it was not run again"


@dataclass(slots=True, eq=False)
class _Held:
    """A parked call under its handle, and what ends its waiting."""

    call: ParkedCall
    bound: Binding
    session: UpstreamSession
    handle: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    expires: float = 0.0
    timer: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Parking:
    """Makes these calls, and holds those that wait for their user."""

    def __init__(
        self,
        sealer: Sealer,
        spawn: Spawn,
        settings: Callable[[], ParkedSettings] = ParkedSettings,
        clock: Clock | None = None,
        spares: Spares | None = None,
    ) -> None:
        self._spares = spares
        self._sealer = sealer
        self._spawn = spawn
        self._settings = settings
        self._clock: Clock = clock or SystemClock()
        self._held: dict[str, _Held] = {}

    def __len__(self) -> int:
        """How many calls wait for their user."""
        return len(self._held)

    async def call(self, caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
        """Make a call, or go on with the one that `params` answer; raises `WfMcpError`.

        A state that is not this request's, or whose call is gone, is `InvalidParams` (-32602).
        """
        bound = binding(route.mount.id, method, params, caller.principal)
        held = self._resumed(bound, params) if is_retry(params) else None
        plain = {key: value for key, value in params.items() if key not in (RESPONSES, STATE)}
        try:
            if held is None:
                await raised(caller, route.session)
                if not _askable(caller):
                    return await to_handshake(caller, route, method, target, plain)
                held = self._begun(bound, caller, route, method, target, plain)
            return await self._follow(held, caller.port, params)
        except RelayedError as error:
            wanted = elicitations(error)
            if wanted is None:
                raise
            return self._again(bound, caller, route, error, wanted)

    # -- beginning and going on ------------------------------------------------------------------

    def _begun(
        self, bound: Binding, caller: Caller, route: Route, method: str, target: str, params: JsonObject
    ) -> _Held:
        call = ParkedCall(caller.port.client if caller.port is not None else "", caller.hello.capabilities)
        route = self._aside(caller, route, call)
        work = partial(to_handshake, replace(caller, port=call), route, method, target, params)
        over = partial(self._spares.give_back, route) if self._spares is not None else _nothing
        self._spawn(partial(_run, call, work, over))
        return _Held(call, bound, route.session)

    def _aside(self, caller: Caller, route: Route, call: ParkedCall) -> Route:
        """Where another client's call waits for its user on the same session, a route to one beside it."""
        waits = any(each.session is route.session and each.call.client != call.client for each in self._held.values())
        if self._spares is None or not waits or task_only(route):
            return route
        return self._spares.aside(caller, route)

    def _resumed(self, bound: Binding, params: JsonObject) -> _Held | None:
        """The call that a request goes on with, its answers taken; `None` where it is to be made anew."""
        purpose, claims = self._opened(params)
        reason = refusal(claims, bound, self._clock.now())
        if reason is not None:
            raise _unusable(reason)
        if purpose == AGAIN:
            return None
        held = self._held.get(claims["handle"])
        if held is None:
            raise _unusable(GONE)
        if held.call.round != claims["round"]:
            raise _unusable("what it asked for was answered already")
        if held.call.busy:
            raise _unusable("another request is being answered for it")
        held.timer.cancel()
        held.call.take(params.get(RESPONSES))
        return held

    def _opened(self, params: JsonObject) -> tuple[str, JsonObject]:
        if STATE not in params:
            raise InvalidParams(f"{RESPONSES} without {STATE}: send back the {STATE} of the result that asked")
        failure: SealError | None = None
        for purpose in (PURPOSE, AGAIN):
            try:
                claims: JsonObject = self._sealer.open(purpose, params[STATE])
                return purpose, claims
            except SealError as error:
                failure = error
        raise _unusable(str(failure)) from failure

    async def _follow(self, held: _Held, port: ClientPort | None, params: JsonObject) -> JsonObject:
        """The next that happens to a call: its result, its failure, or a question."""
        call = held.call
        try:
            with call.attached(port, params):
                await call.catch_up()
                result = await call.event()
        except anyio.get_cancelled_exc_class():
            if call.waits:
                self._wait(held)
            else:
                self._held.pop(held.handle, None)
                call.cancel()
            raise
        except WfMcpError:
            self._held.pop(held.handle, None)
            raise
        if result is None:
            return self._parked(held)
        self._held.pop(held.handle, None)
        return result

    # -- waiting for the user --------------------------------------------------------------------

    def _parked(self, held: _Held) -> JsonObject:
        """Let the call wait, and say what for."""
        if held.handle not in self._held:
            self._admit(held)
        requests = held.call.questions()
        self._wait(held)
        claims = {**sealed_claims(held.bound, held.expires), "handle": held.handle, "round": held.call.round}
        return input_required(requests, self._sealer.seal(PURPOSE, claims))

    def _admit(self, held: _Held) -> None:
        """Hold one more; where there are too many, its call is cancelled and `WfMcpError` says so."""
        limits = self._settings()
        here = sum(each.bound.upstream == held.bound.upstream for each in self._held.values())
        theirs = sum(each.bound.principal == held.bound.principal for each in self._held.values())
        if here < limits.per_upstream and theirs < limits.per_principal:
            self._held[held.handle] = held
            return
        whose = f"of upstream {held.bound.upstream!r}" if here >= limits.per_upstream else "of this client"
        said = f"too many calls {whose} wait for answers already (setting wf.parked); this one was cancelled"
        held.call.cancel(said)
        raise WfMcpError(f"Upstream {held.bound.upstream!r} asked a question, but {said}")

    def _wait(self, held: _Held) -> None:
        limit = self._settings().expiry
        held.expires = self._clock.now() + limit
        held.timer = anyio.CancelScope()
        self._spawn(partial(self._expire, held, held.timer, limit))

    async def _expire(self, held: _Held, timer: anyio.CancelScope, limit: float) -> None:
        with timer:
            await self._clock.sleep(limit)
        if timer.cancelled_caught or self._held.get(held.handle) is not held or held.call.busy:
            return
        del self._held[held.handle]
        await held.call.give_up(f"the client brought no answer within {limit:g} s")

    # -- calls that are to be made again ---------------------------------------------------------

    def _again(
        self, bound: Binding, caller: Caller, route: Route, error: RelayedError, wanted: list[JsonObject]
    ) -> JsonObject:
        """Error -32042, which this era has not, as a question; the retry makes the call again (matrix D.3)."""
        required = lacking(caller.hello.capabilities, ELICITATION, {"mode": "url"})
        if required is not None:
            said = (
                f"Upstream {bound.upstream!r} needs what this client did not declare: elicitation.url ({error.message})"
            )
            raise MissingCapability(said, {"requiredCapabilities": required}) from error
        shown = route.session.inbox.translation.to_client
        requests = {
            key: as_input_request(method, shown(method, params))
            for key, (method, params) in as_questions(wanted).items()
        }
        claims = sealed_claims(bound, self._clock.now() + self._settings().expiry)
        return input_required(requests, self._sealer.seal(AGAIN, claims))


def _askable(caller: Caller) -> bool:
    return caller.port is not None and any(name in caller.hello.capabilities for name in ASKED)


def _nothing() -> None:
    """What there is to do after a call that borrowed nothing."""


async def _run(call: ParkedCall, work: Callable[[], Coroutine[Any, Any, JsonObject]], over: Callable[[], None]) -> None:
    """Make the upstream's request; whatever becomes of it is the call's, and nobody else's."""
    try:
        with call.scope:
            call.finish(await work())
    except WfMcpError as error:
        call.finish(error)
    except Exception as error:  # a defect costs this call only
        logger.exception("a call of a modern client failed")
        call.finish(WfMcpError(f"the call failed inside wf-mcp: {type(error).__name__}"))
    finally:
        call.finish(WfMcpError("the call was cancelled"))
        over()


def _unusable(reason: str) -> InvalidParams:
    return InvalidParams(f"this requestState cannot be used: {reason}")
