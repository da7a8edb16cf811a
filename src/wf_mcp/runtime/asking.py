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
STATUS = "notifications/tasks/status"

HOSTED = 1000
"""Tasks at clients whose status is still passed on."""

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
        self._hosted: dict[tuple[str, str], Reply] = {}
        self._early: dict[tuple[str, str], list[JsonObject]] = {}
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

    def hosts(self, client: str, answer: JsonObject, reply: Reply) -> tuple[JsonObject, ...]:
        """Where a client answered with a task of its own, remember who is to hear of it (2025-11-25 basic/utilities/
        tasks: the receiver of an augmented request sends the status).

        Returns what the client said of the task before its answer was here: over HTTP each comes on its own way.
        """
        task = answer.get("task")
        if not isinstance(task, dict) or not isinstance(task.get("taskId"), str):
            return ()
        key = (client, task["taskId"])
        _remember(self._hosted, key, reply)
        return tuple(self._early.pop(key, ()))

    async def status(self, client: str, params: JsonObject) -> None:
        """Hand on the status of a task that `client` hosts, to the upstream that asked for it."""
        key = (client, str(params.get("taskId")))
        reply = self._hosted.get(key)
        if reply is not None:
            await reply(STATUS, params)
        else:
            _remember(self._early, key, [*self._early.get(key, ()), params][-HOSTED:])

    async def progress(self, client: str, params: Mapping[str, Any]) -> None:
        """Hand on what `client` reports; a token that is not of a question to this client is ignored."""
        token = params.get("progressToken")
        question = self._out.get(token) if isinstance(token, int) else None
        if question is not None and question.client == client:
            await question.reply(PROGRESS, {**params, "progressToken": question.token})


def _remember(table: dict[tuple[str, str], Any], key: tuple[str, str], value: Any) -> None:
    """Put `value` last in `table`; of too many, the oldest go."""
    table.pop(key, None)
    table[key] = value
    while len(table) > HOSTED:
        del table[next(iter(table))]
