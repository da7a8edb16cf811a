"""Reported faults of other proxies: what leaks, and what a variable does that comes or goes (tests/field_cases.py)."""

import json
import os
import signal

import pytest
from tests.covers import covers
from tests.procs import gone
from tests.rawclient import RawClient, RawError
from tests.rig import Rig

pytestmark = pytest.mark.anyio
SECRETS = {name: f"canary-{name}-0123456789abcdef" for name in ("HEADER", "ENV", "ARG", "QUERY", "USERINFO")}


@covers("field.debug-log", "With everything logged, no configured secret and no header of a client is in the log")
async def test_a_log_of_everything_has_no_secret(rig: Rig) -> None:
    rig.env |= SECRETS
    rig.upstream("alpha", env={"KEY": "${ENV}"})
    rig.entries["alpha"]["args"] = [*rig.entries["alpha"]["args"], "--name", "${ARG}"]
    rig.http_upstream("beta", headers={"Authorization": "Bearer ${HEADER}"})
    rig.entries["beta"]["url"] += "?key=${QUERY}"
    rig.entries["closed"] = {"url": "http://me:${USERINFO}@127.0.0.1:9/mcp"}
    rig.with_token()
    cookie = "session=canary-cookie-0123456789abcdef"
    async with rig.serve("http", "-vv").raw(headers={"cookie": cookie}) as raw:
        await raw.names()
        for name in ("alpha.env", "beta.who", "alpha.nothing", "closed.x"):
            try:
                await raw.call(name)
            except RawError as error:
                assert "canary" not in str(error)
        for name in ("status", "inventory", "events", "reload_config"):
            assert "canary" not in json.dumps(await raw.call(f"wf.admin.{name}"))
    log = rig.log("http")
    assert "DEBUG" in log
    values = (*SECRETS.values(), cookie, str(rig.token))
    assert [value for value in values if value in log] == []


@covers("field.variables", "A reference that a reload adds keeps its upstream from starting; without it, it starts")
async def test_a_variable_that_is_missing_for_a_while(rig: Rig) -> None:
    rig.upstream("alpha")
    rig.upstream("beta")
    async with rig.serve().raw() as raw:
        assert (await raw.json("beta.who"))["name"] == "beta"
        rig.entries["beta"]["env"] = {"KEY": "before ${NOPE} after"}
        report = await reload(rig, raw)
        assert "NOPE" in str(report) and "before" not in str(report)
        assert (await raw.json("alpha.who"))["name"] == "alpha"
        refused = await raw.call("beta.who")
        assert refused["isError"] and "NOPE" in str(refused) and "before" not in str(refused)
        del rig.entries["beta"]["env"]
        await reload(rig, raw)
        assert (await raw.json("beta.who"))["name"] == "beta"
    assert len(rig["alpha"].pids) == 1


@covers("field.environment", "After a restart and a reload, too, a child's environment has no variable but its own")
async def test_the_environment_after_a_restart_and_a_reload(rig: Rig) -> None:
    rig.env |= {"CANARY_SECRET": "canary-1"}
    rig.upstream("alpha", env={"A": "1"})
    async with rig.serve().raw() as raw:
        pid = (await raw.json("alpha.who"))["pid"]
        os.kill(pid, signal.SIGKILL)
        await gone(pid)
        assert "CANARY_SECRET" not in await raw.json("alpha.env")
        rig.entries["alpha"]["env"] = {"A": "2"}
        await reload(rig, raw)
        env = await raw.json("alpha.env")
        assert env["A"] == "2" and "CANARY_SECRET" not in env
        rig.entries["alpha"]["env"] = {"B": "${CANARY_SECRET}"}
        await reload(rig, raw)
        env = await raw.json("alpha.env")
        assert env["B"] == "canary-1" and not {"A", "CANARY_SECRET"} & env.keys()


async def reload(rig: Rig, raw: RawClient) -> object:
    rig.write()
    return (await raw.call("wf.admin.reload_config"))["structuredContent"]
