"""Reports become output schemas: everything in them is described for a model (design D12)."""

from typing import Any

import pytest
from pydantic import ValidationError

from wf_mcp.core.reports import EventList, Inventory, PluginStatus, ReloadReport, Status, UpstreamStatus


@pytest.mark.parametrize("report", [ReloadReport, Inventory, Status, EventList])
def test_every_model_and_field_is_described(report: type[Any]) -> None:
    schema = report.model_json_schema(mode="serialization")
    for name, model in {report.__name__: schema, **schema.get("$defs", {})}.items():
        assert model["type"] == "object"
        assert model["description"], name
        undescribed = [field for field, details in model["properties"].items() if not details.get("description")]
        assert undescribed == [], name


def test_reports_are_values() -> None:
    report = ReloadReport(added=["a"])
    assert report.model_dump() == {
        "added": ["a"],
        "removed": [],
        "restarted": [],
        "unchanged": [],
        "failed": {},
        "error": None,
    }
    with pytest.raises(ValidationError):
        setattr(report, "error", "changed")  # noqa: B010
    with pytest.raises(ValidationError):
        ReloadReport.model_validate({"aded": []})


def test_states_that_the_front_depends_on_are_closed() -> None:
    with pytest.raises(ValidationError):
        PluginStatus.model_validate({"name": "x", "state": "odd"})
    with pytest.raises(ValidationError):
        UpstreamStatus.model_validate({"id": "x", "label": "x", "state": "ready", "transport": "pigeon"})
