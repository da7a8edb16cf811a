"""What the runtime relies on in a link: one suite for the real one and for the in-memory twin (runtime/ports.py)."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from tests import servers
from tests.inbox import Inbox as Arrivals
from tests.inbox import JsonObject
from tests.runtime.memory import Twin, TwinConnector, TwinLink, text
from tests.runtime.stage import HELLO, upstream

from wf_mcp.core.config import ShutdownSettings, StdioTransport
from wf_mcp.core.errors import LinkLost, NotServed, RelayedError, UpstreamTimeout, UpstreamUnavailable
from wf_mcp.edge.upstream import SdkConnector
from wf_mcp.runtime.ports import Connector, Link, Sending

pytestmark = pytest.mark.anyio

ERROR = {"code": -31234, "message": "no", "data": {"why": 1}}
SPEC: JsonObject = {"name": "up", "errors": {"tool:fail": ERROR}, "results": {"tool:quick": text("quick")}}


class Hearing:
    """The runtime's side of a link."""

    def __init__(self) -> None:
        self.notes = Arrivals()

    async def asked(self, method: str, params: Mapping[str, Any] | None, withdrawn: Any = None) -> JsonObject:
        if method != "roots/list":
            raise NotServed("not here")
        return {"roots": []}

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        self.notes.add({"method": method, "params": params})


Opened = Callable[[Hearing], AbstractAsyncContextManager[Link]]


def memory() -> Connector:
    """The twin, made to behave like the raw server as far as this suite asks."""

    async def call(link: TwinLink, params: JsonObject) -> JsonObject:
        match params["name"]:
            case "quick":
                return text("quick")
            case "fail":
                raise RelayedError(**ERROR)
            case "slow":
                await anyio.sleep_forever()
            case "die":
                link.lose("it died")
                await anyio.sleep_forever()
            case "progress":
                for step in range(3):
                    progress = {"progressToken": params["_meta"]["progressToken"], "progress": step + 1, "total": 3}
                    link.say("notifications/progress", progress)
                return text("progressed")
            case "ask":
                return text(json.dumps(await _asked(link, params["arguments"]["kind"])))
        raise AssertionError(params)

    async def ping(link: TwinLink, params: JsonObject) -> JsonObject:
        return {}

    return TwinConnector(Twin("up", answers={"tools/call": call, "ping": ping}))


async def _asked(link: TwinLink, kind: str) -> JsonObject:
    try:
        return {"result": await link.ask({"roots": "roots/list", "sampling": "sampling/createMessage"}[kind])}
    except NotServed as error:
        return {"error": {"code": error.code, "message": error.message}}


def process() -> Connector:
    """The real one, over a child process."""
    return SdkConnector(lambda: ShutdownSettings(0.5, 0.5), {})


@pytest.fixture(params=["memory", "handshake", "modern"])
def opened(request: pytest.FixtureRequest) -> Opened:
    connector = memory() if request.param == "memory" else process()
    program = servers.modern_plain if request.param == "modern" else servers.plain

    @asynccontextmanager
    async def open_it(inbox: Hearing) -> AsyncIterator[Link]:
        command, *args = program("--json", json.dumps(SPEC))
        with anyio.fail_after(30):
            async with connector.open(
                upstream("up", transport=StdioTransport(command, tuple(args))), HELLO, inbox
            ) as link:
                yield link

    return open_it


async def call(link: Link, name: str, timeout: float | None = None, **params: Any) -> JsonObject:
    return await link.request("tools/call", {"name": name, "arguments": {}, **params}, Sending(timeout=timeout))


async def test_an_open_link_has_been_initialized(opened: Opened) -> None:
    async with opened(Hearing()) as link:
        version = {"handshake": HELLO.protocol_version, "modern": "2026-07-28"}[link.era]
        assert link.initialized["protocolVersion"] == version
        assert link.initialized["serverInfo"]["name"] == "up"


async def test_a_request_gets_its_result(opened: Opened) -> None:
    async with opened(Hearing()) as link:
        assert await call(link, "quick") == text("quick")
        assert await link.request("ping", None) == {}


async def test_an_upstreams_error_is_raised_as_it_is(opened: Opened) -> None:
    async with opened(Hearing()) as link:
        with pytest.raises(RelayedError) as raised:
            await call(link, "fail")
    error = raised.value
    assert {"code": error.code, "message": error.message, "data": error.data} == ERROR


async def test_a_request_may_take_no_longer_than_said_and_the_link_stays(opened: Opened) -> None:
    async with opened(Hearing()) as link:
        with pytest.raises(UpstreamTimeout):
            await call(link, "slow", timeout=0.1)
        assert await call(link, "quick") == text("quick")


async def test_requests_do_not_wait_for_each_other(opened: Opened) -> None:
    async with opened(Hearing()) as link, anyio.create_task_group() as tasks:
        tasks.start_soon(call, link, "slow")
        await anyio.wait_all_tasks_blocked()
        assert await call(link, "quick") == text("quick")
        tasks.cancel_scope.cancel()


async def test_whoever_cancels_a_request_is_asked_once_why_and_the_link_stays(opened: Opened) -> None:
    asked: list[str] = []

    async def why() -> str:
        await anyio.lowlevel.checkpoint()
        asked.append("why")
        return "changed my mind"

    async with opened(Hearing()) as link:
        async with anyio.create_task_group() as tasks:
            params = {"name": "slow", "arguments": {}}
            tasks.start_soon(partial(link.request, "tools/call", params, Sending(cancel_reason=why)))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert asked == ["why"]
        assert await link.request("tools/call", {"name": "quick"}, Sending(cancel_reason=why)) == text("quick")
        with pytest.raises(UpstreamTimeout):
            await link.request("tools/call", {"name": "slow"}, Sending(timeout=0.05, cancel_reason=why))
    assert asked == ["why"]


async def test_a_loss_takes_what_is_in_flight_with_it_and_is_told(opened: Opened) -> None:
    async with opened(Hearing()) as link:
        with pytest.raises(LinkLost) as lost:
            await call(link, "die")
        assert lost.value.started
        assert await link.closed()
        with pytest.raises(LinkLost) as again:
            await call(link, "quick")
        assert not again.value.started
        await link.notify("notifications/x", None)


async def test_notifications_are_heard_in_order_and_before_the_result(opened: Opened) -> None:
    inbox = Hearing()
    async with opened(inbox) as link:
        await call(link, "progress", _meta={"progressToken": 7})
        assert list(inbox.notes) == [
            {"method": "notifications/progress", "params": {"progressToken": 7, "progress": step, "total": 3}}
            for step in (1, 2, 3)
        ]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [("roots", {"result": {"roots": []}}), ("sampling", {"error": {"code": -32601, "message": "not here"}})],
)
async def test_a_question_is_answered_or_refused_by_the_runtime(opened: Opened, kind: str, answer: JsonObject) -> None:
    async with opened(Hearing()) as link:
        result = await call(link, "ask", arguments={"kind": kind})
        era = link.era
    said = json.loads(result["content"][0]["text"])
    if era == "modern":  # that era has no requests of servers
        assert said["error"]["code"] == -32601
    else:
        assert said == answer


async def test_a_start_that_fails_says_why() -> None:
    twin = Twin("up")
    twin.starts.append("no such command")
    broken = upstream("up", transport=StdioTransport("no-such-command"))
    for connector in (TwinConnector(twin), process()):
        with anyio.fail_after(20), pytest.raises(UpstreamUnavailable, match=r"no.such.command"):
            async with connector.open(broken, HELLO, Hearing()):
                raise AssertionError("it opened")
