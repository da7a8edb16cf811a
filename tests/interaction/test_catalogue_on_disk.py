"""What upstreams list outlives a restart: the lists are whole at once, and a process starts when it is used (D5)."""

import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.endpoint import Endpoint
from tests.inbox import JsonObject, eventually
from tests.rawclient import RawClient, RawError
from tests.rig import ERAS, FRONTS, Rig, end

pytestmark = pytest.mark.anyio

OBJECT: JsonObject = {"type": "object"}
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
CHANGED = "notifications/tools/list_changed"


def offer(name: str, **fields: Any) -> JsonObject:
    """A bit of every kind."""
    return {
        "builtins": False,
        "instructions": f"Be kind to {name}.",
        "tools": [{"name": f"{name}-{n}", "description": f"Tool {n}.", "inputSchema": OBJECT} for n in range(3)],
        "prompts": [{"name": "greet", "title": "Greet"}],
        "resources": [{"name": "note", "uri": f"demo://{name}/note"}],
        "templates": [{"name": "any", "uriTemplate": f"demo://{name}/{{id}}"}],
        "results": {f"read:demo://{name}/note": {"contents": [{"uri": f"demo://{name}/note", "text": "a note"}]}},
        **fields,
    }


def mount(rig: Rig, *names: str, **entry: Any) -> None:
    for name in names:
        rig.upstream(name, offer(name), **entry)


async def face(raw: RawClient) -> JsonObject:
    """What a client sees before it uses anything: the first answer and every list, with what belongs to each hop left
    out.
    """
    lists = {method: await raw.request(method, {}) for method in LISTS}
    for answer in (raw.hello, *lists.values()):
        for key in ("ttlMs", "cacheScope"):  # what is remembered is no fresher than it was
            answer.pop(key, None)
    return {"hello": raw.hello, **lists}


def stop(rig: Rig, front: Endpoint) -> None:
    if front.url is not None:
        end(rig.process)


async def settled(rig: Rig, count: int) -> None:
    """Waits until so many catalogues are on disk."""
    folder = rig.folder / "cache" / "catalogues"
    await eventually(lambda: folder.is_dir() and len(list(folder.glob("*.json"))) == count)


@asynccontextmanager
async def first_run(rig: Rig, front: Any, era: Any):
    """Lists once, so that everything is on disk afterwards."""
    served = rig.serve(front)
    async with served.raw(era) as raw:
        yield await face(raw)
        await settled(rig, len(rig.entries))
    stop(rig, served)


def starts(rig: Rig) -> dict[str, int]:
    return {name: len(rig[name].pids) for name in rig.entries}


@covers("catalogue.restart", "After a restart every list and initialize are whole at once, and no process has started")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_restart_shows_the_same_face_while_upstreams_sleep(rig: Rig, front, era) -> None:
    mount(rig, "alpha", "beta", "gamma")
    async with first_run(rig, front, era) as before:
        pass
    assert starts(rig) == {"alpha": 1, "beta": 1, "gamma": 1}
    served = rig.serve(front)
    async with served.raw(era) as raw:
        assert await face(raw) == before
        assert starts(rig) == {"alpha": 1, "beta": 1, "gamma": 1}
        assert await raw.text("beta.beta-1") == "beta ran beta-1"
        assert starts(rig) == {"alpha": 1, "beta": 2, "gamma": 1}
        assert (await raw.read("demo://gamma/gamma/note"))["contents"][0]["text"] == "a note"
        assert starts(rig) == {"alpha": 1, "beta": 2, "gamma": 2}
        assert await face(raw) == before
        assert CHANGED not in [note["method"] for note in raw.notes]
    stop(rig, served)


def relist(rig: Rig, name: str, **fields: Any) -> None:
    """The upstream is another version by the next start, with the same command."""
    path = Path(rig[name].argv[rig[name].argv.index("--spec") + 1])
    path.write_text(json.dumps({"name": name, **offer(name, **fields)}), encoding="utf-8")


def tools(*names: str) -> list[JsonObject]:
    return [{"name": name, "inputSchema": OBJECT} for name in names]


@covers("catalogue.stale", "Lists that are others by the next start are announced when the upstream is used, and kept")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_list_that_changed_meanwhile_is_announced_after_waking(rig: Rig, front) -> None:
    mount(rig, "alpha", "beta")
    async with first_run(rig, front, "handshake"):
        pass
    relist(rig, "alpha", tools=tools("alpha-0", "new"))
    served = rig.serve(front)
    async with served.raw() as raw:
        assert await raw.names() == ["alpha.alpha-0", "alpha.alpha-1", "alpha.alpha-2", *BETA]
        assert await raw.text("alpha.alpha-0") == "alpha ran alpha-0"
        await raw.notes.wait_for(CHANGED)
        assert await raw.names() == ["alpha.alpha-0", "alpha.new", *BETA]
        await eventually(lambda: "new" in kept(rig))
    stop(rig, served)
    served = rig.serve(front)
    async with served.raw() as raw:
        assert await raw.names() == ["alpha.alpha-0", "alpha.new", *BETA]
        assert starts(rig) == {"alpha": 2, "beta": 1}
    stop(rig, served)


BETA = [f"beta.beta-{n}" for n in range(3)]


def kept(rig: Rig) -> str:
    """Everything that is on disk."""
    folder = rig.folder / "cache" / "catalogues"
    return "".join(file.read_text() for file in folder.glob("*.json"))


@covers("catalogue.gone-tool", "A tool that its upstream no longer has by the time it is called is an unknown tool")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_that_is_gone(rig: Rig, front, era) -> None:
    mount(rig, "alpha", "beta")
    async with first_run(rig, front, era):
        pass
    relist(rig, "alpha", tools=tools("new"))
    served = rig.serve(front)
    async with served.raw(era) as raw:
        with pytest.raises(RawError) as caught:
            await raw.call("alpha.alpha-0")
        assert (caught.value.code, caught.value.message) == (-32602, "Unknown tool: alpha.alpha-0")
        assert await raw.text("alpha.new") == "alpha ran new"
        assert starts(rig) == {"alpha": 2, "beta": 1}
    stop(rig, served)


@covers("catalogue.per-config", "A changed entry has a catalogue of its own, and what the others listed stands")
async def test_a_changed_entry_starts_alone(rig: Rig) -> None:
    mount(rig, "alpha", "beta", env={"SETTING": "one"})
    async with first_run(rig, "stdio", "handshake") as before:
        pass
    rig.entries["alpha"]["env"] = {"SETTING": "two"}
    async with rig.serve().raw() as raw:
        assert await face(raw) == before
        assert starts(rig) == {"alpha": 2, "beta": 1}
    rig.entries["alpha"]["env"] = {"SETTING": "one"}
    async with rig.serve().raw() as raw:
        assert await face(raw) == before
        assert starts(rig) == {"alpha": 2, "beta": 1}


@covers(
    "catalogue.per-client", "Lists are kept for what a client declares: one that can do more is shown what it may see"
)
async def test_each_set_of_capabilities_has_its_own(rig: Rig) -> None:
    mount(rig, "alpha")
    for capabilities, expected in (({}, 1), ({"sampling": {}}, 2), ({}, 2), ({"sampling": {}}, 2)):
        async with rig.serve().raw(capabilities=capabilities) as raw:
            await raw.names()
            await settled(rig, expected)
            assert len(rig["alpha"].pids) == expected


@covers("catalogue.broken-file", "A catalogue that cannot be read is ignored with a line in the log, and made anew")
async def test_files_that_cannot_be_used(rig: Rig) -> None:
    mount(rig, "alpha", "beta")
    async with first_run(rig, "stdio", "handshake") as before:
        pass
    files = sorted((rig.folder / "cache" / "catalogues").glob("*.json"))
    whole = [file.read_text() for file in files]
    files[0].write_text(whole[0][: len(whole[0]) // 2])
    files[1].write_text(whole[1].replace('"version":1', '"version":0'))
    async with rig.serve().raw() as raw:
        assert await face(raw) == before
        assert starts(rig) == {"alpha": 2, "beta": 2}
        await eventually(
            lambda: all('"version":1' in file.read_text() and json.loads(file.read_text()) for file in files)
        )
    assert rig.log().count("is not used, its upstream is asked again") == 2


@covers("catalogue.secrets", "What is on disk is private, and has nothing of the configuration in it or in its name")
async def test_nothing_of_the_configuration_is_on_disk(rig: Rig) -> None:
    mount(rig, "alpha", env={"API_KEY": "hunter2-hunter2"})
    async with first_run(rig, "stdio", "handshake"):
        pass
    folder = rig.folder / "cache" / "catalogues"
    (file,) = folder.iterdir()
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "hunter2" not in kept(rig) and "plain.py" not in kept(rig) and "API_KEY" not in kept(rig)


@covers("catalogue.check", "`wf-mcp check` and `inventory` start every upstream and believe no catalogue")
async def test_check_really_asks(rig: Rig) -> None:
    mount(rig, "alpha", "beta")
    async with first_run(rig, "stdio", "handshake"):
        pass
    rig.entries["beta"]["wf"] = {"init_timeout": 5}
    relist(rig, "alpha", tools=tools("new"))
    checked = rig.run("check", "--config", str(rig.write()))
    assert checked.returncode == 0, checked.stderr
    assert starts(rig) == {"alpha": 2, "beta": 2}
    found = json.loads(rig.run("inventory", "--json", "--config", str(rig.config)).stdout)
    assert [each["public_name"] for each in found["upstreams"][0]["tools"]] == ["alpha.new"]
    assert starts(rig) == {"alpha": 3, "beta": 3}


@covers("catalogue.http", "Upstreams over HTTP are connected after every start, behind the answers, to hear of changes")
async def test_an_upstream_over_http_is_refreshed(rig: Rig) -> None:
    rig.http_upstream("web", offer("web"))
    mount(rig, "alpha")
    async with first_run(rig, "stdio", "handshake") as before:
        pass
    async with rig.serve().raw() as raw:
        assert await face(raw) == before
        await rig["web"].saw("request", method="initialize")
        await eventually(lambda: len(rig["web"].events("request", method="tools/list")) == 2)
        assert starts(rig)["alpha"] == 1


@covers("catalogue.subscription", "What a client wants to hear of wakes the upstream that it is at, and no other")
@pytest.mark.parametrize("front", FRONTS)
async def test_a_subscription_wakes_its_upstream(rig: Rig, front) -> None:
    mount(rig, "alpha", "beta")
    async with first_run(rig, front, "handshake"):
        pass
    served = rig.serve(front)
    async with served.raw() as raw:
        await raw.request("resources/subscribe", {"uri": "demo://alpha/alpha/note"})
        assert starts(rig) == {"alpha": 2, "beta": 1}
    stop(rig, served)


@covers("catalogue.status", "The status says which upstreams sleep, and how old their lists are")
async def test_the_status_tells(rig: Rig) -> None:
    mount(rig, "alpha", "beta")
    async with first_run(rig, "stdio", "handshake"):
        pass
    async with rig.serve().raw() as raw:
        await raw.text("alpha.alpha-0")
        status = await raw.json("wf.admin.status")
        assert [each["state"] for each in status["upstreams"]] == ["ready", "asleep"]
        for each in status["upstreams"]:
            (session,) = each["sessions"]
            assert session["server_name"] == each["id"]
            assert 0 <= session["lists_age_seconds"] < 600
