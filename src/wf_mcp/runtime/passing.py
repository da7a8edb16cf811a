"""A modern client's multi-round-trip request at a modern upstream: it passes through, with the upstream's state sealed
in ours and the questions and answers mapped (2026-07-28 basic/patterns/mrtr; design D8; matrix C.1 to C.3).
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from wf_mcp.core.errors import InvalidParams
from wf_mcp.core.inputs import RESPONSES, STATE, is_input_required, is_retry, map_requests, map_responses
from wf_mcp.core.passing import PURPOSE, Binding, Passed, binding, claims, opened, refusal
from wf_mcp.core.seal import Sealer, SealError
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.onward import send
from wf_mcp.runtime.ports import Caller
from wf_mcp.runtime.questions import Translation
from wf_mcp.runtime.resolve import Route


class PassThrough:
    """Passes such requests through; `now` is the clock in seconds since 1970."""

    def __init__(self, sealer: Sealer, now: Callable[[], float] = time.time) -> None:
        self._sealer = sealer
        self._now = now

    async def call(self, caller: Caller, route: Route, method: str, target: str, params: JsonObject) -> JsonObject:
        """Send a request or its retry; raises `InvalidParams` (-32602) for a state that is not this request's."""

        def bound() -> Binding:  # a digest of everything, which most calls do not need
            return binding(route.mount.id, method, params, caller.principal)

        translation = route.session.inbox.translation
        onward = self._resumed(bound, translation, params) if is_retry(params) else params
        result = await send(caller, route, method, target, onward)
        if not is_input_required(result):
            return result
        # Ours is there even where the upstream gave none, so that a retry is known to be of this very request.
        state = self._sealer.seal(PURPOSE, claims(bound(), result, self._now()))
        return {**map_requests(result, translation.to_client), STATE: state}

    def _resumed(self, bound: Callable[[], Binding], translation: Translation, params: JsonObject) -> JsonObject:
        """A retry as the upstream shall get it: the answers in its terms, and its own state as it gave it."""
        passed = self._opened(bound, params)
        onward = {key: value for key, value in params.items() if key != STATE}
        if RESPONSES in params:
            onward[RESPONSES] = map_responses(params[RESPONSES], passed.methods, translation.from_client)
        return onward if passed.state is None else {**onward, STATE: passed.state}

    def _opened(self, bound: Callable[[], Binding], params: Mapping[str, Any]) -> Passed:
        """What the client brought back; a retry without it goes on without, as at the upstream itself."""
        if STATE not in params:
            return Passed()
        try:
            sealed = self._sealer.open(PURPOSE, params[STATE])
        except SealError as error:
            raise InvalidParams(f"this requestState cannot be used: {error}") from error
        reason = refusal(sealed, bound(), self._now())
        if reason is not None:
            raise InvalidParams(f"this requestState cannot be used: {reason}")
        return opened(sealed)
