"""Shows 5: `wf.admin.reload_config` changes what runs, and nothing else."""

import anyio
import pytest
from tests.covers import covers
from tests.inbox import JsonObject
from tests.procs import all_gone
from tests.rawclient import RawClient, RawError
from tests.rig import Rig

pytestmark = pytest.mark.anyio
KINDS = ("tools", "prompts", "resources")


async def reload(raw: RawClient) -> JsonObject:
    """The report of a reload; a refused one may also be a tool error, which then holds the reason."""
    result = await raw.call("wf.admin.reload_config")
    if result.get("isError"):
        return {"error": result["content"][0]["text"]}
    report: JsonObject = result["structuredContent"]
    return report


def changes(raw: RawClient) -> list[str]:
    return sorted(note["method"] for note in raw.notes if note["method"].endswith("list_changed"))


async def flushed(raw: RawClient) -> None:
    """Everything that was on its way has arrived: the server has answered two more requests since."""
    for _ in range(2):
        await raw.request("ping")


@covers(
    "reload.adds", "An added upstream is served at once; each of two HTTP clients hears one notice per changed kind"
)
async def test_adding_an_upstream_tells_each_client_once_per_kind(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.with_token()
    front = rig.serve("http")
    async with front.raw(name="first") as first, front.raw(name="second") as second:
        pid = (await first.json("alpha.who"))["pid"]
        for raw in (first, second):
            await raw.names()
        rig.upstream("beta", {"prompts": [{"name": "p"}], "resources": [{"name": "r", "uri": "demo://r"}]})
        rig.write()
        report = await reload(first)
        assert (report["added"], report["unchanged"], report["restarted"]) == (["beta"], ["alpha"], [])
        for raw in (first, second):
            for kind in KINDS:
                await raw.notes.wait_for(f"notifications/{kind}/list_changed")
            assert "beta.echo" in await raw.names()
            assert await raw.names("prompts") == ["beta.p"]
            await flushed(raw)
            assert changes(raw) == sorted(f"notifications/{kind}/list_changed" for kind in KINDS)
        assert (await second.json("beta.who"))["name"] == "beta"
        assert (await first.json("alpha.who"))["pid"] == pid


@covers("reload.only-changed-kinds", "Only the kinds of list that changed are announced")
async def test_an_upstream_with_tools_only_changes_tools_only(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        await raw.names()
        await raw.names("prompts")
        await raw.items("resources/list", "resources")
        rig.upstream("beta", {"capabilities": {"tools": {}}})
        rig.write()
        await reload(raw)
        await raw.notes.wait_for("notifications/tools/list_changed")
        assert "beta.echo" in await raw.names()
        await flushed(raw)
        assert changes(raw) == ["notifications/tools/list_changed"]


@covers("reload.removes", "A removed upstream's tools and processes go; the others' processes stay")
async def test_removing_and_changing_upstreams(rig: Rig) -> None:
    for name in ("keep", "change", "remove"):
        rig.upstream(name)
    async with rig.serve().raw() as raw:
        pids = {name: (await raw.json(f"{name}.who"))["pid"] for name in ("keep", "change", "remove")}
        del rig.entries["remove"]
        rig.entries["change"]["env"] = {"CHANGED": "1"}
        rig.write()
        report = await reload(raw)
        named = {key: report[key] for key in ("added", "removed", "restarted", "unchanged", "failed")}
        assert named == {
            "added": [],
            "removed": ["remove"],
            "restarted": ["change"],
            "unchanged": ["keep"],
            "failed": {},
        }
        assert await all_gone([pids["remove"], pids["change"]]) == []
        assert (await raw.json("keep.who"))["pid"] == pids["keep"]
        assert (await raw.json("change.env"))["CHANGED"] == "1"
        with pytest.raises(RawError) as caught:
            await raw.call("remove.who")
        assert caught.value.code == -32602


@covers("reload.nothing", "Reloading an unchanged file changes nothing and tells nobody")
async def test_reloading_the_same_file(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        pid = (await raw.json("alpha.who"))["pid"]
        await raw.names()
        report = await reload(raw)
        assert report["unchanged"] == ["alpha"] and not report["added"] + report["removed"] + report["restarted"]
        assert (await raw.json("alpha.who"))["pid"] == pid
        await flushed(raw)
        assert changes(raw) == []


BAD_FILES = {
    "half": ('{\n  "mcpServers": {\n    "alpha": {"command": \n', [":", "line"]),
    "type": ('{\n  "mcpServers": {\n    "alpha": {"command": 7}\n  }\n}', ["mcpServers", "alpha", "command"]),
    "wf key": ('{"mcpServers": {"alpha": {"command": "x", "wf": {"timeoutt": 1}}}}', ["timeoutt"]),
    "label": ('{"mcpServers": {"Wf": {"command": "x"}}}', ["Wf"]),
    "clash": ('{"mcpServers": {"A": {"command": "x"}, "a": {"command": "y"}}}', ['"A"', '"a"']),
}


@covers("reload.bad-file", "A file with an error of syntax or meaning changes nothing; the error names the place")
@pytest.mark.parametrize("case", BAD_FILES)
async def test_a_bad_file_leaves_all_running(rig: Rig, case: str) -> None:
    text, named = BAD_FILES[case]
    rig.upstream("alpha")
    rig.upstream("beta")
    async with rig.serve().raw() as raw:
        before = [(await raw.json(f"{name}.who"))["pid"] for name in ("alpha", "beta")]
        rig.write(text)
        error = (await reload(raw))["error"]
        assert rig.config.name in error
        assert any(word.strip('"') in error for word in named), error
        after = [(await raw.json(f"{name}.who"))["pid"] for name in ("alpha", "beta")]
        assert after == before
        rig.config.unlink()
        assert (await reload(raw))["error"]
        rig.write()
        assert (await reload(raw))["error"] is None
        assert [(await raw.json(f"{name}.who"))["pid"] for name in ("alpha", "beta")] == before


@covers("reload.calls-in-flight", "A call in flight on an unchanged upstream outlives a reload")
async def test_a_call_in_flight_outlives_a_reload(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.upstream("beta")
    answers: list[str] = []
    async with rig.serve().raw() as raw, anyio.create_task_group() as tasks:
        await raw.names()

        async def slow() -> None:
            answers.append(await raw.text("alpha.slow", {"seconds": 3, "tag": "kept"}))

        tasks.start_soon(slow)
        await rig["alpha"].saw("slow")
        del rig.entries["beta"]
        rig.write()
        assert (await reload(raw))["removed"] == ["beta"]
        assert answers == []
    assert answers == ["kept"]


@covers("reload.stubborn", "A stubborn upstream that is removed delays no call to another, and is gone within 10 s")
async def test_removing_a_stubborn_upstream_delays_nobody(rig: Rig) -> None:
    pids_file = rig.folder / "stubborn.pids"
    rig.upstream("stubborn", None, "--stubborn", str(pids_file))
    rig.upstream("good")
    async with rig.serve().raw() as raw:
        await raw.text("stubborn.who")
        pids = [int(pid) for pid in pids_file.read_text().split()]
        del rig.entries["stubborn"]
        rig.write()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raw.call, "wf.admin.reload_config")
            await rig["stubborn"].saw("eof")
            for _ in range(5):
                with anyio.fail_after(1):
                    await raw.text("good.who")
        assert await all_gone(pids, 10) == []
