"""One call of a modern client at a handshake upstream: what the upstream asks meanwhile waits for an answer in a later
request (matrix D.4).

The call is the port of its own upstream request. The client's request that is attached at the moment hears what the
upstream tells; while none is, the last progress is kept and the rest dropped (item 9).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from wf_mcp.core.errors import INTERNAL_ERROR, InvalidParams, NotServed, RelayedError, WfMcpError
from wf_mcp.core.inputs import ELICITATION, QUESTIONS, lacking, named
from wf_mcp.core.parked import as_input_request, fits
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import ClientPort, Withdrawn

PROGRESS = "notifications/progress"
MESSAGE = "notifications/message"

SETTLE: Final = 0.02
"""Seconds that questions raised together have to arrive together."""


@dataclass(eq=False, slots=True)
class _Question:
    method: str
    params: JsonObject
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: JsonObject | WfMcpError = field(default_factory=dict)

    def give(self, answer: JsonObject | WfMcpError) -> None:
        self.answer = answer
        self.done.set()


@dataclass(frozen=True, slots=True)
class _Line:
    """The client's request that is attached, and the progress token that it gave."""

    port: ClientPort | None
    token: object


class ParkedCall:
    """A call under way. `client` is its key as a port, `capabilities` are what its client declared.

    `round` counts the rounds of questions that got answers, so that an answer given twice is known.
    """

    def __init__(self, client: str, capabilities: JsonObject) -> None:
        self.client = client
        self.round = 0
        self.scope = anyio.CancelScope()
        self._capabilities = capabilities
        self._questions: dict[str, _Question] = {}
        self._asked = 0
        self._shown = False
        self._outcome: JsonObject | WfMcpError | None = None
        self._news = anyio.Event()
        self._line: _Line | None = None
        self._kept: JsonObject | None = None
        self._told: float | None = None
        self._why: str | None = None

    # -- as the port of the upstream's request ---------------------------------------------------

    async def ask(self, method: str, params: JsonObject, withdrawn: Withdrawn | None = None) -> JsonObject:
        """Queue a question and return its answer; raises `WfMcpError` where this client is not to be asked it."""
        self._vet(method, params)
        self._asked += 1
        key = f"question-{self._asked}"
        question = self._questions[key] = _Question(method, params)
        self._shown = False
        self._wake()
        try:
            await question.done.wait()
        finally:
            self._questions.pop(key, None)
        if isinstance(question.answer, WfMcpError):
            raise question.answer
        return question.answer

    async def tell(self, method: str, params: JsonObject) -> None:
        """Pass on the progress and the log of the call; what else an upstream tells a caller, this era has not."""
        if method == PROGRESS:
            await self._progress(params)
        elif method == MESSAGE and self._line is not None and self._line.port is not None:
            await self._line.port.tell(method, params)

    async def cancel_reason(self) -> str | None:
        """Why the call was ended, where wf-mcp ended it."""
        return self._why

    def _vet(self, method: str, params: JsonObject) -> None:
        if method not in QUESTIONS:
            raise NotServed(f"{method}: a client of 2026-07-28 cannot be asked that")
        if self._outcome is not None or self.scope.cancel_called:
            raise RelayedError(INTERNAL_ERROR, f"{method}: the call that this belongs to is over")
        required = lacking(self._capabilities, method, params)
        if required is None:
            return
        said = f"{method}: the client did not declare {named(required)}"
        if any(name in self._capabilities for name in required):
            raise InvalidParams(said)  # a mode or feature of what it has (2025-11-25 client/elicitation)
        raise NotServed(said)

    async def _progress(self, params: JsonObject) -> None:
        value = params.get("progress")
        if isinstance(value, int | float) and self._told is not None and value <= self._told:
            return
        if self._line is None:
            self._kept = params
            return
        if self._line.token is None or self._line.port is None:
            return
        self._told = value if isinstance(value, int | float) else self._told
        await self._line.port.tell(PROGRESS, {**params, "progressToken": self._line.token})

    # -- as the client's requests see it ---------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a request of the client waits for it now."""
        return self._line is not None

    @property
    def waits(self) -> bool:
        """Whether it waits for answers to what its client has been shown."""
        return self._shown and bool(self._questions)

    @contextmanager
    def attached(self, port: ClientPort | None, params: Mapping[str, Any]) -> Iterator[None]:
        """For the time of one request of the client, let `port` hear what the upstream tells."""
        meta = params.get("_meta")
        self._line = _Line(port, meta.get("progressToken") if isinstance(meta, dict) else None)
        try:
            yield
        finally:
            self._line = None

    async def catch_up(self) -> None:
        """Tell the attached request what was kept for it."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await self._progress(kept)

    async def event(self) -> JsonObject | None:
        """The result, or `None` where there are questions to show first; raises `WfMcpError` with the failure."""
        while True:
            while self._outcome is None and not self._questions:
                await self._news.wait()
            if self._outcome is None:
                await anyio.sleep(SETTLE)
            if self._questions:
                return None
            if isinstance(self._outcome, WfMcpError):
                raise self._outcome
            if self._outcome is not None:
                return self._outcome

    def questions(self) -> JsonObject:
        """What waits for an answer, as `inputRequests`; counts as shown from now on."""
        self._shown = True
        return {key: as_input_request(each.method, each.params) for key, each in self._questions.items()}

    def take(self, responses: Any) -> None:
        """Feed the upstream what was answered; a missing or malformed answer leaves its question open, and one to
        nothing that was asked is ignored (2026-07-28 basic/patterns/mrtr § Error Handling).
        """
        given = responses if isinstance(responses, dict) else {}
        good = [key for key, each in self._questions.items() if key in given and fits(each.method, given[key])]
        for key in good:
            self._questions.pop(key).give(dict(given[key]))
        self.round += bool(good)

    # -- its end ---------------------------------------------------------------------------------

    def finish(self, outcome: JsonObject | WfMcpError) -> None:
        """The upstream's request is over; only the first outcome counts.

        What was asked is still to be answered: where nothing tells calls apart, it may belong to another call of the
        same client.
        """
        if self._outcome is None:
            self._outcome = outcome
            self._wake()

    def cancel(self, why: str | None = None) -> None:
        """Cancel the upstream's request, telling it why."""
        self._why = why
        self._refuse(why or "the client left")
        self.scope.cancel()

    async def give_up(self, why: str) -> None:
        """Nobody will answer: say so to the upstream, then cancel its request (matrix D.4 item 4)."""
        self._refuse(why)
        await anyio.sleep(SETTLE)
        self.cancel(why)

    def _refuse(self, why: str) -> None:
        questions, self._questions = tuple(self._questions.values()), {}
        for each in questions:
            refusal = RelayedError(INTERNAL_ERROR, f"{each.method}: {why}")
            each.give({"action": "cancel"} if each.method == ELICITATION else refusal)

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()
