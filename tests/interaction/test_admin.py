"""The admin tools: who has them, and what they say."""

import json

import jsonschema
import pytest
from tests.covers import covers
from tests.rawclient import RawError
from tests.rig import Rig

pytestmark = pytest.mark.anyio


@covers("admin.http-token", "Over HTTP the admin tools exist only for holders of a configured token")
async def test_admin_tools_need_a_token_over_http(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve("http").raw() as raw:
        assert not [name for name in await raw.names(admin=True) if name.startswith("wf.admin.")]
        with pytest.raises(RawError) as caught:
            await raw.call("wf.admin.status")
        assert caught.value.code == -32602


@covers("admin.tools", "Admin tools have output schemas and annotations, and their results match the schemas")
async def test_admin_tools_are_typed(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        await raw.text("alpha.who")
        tools = {tool["name"]: tool for tool in await raw.items("tools/list", "tools")}
        for name in ("reload_config", "inventory", "status", "events"):
            tool = tools[f"wf.admin.{name}"]
            assert tool["annotations"]["readOnlyHint"] is (name != "reload_config")
            result = await raw.call(tool["name"])
            jsonschema.validate(result["structuredContent"], tool["outputSchema"])
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@covers("admin.off", "With `admin: false` there are no admin tools on stdio either")
async def test_admin_tools_can_be_switched_off(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.settings["admin"] = False
    async with rig.serve().raw() as raw:
        assert not [name for name in await raw.names(admin=True) if name.startswith("wf.")]


@covers("admin.inventory", "The inventory pairs every public name and URI with the upstream's own")
async def test_inventory(rig: Rig) -> None:
    rig.upstream(
        "My Alpha",
        {
            "tools": [{"name": "a-b", "inputSchema": {"type": "object"}, "description": "d"}],
            "prompts": [{"name": "p"}],
            "resources": [{"name": "r", "uri": "demo://r"}],
            "templates": [{"name": "t", "uriTemplate": "demo://t/{id}"}],
            "builtins": False,
            "instructions": "Be kind.",
        },
    )
    async with rig.serve().raw() as raw:
        await raw.names()
        (upstream,) = (await raw.call("wf.admin.inventory"))["structuredContent"]["upstreams"]
    assert upstream["id"] == "My Alpha" and upstream["label"] == "my-alpha"
    assert upstream["instructions"] == "Be kind." and upstream["capabilities"]["tools"] == {"listChanged": True}
    (tool,) = upstream["tools"]
    assert (tool["public_name"], tool["safe_name"], tool["upstream_name"]) == ("my-alpha.a-b", "my_alpha_a_b", "a-b")
    assert upstream["prompts"][0]["public_name"] == "my-alpha.p"
    assert (upstream["resources"][0]["public_uri"], upstream["resources"][0]["upstream_uri"]) == (
        "demo://my-alpha/r",
        "demo://r",
    )
    assert upstream["templates"][0]["public_uri"] == "demo://my-alpha/t/{id}"


@covers("admin.events", "Recent events say what started, became ready and changed")
async def test_events_are_remembered(rig: Rig) -> None:
    rig.upstream("alpha")
    async with rig.serve().raw() as raw:
        await raw.names()
        await raw.text("alpha.grow")
        await raw.notes.wait_for("notifications/tools/list_changed")
        await raw.call("wf.admin.reload_config")
        events = (await raw.call("wf.admin.events"))["structuredContent"]["events"]
    kinds = [event["kind"] for event in events if event["mount"] == "alpha"]
    assert "upstream_starting" in kinds and "upstream_ready" in kinds and "tools_changed" in kinds
    assert any(event["kind"] == "config_reloaded" for event in events)
