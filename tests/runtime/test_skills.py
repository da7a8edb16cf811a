"""Every upstream's skills in one list, each read where it is (ext-skills; matrix B.1)."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.runtime.memory import Twin, TwinLink
from tests.runtime.stage import Stage, caller, config, stage, upstream

from wf_mcp.core.errors import InvalidParams, NotServed, RelayedError, UpstreamTimeout
from wf_mcp.core.merge import PARTIAL
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.skills import Skills

pytestmark = pytest.mark.anyio

EXTENSION = "io.modelcontextprotocol/skills"


def skilled(name: str, *skills: str, page: int = 10, ttl: int = 1000) -> Twin:
    """A modern upstream with these skills."""
    capabilities = {"resources": {}, "extensions": {EXTENSION: {"directoryRead": True}}}
    twin = Twin(name, era="modern", capabilities=capabilities)
    known = {f"skill://{skill}/SKILL.md": skill for skill in skills}

    async def listed(link: TwinLink, params: JsonObject) -> JsonObject:
        start = int(params.get("cursor", 0))
        found = [{"uri": uri, "frontmatter": {"name": each}} for uri, each in known.items()][start : start + page]
        following = {"nextCursor": str(start + page)} if start + page < len(known) else {}
        return {"skills": found, "ttlMs": ttl, "cacheScope": "public", "resultType": "complete", **following}

    async def got(link: TwinLink, params: JsonObject) -> JsonObject:
        if params["uri"] not in known:
            raise RelayedError(-32602, "No such skill", {"uri": params["uri"]})
        return {"skill": {"uri": params["uri"]}}

    async def folder(link: TwinLink, params: JsonObject) -> JsonObject:
        return {"resources": [{"uri": f"{params['uri']}/SKILL.md"}, {"uri": f"{params['uri']}/x"}], "nextCursor": "c ü"}

    twin.answers |= {"skills/list": listed, "skills/get": got, "resources/directory/read": folder}
    return twin


async def ask(s: Stage, method: str, **params: Any) -> JsonObject:
    return await Skills(s.mounts, s.resolver, patience=0.2).answer(caller(era="modern"), method, params)


async def test_the_skills_of_all_upstreams_are_one_list() -> None:
    async with stage(skilled("a", "one", "two", page=1, ttl=5), Twin("plain"), skilled("b", "one")) as s:
        assert await ask(s, "skills/list") == snapshot(
            {
                "skills": [
                    {"uri": "skill://a/one/SKILL.md", "frontmatter": {"name": "one"}},
                    {"uri": "skill://a/two/SKILL.md", "frontmatter": {"name": "two"}},
                    {"uri": "skill://b/one/SKILL.md", "frontmatter": {"name": "one"}},
                ],
                "ttlMs": 5,
                "cacheScope": "public",
            }
        )


async def test_one_upstreams_failure_costs_the_others_nothing_but_their_caches() -> None:
    broken = skilled("a", "one")
    broken.fail("skills/list", RelayedError(-32603, "no"))
    async with stage(broken, skilled("b", "one")) as s:
        found = await ask(s, "skills/list")
        assert [each["uri"] for each in found["skills"]] == ["skill://b/one/SKILL.md"]
        assert (found["ttlMs"], found["cacheScope"], found["_meta"]) == (0, "private", {PARTIAL: ["a"]})


async def test_where_none_answers_its_error_is_the_answer() -> None:
    broken = skilled("a", "one")
    broken.fail("skills/list", RelayedError(-31000, "no"))
    async with stage(broken) as s:
        with pytest.raises(RelayedError, match="no") as caught:
            await ask(s, "skills/list")
    assert caught.value.code == -31000


@pytest.mark.parametrize("method", Skills.METHODS)
async def test_where_nobody_has_skills_there_is_no_such_method(method: str) -> None:
    async with stage(Twin("plain")) as s:
        with pytest.raises(NotServed):
            await ask(s, method, **({} if method == "skills/list" else {"uri": "skill://plain/x"}))


async def test_a_skill_is_got_and_a_folder_read_where_it_is() -> None:
    async with stage(skilled("a", "one"), skilled("b", "one")) as s:
        uri = "skill://b/one/SKILL.md"
        assert await ask(s, "skills/get", uri=uri) == {"skill": {"uri": uri}}
        folder = await ask(s, "resources/directory/read", uri="skill://b/one", cursor="mine")
        assert [each["uri"] for each in folder["resources"]] == [uri, "skill://b/one/x"]
        assert folder["nextCursor"] == "c ü"
        (asked,) = s.connector.twins["b"].of("resources/directory/read")
        assert asked.params == {"uri": "skill://one", "cursor": "mine"}


async def test_what_there_is_not_is_an_error_in_the_clients_terms() -> None:
    async with stage(skilled("a", "one")) as s:
        with pytest.raises(RelayedError) as caught:
            await ask(s, "skills/get", uri="skill://a/none/SKILL.md")
        assert (caught.value.code, caught.value.data) == (-32602, {"uri": "skill://a/none/SKILL.md"})
        for params in ({"uri": "skill://nobody/x"}, {"uri": 7}, {}):
            with pytest.raises(InvalidParams):
                await ask(s, "skills/get", **params)
        with pytest.raises(InvalidParams, match="cursor"):
            await ask(s, "skills/list", cursor="c")


async def test_a_silent_upstream_holds_up_nobody() -> None:
    """Design D5: who does not answer in time is missing, and the list says so."""
    silent, other = skilled("a", "one"), skilled("b", "one")
    silent.hold("skills/list")
    async with stage(silent, other, skilled("c", "one")) as s:
        found = await ask(s, "skills/list")
    assert [each["uri"] for each in found["skills"]] == ["skill://b/one/SKILL.md", "skill://c/one/SKILL.md"]
    assert (found["ttlMs"], found["cacheScope"], found["_meta"]) == (0, "private", {PARTIAL: ["a"]})


async def test_where_all_are_silent_that_is_the_answer() -> None:
    silent = skilled("a", "one")
    silent.hold("skills/list")
    async with stage(silent) as s:
        with pytest.raises(UpstreamTimeout, match="'a'"):
            await ask(s, "skills/list")


async def test_an_upstream_that_is_not_there_is_missing_in_the_list() -> None:
    first = config(upstream("a"), upstream("Down", "down", problem="no"))
    async with stage(skilled("a", "one"), config_of=first) as s:
        found = await ask(s, "skills/list")
    assert (found["ttlMs"], found["cacheScope"], found["_meta"]) == (0, "private", {PARTIAL: ["down"]})


async def test_a_folder_is_not_read_where_that_was_not_declared() -> None:
    twin = skilled("a", "one")
    twin.capabilities = {"resources": {}, "extensions": {EXTENSION: {}}}
    async with stage(twin) as s:
        with pytest.raises(NotServed, match="'a'"):
            await ask(s, "resources/directory/read", uri="skill://a/one")
        assert twin.of("resources/directory/read") == []


async def test_where_nobody_has_skills_an_unknown_uri_does_not_matter() -> None:
    async with stage(Twin("plain")) as s:
        with pytest.raises(NotServed):
            await ask(s, "skills/get", uri="skill://nobody/x")
