"""The built-in admin tools, through the public hook (design D12)."""

import inspect
from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from wf_mcp.builtin import admin
from wf_mcp.core.reports import EventList, EventRecord, Inventory, ReloadReport, Status
from wf_mcp.plugin import AdminTool
from wf_mcp.plugin.manager import build_plugins

RECORD = EventRecord(at="2026-01-02T03:04:05+00:00", kind="tools_changed", mount="gh", text="gh: tools changed")


class AdminStub:
    """Answers with known values."""

    async def reload(self) -> ReloadReport:
        return ReloadReport(added=["gh"])

    async def inventory(self) -> Inventory:
        return Inventory()

    def status(self) -> Status:
        return Status(version="1", lane="wire", front="stdio", names_style="auto", config_file=None)

    def events(self, limit: int) -> list[EventRecord]:
        return [RECORD] * limit


def tools() -> dict[str, AdminTool]:
    plugins = build_plugins([("admin", admin)], {}, load_entry_points=False)
    return {owned.value.name: owned.value for owned in plugins.admin_tools(AdminStub())}


def test_the_four_tools_and_what_they_may_do() -> None:
    assert {name: (tool.read_only, tool.destructive, tool.idempotent) for name, tool in tools().items()} == {
        "reload_config": (False, False, True),
        "inventory": (True, False, True),
        "status": (True, False, True),
        "events": (True, False, True),
    }


@pytest.mark.anyio
async def test_they_return_what_the_proxy_says() -> None:
    found = tools()
    assert await found["reload_config"].function() == ReloadReport(added=["gh"])
    assert await found["inventory"].function() == Inventory()
    assert await found["status"].function() == AdminStub().status()
    assert await found["events"].function(limit=2) == EventList(events=[RECORD, RECORD])
    assert len((await found["events"].function()).events) == 50


@pytest.mark.parametrize("tool", tools().values(), ids=tools())
def test_every_tool_is_async_typed_and_described(tool: AdminTool) -> None:
    assert inspect.iscoroutinefunction(tool.function)
    assert issubclass(get_type_hints(tool.function)["return"], BaseModel)
    assert tool.title
    assert 80 < len(tool.description) < 600
    assert "  " not in tool.description and "\n" not in tool.description


@pytest.mark.parametrize("limit", [0, 501, "many"])
def test_the_limit_of_events_is_bounded(limit: Any) -> None:
    annotation = get_type_hints(tools()["events"].function, include_extras=True)["limit"]
    with pytest.raises(ValidationError):
        TypeAdapter(annotation).validate_python(limit)
