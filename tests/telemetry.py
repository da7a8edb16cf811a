"""What OpenTelemetry heard, in this process or at a collector of its own, in words that tests compare."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, Sampler

from wf_mcp.edge.telemetry import OTelTelemetry

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
"""What a client's `_meta` may say."""


class Heard:
    """An SDK in memory, and the `telemetry` that tells it."""

    def __init__(self, sampler: Sampler | None = None, mask: Callable[[str], str] = lambda text: text) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        tracers = TracerProvider(sampler=sampler or ParentBased(ALWAYS_ON))
        tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.telemetry = OTelTelemetry(mask, tracers, MeterProvider([self._reader]))

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in that order."""
        return list(self._exporter.get_finished_spans())

    def named(self, name: str, kind: str) -> ReadableSpan:
        """The one span of this name and kind."""
        (found,) = [span for span in self.spans if span.name == name and span.kind.name == kind]
        return found

    def points(self, metric: str) -> dict[str, Any]:
        """The points of one metric, by their attributes: a value, or how often something was measured."""
        data = self._reader.get_metrics_data()
        found = [
            point
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for each in scope.metrics
            if each.name == metric
            for point in each.data.data_points
        ]
        return {_key(dict(point.attributes)): getattr(point, "value", getattr(point, "count", None)) for point in found}


def ids(span: ReadableSpan) -> tuple[str, str, str | None]:
    """A span's trace, itself, and its parent."""
    parent = None if span.parent is None else f"{span.parent.span_id:016x}"
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}", parent


def _key(attributes: dict[str, Any]) -> str:
    return " ".join(f"{name}={attributes[name]}" for name in sorted(attributes))


@dataclass(frozen=True)
class Told:
    """A span as a collector got it."""

    name: str
    kind: int
    trace: str
    id: str
    parent: str
    scope: str
    attributes: dict[str, str] = field(hash=False)


class Collector:
    """Takes what an OTLP exporter sends over HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[Told] = []
        self.metrics: set[str] = set()
        self.services: set[str] = set()

    def take(self, path: str, body: bytes) -> None:
        """One export."""
        if path.endswith("/traces"):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.services.add(_attributes(resource.resource.attributes)["service.name"])
                for scope in resource.scope_spans:
                    self.spans += [_told(span, scope.scope.name) for span in scope.spans]
        elif path.endswith("/metrics"):
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {metric.name for scope in resource.scope_metrics for metric in scope.metrics}


def _told(span: Any, scope: str) -> Told:
    return Told(
        span.name,
        span.kind,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        scope,
        _attributes(span.attributes),
    )


def _attributes(pairs: Any) -> dict[str, str]:
    return {pair.key: pair.value.string_value or str(pair.value.int_value) for pair in pairs}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector for the time of the block."""
    collectors: list[Collector] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collectors[0].take(self.path, body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collectors.append(Collector(f"http://127.0.0.1:{server.server_address[1]}"))
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield collectors[0]
        finally:
            server.shutdown()
            thread.join()
