"""Which way a call takes between the two eras (design D8; matrix D.3): as it is, in rounds, passed through, or parked.

The client's era is its request's, the upstream's that of the session's connection.
"""

import secrets
from typing import Protocol

from wf_mcp.core.downgrade import handshake_code, held_result
from wf_mcp.core.elicited import KNOWN_SINCE, elicitations, in_words
from wf_mcp.core.errors import MISSING_CAPABILITY, InvalidParams, RelayedError
from wf_mcp.core.inputs import CannotAsk, is_retry, named
from wf_mcp.core.seal import KEY_SIZE, Sealer
from wf_mcp.core.tasks import is_task
from wf_mcp.core.views import Result
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.driving import drive_extension, drive_handshake, task_only
from wf_mcp.runtime.onward import send
from wf_mcp.runtime.passing import PassThrough
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.resolve import Route
from wf_mcp.runtime.rounds import run_rounds


class Parks(Protocol):
    """What takes a modern client's call to a handshake upstream, which may ask while it is under way (matrix D.4)."""

    async def call(self, caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
        """Make the call, or go on with it where `params` answer what it asked."""
        ...


class Bridge:
    """Takes each call of the three that may ask for input to its upstream; `parking` serves the modern clients of
    handshake upstreams, `sealer` seals what modern upstreams give clients to keep.
    """

    def __init__(self, sealer: Sealer | None = None, parking: Parks | None = None) -> None:
        self._passing = PassThrough(sealer or Sealer(secrets.token_bytes(KEY_SIZE)))
        self._parking = parking

    async def call(self, caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
        """Relay one call, `params` in the upstream's terms; returns its result with the upstream's own URIs.

        Raises `WfMcpError`.
        """
        link = await route.session.link()
        match caller.era, link.era:
            case "handshake", "modern":
                return await self._in_rounds(caller, route, method, target, params)
            case "modern", "modern":
                return await self._passing.call(caller, route, method, target, params)
            case "modern", "handshake":
                return await self._parked(caller, route, method, target, params)
            case _:
                return await self._as_it_is(caller, route, method, target, params)

    async def _as_it_is(self, caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
        try:
            return await send(caller, route, method, target, params)
        except RelayedError as error:
            wanted = elicitations(error) if caller.hello.protocol_version < KNOWN_SINCE else None
            if wanted is None or method != "tools/call":
                raise
            return dict(Result.tool_error(in_words(error.message, wanted)).raw)

    async def _in_rounds(
        self, caller: Caller, route: Route, method: str, target: str, params: JsonObject
    ) -> JsonObject:
        # A task of 2025-11-25 is asked for by a parameter that a modern upstream does not know.
        params = {key: value for key, value in params.items() if key != "task"}
        try:
            result = await run_rounds(caller, route, method, target, params)
            return await drive_extension(caller, route, target, params, result) if is_task(result) else result
        except (CannotAsk, RelayedError) as error:
            missing = _missing(error, route, caller.unasked)
            if missing is None:
                raise
            if method != "tools/call":
                raise missing from error
            return dict(Result.tool_error(missing.message).raw)  # the model can react to it (matrix D.3)

    async def _parked(self, caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
        if self._parking is not None:
            return await self._parking.call(caller, route, method, target, params)
        if is_retry(params):
            raise InvalidParams(
                f"Upstream {route.mount.id!r} speaks a handshake revision and waits for no answers; "
                "start the request anew, without inputResponses and requestState"
            )
        return await to_handshake(caller, route, method, target, params)


async def to_handshake(caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
    """A modern client's call at a handshake upstream: a tool that runs as a task only is driven to its end."""
    if method == "tools/call" and task_only(route):
        return await drive_handshake(caller, route, target, params)
    return await send(caller, route, method, target, params)


def held(caller: Caller, route: Route, method: str, result: JsonObject) -> JsonObject:
    """A result as the caller's revision can hold it (matrix A.6, D.3)."""
    if caller.era == "modern":
        return result
    return held_result(method, result, caller.hello.protocol_version, modern=route.session.era == "modern")


def held_code(caller: Caller, route: Route, method: str, error: RelayedError) -> int:
    """The code of an upstream's error in the caller's era (matrix A.5)."""
    if caller.era == "modern" or route.session.era == "handshake":
        return error.code
    return handshake_code(method, error.code, error.data)


def _missing(error: CannotAsk | RelayedError, route: Route, unasked: str | None) -> CannotAsk | None:
    """What a client lacks, from the upstream's own word (-32021) or ours, and why, where that is known; `None` where
    an error is about something else.
    """
    if isinstance(error, CannotAsk):
        needed = error.data["requiredCapabilities"]
        return error if unasked is None else CannotAsk(f"{error.message} ({unasked})", needed)
    if error.code != MISSING_CAPABILITY:
        return None
    required = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
    why = unasked or error.message
    said = f"Upstream {route.mount.id!r} needs what this client did not declare: {named(required)} ({why})"
    return CannotAsk(said, required if isinstance(required, dict) else {})
