"""Calls in flight on one session, and the way back to their callers: progress, logs and questions (matrix B.3, B.4).

A progress token belongs to one hop, so each call gets a token of ours and its caller hears its own again. What an
upstream asks goes to the call that it was said to, where the transport tells (`attribution.py`), else to the client
whose call is in flight; where that is more than one client, nobody is asked rather than the wrong one.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from wf_mcp.core.errors import INTERNAL_ERROR, NotServed, RelayedError
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.attribution import addressed
from wf_mcp.runtime.ports import ClientPort

logger = logging.getLogger(__name__)

PROGRESS = "notifications/progress"

TASK_CAP = 1000
"""Tasks whose progress is still passed on."""


Spawn = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
"""Starts a task that lives as long as the session's connection."""


WAITING = 200_000
"""Notifications that may wait for one client that does not read; it misses what comes beyond."""


class Delivery:
    """Notifications on their way to one client: in order, by a task that exists only while something waits.

    A client that stops reading costs itself only: what an upstream goes on saying to it is bounded.
    """

    def __init__(self, port: ClientPort, spawn: Spawn) -> None:
        self.port = port
        self._spawn = spawn
        self._waiting: deque[tuple[str, JsonObject]] = deque()
        self._behind = False
        self._idle: anyio.Event | None = None

    def tell(self, method: str, params: JsonObject) -> None:
        """Queue a notification; returns at once."""
        if len(self._waiting) >= WAITING:
            if not self._behind:
                self._behind = True
                who = self.port.client
                logger.warning("client %s reads nothing; %d notifications wait, more are lost", who, WAITING)
            return
        self._waiting.append((method, params))
        if self._idle is None:
            self._idle = anyio.Event()
            self._spawn(self._drain)

    async def settled(self) -> None:
        """Return once everything queued has been sent."""
        if self._idle is not None:
            await self._idle.wait()

    def close(self) -> None:
        """Send no more: the caller has its result, or the connection, and the sending task with it, is gone."""
        self._waiting.clear()
        if self._idle is not None:
            self._idle.set()
            self._idle = None

    async def _drain(self) -> None:
        idle = self._idle
        try:
            while self._waiting:
                await self.port.tell(*self._waiting.popleft())
        except Exception:  # fan-out seam: a client that cannot be told must not end what it shares with others
            logger.exception("client %s missed a notification", self.port.client)
            self._waiting.clear()
        finally:
            self._idle = None
            self._behind = False
            if idle is not None:
                idle.set()


@dataclass(slots=True, eq=False)
class Call:
    """One request on its way: how its caller is reached, the progress token that the caller gave, what is asked since
    when, and who else is told that it makes progress.
    """

    delivery: Delivery | None
    token: str | int | None = None
    what: str = ""
    began: float = field(default_factory=time.monotonic)
    on_progress: Callable[[], None] = lambda: None

    @property
    def client(self) -> str | None:
        """Whose call it is, where its caller can be told anything."""
        return self.delivery.port.client if self.delivery is not None else None

    def tell(self, method: str, params: JsonObject) -> None:
        """Queue a notification for the caller, in order."""
        if self.delivery is not None:
            self.delivery.tell(method, params)

    async def settled(self) -> None:
        """Return once the caller has everything that came before the result."""
        if self.delivery is not None:
            await self.delivery.settled()


class Calls:
    """The calls in flight on one session."""

    def __init__(self) -> None:
        self._open: dict[Call, None] = {}
        self._by_token: dict[int, Call] = {}
        self._tasks: dict[int, Call] = {}
        self._last_token = 0

    def abandon(self) -> None:
        """Deliver nothing more to anybody: the connection is gone."""
        for call in self._open:
            if call.delivery is not None:
                call.delivery.close()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator["Call"]:
        return iter(tuple(self._open))

    @contextmanager
    def opened(
        self, port: ClientPort | None, params: JsonObject, spawn: Spawn, method: str = ""
    ) -> Iterator[tuple[Call, JsonObject]]:
        """Register a call; yields it and its parameters with the progress token of this hop."""
        call = Call(Delivery(port, spawn) if port is not None else None, what=_what(method, params))
        self._open[call] = None
        ours: int | None = None
        meta = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            call.token = meta["progressToken"]
            self._last_token += 1
            ours = self._last_token
            self._by_token[ours] = call
            params = {**params, "_meta": {**meta, "progressToken": ours}}
        try:
            yield call, params
        finally:
            del self._open[call]
            if ours is not None and self._by_token.get(ours) is call:
                del self._by_token[ours]
            if call.delivery is not None:
                call.delivery.close()

    def outlive(self, call: Call, delivery: Delivery | None) -> None:
        """A call was answered with a task: its progress goes on, by `delivery`, until the task ends.

        Of tasks that nobody ends, the newest few are remembered.
        """
        token = next((token for token, each in self._by_token.items() if each is call), None)
        if token is None or delivery is None:
            return
        self._by_token[token] = self._tasks[token] = Call(delivery, call.token)
        while len(self._tasks) > TASK_CAP:
            oldest = next(iter(self._tasks))
            del self._tasks[oldest], self._by_token[oldest]

    def progress(self, params: Mapping[str, Any]) -> None:
        """Hand a progress notification to the call that it belongs to; late ones are dropped."""
        token = params.get("progressToken")
        call = self._by_token.get(token) if isinstance(token, int) else None
        if call is not None:
            call.on_progress()
            call.tell(PROGRESS, {**params, "progressToken": call.token})

    def meant(self) -> Call | None:
        """The call that what is being heard belongs to: the one that it was said to, else the only client's newest."""
        call = self._addressed()
        return call if call is not None else self.sole()

    def _addressed(self) -> Call | None:
        call = addressed()
        return call if isinstance(call, Call) and call in self._open else None

    def sole(self) -> Call | None:
        """The newest call in flight if all calls in flight are one client's."""
        reachable = [call for call in self._open if call.delivery is not None]
        clients = {call.delivery.port.client for call in reachable if call.delivery is not None}
        return reachable[-1] if len(clients) == 1 else None

    def to_ask(self, standing: ClientPort | None) -> ClientPort:
        """Whom a question of the upstream is for; raises where that is nobody, or cannot be told."""
        call = self.meant()
        if call is not None and call.delivery is not None:
            return call.delivery.port
        if call is None and any(call.delivery is not None for call in self._open):
            raise RelayedError(
                INTERNAL_ERROR, "Several clients have calls in flight on this shared session; none of them is asked"
            )
        if standing is None:
            raise NotServed("No client can be asked now: no client's call is in flight on this session")
        return standing


def _what(method: str, params: JsonObject) -> str:
    """A request in words: its method, and the name or URI that it is about."""
    about = params.get("name") or params.get("uri")
    return f"{method} of {about!r}" if isinstance(about, str) else method
