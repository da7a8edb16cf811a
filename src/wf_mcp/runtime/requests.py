"""Requests to one upstream over whatever connection it has: sent once, timed, and told about when it was lost.

A request that reached an upstream which then died is never sent again; one that certainly did not is (design D5).
"""

import time
from collections.abc import Callable
from typing import Final

from wf_mcp.core.errors import LinkLost, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.core.failures import failure_of, shut_out, terminal
from wf_mcp.core.tasks import is_task
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime import attribution
from wf_mcp.runtime.calls import Call, Spawn
from wf_mcp.runtime.connection import Connection
from wf_mcp.runtime.inbox import SessionInbox
from wf_mcp.runtime.patience import patiently
from wf_mcp.runtime.ports import Asker, Link, Sending

TASK_KEPT: Final = 3600.0
"""Seconds for which a task is taken to be alive whose upstream did not say."""


class Requests:
    """What is asked over `connection`; `calls` and `errors` are counts, `used` is a `time.monotonic()`."""

    def __init__(self, connection: Connection, inbox: SessionInbox, spawn: Spawn, needed: Callable[[], None]) -> None:
        self._connection = connection
        self._inbox = inbox
        self._spawn = spawn
        self._needed = needed
        self._tasks_until = 0.0
        self.calls = 0
        self.errors = 0
        self.used = time.monotonic()

    def under_way(self) -> bool:
        """Whether something is waited for: an answer, or a task that an answer promised."""
        return len(self._inbox.calls) > 0 or time.monotonic() < self._tasks_until

    async def send(self, method: str, params: JsonObject, asker: Asker) -> JsonObject:
        """Relay one request and return the upstream's raw result.

        Raises `RelayedError`, `UpstreamTimeout` or `UpstreamUnavailable`. Sent a second time only if the first
        certainly did not arrive.
        """
        self.calls += 1
        self.used = time.monotonic()
        try:
            return await self._once(method, params, asker)
        except LinkLost as lost:
            self.errors += 1
            raise self._lost(method, lost) from lost
        except WfMcpError:
            self.errors += 1
            raise

    async def _once(self, method: str, params: JsonObject, asker: Asker) -> JsonObject:
        self._needed()
        link = await self._connection.link()
        try:
            return await self._over(link, method, params, asker)
        except LinkLost as lost:
            if lost.started:
                raise
            # This task may know of the loss before the session's own does: the same link would refuse again.
            return await self._over(await self._connection.link(instead_of=link), method, params, asker)

    def _lost(self, method: str, lost: LinkLost) -> UpstreamUnavailable:
        upstream = self._connection.upstream.id
        if not lost.started:
            return UpstreamUnavailable(f"Upstream {upstream!r} is unavailable: {lost}")
        return UpstreamUnavailable(
            f"Upstream {upstream!r} was lost while it answered {method}: {lost}. "
            "It may have acted on the request; it is not sent again."
        )

    async def _over(self, link: Link, method: str, params: JsonObject, asker: Asker) -> JsonObject:
        port, settings = asker.port, self._connection.upstream.settings
        sending = Sending(
            timeout=settings.timeout,
            headers=asker.headers,
            cancel_reason=port.cancel_reason if port is not None else None,
            envelope=asker.envelope,
        )
        with self._inbox.calls.opened(port, params, self._spawn, method) as (call, params_here):
            try:
                with attribution.sending(call):
                    result = await self._judged(link, method, params_here, sending, call)
            finally:
                self.used = time.monotonic()
                await call.settled()
            self._note_task(result)
            if "task" in params and isinstance(result.get("task"), dict):
                self._inbox.goes_on(call)
            return result

    async def _judged(self, link: Link, method: str, params: JsonObject, sending: Sending, call: Call) -> JsonObject:
        """One request over `link`, whose connection is told whether that speaks for or against it."""
        try:
            if sending.timeout is not None and self._connection.upstream.settings.timeout_resets:
                result = await patiently(self._connection.upstream.id, link, method, params, sending, call)
            else:
                result = await link.request(method, params, sending)
        except WfMcpError as error:
            # A call that took too long while others are under way says nothing about those.
            if shut_out(error) and "authorization" not in self._connection.upstream.settings.forward_headers:
                failure = failure_of(error, error.message)
                self._connection.bar(link, failure)
                upstream = self._connection.upstream.id
                raise UpstreamUnavailable(f"Upstream {upstream!r} wants a login: {failure.reason}") from error
            if terminal(error) and not (isinstance(error, UpstreamTimeout) and len(self._inbox.calls) > 1):
                self._connection.strike(link, failure_of(error, error.message))
            else:
                self._connection.worked()
            raise
        self._connection.worked()
        return result

    def _note_task(self, result: JsonObject) -> None:
        """A task lives with the connection that it was made on, for as long as the upstream said."""
        task = result.get("task") if isinstance(result.get("task"), dict) else result if is_task(result) else None
        if task is not None:
            ttl = task.get("ttl", task.get("ttlMs"))
            seconds = ttl / 1000 if isinstance(ttl, int | float) else TASK_KEPT
            self._tasks_until = max(self._tasks_until, time.monotonic() + seconds)
