"""What wf-mcp knows of itself, as reports (design D12)."""

import os
import time
from dataclasses import dataclass, field

import pytest
from inline_snapshot import snapshot
from tests.runtime.memory import Twin, prompt, resource, template, tool
from tests.runtime.shelf import Shelf, stored
from tests.runtime.stage import Stage, config, stage, upstream

from wf_mcp.core.config import HttpTransport, SseTransport, StdioTransport
from wf_mcp.core.errors import RelayedError
from wf_mcp.core.events import UpstreamFailed, UpstreamGone

pytestmark = pytest.mark.anyio


@dataclass
class Process:
    """A child process as a status may see it."""

    pid: int = 4711
    returncode: int | None = None
    lines: list[str] = field(default_factory=lambda: ["up"])

    def stderr_tail(self) -> list[str]:
        return self.lines


def states(s: Stage) -> list[tuple[str, str, str | None]]:
    return [(each.id, each.state, each.reason) for each in s.operator.status().upstreams]


async def test_a_status_says_everything_that_is_known() -> None:
    first = config(upstream("alpha"), notes=("a remark",))
    async with stage(Twin("alpha", tools=[tool("x")], process=Process()), config_of=first) as s:
        await s.call("alpha.x")
        s.twin("alpha").fail("tools/call", RelayedError(-1, "no"))
        with pytest.raises(RelayedError):
            await s.call("alpha.x")
        status = s.operator.status().model_dump()
    assert status.pop("process")["pid"] == os.getpid()
    for seconds in ("uptime_seconds", "lists_age_seconds"):
        assert 0 <= status["upstreams"][0]["sessions"][0].pop(seconds) < 60
    assert status == snapshot(
        {
            "version": "1",
            "lane": "wire",
            "front": "http",
            "names_style": "dotted",
            "config_file": "wf-mcp.json",
            "upstreams": [
                {
                    "id": "alpha",
                    "label": "alpha",
                    "state": "ready",
                    "reason": None,
                    "transport": "stdio",
                    "sessions": [
                        {
                            "state": "ready",
                            "reason": None,
                            "pid": 4711,
                            "era": "handshake",
                            "protocol_version": "2025-11-25",
                            "server_name": "alpha",
                            "server_version": "1.0",
                            "calls": 2,
                            "errors": 1,
                            "stderr_tail": ["up"],
                            "exit_code": None,
                            "last_failure": None,
                        }
                    ],
                }
            ],
            "clients": [],
            "plugins": [
                {"name": "namespace", "version": None, "state": "active", "reason": None},
                {"name": "links", "version": None, "state": "active", "reason": None},
            ],
            "notes": ["a remark"],
            "web_conflicts": [],
            "name_clashes": [],
        }
    )


async def test_upstreams_without_a_session_say_why() -> None:
    first = config(
        upstream("off", enabled=False), upstream("broken", problem="KEY is not set"), upstream("idle", start="lazy")
    )
    async with stage(config_of=first) as s:
        assert states(s) == [("off", "disabled", None), ("broken", "failed", "KEY is not set"), ("idle", "idle", None)]


async def test_one_that_sleeps_says_so_and_how_old_its_lists_are() -> None:
    shelf = Shelf()
    shelf.put(stored(tool("a"), at=time.time() - 60))
    async with stage(Twin("alpha"), catalogues=shelf) as s:
        await s.listed()
        assert states(s) == [("alpha", "asleep", None)]
        (session,) = s.operator.status().upstreams[0].sessions
    assert (session.state, session.server_name, session.pid, session.uptime_seconds) == ("asleep", "kept", None, None)
    assert session.lists_age_seconds is not None and 60 <= session.lists_age_seconds < 90


async def test_an_upstream_that_could_not_start_says_why() -> None:
    twin = Twin("alpha")
    twin.starts.extend(["no such command"] * 9)
    async with stage(twin, list_wait=0.5) as s:
        await s.listed()
        await s.ear.hears(UpstreamFailed)
        assert states(s) == [("alpha", "failed", "no such command")]
        (session,) = s.operator.status().upstreams[0].sessions
    assert (session.pid, session.era, session.uptime_seconds) == (None, None, None)


async def test_an_upstream_that_ended_shows_how_and_its_last_words() -> None:
    process = Process()
    async with stage(Twin("alpha", process=process)) as s:
        await s.ready()
        s.twin("alpha").slow_start()
        process.returncode, process.lines = 3, ["boom"]
        s.twin("alpha").link.lose("it crashed")
        await s.ear.hears(UpstreamGone)
        (session,) = s.operator.status().upstreams[0].sessions
    assert (session.pid, session.exit_code, session.stderr_tail) == (None, 3, ["boom"])
    assert session.uptime_seconds is None


@pytest.mark.parametrize(
    ("transport", "expected"),
    [(StdioTransport("x"), "stdio"), (HttpTransport("http://h/"), "http"), (SseTransport("http://h/"), "sse")],
)
async def test_a_status_says_how_an_upstream_is_reached(transport: object, expected: str) -> None:
    async with stage(Twin("alpha"), config_of=config(upstream("alpha", transport=transport))) as s:
        assert s.operator.status().upstreams[0].transport == expected


async def test_odd_server_info_costs_only_itself() -> None:
    async with stage(Twin("alpha", said={"serverInfo": {"name": 3}, "protocolVersion": None})) as s:
        await s.ready()
        (session,) = s.operator.status().upstreams[0].sessions
    assert (session.server_name, session.server_version, session.protocol_version) == (None, None, None)


async def test_an_inventory_has_every_name_in_every_form() -> None:
    twin = Twin(
        "alpha",
        tools=[tool("do-it", title="Do", description="Does it.")],
        prompts=[prompt("p", title=3)],
        resources=[resource("demo://r", name="r", mimeType="text/plain")],
        templates=[template("demo://{x}", name="t")],
        capabilities={"tools": {}, "prompts": {}, "resources": {}},
        said={"instructions": "be kind"},
    )
    async with stage(twin) as s:
        await s.ready()
        inventory = (await s.operator.inventory()).model_dump()
    assert inventory == snapshot(
        {
            "upstreams": [
                {
                    "id": "alpha",
                    "label": "alpha",
                    "state": "ready",
                    "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
                    "instructions": "be kind",
                    "tools": [
                        {
                            "public_name": "alpha.do-it",
                            "safe_name": "alpha_do_it",
                            "upstream_name": "do-it",
                            "title": "Do",
                            "description": "Does it.",
                        }
                    ],
                    "prompts": [
                        {
                            "public_name": "alpha.p",
                            "safe_name": "alpha_p",
                            "upstream_name": "p",
                            "title": None,
                            "description": None,
                        }
                    ],
                    "resources": [
                        {
                            "public_uri": "demo://alpha/r",
                            "upstream_uri": "demo://r",
                            "name": "r",
                            "mime_type": "text/plain",
                        }
                    ],
                    "templates": [
                        {
                            "public_uri": "demo://alpha/{x}",
                            "upstream_uri": "demo://{x}",
                            "name": "t",
                            "mime_type": None,
                        }
                    ],
                }
            ]
        }
    )


async def test_an_inventory_names_upstreams_that_never_answered() -> None:
    first = config(upstream("off", enabled=False), upstream("broken", problem="no"))
    async with stage(config_of=first) as s:
        inventory = await s.operator.inventory()
    assert [(each.id, each.state, each.tools) for each in inventory.upstreams] == [
        ("off", "disabled", []),
        ("broken", "failed", []),
    ]
