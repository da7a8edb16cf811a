"""Servers that others wrote, over every transport."""

import json
from pathlib import Path

import pytest
from tests import servers
from tests.covers import covers
from tests.rig import ERAS, FRONTS, Rig, free_port

pytestmark = [pytest.mark.anyio, pytest.mark.node]


@covers("real.filesystem", "server-filesystem works: lists a folder, reads and writes a file")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_filesystem(rig: Rig, front, era, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    direct = rig.command("files", servers.filesystem(str(folder)))
    # Without roots: a client that shows some replaces the folders of the command line by them.
    async with direct.raw(capabilities={}) as there, rig.serve(front).raw(era, capabilities={}) as here:
        for name, arguments in (
            ("list_directory", {"path": str(folder)}),
            ("read_text_file", {"path": str(folder / "a.txt")}),
            ("read_text_file", {"path": "/etc/hostname"}),
        ):
            theirs = await there.call(name, arguments)
            mine = await here.call(f"files.{name}", arguments)
            assert {key: mine.get(key) for key in theirs} == theirs
        await here.call("files.write_file", {"path": str(folder / "b.txt"), "content": "new"})
    assert (folder / "b.txt").read_text() == "new"


@covers("real.memory", "server-memory works: what is created can be read; its env entry reaches it")
@pytest.mark.parametrize("era", ERAS)
async def test_memory(rig: Rig, era, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    rig.command("memory", servers.memory(), env={"MEMORY_FILE_PATH": str(file)})
    entity = {"name": "wf-mcp", "entityType": "proxy", "observations": ["loses nothing"]}
    async with rig.serve().client(era) as probe:
        await probe.client.call_tool("memory.create_entities", {"entities": [entity]})
        graph = await probe.client.call_tool("memory.read_graph", {})
        assert graph.structured_content["entities"] == [entity]
    assert json.loads(file.read_text().splitlines()[0])["name"] == "wf-mcp"


@covers("real.python", "mcp-server-time from PyPI works, through both eras, its errors included")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_time(rig: Rig, front, era) -> None:
    direct = rig.command("time", servers.time_server())
    good = {"source_timezone": "Europe/Berlin", "time": "12:30", "target_timezone": "Asia/Tokyo"}
    async with direct.client(era) as there, rig.serve(front).client(era) as here:
        assert await here.names() == [f"time.{name}" for name in await there.names()]
        theirs = await there.client.call_tool("convert_time", good)
        mine = await here.client.call_tool("time.convert_time", good)
        assert mine.structured_content == theirs.structured_content
        bad = {**good, "time": "25:99"}
        theirs = await there.client.call_tool("convert_time", bad, raise_on_error=False)
        mine = await here.client.call_tool("time.convert_time", bad, raise_on_error=False)
        assert mine.is_error and mine.content == theirs.content


@covers("real.everything-http", "server-everything over streamable HTTP: tools, links and a session's own resource")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_everything_over_streamable_http(rig: Rig, front, era) -> None:
    port = str(free_port())
    url = f"http://127.0.0.1:{port}/mcp"
    direct = rig.server("everything", servers.everything("streamableHttp"), url, PORT=port)
    async with direct.raw() as there, rig.serve(front).raw(era) as here:
        assert await here.text("everything.echo", {"message": "x"}) == await there.text("echo", {"message": "x"})
        links = await here.call("everything.get-resource-links", {"count": 3})
        uris = [block["uri"] for block in links["content"] if block["type"] == "resource_link"]
        gzip = {"name": "x.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}
        (link,) = (await here.call("everything.gzip-file-as-resource", gzip))["content"]
        for uri in [*uris, link["uri"]]:
            assert (await here.read(uri))["contents"][0]["uri"] == uri


@covers("real.sse", "An upstream over the old HTTP+SSE transport works")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_an_sse_upstream(rig: Rig, front, era) -> None:
    port = str(free_port())
    rig.server("old", servers.sdk_server("sse", port), f"http://127.0.0.1:{port}/sse", "sse")
    async with rig.serve(front).client(era) as probe:
        assert (await probe.client.call_tool("old.add", {"a": 1, "b": 2})).data == 3
        (content,) = await probe.client.read_resource("sdk://old/greeting")
        assert content.text == "hello from the framework"


@covers("real.framework", "A FastMCP upstream works over stdio and HTTP, whichever era it negotiates")
@pytest.mark.parametrize("how", ["stdio", "http"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_fastmcp_upstream(rig: Rig, how: str, era) -> None:
    if how == "stdio":
        rig.command("sdk", servers.sdk_server("stdio"))
    else:
        port = str(free_port())
        rig.server("sdk", servers.sdk_server("http", port), f"http://127.0.0.1:{port}/mcp")
    async with rig.serve().client(era) as probe:
        assert (await probe.client.call_tool("sdk.add", {"a": 1, "b": 2})).data == 3
        (content,) = await probe.client.read_resource("sdk://sdk/echo/w%C3%B6rd")
        assert content.text
        prompt = await probe.client.get_prompt("sdk.review", {"code": "x = 1"})
        assert prompt.messages[0].content.text == "Please review: x = 1"


@covers("http.headers", "Configured headers reach an HTTP upstream; the caller's do not unless named")
async def test_headers_toward_an_http_upstream(rig: Rig) -> None:
    rig.env["UPSTREAM_KEY"] = "key-of-the-upstream"
    rig.http_upstream("plain", headers={"Authorization": "Bearer ${UPSTREAM_KEY}"})
    rig.http_upstream("named", wf={"forward_headers": ["x-tenant"]})
    rig.with_token()
    sent = {"x-tenant": "t-1", "x-other": "o-1", "cookie": "c=1"}
    async with rig.serve("http").raw(headers=sent) as raw:
        await raw.text("plain.who")
        await raw.text("named.who")
    for event in rig["plain"].events("http", verb="POST"):
        assert event["headers"]["authorization"] == "Bearer key-of-the-upstream"
        assert not {"x-tenant", "x-other", "cookie"} & event["headers"].keys()
    (call,) = rig["named"].events("http", verb="POST", method="tools/call")
    assert call["headers"]["x-tenant"] == "t-1"
    assert not {"authorization", "x-other", "cookie"} & call["headers"].keys()
