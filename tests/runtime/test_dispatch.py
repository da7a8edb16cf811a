"""One call from request to result (style 3.3; matrix B.1, C.1 to C.4)."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.runtime.memory import Twin, TwinClient, TwinLink, prompt, resource, template, text, tool
from tests.runtime.stage import Stage, caller, config, stage, upstream

from wf_mcp.core.errors import InvalidParams, RelayedError, UnknownName, UnknownResource, UpstreamUnavailable
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin import (
    CallInfo,
    CallInterceptor,
    CallNext,
    CallRequest,
    Component,
    ComponentTransform,
    Namespace,
    Result,
    ResultTransform,
    impl,
)

pytestmark = pytest.mark.anyio

WEB = "https://example.org/a"


class Hiding:
    """Hides every component that has `secret` in its name."""

    @impl
    def wf_component_transforms(self, mount: Namespace) -> Iterable[ComponentTransform]:
        def hide(component: Component) -> Component | None:
            return None if "secret" in component.name else component

        return [hide]


def alpha(**lists: Any) -> Twin:
    lists.setdefault("tools", [tool("x")])
    return Twin("alpha", prompts=[prompt("p")], **lists)


async def test_a_call_reaches_its_upstream_with_everything_in_it() -> None:
    params = {"arguments": {"a": [1, None]}, "_meta": {"vendor": 1}, "x-future": {"k": "v"}}
    async with stage(alpha()) as s:
        assert await s.call("alpha.x", **params) == text("alpha ran x")
        (request,) = s.twin("alpha").of("tools/call")
    assert request.params == {"name": "x", **params}


async def test_each_method_reaches_its_upstream_under_the_upstreams_own_name() -> None:
    async with stage(alpha()) as s:
        assert (await s.ask("prompts/get", {"name": "alpha_p"}))["description"] == "alpha said p"
        assert await s.read("demo://alpha/r") == {"contents": [{"uri": "demo://alpha/r", "text": "alpha read it"}]}
        asked = [(request.method, request.params) for request in s.twin("alpha").requests[-2:]]
    assert asked == [("prompts/get", {"name": "p"}), ("resources/read", {"uri": "demo://r"})]


@pytest.mark.parametrize("name", ["alpha.nope", "nope", "alpha.secret"])
@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
async def test_an_unknown_or_hidden_name_is_invalid_params(method: str, name: str) -> None:
    twin = alpha(tools=[tool("secret")])
    twin.prompts = [prompt("secret")]
    async with stage(twin, plugins={"hiding": Hiding()}) as s:
        with pytest.raises(UnknownName) as raised:
            await s.ask(method, {"name": name})
        assert s.twin("alpha").of(method) == []
    assert raised.value.code == -32602


async def test_an_unknown_resource_is_not_found_as_it_was_written() -> None:
    async with stage(alpha()) as s:
        with pytest.raises(UnknownResource) as raised:
            await s.read("Demo://nobody/x")
    assert (raised.value.code, raised.value.data) == (-32002, {"uri": "Demo://nobody/x"})


async def test_a_hidden_resource_cannot_be_read() -> None:
    twin = alpha(resources=[resource("demo://r", name="secret")])
    async with stage(twin, plugins={"hiding": Hiding()}) as s:
        await s.ready()
        await nothing_read(s, "demo://alpha/r")


async def test_a_hidden_resource_cannot_be_read_before_the_list_is_known() -> None:
    twin = alpha(resources=[resource("demo://r", name="secret")])
    async with stage(twin, plugins={"hiding": Hiding()}) as s:
        await nothing_read(s, "demo://alpha/r")


async def test_a_resource_that_became_a_hidden_one_cannot_be_read() -> None:
    twin = alpha(resources=[resource("demo://r", name="open")])
    async with stage(twin, plugins={"hiding": Hiding()}) as s:
        await s.ready()
        s.twin("alpha").change("resources", [resource("demo://r", name="secret")])
        await nothing_read(s, "demo://alpha/r")


async def nothing_read(s: Stage, uri: str) -> None:
    with pytest.raises(UnknownResource) as raised:
        await s.read(uri)
    assert raised.value.data == {"uri": uri}
    assert s.twin("alpha").of("resources/read") == []


async def test_a_hidden_web_resource_is_nobodys() -> None:
    twin = alpha(resources=[resource(WEB, name="secret")])
    async with stage(twin, plugins={"hiding": Hiding()}) as s:
        await nothing_read(s, WEB)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": None}),
        ("tools/call", {"name": 3}),
        ("prompts/get", {"name": ["p"]}),
        ("resources/read", {"uri": {}}),
        ("resources/read", {"name": "x"}),
    ],
)
async def test_params_without_a_target_are_the_callers_mistake(method: str, params: JsonObject) -> None:
    async with stage(alpha()) as s:
        with pytest.raises(InvalidParams, match="needs a string"):
            await s.ask(method, params)


LINKED = {"content": [{"type": "resource_link", "uri": "demo://r", "name": "r"}, {"type": "text", "text": "demo://r"}]}


async def test_links_in_a_result_become_public_and_the_rest_stays() -> None:
    async with stage(alpha()) as s:
        s.twin("alpha").give("tools/call", {**LINKED, "structuredContent": {"uri": "demo://r"}, "x": 1})
        result = await s.call("alpha.x")
    assert result == {
        "content": [
            {"type": "resource_link", "uri": "demo://alpha/r", "name": "r"},
            {"type": "text", "text": "demo://r"},
        ],
        "structuredContent": {"uri": "demo://r"},
        "x": 1,
    }


async def test_a_result_of_a_bare_mount_is_the_upstreams_own_object() -> None:
    async with stage(Twin("one", tools=[tool("x")]), config_of=config(upstream("one", ""))) as s:
        s.twin("one").give("tools/call", LINKED)
        assert await s.call("x") is LINKED


async def test_a_web_address_can_be_read_once_a_result_linked_to_it() -> None:
    async with stage(alpha(), Twin("beta")) as s:
        s.twin("alpha").give("tools/call", {"content": [{"type": "resource_link", "uri": WEB, "name": "r"}]})
        with pytest.raises(UnknownResource):
            await s.read(WEB)
        await s.call("alpha.x")
        assert await s.read(WEB) == {"contents": [{"uri": WEB, "text": "alpha read it"}]}


async def test_an_error_keeps_its_code_and_names_the_resource_as_the_caller_did() -> None:
    async with stage(alpha()) as s:
        s.twin("alpha").fail("resources/read", RelayedError(-32002, "Resource not found", {"uri": "demo://r", "x": 1}))
        with pytest.raises(RelayedError) as raised:
            await s.read("demo://alpha/r")
    error = raised.value
    assert (error.code, error.message, error.data) == (-32002, "Resource not found", {"uri": "demo://alpha/r", "x": 1})


@pytest.mark.parametrize("data", [None, "text", [1], {"uri": 3}, {"other": "demo://r"}], ids=repr)
async def test_other_error_data_passes_as_it_is(data: Any) -> None:
    async with stage(alpha()) as s:
        s.twin("alpha").fail("tools/call", RelayedError(-32099, "odd", data))
        with pytest.raises(RelayedError) as raised:
            await s.call("alpha.x")
    assert raised.value.data == data


async def test_the_elicitations_that_an_error_asks_for_carry_the_label() -> None:
    """2025-11-25 client/elicitation § URL mode: the completion that is announced later has to match the id here."""
    first = {"mode": "url", "elicitationId": "e1", "url": "https://example.org/e", "message": "Sign in"}
    async with stage(alpha()) as s:
        s.twin("alpha").fail("tools/call", RelayedError(-32042, "URL needed", {"elicitations": [first], "x": None}))
        with pytest.raises(RelayedError) as raised:
            await s.call("alpha.x")
    error = raised.value
    assert (error.code, error.message) == (-32042, "URL needed")
    assert error.data == {"elicitations": [{**first, "elicitationId": "alpha:e1"}], "x": None}


async def test_an_error_of_a_tool_names_other_resources_publicly() -> None:
    async with stage(alpha()) as s:
        s.twin("alpha").fail("tools/call", RelayedError(-32042, "no", {"uri": "demo://other"}))
        with pytest.raises(RelayedError) as raised:
            await s.call("alpha.x")
    assert raised.value.data == {"uri": "demo://alpha/other"}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [((), {}), (("authorization",), {"authorization": "Bearer t"}), (("X-Trace", "absent"), {"X-Trace": "1"})],
    ids=["none by default", "one", "whatever the case"],
)
async def test_headers_are_forwarded_only_as_configured(wanted: tuple[str, ...], expected: dict[str, str]) -> None:
    who = caller(headers={"authorization": "Bearer t", "x-trace": "1", "cookie": "c"})
    async with stage(alpha(), config_of=config(upstream("alpha", forward_headers=wanted))) as s:
        await s.call("alpha.x", who)
        await s.dispatch.complete(who, {"ref": {"type": "ref/prompt", "name": "alpha.p"}, "argument": {}})
        requests = [*s.twin("alpha").of("tools/call"), *s.twin("alpha").of("completion/complete")]
    assert [dict(request.headers) for request in requests] == [expected, expected]


async def test_an_absent_upstream_is_an_error_that_names_it() -> None:
    async with stage(alpha()) as s:
        await s.ready()
        s.twin("alpha").starts.extend(["it is broken"] * 9)
        s.twin("alpha").link.lose()
        with pytest.raises(UpstreamUnavailable, match="'alpha' is unavailable: it is broken"):
            await s.call("alpha.x")


async def test_one_upstreams_silence_is_nobody_elses() -> None:
    async with stage(Twin("silent", tools=[tool("x")]), alpha()) as s:
        await s.ready()
        s.twin("silent").hold("tools/call")
        assert await s.call("alpha.x") == text("alpha ran x")


@pytest.mark.parametrize(
    ("ref", "local"),
    [
        ({"type": "ref/prompt", "name": "alpha.p", "title": "P"}, {"type": "ref/prompt", "name": "p", "title": "P"}),
        ({"type": "ref/prompt", "name": "alpha_p"}, {"type": "ref/prompt", "name": "p"}),
        ({"type": "ref/resource", "uri": "demo://alpha/{id}"}, {"type": "ref/resource", "uri": "demo://{id}"}),
    ],
)
async def test_a_completion_goes_to_the_upstream_that_its_ref_names(ref: JsonObject, local: JsonObject) -> None:
    params = {"argument": {"name": "a", "value": "v"}, "context": {"arguments": {}}}
    async with stage(alpha(templates=[template("demo://{id}")])) as s:
        result = await s.dispatch.complete(caller(), {"ref": ref, **params})
        (request,) = s.twin("alpha").of("completion/complete")
    assert request.params == {"ref": local, **params}
    assert result["completion"] == {"values": ["alpha"]}


@pytest.mark.parametrize("params", [{}, {"ref": "p"}, {"ref": {}}, {"ref": {"name": 3}}], ids=repr)
async def test_a_completion_without_a_ref_is_the_callers_mistake(params: JsonObject) -> None:
    async with stage(alpha()) as s:
        with pytest.raises(InvalidParams):
            await s.dispatch.complete(caller(), params)


async def test_a_completion_for_something_hidden_is_refused() -> None:
    twin = alpha(templates=[template("demo://r/{id}", name="secret")])
    twin.prompts = [prompt("secret")]
    async with stage(twin, plugins={"hiding": Hiding()}) as s:
        await s.ready()
        with pytest.raises(UnknownName):
            await s.dispatch.complete(caller(), {"ref": {"type": "ref/prompt", "name": "alpha.secret"}})
        with pytest.raises(UnknownResource):
            await s.dispatch.complete(caller(), {"ref": {"type": "ref/resource", "uri": "demo://alpha/r/{id}"}})


async def test_an_error_of_a_completion_names_the_resource_as_the_caller_did() -> None:
    async with stage(alpha(templates=[template("demo://{id}")])) as s:
        s.twin("alpha").fail("completion/complete", RelayedError(-32602, "no", {"uri": "demo://{id}"}))
        with pytest.raises(RelayedError) as raised:
            await s.dispatch.complete(caller(), {"ref": {"type": "ref/resource", "uri": "demo://alpha/{id}"}})
    assert raised.value.data == {"uri": "demo://alpha/{id}"}


async def test_an_interceptor_sees_public_names_both_ways_and_may_send_a_call_elsewhere() -> None:
    seen: list[Any] = []

    class Redirecting:
        @impl
        def wf_call_interceptors(self) -> Iterable[CallInterceptor]:
            async def redirect(request: CallRequest, call_next: CallNext) -> Result:
                seen.append((request.method, request.target, request.mount_id, request.label))
                result = await call_next(request.replace(target="beta.y"))
                seen.append(result.raw)
                return result

            return [redirect]

    beta = Twin("beta", tools=[tool("y")])
    beta.give("tools/call", LINKED)
    async with stage(alpha(), beta, plugins={"redirecting": Redirecting()}) as s:
        result = await s.call("alpha.x", arguments={"a": 1})
        (request,) = s.twin("beta").of("tools/call")
        assert s.twin("alpha").of("tools/call") == []
    assert request.params == {"name": "y", "arguments": {"a": 1}}
    assert result["content"][0]["uri"] == "demo://beta/r"
    assert seen == [("tools/call", "alpha.x", "alpha", "alpha"), result]


async def test_a_result_transform_sees_the_upstreams_own_addresses() -> None:
    seen: list[Any] = []

    class Looking:
        @impl
        def wf_result_transforms(self, mount: Namespace) -> Iterable[ResultTransform]:
            def look(result: Result, info: CallInfo) -> Result:
                seen.append((result.raw, info))
                return result.replace(seen=True)

            return [look]

    async with stage(alpha(), plugins={"looking": Looking()}) as s:
        s.twin("alpha").give("tools/call", LINKED)
        result = await s.call("alpha_x")
    assert seen == [(LINKED, CallInfo("alpha", "alpha", "tools/call", "x", "alpha_x"))]
    assert result["seen"] is True
    assert result["content"][0]["uri"] == "demo://alpha/r"


async def test_a_caller_hears_what_belongs_to_its_call() -> None:
    client = TwinClient()

    async def talk(link: TwinLink, params: JsonObject) -> JsonObject:
        link.say("notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": 1})
        return text("done")

    async with stage(alpha()) as s:
        s.twin("alpha").answers["tools/call"] = talk
        await s.call("alpha.x", caller(port=client), _meta={"progressToken": "mine"})
    assert client.heard == [("notifications/progress", {"progressToken": "mine", "progress": 1})]
