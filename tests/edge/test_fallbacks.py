"""The fallback tools behind the lane: the same visibility and the same rights as direct requests (field case F87)."""

from collections.abc import Iterable
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.edge.wire import Face, Visitor, face, handshake, hello, modern
from tests.runtime.memory import Twin, resource, tool

from wf_mcp.core.errors import RelayedError, UpstreamUnavailable
from wf_mcp.plugin import Component, ComponentTransform, Namespace, impl

pytestmark = pytest.mark.anyio


class Hiding:
    """A plug-in that hides what is called `secret`."""

    @impl
    def wf_component_transforms(self, mount: Namespace) -> Iterable[ComponentTransform]:
        def change(component: Component) -> Component | None:
            return None if "secret" in component.name else component

        return [change]


def alpha() -> Twin:
    return Twin("alpha", tools=[tool("a"), tool("secret")], resources=[resource("demo://x"), resource("demo://secret")])


async def listed(f: Face, visitor: Visitor) -> list[str]:
    return [item["name"] for item in (await f.ask(visitor, "tools/list"))["tools"]]


async def call(f: Face, visitor: Visitor, tool_name: str, /, **arguments: Any) -> Any:
    return await f.ask(visitor, "tools/call", {"name": tool_name, "arguments": arguments})


async def test_they_stand_between_the_upstreams_tools_and_the_admin_tools() -> None:
    async with face(alpha(), fallback="on", admin=True) as f:
        for visitor in (await f.arrive(), modern()):
            assert await listed(f, visitor) == [
                *("alpha.a", "alpha.secret"),
                *("wf.read_resource", "wf.call_tool", "wf.admin.status"),
            ]


async def test_a_host_gets_what_it_needs_in_the_form_that_it_needs() -> None:
    async with face(alpha(), fallback="auto", style="auto") as f:
        visitor = handshake()
        await f.ask(visitor, "initialize", hello(name="claude-code"))
        assert await listed(f, visitor) == ["alpha_a", "alpha_secret", "wf_call_tool"]
        assert await listed(f, await f.arrive("other")) == ["alpha.a", "alpha.secret"]
        assert await listed(f, modern()) == ["alpha.a", "alpha.secret"]


@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize("looked", [False, True])
async def test_what_is_hidden_is_refused_and_never_reaches_the_upstream(era: str, looked: bool) -> None:
    async with face(alpha(), fallback="on", plugins={"hiding": Hiding()}) as f:
        visitor = modern() if era == "modern" else await f.arrive()
        if looked:
            assert "alpha.secret" not in await listed(f, visitor)
        for name in ("alpha.secret", "alpha_secret"):
            with pytest.raises(MCPError, match=f"Unknown tool: {name}"):
                await call(f, visitor, "wf.call_tool", name=name)
        result = await call(f, visitor, "wf.read_resource", uri="demo://alpha/secret")
        assert result["isError"] is True
        assert "Resource not found: demo://alpha/secret" in result["content"][0]["text"]
        assert (await call(f, visitor, "wf.read_resource", uri="demo://alpha/x")).get("isError") is None
        twin = f.stage.twin("alpha")
        assert twin.of("tools/call") == []
        assert [request.params["uri"] for request in twin.of("resources/read")] == ["demo://x"]


async def test_the_admin_tools_are_called_as_directly_where_there_are_any() -> None:
    async with face(alpha(), fallback="on", admin=True) as f:
        assert await call(f, await f.arrive(), "wf.call_tool", name="wf_admin_status") == {"answered": "by FastMCP"}
        assert f.onward[-1][1]["name"] == "wf.admin.status"
    async with face(alpha(), fallback="on") as f:
        with pytest.raises(MCPError, match=r"Unknown tool: wf\.admin\.status"):
            await call(f, await f.arrive(), "wf.call_tool", name="wf.admin.status")


async def test_modern_results_are_stamped_as_those_of_any_tool() -> None:
    async with face(alpha(), fallback="on") as f:
        for name, arguments in (("wf.call_tool", {"name": "alpha.a"}), ("wf.read_resource", {"uri": "demo://alpha/x"})):
            result = await call(f, modern(), name, **arguments)
            assert result["resultType"] == "complete"
            assert "ttlMs" not in result
            assert result["content"][0]["type"] == "text"


async def test_a_read_that_fails_says_so_in_its_result_and_shows_no_secret() -> None:
    async with face(alpha(), fallback="on") as f:
        visitor = await f.arrive()
        for error, said in (
            (RelayedError(-1, "the s3cr3t of the server"), "the s3cr3t of the server"),
            (UpstreamUnavailable("no way to s3cr3t"), "no way to ***"),
        ):
            f.stage.twin("alpha").fail("resources/read", error)
            result = await call(f, visitor, "wf.read_resource", uri="demo://alpha/x")
            assert result == {"content": [{"type": "text", "text": said}], "isError": True}


async def test_what_is_not_offered_is_asked_of_the_upstreams_like_any_other_name() -> None:
    async with face(alpha(), fallback="off") as f:
        with pytest.raises(MCPError, match=r"Unknown tool: wf\.read_resource"):
            await call(f, await f.arrive(), "wf.read_resource", uri="demo://alpha/x")
