"""When an SDK is set up, what it calls this process, and what is said where it is not installed."""

import logging
import sys
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.trace import Tracer

from wf_mcp.edge.telemetry_sdk import exporting, resource, tracer_provider, wanted
from wf_mcp.version import VERSION

ANYWHERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("env", "traces", "metered"),
    [
        ({}, None, None),
        (ANYWHERE, "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ({**ANYWHERE, "OTEL_SDK_DISABLED": "TRUE"}, None, None),
        ({**ANYWHERE, "OTEL_SDK_DISABLED": "no"}, "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ({**ANYWHERE, "OTEL_TRACES_EXPORTER": "none"}, None, "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ({**ANYWHERE, "OTEL_METRICS_EXPORTER": "prometheus"}, "OTEL_EXPORTER_OTLP_ENDPOINT", None),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", None),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, None, "OTEL_METRICS_EXPORTER"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, None, None),
        ({"OTEL_SERVICE_NAME": "x"}, None, None),
    ],
    ids=str,
)
def test_the_environment_asks_for_each_signal(env: dict[str, str], traces: str | None, metered: str | None) -> None:
    assert (wanted(env, "traces"), wanted(env, "metrics")) == (traces, metered)


def test_where_nobody_asks_nothing_is_set_up() -> None:
    with exporting({}):
        assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        assert type(metrics.get_meter_provider()).__module__.startswith("opentelemetry.metrics")


def test_where_the_extra_is_not_installed_the_log_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for signal in ("trace", "metric"):
        monkeypatch.setitem(sys.modules, f"opentelemetry.exporter.otlp.proto.http.{signal}_exporter", None)
    with caplog.at_level(logging.WARNING), exporting(ANYWHERE):
        assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    said = (
        "the environment asks for OpenTelemetry (OTEL_EXPORTER_OTLP_ENDPOINT), and its SDK is not installed: "
        'pip install "wf-mcp[otel]"'
    )
    assert caplog.messages == [said, said]


def test_another_protocol_than_ours_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), exporting({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}):
        pass
    assert caplog.messages == ["OTEL_EXPORTER_OTLP_PROTOCOL=grpc: wf-mcp speaks http/protobuf, and does so now"]


def test_the_provider_makes_no_spans_that_repeat_ours() -> None:
    provider = tracer_provider()
    assert isinstance(provider.get_tracer("wf_mcp", "1"), Tracer)
    assert isinstance(provider.get_tracer("mcp-python-sdk"), trace.NoOpTracer)


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({}, "wf-mcp"),
        ({"OTEL_SERVICE_NAME": "front door"}, "front door"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=other,x=y"}, "other"),
    ],
)
def test_this_process_is_called_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], name: str
) -> None:
    for key in env:
        monkeypatch.setenv(key, env[key])
    attributes: Any = resource(env).attributes
    assert (attributes["service.name"], attributes["service.version"]) == (name, VERSION)
