"""Sets up an OpenTelemetry SDK that sends what wf-mcp tells to a collector: the extra `wf-mcp[otel]`.

Only where the environment asks for it, by the variables of the OpenTelemetry specification, and only where nobody else
has set one up (`opentelemetry-instrument`, or a program that embeds wf-mcp). All else, headers, sampling, resources and
intervals, the SDK reads from the same environment.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Timer
from typing import Any, Final

from opentelemetry import metrics, trace
from opentelemetry.trace import NoOpTracer, ProxyTracerProvider

from wf_mcp.version import VERSION

logger = logging.getLogger(__name__)

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
DISABLED: Final = "OTEL_SDK_DISABLED"
LAST: Final = 1.5
"""Seconds that each signal has for its last export."""

PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
HTTP: Final = "http/protobuf"
"""The one protocol that is spoken."""

MISSING: Final = 'the environment asks for OpenTelemetry ({}), and its SDK is not installed: pip install "wf-mcp[otel]"'
DOUBLED: Final = frozenset({"mcp-python-sdk"})
"""Scopes whose spans repeat ours: the MCP SDK makes one for some of the requests that it sends."""


Start = Callable[[Mapping[str, str]], Callable[[], None]]
"""Sets up one signal in an environment, and returns what ends it."""


def wanted(env: Mapping[str, str], signal: str) -> str | None:
    """The variable that asks for `signal` (`traces`, `metrics`) to be sent; `None` where none does."""
    exporter = env.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower()
    if env.get(DISABLED, "").strip().lower() == "true" or exporter not in ("", "otlp"):
        return None
    variables = (f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT", ENDPOINT)
    named = next((name for name in variables if env.get(name)), None)
    return named or (f"OTEL_{signal.upper()}_EXPORTER" if exporter else None)


@contextmanager
def exporting(env: Mapping[str, str]) -> Iterator[None]:
    """For the time of the block, send spans and metrics where the environment wants them; at its end, what is left."""
    if env.get(PROTOCOL, HTTP) != HTTP:
        logger.warning("%s=%s: wf-mcp speaks %s, and does so now", PROTOCOL, env[PROTOCOL], HTTP)
    with ExitStack() as stack:
        for signal, start in _STARTS.items():
            variable = wanted(env, signal)
            if variable is None:
                continue
            try:
                stack.callback(start(env))
            except ImportError:
                logger.warning(MISSING.format(variable))
        yield


def _start_traces(env: Mapping[str, str]) -> Callable[[], None]:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if not isinstance(trace.get_tracer_provider(), ProxyTracerProvider):
        return _nothing
    exporter = OTLPSpanExporter()
    provider = tracer_provider(resource(env))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return partial(_end, provider, exporter)


def _start_metrics(env: Mapping[str, str]) -> Callable[[], None]:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    if isinstance(metrics.get_meter_provider(), MeterProvider):
        return _nothing
    exporter = OTLPMetricExporter()
    provider = MeterProvider([PeriodicExportingMetricReader(exporter)], resource(env))
    metrics.set_meter_provider(provider)
    return partial(_end, provider, exporter)


def tracer_provider(described: Any = None) -> Any:
    """The SDK's provider of tracers, but for `DOUBLED`."""
    from opentelemetry.sdk.trace import TracerProvider

    class Provider(TracerProvider):
        """Makes no spans for scopes whose spans repeat ours."""

        def get_tracer(self, instrumenting_module_name: str, *args: Any, **kwargs: Any) -> trace.Tracer:
            """The tracer of a scope."""
            if instrumenting_module_name in DOUBLED:
                return NoOpTracer()
            return super().get_tracer(instrumenting_module_name, *args, **kwargs)

    return Provider(resource=described)


def resource(env: Mapping[str, str]) -> Any:
    """What this process is called, where the environment does not call it otherwise."""
    from opentelemetry.sdk.resources import Resource

    named = "OTEL_SERVICE_NAME" in env or "service.name=" in env.get("OTEL_RESOURCE_ATTRIBUTES", "")
    ours = {"service.version": VERSION}
    return Resource.create(ours if named else {"service.name": "wf-mcp", **ours})


def _end(provider: Any, exporter: Any) -> None:
    """Send what is left; a collector that cannot be reached holds up the end of the process for `LAST` seconds only."""
    patience = Timer(LAST, exporter.shutdown)
    patience.start()
    try:
        provider.shutdown()
    finally:
        patience.cancel()


def _nothing() -> None:
    """What there is to do where somebody else has set it up."""


_STARTS: Final[Mapping[str, Start]] = {
    "traces": _start_traces,
    "metrics": _start_metrics,
}
