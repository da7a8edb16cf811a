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
