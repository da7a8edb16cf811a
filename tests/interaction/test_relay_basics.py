"""What a client and an upstream see of each other with nothing special between them: everything, unchanged."""

import json

import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.mapping import back, unstamped
from tests.rawclient import RawError
from tests.rig import ERAS, FRONTS, Rig

pytestmark = pytest.mark.anyio
OBJECT = {"type": "object"}

ARGUMENTS: list[JsonObject | None] = [
    {"a": None, "b": "", "c": [], "d": {}, "e": "5", "f": "true"},
    {"unknown": 1, "nested": {"null": None, "list": [None, 1.5, -0.0, 1e300, "\u2028"]}},
    {"with-dash": 1, "with.dot": 2, "self": 3, "ctx": 4, "timeout": 5, "_meta": {"x": 6}, "name": 7, "uri": "demo://x"},
    {"link": "demo://alpha/x", "wf": "wf://alpha/urn:x", "text": "alpha.echo"},
    {},
    None,
]

ANNOTATED: JsonObject = {"annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"vendor/key": [1, None]}}
MIXED: list[JsonObject] = [
    {"type": "text", "text": "first", **ANNOTATED},
    {"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png", **ANNOTATED},
    {"type": "audio", "data": "YXVkaW8=", "mimeType": "audio/wav", **ANNOTATED},
    {"type": "resource_link", "uri": "demo://x/1", "name": "one", "title": "One", "size": 3, "icons": [], **ANNOTATED},
    {"type": "resource", "resource": {"uri": "demo://x/2", "mimeType": "text/x", "text": "two", "_meta": {"k": 1}}},
    {"type": "resource", "resource": {"uri": "file:///x/3", "blob": "AAEC", "mimeType": "x/y"}, **ANNOTATED},
    {"type": "text", "text": "", "unknownField": {"kept": True}},
    {"type": "hologram", "depth": 3, "data": None},
]
RESULTS: dict[str, JsonObject] = {
    "mixed": {"content": MIXED, "structuredContent": {"uri": "demo://x/1"}, "_meta": {"a": 1}, "extra": [None]},
    "error": {
        "isError": True,
        "content": [{"type": "text", "text": "no such thing"}, MIXED[1], MIXED[3]],
        "structuredContent": {"code": 404},
        "_meta": {"trace": "x"},
    },
    "structured-only": {"content": [], "structuredContent": {}},
    "empty": {"content": []},
    "empty-text": {"content": [{"type": "text", "text": ""}]},
    "apps": {
        "content": [],
        "_meta": {"ui": {"resourceUri": "ui://x/app", "csp": {"connectDomains": ["https://e.org"]}}},
    },
}


def with_results(kind: str, results: dict[str, JsonObject], **more: object) -> JsonObject:
    return {"results": {f"{kind}:{name}": result for name, result in results.items()}, **more}


@covers("relay.arguments-untouched", "Arguments reach the upstream exactly as the client sent them, nulls included")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_arguments_arrive_untouched(rig: Rig, front, era) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw(era) as raw:
        for arguments in ARGUMENTS:
            received = await raw.json("alpha.echo", arguments)
            assert received["name"] == "echo"
            assert received.get("arguments") == arguments or (arguments is None and received["arguments"] == {})
    for call in rig["alpha"].calls("echo"):
        assert not [key for key in call.get("_meta", {}) if key.startswith("io.modelcontextprotocol/")]


@covers("relay.request-meta", "Unknown `_meta` keys of a request reach the upstream")
@pytest.mark.parametrize("era", ERAS)
async def test_unknown_meta_of_a_request_is_passed_on(rig: Rig, era) -> None:
    rig.upstream("alpha")
    meta = {
        "vendor.example/key": {"a": [None]},
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    async with rig.serve().raw(era) as raw:
        result = await raw.request("tools/call", {"name": "alpha.echo", "arguments": {}, "_meta": meta})
    received = json.loads(result["content"][0]["text"])
    assert {key: received["_meta"].get(key) for key in meta} == meta


@covers("relay.errors-are-the-upstreams", "A JSON-RPC error of the upstream keeps its code, message and data")
@pytest.mark.parametrize("era", ERAS)
async def test_an_error_is_the_upstream_s_own(rig: Rig, era) -> None:
    error = {"code": -31999, "message": "bad weather", "data": {"reason": None, "list": [1]}}
    rig.upstream("alpha", {"tools": [{"name": "t", "inputSchema": OBJECT}], "errors": {"tool:t": error}})
    async with rig.serve().raw(era) as raw:
        with pytest.raises(RawError) as caught:
            await raw.call("alpha.t")
    assert caught.value.error == error


@covers("relay.results-whole", "A tool's result is the upstream's JSON but for URIs; unknown fields and types included")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_results_stay_whole(rig: Rig, front, era) -> None:
    rig.upstream("alpha", with_results("tool", RESULTS, tools=[{"name": n, "inputSchema": OBJECT} for n in RESULTS]))
    async with rig.serve(front).raw(era) as raw:
        for name, sent in RESULTS.items():
            received = await raw.call(f"alpha.{name}")
            assert back("alpha", received if era == "handshake" else unstamped(received)) == sent


@covers("relay.links-are-mapped", "URIs in links, embedded resources and `_meta.ui.resourceUri` are public ones")
async def test_links_are_public(rig: Rig) -> None:
    rig.upstream("alpha", with_results("tool", RESULTS, tools=[{"name": n, "inputSchema": OBJECT} for n in RESULTS]))
    async with rig.serve().raw() as raw:
        mixed = await raw.call("alpha.mixed")
        uris = [block.get("uri") or block.get("resource", {}).get("uri") for block in mixed["content"]]
        assert [uri for uri in uris if uri] == ["demo://alpha/x/1", "demo://alpha/x/2", "file:///alpha/x/3"]
        assert mixed["structuredContent"] == {"uri": "demo://x/1"}
        assert (await raw.call("alpha.apps"))["_meta"]["ui"]["resourceUri"] == "ui://alpha/x/app"


@covers("relay.links-readable", "A URI that a result linked or embedded, listed or not, is readable")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_every_link_of_a_result_reads(rig: Rig, front, era) -> None:
    rig.upstream("alpha", with_results("tool", RESULTS, tools=[{"name": n, "inputSchema": OBJECT} for n in RESULTS]))
    async with rig.serve(front).raw(era) as raw:
        for uri in ("demo://alpha/x/1", "demo://alpha/x/2", "file:///alpha/x/3", "ui://alpha/x/app"):
            (content,) = (await raw.read(uri))["contents"]
            assert content["uri"] == uri
            assert content["text"] == f"alpha read {uri.replace('alpha/', '')}"


@covers("relay.prompts-whole", "A prompt's messages arrive whole, with URIs mapped; none stays none")
@pytest.mark.parametrize("era", ERAS)
async def test_prompts_stay_whole(rig: Rig, era) -> None:
    prompts: dict[str, JsonObject] = {
        "all": {
            "description": "d",
            "messages": [{"role": "user", "content": block, "x": 1} for block in MIXED],
            "y": None,
        },
        "none": {"messages": []},
    }
    rig.upstream("alpha", with_results("prompt", prompts, prompts=[{"name": name} for name in prompts]))
    async with rig.serve().raw(era) as raw:
        for name, sent in prompts.items():
            received = await raw.request("prompts/get", {"name": f"alpha.{name}", "arguments": {"a": ""}})
            assert back("alpha", received if era == "handshake" else unstamped(received)) == sent


@covers("relay.reads-whole", "All contents of a resource arrive: number, order, types and bytes; none stays none")
@pytest.mark.parametrize("era", ERAS)
async def test_several_contents_of_one_resource(rig: Rig, era) -> None:
    every_byte = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="
    contents: list[JsonObject] = [
        {"uri": "demo://many", "mimeType": "text/plain", "text": ""},
        {"uri": "demo://many/blob", "blob": every_byte},
        {"uri": "demo://many/html", "mimeType": "text/html", "text": "<p>", "_meta": {"k": None}, "unknown": 1},
    ]
    reads: dict[str, JsonObject] = {"demo://many": {"contents": contents, "more": 1}, "demo://none": {"contents": []}}
    rig.upstream("alpha", with_results("read", reads))
    async with rig.serve().raw(era) as raw:
        for uri, sent in reads.items():
            received = await raw.read(uri.replace("demo://", "demo://alpha/"))
            assert back("alpha", received if era == "handshake" else unstamped(received)) == sent


@covers("lists.all-pages", "A list follows every upstream page, empty pages and odd cursors included")
@pytest.mark.parametrize("era", ERAS)
async def test_lists_follow_every_page(rig: Rig, era) -> None:
    spec: JsonObject = {
        "builtins": False,
        "tools": [{"name": f"t{n}", "inputSchema": OBJECT} for n in range(7)],
        "prompts": [{"name": f"p{n}"} for n in range(5)],
        "resources": [{"name": f"r{n}", "uri": f"demo://r/{n}"} for n in range(6)],
        "templates": [{"name": f"u{n}", "uriTemplate": f"demo://u/{n}/{{id}}"} for n in range(4)],
        "pages": {"size": 2, "empty": True},
    }
    rig.upstream("paged", spec)
    rig.upstream("plain", {"builtins": False, "tools": [{"name": "one", "inputSchema": OBJECT}]})
    async with rig.serve().raw(era) as raw:
        assert await raw.names() == [f"paged.t{n}" for n in range(7)] + ["plain.one"]
        assert await raw.names("prompts") == [f"paged.p{n}" for n in range(5)]
        resources = await raw.items("resources/list", "resources")
        assert [item["uri"] for item in resources] == [f"demo://paged/r/{n}" for n in range(6)]
        templates = await raw.items("resources/templates/list", "resourceTemplates")
        assert [item["uriTemplate"] for item in templates] == [f"demo://paged/u/{n}/{{id}}" for n in range(4)]
        assert await raw.text("paged.t6") == "paged ran t6"


@covers("lists.repeated-cursor", "An upstream that repeats its cursor for ever costs one bounded list, and no other's")
async def test_a_cursor_that_repeats_is_noticed(rig: Rig) -> None:
    rig.upstream(
        "looping", {"tools": [{"name": "t", "inputSchema": OBJECT}], "builtins": False, "pages": {"repeat": True}}
    )
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        names = await raw.names()
        assert "good.echo" in names
        assert names.count("looping.t") <= 1
    assert len(rig["looping"].events("request", method="tools/list")) <= 10


@covers("lists.page-size", "With `page_size` the client gets pages that together are the whole list, once each")
async def test_our_own_pages(rig: Rig) -> None:
    rig.upstream("a", {"builtins": False, "tools": [{"name": f"t{n}", "inputSchema": OBJECT} for n in range(7)]})
    rig.settings["page_size"] = 3
    async with rig.serve().raw() as raw:
        page = await raw.request("tools/list", {})
        assert len(page["tools"]) == 3
        assert await raw.names() == [f"a.t{n}" for n in range(7)]
        with pytest.raises(RawError) as caught:
            await raw.request("tools/list", {"cursor": "never given"})
        assert caught.value.code == -32602


@covers("lists.kept", "A list is asked for once and kept until the upstream says that it changed")
async def test_lists_are_kept(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        await raw.names()
        before = len(rig["alpha"].events("request", method="tools/list"))
        await raw.names()
        assert len(rig["alpha"].events("request", method="tools/list")) == before == 1


@covers("events.list-changed", "An upstream's list_changed reaches the client, and the next list shows the change")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_changed_list_is_announced_and_shown(rig: Rig, front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        assert "alpha.grown" not in await raw.names()
        await raw.text("alpha.grow", {"kinds": ["tools", "prompts", "resources"]})
        for kind in ("tools", "prompts", "resources"):
            await raw.notes.wait_for(f"notifications/{kind}/list_changed", 5)
        assert "alpha.grown" in await raw.names()
        assert await raw.names("prompts") == ["alpha.grown"]
        assert await raw.text("alpha.grown") == "alpha ran grown"
        await raw.text("alpha.shrink")
        with pytest.raises(RawError) as caught:
            await raw.call("alpha.grown")
        assert caught.value.code == -32602


@covers("events.list-changed-fresh", "A list made as soon as list_changed is heard is never the old one")
async def test_the_list_right_after_the_notice_is_fresh(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().client() as probe:
        for number in range(5):
            await probe.names()
            probe.notes.items.clear()
            await probe.text("alpha.grow", {"name": f"g{number}"})
            await probe.wait_for("notifications/tools/list_changed", 5)
            assert f"alpha.g{number}" in await probe.names()


@covers("relay.progress", "Progress of an upstream reaches the caller, in order, before the result")
@pytest.mark.parametrize("front", FRONTS)
async def test_progress_comes_before_the_result(rig: Rig, front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        params = {"name": "alpha.progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "mine"}}
        await raw.request("tools/call", params)
        seen = [note["params"] for note in raw.notes.of("notifications/progress")]
        assert seen == [{"progressToken": "mine", "progress": n, "total": 3} for n in (1, 2, 3)]


@covers("relay.questions", "What an upstream asks in a call reaches the caller, and the answer goes back")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("kind", ["roots", "sampling", "elicitation"])
async def test_questions_of_an_upstream(rig: Rig, front, kind: str) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw() as raw:
        answer = await raw.json("alpha.ask", {"kind": kind})
        (asked,) = raw.asked
        assert answer == {"result": raw.answers[asked["method"]]}


@covers("modern.cannot-be-asked", "An upstream's question that a modern client cannot get yet ends in a clear error")
async def test_a_modern_client_s_question_is_an_error_not_a_silence(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw("modern") as raw:
        answer = await raw.json("alpha.ask", {"kind": "sampling"})
    assert answer["error"]["message"]


@covers("modern.cannot-listen", "A modern client's subscriptions/listen is a clear error, not silence")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_modern_client_cannot_listen_yet(rig: Rig, front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).raw("modern") as raw:
        with pytest.raises(RawError) as caught:
            await raw.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert caught.value.code == -32601


@covers("modern.stamps", "Results for a modern client carry resultType, serverInfo and, on lists, ttlMs and cacheScope")
async def test_modern_results_are_stamped(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw("modern") as raw:
        assert raw.hello["supportedVersions"]
        for result in (raw.hello, await raw.request("tools/list", {}), await raw.call("alpha.echo", {})):
            assert result["resultType"] == "complete"
            assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "wf-mcp"
        listed = await raw.request("tools/list", {})
        assert isinstance(listed["ttlMs"], int) and listed["cacheScope"] in ("public", "private")


@covers("calls.parallel", "Calls to one upstream run side by side; each reply belongs to its own call")
@pytest.mark.parametrize("front", FRONTS)
async def test_ten_calls_at_once_take_the_time_of_one(rig: Rig, front) -> None:
    rig.upstream("alpha")
    async with rig.serve(front).client() as probe:
        await probe.text("alpha.who")
        tags = [f"tag-{n}" for n in range(10)]
        answers = await many(probe.text, "alpha.slow", [{"seconds": 1, "tag": tag} for tag in tags], seconds=5)
    assert answers == tags


async def many(call, name: str, arguments: list[JsonObject], *, seconds: float) -> list[str]:
    """All the calls at once, within `seconds`."""
    import anyio

    answers = [""] * len(arguments)

    async def one(index: int) -> None:
        answers[index] = await call(name, arguments[index])

    with anyio.fail_after(seconds):
        async with anyio.create_task_group() as tasks:
            for index in range(len(arguments)):
                tasks.start_soon(one, index)
    return answers


@covers("calls.cancel", "A client's cancel reaches the upstream with the upstream's own request id")
async def test_a_cancel_is_passed_on(rig: Rig) -> None:
    import anyio

    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        await raw.text("alpha.who")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raw.call, "alpha.slow", {"seconds": 50})
            started = await rig["alpha"].saw("slow")
            assert started
            # The request before this one had the id 2 (initialize 1, who 2): slow is 3.
            await raw.notify("notifications/cancelled", {"requestId": 3, "reason": "changed my mind"})
            await rig["alpha"].saw("dropped")
            tasks.cancel_scope.cancel()
    (cancel,) = rig["alpha"].events("notification", method="notifications/cancelled")
    (slow,) = [item for item in rig["alpha"].events("request", method="tools/call") if item["params"]["name"] == "slow"]
    assert cancel["params"]["requestId"] == slow["id"]


@covers("upstream.down", "A call to an upstream that is gone says so with its name and reason, not unknown tool")
@pytest.mark.parametrize("era", ERAS)
async def test_a_lost_upstream_is_not_an_unknown_tool(rig: Rig, era) -> None:
    rig.upstream("alpha", {"prompts": [{"name": "p"}]})
    async with rig.serve().raw(era) as raw:
        await raw.names()
        (rig.folder / "gone").write_text("")
        # From now on the command cannot start any more: its spec is not there.
        spec = rig["alpha"].argv[rig["alpha"].argv.index("--spec") + 1]
        (rig.folder / "moved").write_text("")
        __import__("os").rename(spec, rig.folder / "moved")
        said = str(await failure(raw, "tools/call", {"name": "alpha.die", "arguments": {"code": 3}}))
        assert "alpha" in said
        for method, params in (
            ("tools/call", {"name": "alpha.echo"}),
            ("prompts/get", {"name": "alpha.p"}),
            ("resources/read", {"uri": "demo://alpha/x"}),
        ):
            said = await failure(raw, method, params)
            assert "alpha" in said and "nknown" not in said, said


async def failure(raw, method: str, params: JsonObject) -> str:
    """What a request that must not succeed says: as an error, or as a result with isError."""
    try:
        result = await raw.request(method, params, seconds=15)
    except RawError as error:
        return str(error)
    assert result.get("isError") is True, result
    return json.dumps(result["content"])


@covers("upstream.restart", "After an upstream dies, the next calls use a new process; one per death")
async def test_an_upstream_that_died_is_started_again(rig: Rig) -> None:
    import os
    import signal

    from tests.procs import gone

    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        first = (await raw.json("alpha.who"))["pid"]
        os.kill(first, signal.SIGKILL)
        await gone(first)
        pids = set()
        failures = 0
        for _ in range(4):
            try:
                pids.add((await raw.json("alpha.who"))["pid"])
            except (RawError, json.JSONDecodeError):
                failures += 1
    assert failures <= 1
    assert len(pids) == 1 and first not in pids
    assert len(rig["alpha"].pids) == 2


@covers("process.environment", "A child gets a safe base environment and what its entry names, and no secret of ours")
async def test_the_parent_s_environment_does_not_leak(rig: Rig) -> None:
    rig.env |= {"CANARY_SECRET": "canary-1", "AWS_SECRET_ACCESS_KEY": "canary-2", "LANG": "C.UTF-8"}
    rig.upstream("bare")
    rig.upstream("own", env={"A": "1"})
    rig.upstream("named", env={"B": "${CANARY_SECRET}", "PATH": "/usr/bin:/custom"})
    async with rig.serve().raw() as raw:
        bare, own, named = [await raw.json(f"{name}.env") for name in ("bare", "own", "named")]
    for env in (bare, own):
        assert not {"CANARY_SECRET", "AWS_SECRET_ACCESS_KEY"} & env.keys()
        assert env["PATH"] == rig.env["PATH"] and env["LANG"] == "C.UTF-8" and "HOME" in env
    assert own["A"] == "1"
    assert named["B"] == "canary-1" and named["PATH"] == "/usr/bin:/custom" and "CANARY_SECRET" not in named


@covers(
    "names.unknown", "An unknown tool or prompt is -32602; an unknown resource has the era's code and the client's URI"
)
@pytest.mark.parametrize("era", ERAS)
async def test_unknown_names(rig: Rig, era) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw(era) as raw:
        for method, name in (("tools/call", "nobody.t"), ("tools/call", "alpha.zz"), ("prompts/get", "nobody.p")):
            with pytest.raises(RawError) as caught:
                await raw.request(method, {"name": name})
            assert caught.value.code == -32602
        with pytest.raises(RawError) as caught:
            await raw.read("demo://nobody/x")
        assert caught.value.code == (-32002 if era == "handshake" else -32602)
        assert caught.value.data["uri"] == "demo://nobody/x"
