"""What a host gets that is known to need something: another form of names, and the fallback tools."""

import base64
from dataclasses import replace

import pytest
from tests.covers import covers
from tests.endpoint import Endpoint
from tests.inbox import JsonObject
from tests.rawclient import RawClient, RawError
from tests.rig import ERAS, FRONTS, Rig

pytestmark = pytest.mark.anyio
OBJECT = {"type": "object"}
BLOB = base64.b64encode(b"\x00\xff").decode()
LONG = "a-tool-with-a-name-that-is-far-longer-than-any-host-would-take"
SPEC: JsonObject = {
    "tools": [{"name": "get-sum", "inputSchema": OBJECT}],
    "prompts": [{"name": "say-hi"}],
    "results": {
        "read:demo://mixed": {
            "contents": [
                {"uri": "demo://mixed", "text": "words", "mimeType": "text/plain", "_meta": {"k": None}, "odd": 1},
                {"uri": "demo://mixed/2", "blob": BLOB, "mimeType": "image/png"},
            ],
            "_meta": {"whole": True},
        },
        "tool:get-sum": {
            "content": [{"type": "resource_link", "uri": "demo://x", "name": "x", "odd": None}],
            "structuredContent": [1, None],
            "isError": True,
            "custom": {"deep": []},
        },
    },
    "errors": {"read:demo://broken": {"code": -1, "message": "out of paper", "data": [1]}},
}


def mount(rig: Rig, **fallback: str) -> None:
    rig.upstream("my-alpha", SPEC)
    if fallback:
        rig.settings["tools"] = fallback


def asking(front: Endpoint, names: str) -> Endpoint:
    """The front's URL with a wish for a form of names."""
    return replace(front, url=f"{front.url}?names={names}")


async def own(raw: RawClient) -> list[str]:
    """wf-mcp's own tools but for the admin tools."""
    names = await raw.names(admin=True)
    return [name for name in names if name.startswith(("wf.", "wf_")) and "admin" not in name]


async def refused(raw: RawClient, name: str, arguments: JsonObject | None = None) -> int:
    with pytest.raises(RawError) as caught:
        await raw.call(name, arguments)
    return caught.value.code


# -- names -----------------------------------------------------------------------------------------------------------


@covers("hosts.names", "A host that is known to need them gets safe names of tools and prompts; others get dotted ones")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("claude-code", "my_alpha_get_sum"),
        ("cursor-vscode (via mcp-remote 0.1.37)", "my_alpha_get_sum"),
        ("Visual Studio Code", "my-alpha.get-sum"),
        ("nobody-knows-me", "my-alpha.get-sum"),
    ],
)
async def test_names_are_those_that_the_host_takes(rig: Rig, front, name: str, form: str) -> None:
    mount(rig)
    async with rig.serve(front).raw(name=name) as raw:
        assert (await raw.names())[0] == form
        assert await raw.names("prompts") == [form.replace("get-sum", "say-hi").replace("get_sum", "say_hi")]


@covers("hosts.both-forms", "Both forms of a name can be called and got, whatever was listed")
@pytest.mark.parametrize("name", ["claude-code", "nobody-knows-me"])
async def test_both_forms_can_be_called(rig: Rig, name: str) -> None:
    mount(rig)
    async with rig.serve().raw(name=name) as raw:
        for form in ("my-alpha.echo", "my_alpha_echo"):
            assert (await raw.json(form, {"a": 1}))["arguments"] == {"a": 1}
        for form in ("my-alpha.say-hi", "my_alpha_say_hi"):
            assert (await raw.request("prompts/get", {"name": form}))["messages"]


@covers("hosts.fixed", "--names and names.style fix the form for every client")
@pytest.mark.parametrize(
    ("option", "style"), [("dotted", "safe"), ("safe", "dotted"), (None, "dotted"), (None, "safe")]
)
@pytest.mark.parametrize("era", ERAS)
async def test_a_form_that_is_fixed_is_everybodys(rig: Rig, era, option: str | None, style: str) -> None:
    mount(rig)
    rig.settings["names"] = {"style": style}
    front = rig.serve("stdio", *(("--names", option) if option else ()))
    async with front.raw(era, name="claude-code") as raw:
        expected = {"dotted": "my-alpha.get-sum", "safe": "my_alpha_get_sum"}[option or style]
        assert (await raw.names())[0] == expected


@covers("hosts.modern", "A client of 2026-07-28 is not told from others by its name")
@pytest.mark.parametrize("front", FRONTS)
async def test_modern_clients_are_all_treated_alike(rig: Rig, front) -> None:
    mount(rig)
    async with rig.serve(front).raw("modern", name="claude-ai") as raw:
        assert (await raw.names())[0] == "my-alpha.get-sum"
        assert await own(raw) == []


@covers("hosts.url", "Over HTTP a client's URL, /mcp?names=safe, fixes the form for that client")
@pytest.mark.parametrize("era", ERAS)
async def test_a_url_asks_for_a_form(rig: Rig, era) -> None:
    mount(rig)
    front = rig.serve("http")
    async with asking(front, "safe").raw(era) as safe, front.raw(era) as plain:
        assert (await safe.names())[0] == "my_alpha_get_sum"
        assert (await plain.names())[0] == "my-alpha.get-sum"
    async with asking(front, "dotted").raw(era, name="claude-code") as dotted:
        assert (await dotted.names())[0] == "my-alpha.get-sum"


@covers("hosts.url-mistake", "A URL that asks for a form that there is not is refused with the two that there are")
@pytest.mark.parametrize("era", ERAS)
async def test_a_mistake_in_the_url_is_told(rig: Rig, era) -> None:
    mount(rig)
    with pytest.raises(RawError, match="names=pretty: expected dotted or safe") as caught:
        async with asking(rig.serve("http"), "pretty").raw(era) as raw:
            await raw.names()
    assert caught.value.code == -32602


@covers("hosts.status", "Status says for each client which form of names it gets, and why, and no session id")
async def test_status_says_what_was_chosen(rig: Rig) -> None:
    mount(rig)
    rig.with_token()
    front = rig.serve("http")
    async with (
        front.raw(name="claude-code") as raw,
        asking(front, "safe").raw(name="other"),
        front.raw("modern", name="new"),
    ):
        status = (await raw.call("wf.admin.status"))["structuredContent"]
    assert status["names_style"] == "auto"
    told = {client.pop("name"): client for client in status["clients"]}
    assert set(told) == {"claude-code", "other", "new"}
    assert set(told["new"]) == {"version", "era", "style", "why"}
    assert [told["claude-code"][key] for key in ("version", "era", "style")] == ["1.0", "handshake", "safe"]
    assert "Claude Code needs safe names" in told["claude-code"]["why"]
    assert "names=safe" in told["other"]["why"]
    assert (told["new"]["era"], told["new"]["style"]) == ("modern", "dotted")


@covers("hosts.shortened", "A name over the budget is shortened the same at every start, can be called, and is named")
async def test_shortened_names_are_told_by_name(rig: Rig) -> None:
    twins = [f"{LONG}-{n}" for n in (1, 2)]
    rig.upstream("alpha", {"tools": [{"name": name, "inputSchema": OBJECT} for name in twins], "builtins": False})
    listed = []
    for _ in range(2):
        async with rig.serve().raw(name="claude-code") as raw:
            names = await raw.names()
            listed.append(names)
            assert [await raw.text(name) for name in names] == [f"alpha ran {name}" for name in twins]
            status = (await raw.call("wf_admin_status"))["structuredContent"]
    assert listed[0] == listed[1]
    assert len(set(listed[0])) == 2 and all(len(name) <= 50 for name in listed[0])
    told = " ".join(status["name_clashes"]) + rig.run("check", "--config", str(rig.write())).stderr
    for name, short in zip(twins, listed[0], strict=True):
        assert told.count(f"tool alpha.{name} is {short} in safe form: shortened") == 2


# -- fallback tools --------------------------------------------------------------------------------------------------

BOTH = ["wf.read_resource", "wf.call_tool"]


@covers("fallback.auto", "The fallback tools are listed to hosts that are known to need them, each for its own need")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("claude-ai", ["wf_read_resource", "wf_call_tool"]),
        ("claude-code", ["wf_call_tool"]),
        ("gemini-cli-mcp-client", ["wf.read_resource"]),
        ("cursor-vscode", []),
        ("nobody-knows-me", []),
    ],
)
async def test_hosts_get_the_tools_that_they_need(rig: Rig, front, name: str, tools: list[str]) -> None:
    mount(rig)
    async with rig.serve(front).raw(name=name) as raw:
        assert await own(raw) == tools


@covers("fallback.off", "A fallback tool that is not listed to a client is refused like an unknown one")
@pytest.mark.parametrize(("setting", "name"), [("off", "claude-ai"), ("auto", "nobody-knows-me")])
async def test_what_is_not_offered_is_refused(rig: Rig, setting: str, name: str) -> None:
    mount(rig, fallback=setting)
    async with rig.serve().raw(name=name) as raw:
        assert await own(raw) == []
        for tool in (*BOTH, "wf_call_tool"):
            assert await refused(raw, tool, {"uri": "demo://my-alpha/x", "name": "my-alpha.echo"}) == -32602


@covers("fallback.read", "wf.read_resource returns the contents whole: text as text, the rest as embedded resources")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_resource_read_by_a_tool_is_whole(rig: Rig, front, era) -> None:
    mount(rig, fallback="on")
    async with rig.serve(front).raw(era) as raw:
        assert await own(raw) == BOTH
        for tool in ("wf.read_resource", "wf_read_resource"):
            result = await raw.call(tool, {"uri": "demo://my-alpha/mixed"})
            rest = {"uri": "demo://my-alpha/mixed", "mimeType": "text/plain", "_meta": {"k": None}, "odd": 1}
            assert result["content"] == [
                {"type": "text", "text": "words", "_meta": {"wf-mcp/resource": rest}},
                {
                    "type": "resource",
                    "resource": {"uri": "demo://my-alpha/mixed/2", "blob": BLOB, "mimeType": "image/png"},
                },
            ]
            assert result["_meta"]["whole"] is True


@covers("fallback.read-error", "A resource that cannot be read is a result that says why, for the model to react to")
@pytest.mark.parametrize("era", ERAS)
async def test_a_resource_that_cannot_be_read(rig: Rig, era) -> None:
    mount(rig, fallback="on")
    async with rig.serve().raw(era) as raw:
        for uri, said in (("demo://my-alpha/broken", "out of paper"), ("demo://nobody/x", "demo://nobody/x")):
            result = await raw.call("wf.read_resource", {"uri": uri})
            assert result["isError"] is True
            assert said in result["content"][0]["text"]
        for arguments in ({}, {"uri": 3}, None):
            assert await refused(raw, "wf.read_resource", arguments) == -32602


@covers("fallback.call", "wf.call_tool returns exactly what the tool returns when called directly, errors included")
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_called_by_a_tool_answers_as_directly(rig: Rig, front, era) -> None:
    mount(rig, fallback="on")
    async with rig.serve(front).raw(era) as raw:
        for name in ("my-alpha.get-sum", "my_alpha_get_sum"):
            through = await raw.call("wf.call_tool", {"name": name, "arguments": {"a": 1}})
            assert through == await raw.call(name, {"a": 1})
        for arguments in ({"a": None}, None):
            asked = (
                {"name": "my-alpha.echo"} if arguments is None else {"name": "my-alpha.echo", "arguments": arguments}
            )
            assert await raw.json("wf.call_tool", asked) == await raw.json("my-alpha.echo", arguments)
        assert await refused(raw, "wf.call_tool", {"name": "my-alpha.nothing"}) == -32602
        assert await refused(raw, "my-alpha.nothing") == -32602
        for wrong in ({}, {"name": "my-alpha.echo", "arguments": [1]}, {"name": "wf.call_tool"}):
            assert await refused(raw, "wf.call_tool", wrong) == -32602


@covers("fallback.grown", "A host that keeps its old list reaches a tool that appeared since, with progress")
async def test_a_tool_that_appeared_since(rig: Rig) -> None:
    mount(rig)
    async with rig.serve().raw(name="claude-code") as raw:
        await raw.names()
        await raw.text("my_alpha_grow")
        assert await raw.text("wf_call_tool", {"name": "my_alpha_grown"}) == "my-alpha ran grown"
        call = {"name": "my-alpha.progress", "arguments": {"steps": 2}}
        params = {"name": "wf_call_tool", "arguments": call, "_meta": {"progressToken": "p"}}
        await raw.request("tools/call", params)
        told = [note["params"] for note in raw.notes if note["method"] == "notifications/progress"]
    assert [(each["progressToken"], each["progress"]) for each in told] == [("p", 1), ("p", 2)]


@covers(
    "fallback.rights", "Through wf.call_tool a client reaches what it may reach directly: no admin tool without token"
)
async def test_a_fallback_tool_gives_no_further_rights(rig: Rig) -> None:
    mount(rig, fallback="on")
    async with rig.serve("http").raw() as raw:
        assert await own(raw) == BOTH
        assert await refused(raw, "wf.call_tool", {"name": "wf.admin.status"}) == -32602
    async with rig.serve("stdio").raw() as raw:
        status = await raw.call("wf.call_tool", {"name": "wf.admin.status"})
        assert status["structuredContent"]["front"] == "stdio"


@covers("fallback.reload", "Switching the fallback tools by a reload takes effect, and clients hear of another list")
async def test_a_reload_switches_them(rig: Rig) -> None:
    mount(rig)
    async with rig.serve().raw() as raw:
        assert await own(raw) == []
        rig.settings["tools"] = {"fallback": "on"}
        rig.write()
        await raw.call("wf.admin.reload_config")
        await raw.notes.wait_for("notifications/tools/list_changed", 5)
        assert await own(raw) == BOTH


@covers("fallback.alone", "With the fallback tools a front of servers without tools still has the tools capability")
async def test_the_tools_capability_is_there(rig: Rig) -> None:
    rig.upstream("alpha", {"capabilities": {"resources": {}}, "builtins": False})
    rig.settings["admin"] = False
    async with rig.serve().raw(name="claude-ai") as raw:
        assert "tools" in raw.hello["capabilities"]
        assert await own(raw) == ["wf_read_resource", "wf_call_tool"]
        assert await raw.text("wf_read_resource", {"uri": "demo://alpha/x"}) == "alpha read demo://x"
