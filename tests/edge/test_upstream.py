"""A link to an upstream: the handshake, requests both ways, and every way to lose it (design D2, D5)."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests import servers
from tests.edge.http_script import Answer, polite, result, scripted
from tests.inbox import Inbox as Arrivals
from tests.inbox import JsonObject, eventually
from tests.rig import free_port
from tests.runtime.memory import text
from tests.runtime.stage import HELLO, upstream

from wf_mcp.core.config import HttpTransport, ShutdownSettings, StdioTransport, Transport
from wf_mcp.core.errors import LinkLost, NotServed, RelayedError, UpstreamTimeout, UpstreamUnavailable, WfMcpError
from wf_mcp.edge.upstream import SdkConnector
from wf_mcp.runtime.ports import Link, Sending

pytestmark = pytest.mark.anyio

CLIENT: JsonObject = {"roots": [{"uri": "file:///r"}], "x-future": None}


class Hearing:
    """The runtime's side: answers questions and keeps what it hears."""

    def __init__(self, answer: JsonObject | WfMcpError | None = None) -> None:
        self.answer = CLIENT if answer is None else answer
        self.questions: list[tuple[str, Any]] = []
        self.notes = Arrivals()

    async def asked(self, method: str, params: Mapping[str, Any] | None, withdrawn: Any = None) -> JsonObject:
        self.questions.append((method, params))
        if isinstance(self.answer, WfMcpError):
            raise self.answer
        return self.answer

    def heard(self, method: str, params: Mapping[str, Any] | None) -> None:
        self.notes.add({"method": method, "params": params})


def plain(spec: JsonObject | None = None, *flags: str) -> StdioTransport:
    command, *args = servers.plain("--json", json.dumps(spec or {}), *flags)
    return StdioTransport(command, tuple(args))


@asynccontextmanager
async def linked(transport: Transport, inbox: Hearing | None = None, **settings: Any) -> AsyncIterator[Link]:
    connector = SdkConnector(lambda: ShutdownSettings(0.5, 0.5), {})
    with anyio.fail_after(30):
        async with connector.open(upstream("up", transport=transport, **settings), HELLO, inbox or Hearing()) as link:
            yield link


async def refused(transport: Transport, **settings: Any) -> str:
    """Why a link could not be opened."""
    reasons = []
    try:
        async with linked(transport, **settings):
            raise AssertionError("it opened")
    except* UpstreamUnavailable as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        reasons.append(str(error))
    return reasons[0]


async def call(link: Link, name: str, arguments: JsonObject | None = None, **options: Any) -> JsonObject:
    return await link.request("tools/call", {"name": name, "arguments": arguments or {}}, Sending(**options))


async def test_the_answer_to_initialize_is_kept_whole(tmp_path: Any) -> None:
    info = {"name": "s", "version": "1", "x-future": None}
    record = tmp_path / "record"
    spec = {"serverInfo": info, "capabilities": {"tools": {}, "x": {"y": None}}, "instructions": "be kind"}
    async with linked(plain(spec, "--record", str(record))) as link:
        assert link.initialized == {"protocolVersion": "2025-11-25", **spec}
        assert link.process is not None and link.process.pid > 0
        await link.request("ping", None)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    said = [line for line in lines if line["event"] in ("request", "notification")]
    assert [each["method"] for each in said] == ["initialize", "notifications/initialized", "ping"]
    assert said[0]["params"] == {
        "protocolVersion": HELLO.protocol_version,
        "capabilities": HELLO.capabilities,
        "clientInfo": HELLO.client_info,
    }


async def test_requests_and_results_pass_as_they_are() -> None:
    odd = {"content": [{"type": "x-new", "a": None}], "isError": None, "_meta": {"b": {}}}
    params = {"name": "echo", "arguments": {"n": 1.0, "big": 2**60, "none": None}, "x-future": [None]}
    async with linked(plain({"results": {"tool:odd": odd}})) as link:
        assert await call(link, "odd") == odd
        assert json.loads((await link.request("tools/call", params))["content"][0]["text"]) == params


async def test_an_error_of_the_upstream_passes_as_it_is() -> None:
    error = {"code": -31234, "message": "no", "data": {"why": [None]}}
    async with linked(plain({"errors": {"tool:x": error}})) as link:
        with pytest.raises(RelayedError) as raised:
            await call(link, "x")
    assert {"code": raised.value.code, "message": raised.value.message, "data": raised.value.data} == error


async def test_what_an_upstream_asks_is_answered_whole_or_refused() -> None:
    inbox = Hearing()
    async with linked(plain(), inbox) as link:
        answer = json.loads((await call(link, "ask", {"kind": "roots"}))["content"][0]["text"])
        assert answer == {"result": CLIENT}
        inbox.answer = NotServed("nobody here", {"x": 1})
        answer = json.loads((await call(link, "ask", {"kind": "sampling"}))["content"][0]["text"])
        assert answer == {"error": {"code": -32601, "message": "nobody here", "data": {"x": 1}}}
    assert [method for method, _ in inbox.questions] == ["roots/list", "sampling/createMessage"]


async def test_notifications_are_heard_in_order_and_before_the_result() -> None:
    inbox = Hearing()
    async with linked(plain(), inbox) as link:
        params = {"name": "progress", "arguments": {"steps": 50}, "_meta": {"progressToken": 7}}
        await link.request("tools/call", params)
        heard = list(inbox.notes)
    assert [note["params"]["progress"] for note in heard] == list(range(1, 51))
    assert {note["params"]["progressToken"] for note in heard} == {7}


async def test_what_takes_too_long_is_cancelled_there_and_said(tmp_path: Any) -> None:
    record = tmp_path / "record"
    async with linked(plain({}, "--record", str(record))) as link:
        with pytest.raises(UpstreamTimeout, match=r"'up' did not answer tools/call of 'slow' within 0\.2 s"):
            await call(link, "slow", {"seconds": 60}, timeout=0.2)
        assert (await call(link, "who"))["content"]
    (slow,) = [each for each in requests(record) if each["params"].get("name") == "slow"]
    (said,) = [each["params"] for each in requests(record, "notification") if "cancelled" in each["method"]]
    assert said == {"requestId": slow["id"], "reason": "no answer within 0.2 s"}


def requests(record: Path, event: str = "request") -> list[JsonObject]:
    """What an upstream saw, in order."""
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


async def why() -> str | None:
    return "changed my mind"


async def nothing() -> str | None:
    return None


@pytest.mark.parametrize(
    ("reason", "said"),
    [(why, {"reason": "changed my mind"}), (nothing, {}), (None, {})],
    ids=["a reason", "no reason", "nobody to ask"],
)
async def test_a_cancelled_request_is_cancelled_there_under_its_own_id_with_the_reason(
    tmp_path: Path, reason: Any, said: JsonObject
) -> None:
    record = tmp_path / "record"
    async with linked(plain({}, "--record", str(record))) as link:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(call, link, "slow", {"seconds": 60}, cancel_reason=reason))
            tasks.start_soon(partial(call, link, "slow", {"seconds": 60, "tag": "other"}))
            await eventually(lambda: len([e for e in requests(record, "slow")]) == 2)
            tasks.cancel_scope.cancel()
        assert (await call(link, "who"))["content"]  # the link goes on
        await eventually(lambda: len(requests(record, "dropped")) == 2)
    slow = {each["id"]: each["params"]["arguments"] for each in requests(record) if "slow" in str(each["params"])}
    cancels = {each["params"].pop("requestId"): each["params"] for each in requests(record, "notification")[1:]}
    assert cancels.keys() == slow.keys()
    assert [cancels[each] for each, arguments in slow.items() if "tag" not in arguments] == [said]
    assert [cancels[each] for each, arguments in slow.items() if "tag" in arguments] == [{}]


async def test_no_two_requests_on_one_link_have_the_same_id(tmp_path: Path) -> None:
    """2025-11-25 basic/index § Requests: an id must not have been used before within the same session."""
    record = tmp_path / "record"
    async with linked(plain({}, "--record", str(record))) as link:
        for _ in range(3):
            await link.request("ping", None)
    ids = [each["id"] for each in requests(record)]
    assert len(ids) == len(set(ids)) == 4


async def test_a_process_that_dies_takes_its_call_with_it_and_says_how() -> None:
    async with linked(plain()) as link:
        with pytest.raises(LinkLost, match="its process ended with exit code 5") as lost:
            await call(link, "die", {"code": 5})
        assert lost.value.started
        assert await link.closed() == "its process ended with exit code 5"
        with pytest.raises(LinkLost) as again:
            await call(link, "who")
        assert not again.value.started
        await link.notify("notifications/x", None)


async def test_a_process_that_ends_at_once_says_how_and_its_last_words() -> None:
    reason = await refused(plain({}, "--exit-at-once", "4"))
    assert reason.startswith(
        "it went away before it answered initialize: its process ended with exit code 4; stderr: boom"
    )


async def test_a_process_that_does_not_answer_is_given_up_in_time() -> None:
    reason = await refused(plain({}, "--silent"), init_timeout=0.5)
    assert reason == "it did not answer initialize within 0.5 s (setting wf.init_timeout)"


async def test_a_refused_handshake_says_why() -> None:
    reason = await refused(plain({"errors": {"initialize": {"code": -32000, "message": "no key"}}}))
    assert reason == "it answered initialize with error -32000: no key"


@pytest.mark.parametrize("version", ["1999-01-01", None, 3], ids=repr)
async def test_a_version_that_we_do_not_speak_is_refused(version: object) -> None:
    def answer(message: JsonObject) -> Answer:
        return (
            result(message, protocolVersion=version, capabilities={}, serverInfo={})
            if "id" in message
            else (202, None, {})
        )

    with scripted(answer) as script:
        reason = await refused(HttpTransport(script.url))
    assert reason == f"it answered initialize with the protocol version {version!r}, which wf-mcp does not speak"


async def test_over_http_configured_and_forwarded_headers_and_the_version_are_sent() -> None:
    with scripted() as script:
        async with linked(HttpTransport(script.url, {"x-key": "k"})) as link:
            assert await link.request("x/echo", {"a": None}, Sending(headers={"authorization": "Bearer t"})) == {
                "echoed": {"a": None}
            }
            sent = script.headers_of("x/echo")
    assert (sent["x-key"], sent["authorization"]) == ("k", "Bearer t")
    assert (sent["mcp-protocol-version"], sent["mcp-session-id"]) == ("2025-11-25", "session-1")
    assert [headers["mcp-session-id"] for headers in script.deletes] == ["session-1"]
    assert link.process is None


async def test_over_http_a_session_that_was_forgotten_is_lost_and_the_call_may_be_sent_again() -> None:
    with scripted() as script:
        async with linked(HttpTransport(script.url)) as link:
            script.answer = lambda message: (404, None, {})
            with pytest.raises(LinkLost, match="no longer knows our session") as lost:
                await link.request("x/echo", {})
            assert not lost.value.started
            assert await link.closed() == "it no longer knows our session"


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, ": check the headers configured for it"), (403, ": check the headers configured for it"), (500, "")],
)
async def test_over_http_a_refusal_names_status_and_address(status: int, hint: str) -> None:
    with scripted(lambda message: (status, None, {})) as script:
        reason = await refused(HttpTransport(f"{script.url}?key=s3cr3t"))
        assert f"HTTP {status} from {script.url}{hint}" in reason
        script.answer = polite
        async with linked(HttpTransport(script.url)) as link:
            script.answer = lambda message: (status, None, {})
            with pytest.raises(RelayedError, match=f"HTTP {status} from {script.url}"):
                await link.request("x/echo", {})
    assert "s3cr3t" not in reason


async def test_over_http_an_endpoint_that_cannot_be_reached_is_named() -> None:
    port = free_port()
    reason = await refused(HttpTransport(f"http://127.0.0.1:{port}/mcp?key=s3cr3t"), init_timeout=10.0)
    assert f"127.0.0.1:{port}/mcp cannot be reached" in reason
    assert "s3cr3t" not in reason


async def test_leaving_ends_the_process() -> None:
    async with linked(plain()) as link:
        process = link.process
        assert process is not None and process.returncode is None
    assert process.returncode == 0


async def test_calls_do_not_wait_for_each_other() -> None:
    async with linked(plain({"results": {"tool:quick": text("quick")}})) as link, anyio.create_task_group() as tasks:
        tasks.start_soon(call, link, "slow", {"seconds": 60})
        await anyio.wait_all_tasks_blocked()
        assert await call(link, "quick") == text("quick")
        tasks.cancel_scope.cancel()
