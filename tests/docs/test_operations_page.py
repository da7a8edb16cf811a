"""The page for operators names every failure, span attribute, metric and path that there is, and nothing else."""

from tests.docs.pages import DOCS, names, read, rows, sections

from wf_mcp.core.backoff import FIRST, LONGEST
from wf_mcp.core.config_models import UpstreamWf
from wf_mcp.core.failures import QUARTER_HOUR, REMEDIES
from wf_mcp.core.telemetry import INSTRUMENTS, SPAN_ATTRIBUTES
from wf_mcp.edge.probes import HEALTH, READY
from wf_mcp.edge.telemetry_sdk import wanted
from wf_mcp.runtime.ages import EVERY
from wf_mcp.runtime.connection import STABLE

PAGE = sections(read(DOCS / "operations.md"))


def test_every_class_of_failures_is_described_with_what_is_done() -> None:
    starts = {None: "growing pauses", 0.0: "at once", QUARTER_HOUR: f"after {QUARTER_HOUR / 60:.0f} minutes"}
    classes = [row for row in rows(PAGE["When a server fails"]) if len(row) == 4]
    assert [(names(row[0])[0], row[2], row[3]) for row in classes] == [
        (kind, remedy.advice, starts[remedy.wait]) for kind, remedy in REMEDIES.items()
    ]
    assert all(row[1] for row in classes)


def test_the_seconds_are_those_of_the_code() -> None:
    told = " ".join(PAGE["When a server fails"].split())
    assert f"from {FIRST:.0f} to {LONGEST:.0f} seconds" in told
    assert f"lasted {STABLE:.0f} seconds" in told
    assert f"up to {QUARTER_HOUR / 60:.0f} minutes" in told
    assert f"every {EVERY:.0f} seconds" in told


def test_the_bounds_are_settings_of_a_server() -> None:
    settings = [names(row[0])[0] for row in rows(PAGE["When a server fails"]) if len(row) == 2]
    assert len(settings) == 6
    assert set(settings) <= set(UpstreamWf.model_fields)


def test_every_metric_is_described_as_it_is_made() -> None:
    told = [
        (names(row[0])[0], row[1], row[2].strip("`"), tuple(names(row[3])), row[4]) for row in rows(PAGE["Metrics"])
    ]
    assert told == [(each.name, each.kind, each.unit, each.attributes, each.description) for each in INSTRUMENTS]


def test_every_attribute_of_a_span_is_described() -> None:
    assert [names(row[0])[0] for row in rows(PAGE["Traces"])] == list(SPAN_ATTRIBUTES)


def test_the_probes_are_at_their_paths() -> None:
    assert [names(row[0])[0] for row in rows(PAGE["Probes"])] == [HEALTH, READY]


def test_the_variables_do_what_the_page_says() -> None:
    variables = [name for row in rows(PAGE["Telemetry"]) for name in names(row[0])]
    on = {name: "http://x" for name in variables if name.endswith("_ENDPOINT")}
    assert wanted(on, "traces") == "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
    assert wanted(on, "metrics") == "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
    for signal in ("traces", "metrics"):
        assert wanted({f"OTEL_{signal.upper()}_EXPORTER": "otlp"}, signal) in variables
        assert wanted({**on, f"OTEL_{signal.upper()}_EXPORTER": "none"}, signal) is None
        assert wanted({**on, "OTEL_SDK_DISABLED": "true"}, signal) is None
