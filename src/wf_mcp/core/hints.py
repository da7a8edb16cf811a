"""Cache hints: how long a result may be reused, and by whom (2026-07-28 server/utilities/caching; matrix D.1).

A merged result is as fresh as its least fresh part, and public only if every part is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from wf_mcp.core.wire import JsonObject


@dataclass(frozen=True, slots=True)
class Hints:
    """`ttl` in milliseconds, and the `scope` of caches that may keep the result."""

    ttl: int
    scope: Literal["public", "private"]

    def after(self, milliseconds: float) -> "Hints":
        """The hints for the same result given out again so much later."""
        return Hints(max(0, self.ttl - int(milliseconds)), self.scope)

    def as_fields(self) -> JsonObject:
        """The two fields of a result."""
        return {"ttlMs": self.ttl, "cacheScope": self.scope}


NO_CACHE: Final = Hints(0, "private")
"""What holds where nothing was said: look again each time, and keep it from everybody else."""


def hints_of(result: JsonObject) -> Hints | None:
    """The hints on a result; `None` where it has none, or none that a client could go by."""
    ttl, scope = result.get("ttlMs"), result.get("cacheScope")
    if isinstance(ttl, bool) or not isinstance(ttl, int) or ttl < 0:
        return None
    return Hints(ttl, "public" if scope == "public" else "private")


def merged_hints(parts: Iterable[Hints | None]) -> Hints:
    """The hints of a result that has these parts; one without hints of its own, or no part at all, allows nothing."""
    known = [part or NO_CACHE for part in parts]
    if not known:
        return NO_CACHE
    private = any(part.scope == "private" for part in known)
    return Hints(min(part.ttl for part in known), "private" if private else "public")


def without_hints(result: JsonObject) -> JsonObject:
    """`result` without cache hints: interim results carry none (§ Cacheable Results)."""
    if "ttlMs" not in result and "cacheScope" not in result:
        return result
    return {key: value for key, value in result.items() if key not in ("ttlMs", "cacheScope")}


def with_hints(result: JsonObject, *, reusable: bool = True) -> JsonObject:
    """A result of a cacheable method with the hints that it has to carry: its own where it is `reusable` and has any.

    A result that came of a retry is not, since the answers in it are no part of a cache's key (§ Cache Key); an interim
    one carries no hints at all.
    """
    if result.get("resultType", "complete") != "complete":
        return without_hints(result)
    own = hints_of(result) if reusable else None
    return {**result, **(own or NO_CACHE).as_fields()}
