"""One upstream asked directly and through wf-mcp, over links in memory (design D15)."""

from itertools import count

import pytest
from tests.runtime.memory import Twin, TwinLink, prompt, resource, template, tool
from tests.runtime.stage import HELLO, Ear, upstream

from wf_mcp.core.compare import ABSENT, Difference
from wf_mcp.core.errors import RelayedError, UpstreamTimeout
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.verifying import Verdict, Verifier

pytestmark = pytest.mark.anyio

ALPHA = Namespace("alpha", "alpha")


def here(**offer: object) -> Twin:
    """The upstream itself."""
    return Twin("alpha", **offer)


def there(**offer: object) -> Twin:
    """A proxy in front of it: what it lists are public names; answers are the upstream's, by its own names."""
    proxy = Twin("alpha", **offer)

    async def call(link: TwinLink, params: JsonObject) -> JsonObject:
        return {"content": [{"type": "text", "text": f"alpha ran {params['name'].removeprefix('alpha.')}"}]}

    async def get(link: TwinLink, params: JsonObject) -> JsonObject:
        return {"messages": [], "description": f"alpha said {params['name'].removeprefix('alpha.')}"}

    proxy.answers |= {"tools/call": call, "prompts/get": get}
    return proxy


async def verdict(direct: Twin, proxied: Twin, *calls: tuple[str, JsonObject], space: Namespace = ALPHA) -> Verdict:
    links = [TwinLink(twin, upstream(twin.id), HELLO, Ear()) for twin in (direct, proxied)]
    return await Verifier(*links, space, timeout=5).run(calls)


async def test_an_upstream_seen_through_another_names_loses_nothing() -> None:
    needs = [{"name": "x", "required": True}]
    direct = here(
        tools=[tool("a.b", _meta={"ui": {"resourceUri": "ui://x"}}), tool("c")],
        prompts=[prompt("p"), prompt("q", arguments=needs), prompt("r", arguments=[{"name": "x"}])],
        resources=[resource("demo://x"), resource("urn:x"), resource("https://example.org/x")],
        templates=[template("demo://{x}")],
        page_size=1,
    )
    proxied = there(
        tools=[tool("alpha.a.b", _meta={"ui": {"resourceUri": "ui://alpha/x"}}), tool("alpha.c")],
        prompts=[prompt("alpha.p"), prompt("alpha.q", arguments=needs), prompt("alpha.r", arguments=[{"name": "x"}])],
        resources=[
            resource("demo://alpha/x", name="demo://x"),
            resource("wf://alpha/urn:x", name="urn:x"),
            resource("https://example.org/x"),
        ],
        templates=[template("demo://alpha/{x}", name="demo://{x}")],
    )
    found = await verdict(direct, proxied, ("a.b", {"k": 1}))
    assert found == Verdict(compared=4 + 3 + 2 + 1)
    assert [request.params["uri"] for request in proxied.of("resources/read")] == [
        "demo://alpha/x",
        "wf://alpha/urn:x",
        "https://example.org/x",
    ]
    assert [request.params for request in proxied.of("prompts/get")] == [{"name": "alpha.p"}, {"name": "alpha.r"}]
    assert [request.params for request in proxied.of("tools/call")] == [{"name": "alpha.a.b", "arguments": {"k": 1}}]


async def test_what_is_lost_from_lists_and_answers_is_found_with_its_place() -> None:
    direct = here(tools=[tool("a", title="A"), tool("b")], resources=[resource("demo://x")])
    proxied = there(tools=[tool("alpha.a")], resources=[resource("demo://alpha/x", name="demo://x")])
    proxied.give("resources/read", {"contents": [{"uri": "demo://alpha/x", "text": "other"}]})
    found = await verdict(direct, proxied)
    assert found.lost == [
        Difference("tools/list", "a", "$.title", "A", ABSENT),
        Difference("tools/list", "b", "$", tool("b"), ABSENT),
        Difference("resources/read", "demo://x", "$.result.contents[0].text", "alpha read it", "other"),
    ]
    assert found.unsteady == []


async def test_what_the_upstream_never_says_twice_is_not_the_proxys_fault() -> None:
    clock = count()

    async def read(link: TwinLink, params: JsonObject) -> JsonObject:
        return {"contents": [{"uri": params["uri"], "text": f"it is {next(clock)}"}]}

    direct, proxied = here(resources=[resource("demo://x")]), there()
    proxied.resources = [resource("demo://alpha/x", name="demo://x")]
    direct.answers["resources/read"] = proxied.answers["resources/read"] = read
    found = await verdict(direct, proxied)
    assert found.lost == []
    assert [(each.item, each.path) for each in found.unsteady] == [("demo://x", "$.result.contents[0].text")]


async def test_a_call_is_made_once_each_way_whatever_comes_of_it() -> None:
    direct, proxied = here(), there()
    proxied.give("tools/call", {"content": []})
    found = await verdict(direct, proxied, ("a", {}))
    assert [each.path for each in found.lost] == ["$.result.content[0]"]
    assert (len(direct.of("tools/call")), len(proxied.of("tools/call"))) == (1, 1)


async def test_errors_are_answers_and_are_compared_as_such() -> None:
    direct, proxied = here(resources=[resource("demo://x")]), there()
    proxied.resources = [resource("demo://alpha/x", name="demo://x")]
    direct.fail("resources/read", RelayedError(-32002, "no", {"uri": "demo://x"}))
    proxied.fail("resources/read", RelayedError(-32002, "no", {"uri": "demo://alpha/x"}))
    assert (await verdict(direct, proxied)).lost == []
    proxied.fail("resources/read", RelayedError(-32603, "no"))
    lost = (await verdict(direct, proxied)).lost
    assert [(each.path, each.direct, each.proxied) for each in lost] == [
        ("$.error.code", -32002, -32603),
        ("$.error.data", {"uri": "demo://x"}, ABSENT),
    ]


async def test_a_list_that_cannot_be_had_on_one_side_is_a_difference() -> None:
    direct, proxied = here(tools=[tool("a")]), there(tools=[tool("alpha.a")])
    direct.fail("tools/list", UpstreamTimeout("it took too long"))
    found = await verdict(direct, proxied)
    assert [(each.method, each.item) for each in found.lost] == [("tools/list", "(error)"), ("tools/list", "a")]


async def test_kinds_that_the_upstream_does_not_have_are_not_asked_for() -> None:
    direct, proxied = here(capabilities={"tools": {}}), there()
    assert (await verdict(direct, proxied)).compared == 4
    assert {request.method for request in (*direct.requests, *proxied.requests)} == {"tools/list"}


async def test_a_cursor_that_leads_in_a_circle_ends_the_list() -> None:
    direct, proxied = here(), there()
    direct.give("tools/list", {"tools": [tool("a")], "nextCursor": "1"})
    proxied.give("tools/list", {"tools": [tool("alpha.a"), tool("alpha.a")]})
    assert (await verdict(direct, proxied)).lost == []
    assert len(direct.of("tools/list")) == 2


async def test_a_bare_upstream_keeps_its_names() -> None:
    direct = here(tools=[tool("alpha.a")], resources=[resource("demo://x")])
    proxied = here(tools=[tool("alpha.a")], resources=[resource("demo://x")])
    assert (await verdict(direct, proxied, ("alpha.a", {}), space=Namespace("alpha", ""))).lost == []
