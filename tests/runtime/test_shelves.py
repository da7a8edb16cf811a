"""One mount's components as clients see them, computed once per list (design D6)."""

from collections.abc import Iterable

import pytest
from tests.runtime.memory import Twin, prompt, resource, template, tool
from tests.runtime.stage import A, caller, config, stage, upstream

from wf_mcp.core.kinds import PROMPTS, RESOURCES, TEMPLATES, TOOLS
from wf_mcp.plugin import Component, ComponentTransform, Namespace, Tool, impl

pytestmark = pytest.mark.anyio


class Hiding:
    """A plug-in that hides what is called `secret` and marks the rest; counts what it sees."""

    def __init__(self) -> None:
        self.seen = 0

    @impl
    def wf_component_transforms(self, mount: Namespace) -> Iterable[ComponentTransform]:
        def change(component: Component) -> Component | None:
            self.seen += 1
            return None if "secret" in component.name else component.replace(description="seen")

        return [change]


async def test_a_component_has_its_own_name_and_both_public_ones() -> None:
    async with stage(Twin("alpha", tools=[tool("a-b")], resources=[resource("demo://x")])) as s:
        await s.ready()
        (entry,) = s.shelves.first_entries(s.mounts["alpha"], TOOLS)
        (other,) = s.shelves.first_entries(s.mounts["alpha"], RESOURCES)
    assert (entry.mount_id, entry.local, entry.dotted, entry.safe) == ("alpha", "a-b", "alpha.a-b", "alpha_a_b")
    assert (other.local, other.dotted, other.safe) == ("demo://x", "demo://alpha/x", "demo://alpha/x")


async def test_plugins_see_the_upstreams_names_and_what_they_hide_is_known_by_them() -> None:
    twin = Twin(
        "alpha",
        tools=[tool("a"), tool("secret")],
        prompts=[prompt("secret")],
        resources=[resource("demo://secret")],
        templates=[template("demo://secret/{x}")],
    )
    async with stage(twin, plugins={"hiding": Hiding()}) as s:
        await s.ready()
        hidden = {
            kind.name: s.shelves.hidden(s.mounts["alpha"], A, kind) for kind in (TOOLS, PROMPTS, RESOURCES, TEMPLATES)
        }
        (entry,) = s.shelves.first_entries(s.mounts["alpha"], TOOLS)
    assert hidden == {
        "tools": {"secret"},
        "prompts": {"secret"},
        "resources": {"demo://secret"},
        "templates": {"demo://secret/{x}"},
    }
    assert entry.item == {**tool("alpha.a"), "description": "seen"}


async def test_a_shelf_is_computed_once_for_each_list() -> None:
    plugin = Hiding()
    async with stage(Twin("alpha", tools=[tool("a"), tool("b")]), plugins={"hiding": plugin}) as s:
        first = (await s.listings.listing(caller(), TOOLS)).entries
        assert (await s.listings.listing(caller(), TOOLS)).entries is first
        assert plugin.seen == 2
        s.twin("alpha").change("tools", [tool("a")])
        await s.listed()
        assert plugin.seen == 3


async def test_a_transform_that_fails_costs_nothing_but_itself() -> None:
    class Failing:
        @impl
        def wf_component_transforms(self, mount: Namespace) -> Iterable[ComponentTransform]:
            def fail(component: Component) -> Component:
                raise RuntimeError("odd tool")

            return [fail]

    async with stage(Twin("alpha", tools=[tool("a")]), plugins={"failing": Failing()}) as s:
        assert await s.listed() == ["alpha.a"]
        (status,) = [status for status in s.plugins.statuses() if status.name == "failing"]
        assert "odd tool" in (status.reason or "")


async def test_a_tool_that_a_plugin_renames_is_called_by_its_new_name() -> None:
    class Renaming:
        @impl
        def wf_component_transforms(self, mount: Namespace) -> Iterable[ComponentTransform]:
            return [lambda component: component.replace(name="b") if isinstance(component, Tool) else component]

    async with stage(Twin("alpha", tools=[tool("a")]), plugins={"renaming": Renaming()}) as s:
        assert await s.listed() == ["alpha.b"]
        await s.call("alpha.b")
    assert [request.params["name"] for request in s.twin("alpha").of("tools/call")] == ["a"]


async def test_labels_that_read_alike_in_safe_form_give_hashed_names_and_a_remark() -> None:
    async with stage(
        Twin("a-b", tools=[tool("x")]), Twin("a", tools=[tool("b")]), config_of=config(upstream("a-b"), upstream("a"))
    ) as s:
        await s.ready()
        safe = [entry.safe for mount in s.mounts for entry in s.shelves.first_entries(mount, TOOLS)]
        remarks = s.shelves.hashes(A)
    assert [name.rpartition("_")[0] for name in safe] == ["a_b_x", "a_b"]
    assert remarks[0] == "safe names of a, a-b carry a hash: one's could be read as another's"


async def test_names_of_one_mount_that_read_alike_are_told() -> None:
    async with stage(Twin("alpha", tools=[tool("x-y"), tool("x_y"), tool("z")])) as s:
        await s.ready()
        remarks = s.shelves.hashes(A)
    assert len(remarks) == 2
    assert all("reads the same without hash" in remark for remark in remarks)


async def test_what_was_never_listed_has_no_shelf() -> None:
    twin = Twin("alpha", tools=[tool("x")])
    twin.slow_start()
    async with stage(twin, list_wait=0.05) as s:
        assert await s.listed() == []
        mount = s.mounts["alpha"]
        assert s.shelves.shelf(mount, A, TOOLS) is None
        assert s.shelves.hidden(mount, A, TOOLS) == frozenset()
        assert s.shelves.first_entries(mount, TOOLS) == ()
        assert s.shelves.first_entries(None, TOOLS) == ()
