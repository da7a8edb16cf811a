"""Asking plug-ins: each by itself, in order, with failures confined (design D10)."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from wf_mcp.core.errors import PluginError
from wf_mcp.core.events import Event
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.reports import EventRecord, Inventory, ReloadReport, Status
from wf_mcp.core.views import Component, Result
from wf_mcp.plugin import AdminTool, CallInfo, CallNext, CallRequest, ConfigSection, Sections, impl
from wf_mcp.plugin.manager import Plugins, build_plugins
from wf_mcp.plugin.types import Owned

MOUNT = Namespace("gh", "gh")


class AdminStub:
    """Satisfies `Admin`."""

    async def reload(self) -> ReloadReport:
        return ReloadReport()

    async def inventory(self) -> Inventory:
        return Inventory()

    def status(self) -> Status:
        return Status(version="1", lane="wire", front="stdio", names_style="auto", config_file=None)

    def events(self, limit: int) -> list[EventRecord]:
        return []


class Sink:
    name = "sink"

    def offer(self, event: Event) -> None:
        pass


def component(value: Component) -> Component:
    return value


def result(value: Result, info: CallInfo) -> Result:
    return value


async def intercept(request: CallRequest, call_next: CallNext) -> Result:
    return await call_next(request)


async def function() -> Inventory:
    return Inventory()


def tool(name: str) -> AdminTool:
    return AdminTool(name, function, "t", "d", read_only=True)


class Everything:
    """Offers one thing through each hook."""

    def __init__(self, tool_name: str = "look") -> None:
        self.sink = Sink()
        self.tool = tool(tool_name)

    @impl
    def wf_component_transforms(self, mount: Namespace) -> Any:
        return [component]

    @impl
    def wf_result_transforms(self, mount: Namespace) -> Any:
        return [result]

    @impl
    def wf_call_interceptors(self) -> Any:
        return [intercept]

    @impl
    def wf_event_sinks(self) -> Any:
        return [self.sink]

    @impl
    def wf_admin_tools(self) -> Any:
        return [self.tool]


class Broken:
    """Raises in every hook, here and there after a first offer."""

    @impl
    def wf_component_transforms(self) -> Iterator[Any]:
        yield component
        raise ValueError("components")

    @impl
    def wf_result_transforms(self) -> Any:
        raise ValueError("results")

    @impl
    def wf_call_interceptors(self) -> Any:
        return 5

    @impl
    def wf_event_sinks(self) -> Any:
        return ["not a sink"]

    @impl
    def wf_admin_tools(self) -> Any:
        return [tool("Odd name"), tool("look"), "no tool", tool("fine")]


def ask_everything(plugins: Plugins) -> dict[str, list[str]]:
    """The owners of what each hook gave, in order."""
    offers: dict[str, tuple[Owned[Any], ...]] = {
        "components": plugins.component_transforms(MOUNT),
        "results": plugins.result_transforms(MOUNT),
        "interceptors": plugins.call_interceptors(),
        "sinks": plugins.event_sinks(),
        "tools": plugins.admin_tools(AdminStub()),
    }
    return {hook: [owned.plugin for owned in owned_ones] for hook, owned_ones in offers.items()}


def test_installed_ones_transform_before_the_built_in_and_are_otherwise_after_it() -> None:
    plugins = build_plugins(
        [("own1", Everything("a")), ("own2", Everything("b"))],
        {},
        load_entry_points=False,
        extra=[("ext1", Everything("c")), ("ext2", Everything("d"))],
    )
    assert ask_everything(plugins) == {
        "components": ["ext1", "ext2", "own1", "own2"],
        "results": ["ext1", "ext2", "own1", "own2"],
        "interceptors": ["own1", "own2", "ext1", "ext2"],
        "sinks": ["own1", "own2", "ext1", "ext2"],
        "tools": ["own1", "own2", "ext1", "ext2"],
    }


def test_no_plug_ins_offer_nothing() -> None:
    plugins = build_plugins([], {}, load_entry_points=False)
    assert set(map(tuple, ask_everything(plugins).values())) == {()}


def test_failures_are_named_reported_and_seen_in_the_status() -> None:
    seen: list[tuple[str, str, str]] = []
    plugins = build_plugins(
        [("own", Everything())],
        {},
        load_entry_points=False,
        extra=[("broken", Broken())],
        on_failure=lambda plugin, hook, error: seen.append((plugin, hook, str(error))),
    )
    assert ask_everything(plugins) == {
        "components": ["own"],
        "results": ["own"],
        "interceptors": ["own"],
        "sinks": ["own"],
        "tools": ["own", "broken"],
    }
    assert seen == [
        ("broken", "wf_component_transforms", "components"),
        ("broken", "wf_result_transforms", "results"),
        ("broken", "wf_call_interceptors", "'int' object is not iterable"),
        ("broken", "wf_event_sinks", "a sink has a name and an offer method; str has not"),
        (
            "broken",
            "wf_admin_tools",
            "'Odd name' is no name for an admin tool: small letters, digits and single underscores",
        ),
        ("broken", "wf_admin_tools", "an admin tool 'look' exists already"),
        ("broken", "wf_admin_tools", "an AdminTool was expected, not str"),
    ]
    own, broken = plugins.statuses()
    assert (own.state, own.reason) == ("active", None)
    assert broken.state == "active"
    assert broken.reason == "wf_admin_tools: TypeError: an AdminTool was expected, not str"


@pytest.mark.parametrize("hook", ["component_transforms", "result_transforms"])
def test_async_transforms_are_refused(hook: str) -> None:
    class AsyncTransforms:
        @impl
        def wf_component_transforms(self) -> Any:
            return [intercept]

        @impl
        def wf_result_transforms(self) -> Any:
            return [intercept, 3]

    seen: list[str] = []
    plugins = build_plugins(
        [],
        {},
        load_entry_points=False,
        extra=[("p", AsyncTransforms())],
        on_failure=lambda plugin, hook, error: seen.append(str(error)),
    )
    assert getattr(plugins, hook)(MOUNT) == ()
    assert seen[0] == "a transform is an ordinary function, not async"
    assert seen[1:] in ([], ["a function was expected, not int"])


def test_a_required_plug_in_whose_hook_fails_is_an_error() -> None:
    plugins = build_plugins([], {"broken": {"required": True}}, load_entry_points=False, extra=[("broken", Broken())])
    with pytest.raises(PluginError, match="'broken' is required and failed in wf_result_transforms: ValueError"):
        plugins.result_transforms(MOUNT)


def test_what_is_offered_carries_required() -> None:
    config = {"p": {"required": True}}
    plugins = build_plugins([], config, load_entry_points=False, extra=[("p", Everything()), ("q", Everything())])
    assert [owned.required for owned in plugins.component_transforms(MOUNT)] == [True, False]


def test_failures_go_to_the_log_unless_told_otherwise(caplog: pytest.LogCaptureFixture) -> None:
    plugins = build_plugins([], {}, load_entry_points=False, extra=[("broken", Broken())])
    with caplog.at_level(logging.WARNING):
        plugins.result_transforms(MOUNT)
    assert caplog.messages == ["plug-in broken failed in wf_result_transforms and was skipped: ValueError: results"]


def test_the_same_failure_in_a_row_is_told_once() -> None:
    seen: list[str] = []
    plugins = build_plugins([], {}, load_entry_points=False, on_failure=lambda plugin, hook, error: seen.append(hook))
    for hook in ("a", "a", "b", "a"):
        plugins.report("p", hook, ValueError("x"))
    assert seen == ["a", "b", "a"]


class Settings(BaseModel):
    word: str = "none"


class Other(BaseModel):
    pass


class Configured:
    """Remembers what it was given."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.given: list[Any] = []

    @impl
    def wf_config_section(self) -> ConfigSection:
        return ConfigSection(self.name, Settings)

    @impl
    def wf_result_transforms(self, mount: Namespace, sections: Sections) -> Any:
        self.given = [mount, sections.get(Settings).word]
        return []


def test_each_plug_in_gets_its_own_settings_only() -> None:
    one, two = Configured("one"), Configured("two")
    plugins = build_plugins(
        [("own", Everything())], {"two": {"word": "w"}}, load_entry_points=False, extra=[("one", one), ("two", two)]
    )
    plugins.result_transforms(MOUNT)
    assert one.given == [MOUNT, "none"]
    assert two.given == [MOUNT, "w"]


def test_asking_for_settings_that_were_not_declared_says_what_to_do() -> None:
    with pytest.raises(LookupError, match="wf_config_section declares no section with the model Other"):
        Sections(Settings()).get(Other)
    with pytest.raises(LookupError):
        Sections().get(Settings)
