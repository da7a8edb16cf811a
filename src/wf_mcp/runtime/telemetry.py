"""Who watches requests on their way, as the runtime and the links know it; by default nobody does.

`edge/telemetry.py` is the one that makes spans and metrics of it.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Protocol

from wf_mcp.core.config import Upstream
from wf_mcp.core.wire import JsonObject


class Operation(Protocol):
    """One request under watch, for the time of the block; an error that leaves the block is the request's."""

    def __enter__(self) -> "Operation": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def answered(self, result: JsonObject) -> JsonObject:
        """Note the result, and return it as it is."""
        ...


class Telemetry(Protocol):
    """Watches what goes to upstreams and comes from them."""

    def sent(
        self, upstream: Upstream, method: str, params: Mapping[str, Any] | None, version: str | None = None
    ) -> Operation:
        """A request to an upstream, in a protocol version where that is known."""
        ...

    def asked(self, upstream: Upstream, method: str, params: Mapping[str, Any] | None) -> Operation:
        """A request of an upstream's own."""
        ...

    def apart(self) -> AbstractContextManager[object]:
        """What is done within belongs to no request, whoever was the cause of it."""
        ...


class _Unwatched:
    """A request that nobody watches."""

    def __enter__(self) -> "_Unwatched":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was noted."""

    def answered(self, result: JsonObject) -> JsonObject:
        """The result."""
        return result


class NoTelemetry:
    """Watches nothing."""

    _unwatched = _Unwatched()

    def sent(
        self, upstream: Upstream, method: str, params: Mapping[str, Any] | None, version: str | None = None
    ) -> Operation:
        """A request that nobody watches."""
        return self._unwatched

    def asked(self, upstream: Upstream, method: str, params: Mapping[str, Any] | None) -> Operation:
        """A question that nobody watches."""
        return self._unwatched

    def apart(self) -> AbstractContextManager[object]:
        """Nothing to be kept apart from."""
        return nullcontext()


UNWATCHED = NoTelemetry()
"""For whoever is given no other."""
