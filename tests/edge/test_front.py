"""The wire lane: what it answers itself, what goes on to FastMCP, and what errors look like (design D1)."""

import gc
import re
import weakref
from typing import Any, get_args

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import SERVER_INFO_META_KEY
from tests.edge.wire import HANDSHAKE, IDENTITY, Face, Visitor, face, handshake, hello, modern
from tests.runtime.memory import Twin, prompt, resource, template, text, tool
from tests.runtime.stage import IDENTITY as OURS

from wf_mcp.core.envelope import Era
from wf_mcp.core.errors import RelayedError, UpstreamTimeout
from wf_mcp.core.events import ToolsChanged
from wf_mcp.plugin import ComponentTransform, Namespace, impl

pytestmark = pytest.mark.anyio

STAMP = {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: IDENTITY}}
CACHE = {"ttlMs": 0, "cacheScope": "private"}


def alpha(**said: Any) -> Twin:
    return Twin("alpha", tools=[tool("x")], prompts=[prompt("p")], said=said)


async def error_of(f: Face, visitor: Visitor, method: str, params: Any = None) -> MCPError:
    with pytest.raises(MCPError) as raised:
        await f.ask(visitor, method, params)
    return raised.value


async def test_initialize_has_the_capabilities_and_instructions_of_everything_behind() -> None:
    beta = Twin("beta", capabilities={"tools": {}, "logging": {}})
    async with face(alpha(instructions="be kind"), beta) as f:
        answer = await f.ask(handshake(), "initialize", hello())
        assert f.onward == [("initialize", hello())]
    assert answer == {
        "protocolVersion": HANDSHAKE,
        "capabilities": {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": False},
            "completions": {},
            "logging": {},
        },
        "serverInfo": {},
        "instructions": "[alpha] Its tools and prompts are listed as alpha.*\nbe kind\n\n"
        "[beta] Its tools and prompts are listed as beta.*",
    }


async def test_initialize_does_not_wait_longer_than_list_wait_and_then_promises_everything() -> None:
    async with face(Twin("slow", tools=[tool("x")]), list_wait=0.05) as f:
        start = f.stage.twin("slow").slow_start()
        visitor = handshake()
        answer = await f.ask(visitor, "initialize", hello())
        assert set(answer["capabilities"]) == {"tools", "prompts", "resources"}
        assert "instructions" not in answer
        start.set()
        await visitor.peer.notes.wait_for("notifications/tools/list_changed")


async def test_discover_says_what_modern_clients_get() -> None:
    async with face(alpha()) as f:
        answer = await f.ask(modern(), "server/discover")
    assert answer["capabilities"] == {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": False},
        "completions": {},
    }
    assert (answer["resultType"], answer["ttlMs"], answer["cacheScope"]) == ("complete", 0, "private")


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("tools/list", {"tools": [tool("alpha.x")]}),
        ("prompts/list", {"prompts": [prompt("alpha.p")]}),
        ("resources/list", {"resources": []}),
        ("resources/templates/list", {"resourceTemplates": []}),
    ],
)
async def test_lists_are_answered_here_in_both_eras(method: str, expected: dict[str, Any]) -> None:
    async with face(alpha()) as f:
        assert await f.ask(await f.arrive(), method) == expected
        assert await f.ask(modern(), method) == {**expected, **STAMP, **CACHE}
        assert [each for each in f.onward if each[0] != "initialize"] == []


async def test_our_own_tools_stand_after_those_of_upstreams_in_the_clients_form() -> None:
    for style, names in (("dotted", ["alpha.x", "wf.admin.status"]), ("safe", ["alpha_x", "wf_admin_status"])):
        async with face(alpha(), admin=True, style=style) as f:
            listed = await f.ask(await f.arrive(), "tools/list", {"cursor": None})
            assert [each["name"] for each in listed["tools"]] == names


async def test_a_call_is_relayed_and_stamped_for_modern_clients_only() -> None:
    async with face(alpha()) as f:
        assert await f.ask(await f.arrive(), "tools/call", {"name": "alpha.x"}) == text("alpha ran x")
        answer = await f.ask(modern(), "tools/call", {"name": "alpha.x"})
    assert answer == {**text("alpha ran x"), **STAMP}


async def test_a_modern_clients_envelope_does_not_reach_an_upstream() -> None:
    async with face(alpha()) as f:
        await f.ask(modern(), "tools/call", {"name": "alpha.x", "_meta": {"vendor": 1}})
        ref = {"type": "ref/prompt", "name": "alpha.p"}
        await f.ask(modern(), "completion/complete", {"ref": ref, "argument": {}})
        (called,) = f.stage.twin("alpha").of("tools/call")
        (completed,) = f.stage.twin("alpha").of("completion/complete")
    assert called.params == {"name": "x", "_meta": {"vendor": 1}}
    assert completed.params == {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {}}


async def test_what_an_upstream_put_on_its_result_stays_beside_our_stamp() -> None:
    twin = alpha()
    twin.give("tools/call", {**text("x"), "_meta": {"vendor": 1}, "resultType": "x-other"})
    async with face(twin) as f:
        answer = await f.ask(modern(), "tools/call", {"name": "alpha.x"})
    assert answer["_meta"] == {"vendor": 1, SERVER_INFO_META_KEY: IDENTITY}
    assert answer["resultType"] == "x-other"


@pytest.mark.parametrize("name", ["wf.admin.status", "wf_admin_status"])
async def test_our_own_tools_go_on_to_fastmcp_under_their_dotted_name(name: str) -> None:
    async with face(alpha(), admin=True) as f:
        visitor = await f.arrive()
        assert await f.ask(visitor, "tools/call", {"name": name, "arguments": {}}) == {"answered": "by FastMCP"}
        assert f.onward[-1] == ("tools/call", {"name": "wf.admin.status", "arguments": {}})


@pytest.mark.parametrize("name", ["wf.admin.status", "wf_admin_status"])
async def test_where_they_are_not_served_our_own_tools_do_not_exist(name: str) -> None:
    async with face(alpha(), admin=False) as f:
        visitor = await f.arrive()
        error = await error_of(f, visitor, "tools/call", {"name": name})
        assert (error.code, error.message) == (-32602, f"Unknown tool: {name}")
        assert "status" not in str(await f.ask(visitor, "tools/list"))


@pytest.mark.parametrize("method", ["ping", "roots/list", "x-vendor/method"])
async def test_everything_else_goes_on(method: str) -> None:
    async with face(alpha()) as f:
        assert await f.ask(handshake(), method, {"a": 1}) == {"answered": "by FastMCP"}


async def test_notifications_go_on_whatever_they_are_called() -> None:
    async with face(alpha()) as f:
        assert await f.ask(handshake(), "tools/call", {}, request_id=None) == {"answered": "by FastMCP"}


async def test_a_handshake_client_cannot_listen() -> None:
    async with face(alpha()) as f:
        error = await error_of(f, await f.arrive(), "subscriptions/listen", {})
    assert error.code == -32601
    assert error.message == "subscriptions/listen is not a method of 2025-11-25"


OF_HANDSHAKE_CLIENTS = (
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
    "tasks/result",
    "tasks/list",
)


@pytest.mark.parametrize("method", OF_HANDSHAKE_CLIENTS)
async def test_what_the_modern_era_does_not_have_is_no_method_there(method: str) -> None:
    async with face(alpha()) as f:
        error = await error_of(f, modern(), method, {"uri": "demo://alpha/x", "level": "info", "taskId": "alpha:1"})
        assert (error.code, error.message) == (-32601, f"{method} is not a method of 2026-07-28")
        assert f.stage.twin("alpha").of(method) == []
        assert f.onward == []


@pytest.mark.parametrize(
    ("method", "params", "local"),
    [
        ("resources/subscribe", {"uri": "demo://alpha/x"}, {"uri": "demo://x"}),
        ("resources/unsubscribe", {"uri": "demo://alpha/x"}, {"uri": "demo://x"}),
        ("logging/setLevel", {"level": "info"}, {"level": "info"}),
        ("tasks/get", {"taskId": "alpha:1"}, {"taskId": "1"}),
        ("tasks/result", {"taskId": "alpha:1"}, {"taskId": "1"}),
        ("tasks/cancel", {"taskId": "alpha:1"}, {"taskId": "1"}),
        ("tasks/list", {}, {}),
    ],
)
async def test_a_handshake_clients_request_goes_to_its_upstream(method: str, params: Any, local: Any) -> None:
    twin = alpha()
    twin.capabilities = {"tools": {}, "resources": {"subscribe": True}, "logging": {}, "tasks": {"list": {}}}
    twin.give(method, {"x-answered": True})
    async with face(twin) as f:
        visitor = await f.arrive()
        answer = await f.ask(visitor, method, params)
        assert [request.params for request in twin.of(method)] == [local]
        assert f.onward == [("initialize", hello())]
    assert answer == {"logging/setLevel": {}, "tasks/list": {"tasks": []}}.get(method, {"x-answered": True})


@pytest.mark.parametrize(("visitor", "code"), [(handshake, -32002), (modern, -32602)], ids=["handshake", "modern"])
async def test_a_missing_resource_has_the_code_of_the_era(visitor: Any, code: int) -> None:
    async with face(alpha()) as f:
        error = await error_of(f, visitor(), "resources/read", {"uri": "demo://nobody/x"})
    assert (error.code, error.data) == (code, {"uri": "demo://nobody/x"})


@pytest.mark.parametrize(("visitor", "code"), [(handshake, -32002), (modern, -32602)], ids=["handshake", "modern"])
async def test_an_upstreams_own_error_differs_in_the_one_code_that_the_eras_do_not_share(
    visitor: Any, code: int
) -> None:
    twin = alpha()
    twin.fail("resources/read", RelayedError(-32002, "gone", {"uri": "demo://x"}))
    twin.fail("prompts/get", RelayedError(-31999, "s3cr3t stays: the upstream said it", [1]))
    async with face(twin) as f:
        read = await error_of(f, visitor(), "resources/read", {"uri": "demo://alpha/x"})
        got = await error_of(f, visitor(), "prompts/get", {"name": "alpha.p"})
    assert (read.code, read.message, read.data) == (code, "gone", {"uri": "demo://alpha/x"})
    assert (got.code, got.message, got.data) == (-31999, "s3cr3t stays: the upstream said it", [1])


async def test_the_model_is_told_of_an_absent_upstream_in_a_result_without_secrets() -> None:
    twin = alpha()
    async with face(twin) as f:
        visitor = await f.arrive()
        await f.ask(visitor, "tools/list")
        twin.starts.extend(["s3cr3t key refused"] * 9)
        twin.link.lose()
        answer = await f.ask(visitor, "tools/call", {"name": "alpha.x"})
        error = await error_of(f, visitor, "prompts/get", {"name": "alpha.p"})
    said = r"Upstream 'alpha' is unavailable: \*\*\* key refused \(it is tried again in [12] s\)"
    (block,) = answer["content"]
    assert (answer["isError"], error.code) == (True, -32603)
    assert re.fullmatch(said, block["text"]) and re.fullmatch(said, error.message)


async def test_the_model_is_told_of_a_timeout_in_a_result() -> None:
    twin = alpha()
    twin.fail("tools/call", UpstreamTimeout("too slow"))
    async with face(twin) as f:
        assert await f.ask(await f.arrive(), "tools/call", {"name": "alpha.x"}) == {**text("too slow"), "isError": True}


async def test_a_completion_is_relayed() -> None:
    async with face(alpha()) as f:
        ref = {"type": "ref/prompt", "name": "alpha.p"}
        answer = await f.ask(
            await f.arrive(), "completion/complete", {"ref": ref, "argument": {"name": "a", "value": ""}}
        )
    assert answer["completion"] == {"values": ["alpha"]}


async def test_params_that_are_missing_altogether_are_the_callers_mistake() -> None:
    async with face(alpha()) as f:
        for method in ("tools/call", "prompts/get", "resources/read", "completion/complete"):
            assert (await error_of(f, handshake(), method)).code == -32602


async def test_a_change_reaches_the_client_that_came_by_initialize() -> None:
    async with face(alpha()) as f:
        visitor = await f.arrive()
        await f.ask(visitor, "tools/list")
        f.stage.twin("alpha").change("tools", [tool("y")])
        await visitor.peer.notes.wait_for("notifications/tools/list_changed")
        assert [each["name"] for each in (await f.ask(visitor, "tools/list"))["tools"]] == ["alpha.y"]
        assert f.stage.ear.of(ToolsChanged) == [ToolsChanged("alpha", "stdio")]


async def test_over_http_a_question_goes_to_the_client_whose_call_it_belongs_to() -> None:
    answers: list[Any] = []
    twin = alpha()

    async def ask(link: Any, params: Any) -> Any:
        answers.append(await link.ask("roots/list"))
        return text("asked")

    twin.answers["tools/call"] = ask
    async with face(twin, kind="http") as f:
        one, other = await f.arrive("1", {"roots": {}}), await f.arrive("2", {"roots": {}})
        one.own.answer = {"roots": ["one"]}
        await f.ask(one, "tools/call", {"name": "alpha.x"})
        assert len(f.stage.twin("alpha").links) == 2
    assert answers == [{"roots": ["one"]}]
    assert one.own.asked == [("roots/list", None)]
    assert other.own.asked == other.peer.asked == []


async def test_a_cancelled_request_is_cancelled_upstream_too_with_the_clients_reason() -> None:
    twin = alpha()
    ended = anyio.Event()

    async def hang(link: Any, params: Any) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    twin.answers["tools/call"] = hang
    async with face(twin) as f:
        visitor = await f.arrive()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(f.ask, visitor, "tools/call", {"name": "alpha.x"})
            await twin.asked("tools/call")
            said = {"requestId": 1, "reason": "changed my mind"}
            tasks.cancel_scope.cancel()
            # The SDK cancels the request first, and hands on the notification afterwards.
            with anyio.CancelScope(shield=True):
                await f.ask(visitor, "notifications/cancelled", said, request_id=None)
        assert twin.cancelled == [("tools/call", "changed my mind")]
    assert ended.is_set()


async def test_the_reason_of_another_request_or_client_is_not_given() -> None:
    twin = alpha()
    twin.hold("tools/call")
    async with face(twin, kind="http") as f:
        one, other = await f.arrive("1"), await f.arrive("2")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(f.ask, one, "tools/call", {"name": "alpha.x"})
            await twin.asked("tools/call")
            await f.ask(one, "notifications/cancelled", {"requestId": "1", "reason": "text id"}, request_id=None)
            await f.ask(other, "notifications/cancelled", {"requestId": 1, "reason": "other"}, request_id=None)
            tasks.cancel_scope.cancel()
    assert twin.cancelled == [("tools/call", None)]


async def test_a_clients_progress_on_a_question_reaches_the_upstream_that_asked() -> None:
    twin = alpha()
    asked = {"messages": [], "_meta": {"progressToken": "theirs"}}

    async def ask(link: Any, params: Any) -> Any:
        await link.ask("sampling/createMessage", asked)
        return text("asked")

    twin.answers["tools/call"] = ask
    async with face(twin, kind="http") as f:
        one, other = await f.arrive("1"), await f.arrive("2")
        thinking = one.own.thinking = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(f.ask, one, "tools/call", {"name": "alpha.x"})
            await anyio.wait_all_tasks_blocked()
            ((_, shown),) = one.own.asked
            for visitor, value in ((other, 1), (one, 2)):
                progress = {"progressToken": shown["_meta"]["progressToken"], "progress": value}
                await f.ask(visitor, "notifications/progress", progress, request_id=None)
            thinking.set()
        _, link = f.stage.twin("alpha").links  # the first one lists, for both
    assert link.notes == [("notifications/progress", {"progressToken": "theirs", "progress": 2})]


async def test_changed_roots_are_told_to_the_clients_own_upstreams() -> None:
    async with face(alpha(), kind="http") as f:
        one, other = await f.arrive("1"), await f.arrive("2")
        for visitor in (one, other):
            await f.ask(visitor, "tools/call", {"name": "alpha.x"})
        await f.ask(one, "notifications/roots/list_changed", None, request_id=None)
        assert [link.notes for link in f.stage.twin("alpha").links] == [
            [],  # it only lists, for both
            [("notifications/roots/list_changed", {})],
            [],
        ]
        assert f.onward[-1][0] == "notifications/roots/list_changed"


@pytest.mark.parametrize("visitor", [handshake, modern], ids=["before initialize", "modern"])
async def test_what_nobody_is_known_for_only_goes_on(visitor: Any) -> None:
    async with face(alpha()) as f:
        for method in ("notifications/cancelled", "notifications/progress", "notifications/roots/list_changed"):
            await f.lane(visitor().context(method, {"requestId": 1, "progressToken": 1}, request_id=None), f._next)
        assert len(f.onward) == 3
        assert f.stage.twin("alpha").links == []


async def test_over_http_each_client_has_its_own_session_under_its_own_name_until_it_goes() -> None:
    roots = {"roots": {}}
    async with face(alpha(), kind="http") as f:
        one = await f.arrive("1", roots)
        other = await f.arrive("2")
        assert [link.hello.client_info for link in f.stage.twin("alpha").links] == [OURS] * 2  # they only list
        for visitor in (one, other):
            await f.ask(visitor, "tools/call", {"name": "alpha.x"})
        *_, mine, theirs = f.stage.twin("alpha").links
        assert (mine.hello.capabilities, theirs.hello.capabilities) == (roots, {})
        assert mine.hello.client_info == theirs.hello.client_info == hello()["clientInfo"]
        await one.connection.exit_stack.aclose()
        await anyio.wait_all_tasks_blocked()
        assert len(f.stage.mounts["alpha"].sessions) == 3
        assert len(f.stage.mounts.audiences) == 1
        assert await f.ask(other, "tools/call", {"name": "alpha.x"}) == text("alpha ran x")
        assert len(f.stage.twin("alpha").links) == 4


async def test_nothing_is_kept_of_clients_that_have_gone() -> None:
    """A front that runs for months sees many of them, and each may have listed thousands of tools."""
    twin = Twin("alpha", tools=[tool("x")], prompts=[prompt("p")], resources=[resource("https://example.org/r")])
    sessions = []
    async with face(twin, kind="http") as f:
        for number in range(3):
            visitor = await f.arrive(str(number))
            for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
                await f.ask(visitor, method)
            await f.ask(visitor, "tools/call", {"name": "alpha.x"})
            await f.ask(visitor, "resources/read", {"uri": "https://example.org/r"})
            own = [each for each in f.stage.mounts["alpha"].sessions.values() if each.inbox.owned]
            sessions += [weakref.ref(each) for each in own]
            del own
            await visitor.connection.exit_stack.aclose()
            await anyio.wait_all_tasks_blocked()
            del visitor
        twin.links.clear()
        gc.collect()
        assert [session() for session in sessions] == [None] * 3
        assert len(f.sink) == 0


async def test_over_http_a_change_in_one_clients_session_is_not_told_to_another() -> None:
    async with face(alpha(), kind="http") as f:
        one, other = await f.arrive("1"), await f.arrive("2")
        await f.ask(one, "tools/call", {"name": "alpha.x"})
        f.stage.twin("alpha").tools.append(tool("new"))
        f.stage.twin("alpha").link.say("notifications/tools/list_changed")
        await one.peer.notes.wait_for("notifications/tools/list_changed")
        await anyio.wait_all_tasks_blocked()
        assert other.peer.heard == []


async def test_a_session_that_begins_by_filling_its_lists_is_no_news_to_who_saw_them_full() -> None:
    twin = alpha()
    async with face(twin, kind="http") as f:
        one = await f.arrive("1")
        before = await f.ask(one, "tools/list")
        await f.ask(one, "tools/call", {"name": "alpha.x"})
        for _ in range(3):
            twin.link.say("notifications/tools/list_changed")
        await twin.asked("tools/list", times=2)
        await anyio.wait_all_tasks_blocked()
        assert await f.ask(one, "tools/list") == before
        assert one.peer.heard == []
        twin.link.say("notifications/tools/list_changed")  # from then on it lists for itself, and each one is told
        await one.peer.notes.wait_for("notifications/tools/list_changed")


async def test_a_client_whose_own_session_lists_otherwise_sees_that_from_then_on_and_others_do_not() -> None:
    twin = alpha()
    async with face(twin, kind="http") as f:
        one, other = await f.arrive("1"), await f.arrive("2")
        await f.ask(one, "tools/call", {"name": "alpha.x"})
        listings = len(twin.of("tools/list"))
        before = await f.ask(other, "tools/list")
        assert await f.ask(one, "tools/list") == before
        assert len(twin.of("tools/list")) == listings == 1  # a session that says nothing is never asked for its lists
        twin.tools.append(tool("new"))
        twin.link.say("notifications/tools/list_changed")
        await one.peer.notes.wait_for("notifications/tools/list_changed")
        assert [each["name"] for each in (await f.ask(one, "tools/list"))["tools"]] == ["alpha.x", "alpha.new"]
        assert await f.ask(one, "tools/call", {"name": "alpha.new"}) == text("alpha ran new")
        assert await f.ask(other, "tools/list") == before
        twin.links[0].say("notifications/tools/list_changed")  # of the session that lists for the others
        await other.peer.notes.wait_for("notifications/tools/list_changed")
        await anyio.wait_all_tasks_blocked()
        assert len(one.peer.heard) == len(other.peer.heard) == 1


class Hiding:
    """Hides every component that has `secret` in its name."""

    @impl
    def wf_component_transforms(self, mount: Namespace) -> list[ComponentTransform]:
        return [lambda component: None if "secret" in component.name else component]


@pytest.mark.parametrize("listed", [True, False], ids=["after a list", "before any list"])
@pytest.mark.parametrize("era", get_args(Era))
async def test_what_is_hidden_is_unknown_in_either_era(era: Era, listed: bool) -> None:
    twin = Twin(
        "alpha",
        tools=[tool("secret")],
        prompts=[prompt("secret")],
        resources=[resource("demo://r", name="secret")],
        templates=[template("demo://{x}", name="secret")],
    )
    of_prompt = {"ref": {"type": "ref/prompt", "name": "alpha.secret"}, "argument": {"name": "a", "value": ""}}
    of_template = {"ref": {"type": "ref/resource", "uri": "demo://alpha/{x}"}, "argument": {"name": "a", "value": ""}}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": "alpha.secret"}),
        ("tools/call", {"name": "wf.call_tool", "arguments": {"name": "alpha.secret", "arguments": {}}}),
        ("prompts/get", {"name": "alpha.secret"}),
        ("resources/read", {"uri": "demo://alpha/r"}),
        ("completion/complete", of_prompt),
        ("completion/complete", of_template),
    ]
    async with face(twin, plugins={"hiding": Hiding()}, fallback="on") as f:
        visitor = await f.arrive() if era == "handshake" else modern()
        if listed:
            for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
                assert "secret" not in str(await f.ask(visitor, method))
        for method, params in asked:
            with pytest.raises(MCPError) as refused:
                await f.ask(visitor, method, params)
            unknown = -32002 if era == "handshake" and "demo://" in str(params) else -32602
            assert (method, refused.value.error.code) == (method, unknown)
        relayed = {request.method for request in twin.requests} - {"initialize"}
    assert all(method.endswith("/list") for method in relayed)


async def test_resources_are_listed_under_their_public_addresses() -> None:
    twin = Twin("alpha", resources=[resource("demo://r")], templates=[template("demo://{x}")])
    async with face(twin) as f:
        visitor = await f.arrive()
        listed = await f.ask(visitor, "resources/list")
        templates = await f.ask(visitor, "resources/templates/list")
    assert [each["uri"] for each in listed["resources"]] == ["demo://alpha/r"]
    assert [each["uriTemplate"] for each in templates["resourceTemplates"]] == ["demo://alpha/{x}"]


async def test_a_modern_client_may_reuse_what_a_modern_upstream_allows_but_nothing_that_came_of_answers() -> None:
    twin = Twin("alpha", era="modern", capabilities={"resources": {"listChanged": True}})
    allowed = {"ttlMs": 5000, "cacheScope": "public"}
    twin.give("resources/list", {"resources": [resource("demo://r")], **allowed})
    twin.give("resources/read", {"contents": [{"uri": "demo://r", "text": "x"}], "resultType": "complete", **allowed})
    async with face(twin) as f:
        listed = await f.ask(modern(), "resources/list")
        read = await f.ask(modern(), "resources/read", {"uri": "demo://alpha/r"})
        retried = await f.ask(modern(), "resources/read", {"uri": "demo://alpha/r", "inputResponses": {}})
        twin.give(
            "resources/read", {"resultType": "input_required", "inputRequests": {}, "requestState": "s", **allowed}
        )
        interim = await f.ask(modern(), "resources/read", {"uri": "demo://alpha/r"})
        discovered = await f.ask(modern(), "server/discover")
    hints = [{key: result.get(key) for key in CACHE} for result in (listed, read, retried, interim, discovered)]
    assert hints == [allowed, allowed, CACHE, dict.fromkeys(CACHE), CACHE]
