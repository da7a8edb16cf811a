"""The first differential test: one script, direct and through wf-mcp; equal after mapping names and URIs back."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import servers
from tests.covers import covers
from tests.endpoint import Endpoint
from tests.inbox import JsonObject, eventually
from tests.mapping import back, listed_back, unstamped
from tests.rawclient import RawClient, RawError
from tests.rig import ERAS, FRONTS, Rig

pytestmark = [pytest.mark.anyio, pytest.mark.node]
CLOCK = re.compile(r"\d{1,2}:\d\d:\d\d.[AP]M|\d{4}-\d\d-\d\dT[0-9:.]+Z")

Step = tuple[str, Any]
LISTS: list[Step] = [
    ("list", ("tools", "tools/list", "tools")),
    ("list", ("prompts", "prompts/list", "prompts")),
    ("list", ("resources", "resources/list", "resources")),
    ("list", ("templates", "resources/templates/list", "resourceTemplates")),
]
EVERYTHING: list[Step] = [
    ("call", ("echo", {"message": "ü\u2028🚀"})),
    ("call", ("get-sum", {"a": 1, "b": 2.5})),
    ("call", ("get-sum", {"a": "one"})),
    ("call", ("get-tiny-image", {})),
    ("call", ("get-annotated-message", {"messageType": "error", "includeImage": True})),
    ("call", ("get-structured-content", {"location": "Chicago"})),
    ("call", ("get-resource-links", {"count": 4})),
    ("call", ("get-resource-reference", {"resourceType": "Blob", "resourceId": 2})),
    ("call", ("get-resource-reference", {"resourceType": "Text", "resourceId": -1})),
    ("call", ("gzip-file-as-resource", {"name": "x.gz", "data": "data:text/plain,hi", "outputType": "resource"})),
    ("read", "demo://resource/static/document/features.md"),
    ("read", "demo://resource/dynamic/text/3"),
    ("read", "demo://resource/dynamic/blob/3"),
    ("prompt", ("simple-prompt", None)),
    ("prompt", ("args-prompt", {"city": "Köln", "state": ""})),
    ("prompt", ("completable-prompt", {"department": "Sales", "name": "Eve"})),
    ("prompt", ("resource-prompt", {"resourceType": "Blob", "resourceId": "1"})),
    ("prompt", ("args-prompt", {})),
]
RAW_RESULT: JsonObject = {
    "content": [
        {
            "type": "resource_link",
            "uri": "urn:x:1",
            "name": "n",
            "weird": None,
            "_meta": {"ui": {"resourceUri": "u://x"}},
        },
        {"type": "resource", "resource": {"uri": "file:///ä b", "text": "", "annotations": {}}},
        {"type": "resource", "resource": None},
        {"type": "tool_result", "content": [{"type": "resource_link", "uri": "a:b"}]},
        "not even a block",
    ],
    "structuredContent": [1, {"uri": "demo://stays"}],
    "isError": False,
    "_meta": {"ui/resourceUri": "ui://a/b", "openai/outputTemplate": "ui://c", "progressToken": 7},
    "custom": {"deep": [None, {}]},
}
RAW_TOOL: JsonObject = {
    "name": "odd",
    "title": "",
    "description": "see demo://stays",
    "inputSchema": {"$defs": {"p": {"type": "object"}}, "properties": {"a": {"$ref": "#/$defs/p"}}, "type": "object"},
    "outputSchema": {"type": "object", "x-vendor": {"$id": "demo://stays"}},
    "annotations": {"readOnlyHint": True, "vendorHint": None},
    "icons": [{"src": "https://example.org/i.png", "sizes": ["any"], "theme": "dark"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"ui": {"resourceUri": "ui://a/b", "visibility": ["app"]}, "k": None},
    "unknownField": [1],
}
RAW_SPEC: JsonObject = {
    "tools": [RAW_TOOL],
    "prompts": [{"name": "odd", "arguments": [{"name": "uri", "required": False, "x": 1}], "icons": [], "y": {}}],
    "resources": [
        {"name": "r", "uri": "custom+x://h/ä?q#f", "size": 0, "annotations": {"lastModified": "x"}, "z": None}
    ],
    "templates": [{"name": "t", "uriTemplate": "file:///{+path}{?q*}", "mimeType": "", "_meta": {"a": 1}}],
    "results": {
        "tool:odd": RAW_RESULT,
        "prompt:odd": {
            "messages": [{"role": "user", "content": RAW_RESULT["content"][1], "k": 1}],
            "_meta": {"k": None},
        },
        "read:custom+x://h/ä?q#f": {"contents": [{"uri": "custom+x://h/other", "text": "t", "x": None}], "n": 0},
    },
    "errors": {
        "tool:bad": {"code": -1, "message": "", "data": None},
        "read:demo://no": {"code": -32002, "message": "no"},
    },
}
RAW: list[Step] = [
    ("call", ("odd", {"a": None})),
    ("call", ("odd", None)),
    ("prompt", ("odd", {"uri": "demo://x"})),
    ("read", "custom+x://h/ä?q#f"),
    ("read", "mailto:a@b"),
]


class Script:
    """Runs the steps at one endpoint; `label` is None for the direct one."""

    def __init__(self, raw: RawClient, label: str | None) -> None:
        self._raw, self._label = raw, label

    async def run(self, steps: list[Step]) -> list[object]:
        kinds: dict[str, Callable[[Any], Any]] = {
            "list": self._list,
            "call": self._call,
            "read": self._read,
            "prompt": self._prompt,
        }
        return [without_clock(await kinds[kind](what)) for kind, what in steps]

    async def _list(self, what: tuple[str, str, str]) -> object:
        kind, method, key = what
        items = await self._raw.items(method, key)
        return items if self._label is None else listed_back(self._label, kind, items)

    async def _call(self, what: tuple[str, JsonObject | None]) -> object:
        return await self._named("tools/call", *what)

    async def _prompt(self, what: tuple[str, JsonObject | None]) -> object:
        return await self._named("prompts/get", *what)

    async def _named(self, method: str, name: str, arguments: JsonObject | None) -> object:
        public = name if self._label is None else f"{self._label}.{name}"
        params: JsonObject = {"name": public}
        return await self._outcome(method, params if arguments is None else {**params, "arguments": arguments})

    async def _read(self, uri: str) -> object:
        return await self._outcome("resources/read", {"uri": uri if self._label is None else public(self._label, uri)})

    async def _outcome(self, method: str, params: JsonObject) -> object:
        try:
            result = await self._raw.request(method, params)
        except RawError as error:
            return {"error": error.error}
        if self._label is None:
            return result
        return back(self._label, unstamped(result) if self._raw.era == "modern" else result)


def public(label: str, uri: str) -> str:
    """Design D7, for the few forms that the scripts read."""
    scheme, mark, rest = uri.partition("://")
    return f"{scheme}://{label}/{rest}" if mark else f"wf://{label}/{uri}"


def without_clock(value: Any) -> Any:
    """A result without the time of day that server-everything puts into texts, and blobs made from them."""
    if isinstance(value, dict):
        return {key: "BLOB" if key == "blob" else without_clock(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_clock(item) for item in value]
    return CLOCK.sub("TIME", value) if isinstance(value, str) else value


async def compare(direct: Endpoint, through: Endpoint, label: str, steps: list[Step], era: Any, **options: Any) -> None:
    async with direct.raw(**options) as there, through.raw(era, **options) as here:
        await eventually(lambda: same_number_of_tools(there, here, label))
        expected = await Script(there, None).run(steps)
        actual = await Script(here, label).run(steps)
    for step, mine, theirs in zip(steps, actual, expected, strict=True):
        assert mine == theirs, step


async def same_number_of_tools(there: RawClient, here: RawClient, label: str) -> bool:
    """server-everything registers some tools after the handshake."""
    mine = [name for name in await here.names() if name.startswith(f"{label}.")]
    return len(mine) == len(await there.names())


@covers("differential.everything", "server-everything: a script of lists, calls, reads and prompts is equal to direct")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_everything_is_the_same_as_directly(rig: Rig, front, era) -> None:
    direct = rig.command("ev", servers.everything())
    await compare(direct, rig.serve(front), "ev", LISTS + EVERYTHING, era)


@covers("differential.raw", "An upstream with odd but legal JSON everywhere: the same script is equal to direct")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_odd_json_is_the_same_as_directly(rig: Rig, front, era) -> None:
    direct = rig.upstream("raw", RAW_SPEC).direct()
    await compare(direct, rig.serve(front), "raw", LISTS + RAW, era)


@covers("differential.filesystem", "server-filesystem: the same script is equal to direct")
@pytest.mark.parametrize("era", ERAS)
async def test_filesystem_is_the_same_as_directly(rig: Rig, era, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    steps: list[Step] = [
        LISTS[0],
        ("call", ("read_text_file", {"path": str(folder / "a.txt"), "head": 1})),
        ("call", ("list_directory_with_sizes", {"path": str(folder)})),
        ("call", ("directory_tree", {"path": str(folder)})),
        ("call", ("read_text_file", {"path": "/nowhere"})),
        ("call", ("no_such_tool", {})),
    ]
    direct = rig.command("fs", servers.filesystem(str(folder)))
    await compare(direct, rig.serve(), "fs", steps[:-1], era, capabilities={})


@covers("differential.memory", "server-memory: the same script is equal to direct")
@pytest.mark.parametrize("era", ERAS)
async def test_memory_is_the_same_as_directly(rig: Rig, era, tmp_path: Path) -> None:
    entities = {"entities": [{"name": "a", "entityType": "t", "observations": ["x"]}]}
    steps: list[Step] = [
        LISTS[0],
        ("call", ("create_entities", entities)),
        ("call", ("read_graph", {})),
        ("call", ("search_nodes", {"query": "a"})),
        ("call", ("delete_entities", {"entityNames": ["a"]})),
    ]
    # Each way has a file of its own: the script changes it.
    direct = rig.command("mem", servers.memory(), env={"MEMORY_FILE_PATH": str(tmp_path / "direct.jsonl")})
    rig.entries["mem"]["env"] = {"MEMORY_FILE_PATH": str(tmp_path / "through.jsonl")}
    await compare(direct, rig.serve(), "mem", steps, era)
