"""Requests that change what a client's sessions do from then on: subscriptions, the log level, the client's roots."""

import logging

import anyio

from wf_mcp.core.errors import InvalidParams, WfMcpError
from wf_mcp.core.levels import LEVELS
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.connection import State
from wf_mcp.runtime.mounts import Mounts
from wf_mcp.runtime.onward import send
from wf_mcp.runtime.ports import Caller, asking_for
from wf_mcp.runtime.resolve import Resolver
from wf_mcp.runtime.session import UpstreamSession

logger = logging.getLogger(__name__)


class Standing:
    """Takes each such request to the sessions that it concerns."""

    def __init__(self, mounts: Mounts, resolver: Resolver) -> None:
        self._mounts = mounts
        self._resolver = resolver

    async def subscribe(self, caller: Caller, params: JsonObject) -> JsonObject:
        """`resources/subscribe` (2025-11-25 server/resources § Subscriptions).

        On a shared session, only the first subscriber of a resource reaches the upstream.
        """
        route = await self._resolver.uri(caller, _uri(params))
        local = {**params, "uri": route.local}
        await route.session.link()  # one that is opened after the wish was noted would be asked twice
        wishes = route.session.inbox.wishes
        first = wishes.subscribe(route.local, caller.audience.client)
        if not first and not route.session.inbox.owned:
            return {}
        try:
            return await send(caller, route, "resources/subscribe", params["uri"], local)
        except WfMcpError:
            wishes.unsubscribe(route.local, caller.audience.client)
            raise

    async def unsubscribe(self, caller: Caller, params: JsonObject) -> JsonObject:
        """`resources/unsubscribe`; on a shared session, only the last subscriber's reaches the upstream."""
        route = await self._resolver.uri(caller, _uri(params))
        local = {**params, "uri": route.local}
        last = route.session.inbox.wishes.unsubscribe(route.local, caller.audience.client)
        if not last and not route.session.inbox.owned:
            return {}
        return await send(caller, route, "resources/unsubscribe", params["uri"], local)

    async def set_level(self, caller: Caller, params: JsonObject) -> JsonObject:
        """`logging/setLevel` for every session of the caller, those that are opened later included.

        An upstream that does not log, or refuses, costs the others nothing (matrix B.1).
        """
        level = params.get("level")
        if level not in LEVELS:
            raise InvalidParams(f"logging/setLevel: {level!r} is no log level; expected one of {', '.join(LEVELS)}")
        self._mounts.set_level(caller, str(level))
        sessions = [session for _, session in self._mounts.open_sessions(caller)]
        failures: dict[UpstreamSession, WfMcpError] = {}

        async def ask(session: UpstreamSession) -> None:
            try:
                await _set_level(session, params, caller)
            except WfMcpError as error:
                failures[session] = error

        async with anyio.create_task_group() as tasks:  # all at once: a slow one keeps it from nobody
            for session in sessions:
                tasks.start_soon(ask, session)
        if failures and len(failures) == len(sessions):
            raise failures[sessions[0]]
        return {}

    async def roots_changed(self, caller: Caller, params: JsonObject) -> None:
        """`notifications/roots/list_changed`, for the upstreams that have this client's own session."""
        for _, session in self._mounts.open_sessions(caller):
            if session.inbox.owned:
                await session.notify("notifications/roots/list_changed", params)


async def give_up(session: UpstreamSession, uris: tuple[str, ...]) -> None:
    """Unsubscribe from resources that nobody of a shared session wants any more."""
    for uri in uris:
        try:
            await session.request("resources/unsubscribe", {"uri": uri})
        except WfMcpError as error:
            logger.warning("upstream %s did not take an unsubscription: %s", session.upstream.id, error)


async def _set_level(session: UpstreamSession, params: JsonObject, caller: Caller) -> None:
    """Ask the upstream for the level that suits all clients of this session, if it logs at all."""
    wishes = session.inbox.wishes
    before = wishes.level
    wishes.set_level(caller.audience.client, str(params["level"]))
    if session.state is State.READY and session.offers("logging") and (wishes.level != before or session.inbox.owned):
        await session.request("logging/setLevel", {**params, "level": wishes.level}, asking_for(caller))


def _uri(params: JsonObject) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise InvalidParams("a string 'uri' is needed in the params")
    return uri
