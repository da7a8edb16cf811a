"""Questions that are out at clients, and the progress that clients report on them (matrix B.2
`notifications/progress`).

A progress token belongs to one hop: the client gets a token of ours, and what it reports goes to the upstream that
asked, under that upstream's own token.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wf_mcp.core.wire import JsonObject

PROGRESS = "notifications/progress"

Reply = Callable[[str, JsonObject], Awaitable[None]]
"""Sends the upstream that asked a notification."""


@dataclass(frozen=True, slots=True)
class _Question:
    client: str
    token: Any
    reply: Reply


class Asking:
    """All questions out at clients, of every upstream."""

    def __init__(self) -> None:
        self._out: dict[int, _Question] = {}
        self._last = 0

    @contextmanager
    def asked(self, client: str, params: JsonObject, reply: Reply) -> Iterator[JsonObject]:
        """For the time of one question to `client`, take progress on it; yields the parameters to ask with."""
        meta = params.get("_meta")
        if not isinstance(meta, dict) or "progressToken" not in meta:
            yield params
            return
        self._last += 1
        token = self._last
        self._out[token] = _Question(client, meta["progressToken"], reply)
        try:
            yield {**params, "_meta": {**meta, "progressToken": token}}
        finally:
            del self._out[token]

    async def progress(self, client: str, params: Mapping[str, Any]) -> None:
        """Hand on what `client` reports; a token that is not of a question to this client is ignored."""
        token = params.get("progressToken")
        question = self._out.get(token) if isinstance(token, int) else None
        if question is not None and question.client == client:
            await question.reply(PROGRESS, {**params, "progressToken": question.token})
