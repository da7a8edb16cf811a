"""What a person operates from inside the chat: read and plan first, then change (design D11, D12)."""

from collections.abc import Iterable
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.runtime.memory import Twin, prompt, resource, tool
from tests.runtime.stage import Stage, caller, config, stage, upstream

from wf_mcp.core.errors import ConfigError, PluginError
from wf_mcp.core.events import (
    ConfigReloaded,
    PromptsChanged,
    ReloadRefused,
    ResourcesChanged,
    ToolsChanged,
    UpstreamStarting,
)
from wf_mcp.core.reports import EventRecord, ReloadReport
from wf_mcp.plugin import ComponentTransform, Namespace, impl

pytestmark = pytest.mark.anyio

SECRET = "s3cr3t-canary-0123456789"


async def reload(s: Stage, new: Any) -> ReloadReport:
    s.next = new
    s.ear.events.clear()
    with anyio.fail_after(10):
        return await s.operator.reload()


async def test_a_reload_applies_what_changed_and_says_so() -> None:
    first = config(upstream("same"), upstream("changed"), upstream("gone"))
    new = config(upstream("same"), upstream("changed", digest="2"), upstream("new"))
    async with stage(*(Twin(each) for each in ("same", "changed", "gone", "new")), config_of=first) as s:
        await s.ready()
        report = await reload(s, new)
        assert s.operator.config is new
        assert s.ear.of(ConfigReloaded) == [ConfigReloaded(("new",), ("gone",), ("changed",), ("same",))]
    assert report.model_dump() == snapshot(
        {
            "added": ["new"],
            "removed": ["gone"],
            "restarted": ["changed"],
            "unchanged": ["same"],
            "failed": {},
            "error": None,
        }
    )


async def test_sessions_that_did_not_change_are_the_same_objects() -> None:
    async with stage(Twin("alpha"), Twin("beta")) as s:
        await s.ready()
        kept = s.session("alpha")
        await reload(s, config(upstream("alpha"), upstream("beta", digest="2")))
        assert s.session("alpha") is kept
        assert len(s.twin("alpha").links) == 1
        assert len(s.twin("beta").links) == 2


@pytest.mark.parametrize(
    "error", [ConfigError("line 3: no"), PluginError("'x' is required")], ids=["config", "plug-in"]
)
async def test_a_configuration_that_cannot_be_used_changes_nothing(error: Exception) -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await s.ready()
        kept, before = s.session("alpha"), s.operator.config
        report = await reload(s, error)
        assert report == ReloadReport(error=str(error))
        assert s.ear.events == [ReloadRefused(str(error))]
        assert (s.session("alpha"), s.operator.config) == (kept, before)
        assert await s.listed() == ["alpha.x"]


async def test_after_a_refused_reload_the_next_one_counts() -> None:
    async with stage(Twin("alpha"), Twin("beta"), config_of=config(upstream("alpha"))) as s:
        await reload(s, ConfigError("no"))
        assert (await reload(s, config(upstream("beta")))).added == ["beta"]


async def test_what_a_required_plugin_cannot_serve_changes_nothing() -> None:
    class Picky:
        @impl
        def wf_component_transforms(self, mount: Namespace) -> Iterable[ComponentTransform]:
            if mount.connection_id == "beta":
                raise RuntimeError("not beta")
            return []

    settings = {"picky": {"required": True}}
    first = config(upstream("alpha"))
    twins = Twin("alpha", tools=[tool("x")]), Twin("beta")
    async with stage(*twins, config_of=first, plugins={"picky": Picky()}, settings=settings) as s:
        await s.ready()
        report = await reload(s, config(upstream("alpha"), upstream("beta")))
        assert "not beta" in (report.error or "")
        assert s.operator.config is first
        assert await s.listed() == ["alpha.x"]


async def test_new_plugins_that_cannot_serve_a_mount_change_nothing_either() -> None:
    class Picky:
        @impl
        def wf_component_transforms(self, mount: Namespace) -> Iterable[ComponentTransform]:
            raise RuntimeError("not today")

    async with stage(Twin("alpha", tools=[tool("x")]), plugins={"picky": Picky()}) as s:
        await s.ready()
        before = (s.operator.config, s.plugins, s.mounts["alpha"])
        report = await reload(s, config(upstream("alpha"), plugins={"picky": {"required": True}}))
        assert "not today" in (report.error or "")
        assert (s.operator.config, s.plugins, s.mounts["alpha"]) == before
        assert s.ear.of(ReloadRefused) == [ReloadRefused(report.error or "")]


async def test_new_plugins_work_on_lists_that_are_there() -> None:
    class Hiding:
        @impl
        def wf_component_transforms(self, mount: Namespace) -> Iterable[ComponentTransform]:
            return [lambda component: None if component.name == "x" else component]

    off, on = {"hiding": {"enabled": False}}, {"hiding": {"enabled": True}}
    alpha = Twin("alpha", tools=[tool("x"), tool("y")])
    async with stage(alpha, plugins={"hiding": Hiding()}, settings=off) as s:
        assert await s.listed() == ["alpha.x", "alpha.y"]
        report = await reload(s, config(upstream("alpha"), plugins=on))
        assert (report.unchanged, report.error) == (["alpha"], None)
        assert s.ear.of(ToolsChanged) == [ToolsChanged("")]
        assert await s.listed() == ["alpha.y"]
        assert len(alpha.links) == 1


async def test_one_event_tells_of_each_kind_of_list_that_changed() -> None:
    first = config(upstream("alpha"), upstream("beta"))
    twins = (
        Twin("alpha", tools=[tool("x")], prompts=[prompt("p")]),
        Twin("beta", tools=[tool("y")], resources=[resource("demo://r")]),
        Twin("gamma", tools=[tool("z")]),
    )
    async with stage(*twins, config_of=first) as s:
        await s.ready()
        await reload(s, config(upstream("alpha"), upstream("gamma")))
        changes = [each for each in s.ear.events if isinstance(each, ToolsChanged | PromptsChanged | ResourcesChanged)]
    assert changes == [ToolsChanged(""), ResourcesChanged("")]


async def test_a_reload_that_changes_no_list_tells_clients_nothing() -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await s.ready()
        await reload(s, config(upstream("alpha"), page_size=3))
        assert s.ear.events == [ConfigReloaded((), (), (), ("alpha",))]
        await reload(s, config(upstream("alpha", digest="2")))
        assert s.ear.of(ToolsChanged) == []


async def test_switching_the_admin_tools_is_a_change_of_the_tools() -> None:
    async with stage(Twin("alpha", tools=[tool("x")])) as s:
        await s.ready()
        await reload(s, config(upstream("alpha"), admin=False))
        assert s.ear.of(ToolsChanged) == [ToolsChanged("")]
        await reload(s, config(upstream("alpha"), admin=False, page_size=3))
        assert s.ear.of(ToolsChanged) == []


async def test_a_new_label_is_a_change_of_every_list_over_the_same_connection() -> None:
    async with stage(Twin("alpha", tools=[tool("x")], prompts=[prompt("p")])) as s:
        await s.ready()
        report = await reload(s, config(upstream("alpha", "renamed")))
        assert report.unchanged == ["alpha"]
        assert s.ear.events[:-1] == [ToolsChanged(""), PromptsChanged("")]
        assert len(s.twin("alpha").links) == 1


async def test_lists_are_there_when_clients_hear_of_the_change() -> None:
    """A client that looks again at once must see the new upstream."""
    async with stage(Twin("alpha"), Twin("beta", tools=[tool("y")]), config_of=config(upstream("alpha"))) as s:
        await s.ready()
        await reload(s, config(upstream("alpha"), upstream("beta")))
        with anyio.fail_after(0.5):
            assert await s.listed() == ["beta.y"]


async def test_upstreams_that_fail_are_named_with_their_reasons() -> None:
    twins = Twin("alpha"), Twin("down"), Twin("slow")
    twins[1].starts.extend(["refused"] * 9)
    twins[2].slow_start()
    more = upstream("down"), upstream("unset", problem="KEY is not set"), upstream("slow")
    new = config(upstream("alpha"), *more, list_wait=0.1)
    async with stage(*twins, config_of=config(upstream("alpha"), list_wait=0.1)) as s:
        await s.ready()
        report = await reload(s, new)
    assert report.failed == {
        "unset": "KEY is not set",
        "down": "refused",
        "slow": "it has not answered within 0.1 s; it appears once it does",
    }


async def test_an_upstream_that_is_late_for_a_reload_announces_itself() -> None:
    async with stage(Twin("alpha"), Twin("slow", tools=[tool("y")]), config_of=config(upstream("alpha"))) as s:
        await s.ready()
        start = s.twin("slow").slow_start()
        await reload(s, config(upstream("alpha"), upstream("slow"), list_wait=0.1))
        start.set()
        await s.ear.hears(ToolsChanged("slow", "a"))
        assert await s.listed() == ["slow.y"]


async def test_secrets_are_masked_in_every_report() -> None:
    twins = Twin("alpha", said={"instructions": f"use {SECRET}"}), Twin("down")
    twins[1].starts.extend([f"bad key {SECRET}"] * 9)
    first = config(upstream("alpha"), secrets=frozenset({SECRET}))
    new = config(upstream("alpha"), upstream("down"), secrets=frozenset())
    async with stage(*twins, config_of=first) as s:
        await s.ready()
        report = await reload(s, new)
        assert report.failed == {"down": "bad key ***"}
        assert SECRET not in s.operator.status().model_dump_json()
        inventory = await s.operator.inventory()
        assert inventory.upstreams[0].instructions == "use ***"
        refused = await reload(s, ConfigError(f"${{KEY}} is {SECRET}"))
        assert refused.error == "${KEY} is ***"
        assert s.ear.of(ReloadRefused) == [ReloadRefused("${KEY} is ***")]


async def test_secrets_that_a_reload_brings_are_masked_too() -> None:
    twin = Twin("new")
    twin.starts.extend([f"bad key {SECRET}"] * 9)
    async with stage(Twin("alpha"), twin, config_of=config(upstream("alpha"))) as s:
        await s.ready()
        report = await reload(s, config(upstream("new"), secrets=frozenset({SECRET})))
    assert report.failed == {"new": "bad key ***"}


async def test_events_are_masked() -> None:
    async with stage(config_of=config(secrets=frozenset({SECRET}))) as s:
        s.operator._recent = lambda limit: [EventRecord(at="t", kind="k", mount="m", text=f"said {SECRET}")] * limit
        assert [record.text for record in s.operator.events(2)] == ["said ***"] * 2


async def test_reloads_are_done_one_after_the_other() -> None:
    async with stage(Twin("alpha"), Twin("beta"), config_of=config(upstream("alpha"))) as s:
        await s.ready()
        start = s.twin("beta").slow_start()
        s.next = config(upstream("alpha"), upstream("beta"))
        reports: list[ReloadReport] = []

        async def again() -> None:
            reports.append(await s.operator.reload())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(again)
            tasks.start_soon(again)
            await s.ear.hears(UpstreamStarting("beta"))
            await anyio.wait_all_tasks_blocked()
            assert reports == []
            start.set()
    assert [(report.added, report.unchanged) for report in reports] == [(["beta"], ["alpha"]), ([], ["alpha", "beta"])]


async def test_without_a_client_nothing_is_started_by_a_reload() -> None:
    async with stage(Twin("alpha"), Twin("beta"), config_of=config(upstream("alpha"))) as s:
        report = await reload(s, config(upstream("beta")))
        assert (report.added, report.failed) == (["beta"], {})
        assert s.ear.of(UpstreamStarting) == []
        await s.ready(caller())
        assert len(s.twin("beta").links) == 1
