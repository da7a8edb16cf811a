"""What wf-mcp seals around an upstream's `requestState`, and what a retry has to agree with (2026-07-28
basic/patterns/mrtr § Server Requirements: integrity, principal, expiry, method and parameters).

The upstream's own state stays byte-exact inside, and is absent where the upstream gave none.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from wf_mcp.core.inputs import RESPONSES, STATE, methods_of
from wf_mcp.core.wire import JsonObject

PURPOSE: Final = "request-state"
"""What the seal is for."""

LIFETIME: Final = 24 * 3600.0
"""Seconds for which a client may come back with a state."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Whose request a state belongs to: it is good for the same request of the same principal only."""

    upstream: str
    method: str
    digest: str
    principal: str | None


@dataclass(frozen=True, slots=True)
class Passed:
    """What came back in a state: the upstream's own one, where it gave one, and the method of each question."""

    state: str | None = None
    methods: Mapping[str, str] = field(default_factory=dict)


def binding(upstream: str, method: str, params: Mapping[str, Any], principal: str | None) -> Binding:
    """The binding of one request, `params` in the upstream's terms: a retry repeats them all but for the answers, the
    state, and `_meta`, which belongs to one hop.
    """
    same = {key: value for key, value in params.items() if key not in ("_meta", RESPONSES, STATE)}
    text = json.dumps(same, sort_keys=True, separators=(",", ":"))
    return Binding(upstream, method, hashlib.sha256(text.encode()).hexdigest(), principal)


def claims(bound: Binding, result: JsonObject, now: float) -> JsonObject:
    """What to seal for an `input_required` result of a request."""
    made: JsonObject = {
        "upstream": bound.upstream,
        "method": bound.method,
        "digest": bound.digest,
        "principal": bound.principal,
        "expires": int(now + LIFETIME),
        "methods": methods_of(result),
    }
    return {**made, "state": result[STATE]} if isinstance(result.get(STATE), str) else made


def refusal(sealed: JsonObject, bound: Binding, now: float) -> str | None:
    """Why a state that was sealed with these claims is not good for this request; `None` where it is."""
    if sealed["expires"] < now:
        return "it has expired; start the request anew, without it"
    if sealed["upstream"] != bound.upstream:
        return "it belongs to another server's request"
    if sealed["method"] != bound.method:
        return f"it belongs to a {sealed['method']} request"
    if sealed["principal"] != bound.principal:
        return "it belongs to another client"
    if sealed["digest"] != bound.digest:
        return "it belongs to a request with other parameters"
    return None


def opened(sealed: JsonObject) -> Passed:
    """What a good state holds."""
    return Passed(sealed.get("state"), sealed["methods"])
