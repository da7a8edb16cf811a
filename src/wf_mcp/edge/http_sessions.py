"""All handshake sessions of the HTTP front: opened, found again by those who opened them, and ended in good order."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel.server import Server

from wf_mcp.core.http_rules import STOPPING, TOO_MANY_SESSIONS, UNKNOWN_SESSION, Refusal
from wf_mcp.edge.http_session import HttpSession
from wf_mcp.edge.http_stream import PACE, Pace

ENDING = 1.0
"""Seconds that sessions get to end once their calls are over."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The front's limits: bytes of a request, seconds without use after which a session ends, sessions at a time."""

    max_request_bytes: int = 256 * 1024 * 1024
    session_idle: float = 1800.0
    max_sessions: int = 10_000


class HttpSessions:
    """The sessions by id; they live while this is `running`. `limits` is asked for each, so that a reload counts."""

    def __init__(self, server: Server[Any], limits: Callable[[], HttpLimits], pace: Pace = PACE) -> None:
        self._server, self._limits, self._pace = server, limits, pace
        self._sessions: dict[str, HttpSession] = {}
        self._tasks: TaskGroup | None = None
        self.lifespan_state: Any = None
        self.stopping = False

    def __len__(self) -> int:
        return len(self._sessions)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let sessions live for the time of the block; those left at its end are cancelled."""
        async with self._server.lifespan(self._server) as self.lifespan_state, anyio.create_task_group() as self._tasks:
            try:
                yield
            finally:
                self._tasks.cancel_scope.cancel()

    def open(self, principal: str | None) -> HttpSession | Refusal:
        """A new session of `principal`, unless there are too many."""
        if self._tasks is None or self.stopping:
            return STOPPING
        limits = self._limits()
        if len(self._sessions) >= limits.max_sessions:
            return TOO_MANY_SESSIONS
        session = HttpSession(secrets.token_urlsafe(24), principal, limits.session_idle, self._pace)
        self._sessions[session.id] = session
        self._tasks.start_soon(self._run, session, name=f"HTTP session of {principal or 'anybody'}")
        return session

    def find(self, session_id: str, principal: str | None) -> HttpSession | Refusal:
        """The session with this id; unknown, ended and somebody else's look alike (matrix E.2)."""
        session = self._sessions.get(session_id)
        if session is None or session.closed or session.principal != principal:
            return UNKNOWN_SESSION
        return session

    def end(self, session: HttpSession) -> None:
        """End a session; it is unknown at once."""
        self._sessions.pop(session.id, None)
        session.close()

    async def drain(self, grace: float) -> None:
        """Stop: nothing new begins, streams end, and calls get `grace` seconds for their result, then an error."""
        self.stopping = True
        sessions = list(self._sessions.values())
        for session in sessions:
            session.hang_up()
        with anyio.move_on_after(grace):
            for session in sessions:
                await session.settle()
        for session in sessions:
            session.close()
        with anyio.move_on_after(ENDING):
            for session in sessions:
                await session.ended.wait()

    async def _run(self, session: HttpSession) -> None:
        try:
            await session.run(self._server, self.lifespan_state)
        finally:
            self._sessions.pop(session.id, None)
