"""Spans and durations of requests on both hops, by the OpenTelemetry API (semantic conventions for MCP; SEP-414).

What is sent (`edge/in_flight.py`, and the SDK's dispatcher) carries the trace context of the span that is current then.
Where no SDK is set up, and for requests that are not sampled, none is, and what a client says of its trace passes
untouched. Baggage is never taken into a context: it would reach upstreams that the client did not address.
"""

from asyncio import CancelledError
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from mcp.shared.exceptions import MCPError
from opentelemetry import context, metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, Meter, MeterProvider
from opentelemetry.trace import (
    INVALID_SPAN,
    NonRecordingSpan,
    ProxyTracerProvider,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TracerProvider,
)

from wf_mcp.core.config import StdioTransport, Upstream
from wf_mcp.core.errors import RelayedError, WfMcpError
from wf_mcp.core.telemetry import (
    ADDRESS,
    BUCKETS,
    CALLS,
    CODE,
    ERROR,
    ERRORS,
    METHOD,
    PORT,
    SENT,
    SERVED,
    TOOL_ERROR,
    TRANSPORT,
    UPSTREAM,
    VERSION,
    Attribute,
    Instrument,
    described,
    error_type,
    is_tool_error,
    span_name,
    version_in,
)
from wf_mcp.core.wire import JsonObject
from wf_mcp.edge.hop import NoAgreement
from wf_mcp.version import VERSION as OURS

SCOPE = "wf_mcp"
"""The instrumentation scope of all spans and metrics of wf-mcp."""

Said = Mapping[str, Attribute]

Ended = Callable[[float, str | None, Said], None]
"""Takes the seconds that a request took, what kind of error it ended in, and what is said of it."""

LOOK_AGAIN = 1.0
"""Seconds until it is asked again whether somebody makes spans, where nobody did."""


class Watched:
    """One request; `span` is current for the time of the block."""

    __slots__ = ("_began", "_ended", "_failure", "_mask", "_said", "_span", "_token")

    def __init__(self, span: Span | None, mask: Callable[[str], str], ended: Ended, said: Said) -> None:
        self._span, self._mask, self._ended, self._said = span, mask, ended, said
        self._failure: str | None = None
        self._token: Any = None
        self._began = 0.0

    def __enter__(self) -> "Watched":
        if self._span is not None:
            self._token = context.attach(trace.set_span_in_context(self._span))
        self._began = perf_counter()
        return self

    def answered(self, result: JsonObject) -> JsonObject:
        """Note the result, and return it as it is."""
        if is_tool_error(result):
            self._failure = TOOL_ERROR
        return result

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        took = perf_counter() - self._began
        failure = self._failure if error is None else kind_of(error)
        if self._span is not None:
            context.detach(self._token)
            if failure is not None:
                self._fail(self._span, failure, error)
            self._span.end()
        self._ended(took, failure, self._said)

    def _fail(self, span: Span, failure: str, error: BaseException | None) -> None:
        span.set_attribute(ERROR, failure)
        if isinstance(error, MCPError | RelayedError):
            span.set_attribute(CODE, str(error.code))
        said = error.message if isinstance(error, MCPError | WfMcpError) else None
        span.set_status(Status(StatusCode.ERROR, None if said is None else self._mask(said)))


class OTelTelemetry:
    """Watches requests; `mask` takes secrets out of what errors say. Without providers, the process's own are used."""

    def __init__(
        self,
        mask: Callable[[str], str] = lambda text: text,
        tracers: TracerProvider | None = None,
        meters: MeterProvider | None = None,
    ) -> None:
        self._mask = mask
        self._given = tracers is not None
        self._look_again = 0.0
        self._tracer = trace.get_tracer(SCOPE, OURS, tracers)
        self.meter = metrics.get_meter(SCOPE, OURS, meters)
        self._served = histogram(self.meter, SERVED)
        self._sent = histogram(self.meter, SENT)
        self._calls = self.meter.create_counter(CALLS.name, CALLS.unit, CALLS.description)
        self._errors = self.meter.create_counter(ERRORS.name, ERRORS.unit, ERRORS.description)

    @property
    def tracing(self) -> bool:
        """Whether there is somebody who makes spans."""
        if not self._given and (now := perf_counter()) >= self._look_again:
            # To ask is to look into the environment, which takes as long as a twentieth of a call.
            self._look_again = now + LOOK_AGAIN
            self._given = not isinstance(trace.get_tracer_provider(), ProxyTracerProvider)
        return self._given

    def served(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        said: Said,
    ) -> Watched:
        """A client's request: a child of what its `_meta` names, else of the HTTP request that it came with."""
        span = self._served_span(method, params, headers, said) if self.tracing else None
        return Watched(span, self._mask, self._note_served, {METHOD: method, TRANSPORT: said[TRANSPORT]})

    def sent(
        self, upstream: Upstream, method: str, params: Mapping[str, Any] | None, version: str | None = None
    ) -> Watched:
        """A request to an upstream, as a child of what it is sent for."""
        span = None
        if self.tracing:
            said = _to(upstream, method, params, version)
            span = self._tracer.start_span(span_name(method, params), kind=SpanKind.CLIENT, attributes=said)
            span = span if span.is_recording() else INVALID_SPAN
        of = {UPSTREAM: upstream.id, METHOD: method, TRANSPORT: _transport(upstream)}
        return Watched(span, self._mask, self._note_sent, of)

    def asked(self, upstream: Upstream, method: str, params: Mapping[str, Any] | None) -> Watched:
        """A question of an upstream's: a child of what its `_meta` names, else of the request that it came on."""
        span = self._asked_span(upstream, method, params) if self.tracing else None
        return Watched(span, self._mask, _note_nothing, {})

    def _note_served(self, took: float, failure: str | None, said: Said) -> None:
        self._served.record(took, said if failure is None else {**said, ERROR: failure})

    def _note_sent(self, took: float, failure: str | None, said: Said) -> None:
        counted = {UPSTREAM: said[UPSTREAM], METHOD: said[METHOD]}
        self._calls.add(1, counted)
        if failure is not None:
            self._errors.add(1, {**counted, ERROR: failure})
        self._sent.record(took, said if failure is None else {**said, ERROR: failure})

    def apart(self) -> AbstractContextManager[object]:
        """What is done within belongs to no request, whoever was the cause of it."""
        return _apart()

    def _served_span(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        said: Said,
    ) -> Span:
        named, ambient = remote((params or {}).get("_meta")), trace.get_current_span().get_span_context()
        around = ambient if ambient.is_valid else remote(headers)
        parent = named or around
        links = [trace.Link(around)] if named is not None and around is not None else []
        return self._tracer.start_span(
            span_name(method, params),
            context=None if parent is None else _below(parent),
            kind=SpanKind.SERVER,
            attributes={**described(method, params), **said},
            links=links,
        )

    def _asked_span(self, upstream: Upstream, method: str, params: Mapping[str, Any] | None) -> Span:
        named = remote((params or {}).get("_meta"))
        return self._tracer.start_span(
            span_name(method, params),
            context=None if named is None else _below(named),
            kind=SpanKind.SERVER,
            attributes=_to(upstream, method, params, None),
        )


def remote(carrier: object) -> SpanContext | None:
    """The span that a request's `_meta`, or its HTTP headers, name as the one that it belongs to."""
    if not isinstance(carrier, Mapping):
        return None
    fields = {name: carrier[name] for name in propagate.get_global_textmap().fields if name in carrier}
    if not fields or not all(isinstance(value, str) for value in fields.values()):
        return None
    found = trace.get_current_span(propagate.extract(fields, Context())).get_span_context()
    return found if found.is_valid else None


def kind_of(error: BaseException) -> str:
    """A name for what went wrong, one of few."""
    match error:
        case NoAgreement(answer=MCPError() as answer):
            return str(answer.code)
        case WfMcpError():
            return error_type(error)
        case MCPError():
            return str(error.code)
        case CancelledError():
            return "cancelled"
        case _:
            return type(error).__name__


def histogram(meter: Meter, instrument: Instrument) -> Histogram:
    """A histogram of durations."""
    return meter.create_histogram(
        instrument.name,
        instrument.unit,
        instrument.description,
        explicit_bucket_boundaries_advisory=BUCKETS,
    )


@contextmanager
def _apart() -> Any:
    token = context.attach(Context())
    try:
        yield
    finally:
        context.detach(token)


def _below(parent: SpanContext) -> Context:
    return trace.set_span_in_context(NonRecordingSpan(parent), Context())


def _note_nothing(took: float, failure: str | None, said: Said) -> None:
    """Questions are told by spans only."""


def _to(upstream: Upstream, method: str, params: Mapping[str, Any] | None, version: str | None) -> dict[str, Attribute]:
    said = {**described(method, params), UPSTREAM: upstream.id, TRANSPORT: _transport(upstream)}
    known = version or version_in(params)
    if known is not None:
        said[VERSION] = known
    if not isinstance(upstream.transport, StdioTransport):
        parts = urlsplit(upstream.transport.url)
        if parts.hostname is not None:
            said[ADDRESS] = parts.hostname
            said[PORT] = parts.port or (443 if parts.scheme == "https" else 80)
    return said


def _transport(upstream: Upstream) -> str:
    return "pipe" if isinstance(upstream.transport, StdioTransport) else "tcp"
