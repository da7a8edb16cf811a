"""A call that waits for its user: what is asked in a result, which answers can be taken, and what is sealed for the
client to bring back (2026-07-28 basic/patterns/mrtr; matrix D.4).
"""

from typing import Any, Final

from wf_mcp.core.inputs import ELICITATION, INPUT_REQUIRED, REQUESTS, SAMPLING, STATE
from wf_mcp.core.passing import Binding
from wf_mcp.core.wire import JsonObject

PURPOSE: Final = "parked"
"""What the seal of a parked call's state is for."""

AGAIN: Final = "again"
"""What the seal is for where the call is over and the retry makes it anew (2025-11-25 client/elicitation § URL
Elicitation Required Error).
"""

_ACTIONS: Final = ("accept", "decline", "cancel")


def sealed_claims(bound: Binding, expires: float) -> JsonObject:
    """What every state is bound to: upstream, method, parameters, principal, expiry."""
    return {
        "upstream": bound.upstream,
        "method": bound.method,
        "digest": bound.digest,
        "principal": bound.principal,
        "expires": expires,
    }


def input_required(requests: JsonObject, state: str) -> JsonObject:
    """The result that asks."""
    return {"resultType": INPUT_REQUIRED, REQUESTS: requests, STATE: state}


def as_input_request(method: str, params: JsonObject) -> JsonObject:
    """A handshake upstream's question as a request for input: 2026-07-28 has no `elicitationId` and no progress on
    questions (matrix D.3).
    """
    shown = {key: value for key, value in params.items() if key not in ("_meta", "elicitationId")}
    meta = params.get("_meta")
    kept = {key: value for key, value in meta.items() if key != "progressToken"} if isinstance(meta, dict) else {}
    if kept:
        shown["_meta"] = kept
    return {"method": method, "params": shown} if shown else {"method": method}


def fits(method: str, answer: Any) -> bool:
    """Whether an answer has the shape that its question needs; others are asked for again (mrtr § Error Handling)."""
    if not isinstance(answer, dict):
        return False
    if method == ELICITATION:
        return answer.get("action") in _ACTIONS
    if method == SAMPLING:
        return "role" in answer and "content" in answer
    return isinstance(answer.get("roots"), list)
