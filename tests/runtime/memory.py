"""In-memory twins of the runtime's ports: upstreams that follow a script, and clients that remember what they hear."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from tests.inbox import Inbox as Arrivals

from wf_mcp.core.config import Upstream
from wf_mcp.core.envelope import Envelope, Era
from wf_mcp.core.errors import (
    METHOD_NOT_FOUND,
    LinkLost,
    RelayedError,
    UpstreamTimeout,
    UpstreamUnavailable,
    WfMcpError,
)
from wf_mcp.core.kinds import KIND_OF_LIST
from wf_mcp.core.wire import JsonObject
from wf_mcp.runtime.ports import PLAIN, Hello, Inbox, ProcessView, Sending

CAPABILITIES: JsonObject = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}, "completions": {}}

Answer = Callable[["TwinLink", JsonObject], Awaitable[JsonObject]]


@dataclass(frozen=True)
class Request:
    """What reached an upstream."""

    method: str
    params: JsonObject
    timeout: float | None
    headers: Mapping[str, str]
    envelope: Envelope | None = None


@dataclass
class Twin:
    """One scripted upstream: what it lists, and how it answers; `answers` by method replace the usual ones.

    `starts` says of each start, in order, why it fails; once it is used up, starts work.
    """

    id: str
    tools: list[JsonObject] = field(default_factory=list)
    prompts: list[JsonObject] = field(default_factory=list)
    resources: list[JsonObject] = field(default_factory=list)
    templates: list[JsonObject] = field(default_factory=list)
    capabilities: JsonObject = field(default_factory=lambda: dict(CAPABILITIES))
    said: JsonObject = field(default_factory=dict)
    page_size: int | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    starts: deque[str] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    links: list["TwinLink"] = field(default_factory=list)
    cancelled: list[tuple[str, str | None]] = field(default_factory=list)
    process: ProcessView | None = None
    era: Era = "handshake"

    def __post_init__(self) -> None:
        self.may_start = anyio.Event()
        self.may_start.set()
        self.arrivals = Arrivals()

    @property
    def link(self) -> "TwinLink":
        """The connection that was opened last."""
        return self.links[-1]

    def of(self, method: str) -> list[Request]:
        """The requests of one method."""
        return [request for request in self.requests if request.method == method]

    async def asked(self, method: str, times: int = 1) -> Request:
        """Wait until it was asked `method` that often."""
        await self.arrivals.wait_for(lambda _: len(self.of(method)) >= times)
        return self.of(method)[times - 1]

    def slow_start(self) -> anyio.Event:
        """Let the next starts wait for the returned event."""
        self.may_start = anyio.Event()
        return self.may_start

    def hold(self, method: str) -> anyio.Event:
        """Let every answer to `method` wait for the returned event."""
        gate = anyio.Event()
        usual = self.answers.get(method, answer_as_usual(method))

        async def wait(link: "TwinLink", params: JsonObject) -> JsonObject:
            await gate.wait()
            return await usual(link, params)

        self.answers[method] = wait
        return gate

    def fail(self, method: str, error: WfMcpError) -> None:
        """Answer `method` with an error from now on."""

        async def refuse(link: "TwinLink", params: JsonObject) -> JsonObject:
            raise error

        self.answers[method] = refuse

    def give(self, method: str, result: JsonObject) -> None:
        """Answer `method` with `result` from now on."""

        async def answer(link: "TwinLink", params: JsonObject) -> JsonObject:
            return result

        self.answers[method] = answer

    def change(self, kind: str, items: list[JsonObject]) -> None:
        """List other tools, prompts or resources from now on, and say so."""
        setattr(self, kind, items)
        self.link.say(f"notifications/{kind}/list_changed")


class TwinLink:
    """One connection to a `Twin`."""

    def __init__(self, twin: Twin, upstream: Upstream, hello: Hello, inbox: Inbox) -> None:
        self.twin, self.upstream, self.hello, self.inbox = twin, upstream, hello, inbox
        self.notes: list[tuple[str, JsonObject | None]] = []
        self.followed: list[str] = []
        self._gone = anyio.Event()
        self._why = "it left"

    @property
    def era(self) -> Era:
        return self.twin.era

    @property
    def initialized(self) -> JsonObject:
        info = {"name": self.twin.id, "version": "1.0"}
        answer = {"protocolVersion": self.hello.protocol_version, "capabilities": self.twin.capabilities}
        return {**answer, "serverInfo": info, **self.twin.said}

    @property
    def process(self) -> ProcessView | None:
        return self.twin.process

    async def request(self, method: str, params: JsonObject | None, sending: Sending = PLAIN) -> JsonObject:
        timeout, cancel_reason = sending.timeout, sending.cancel_reason
        if self._gone.is_set():
            raise LinkLost(self._why, started=False)
        self.twin.requests.append(Request(method, dict(params or {}), timeout, dict(sending.headers), sending.envelope))
        self.twin.arrivals.add({"method": method})
        outcome: list[JsonObject | WfMcpError] = []
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, tasks.cancel_scope)
                with anyio.move_on_after(timeout):
                    outcome.append(await self._answer(method, dict(params or {})))
                tasks.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                reason = await cancel_reason() if cancel_reason is not None else None
            self.twin.cancelled.append((method, reason))
            raise
        if self._gone.is_set() and not outcome:
            raise LinkLost(self._why, started=True)
        if not outcome:
            raise UpstreamTimeout(f"{method} took too long")
        if isinstance(outcome[0], WfMcpError):
            raise outcome[0]
        return outcome[0]

    async def _answer(self, method: str, params: JsonObject) -> JsonObject | WfMcpError:
        try:
            return await self.twin.answers.get(method, answer_as_usual(method))(self, params)
        except WfMcpError as error:
            return error

    async def _watch(self, scope: anyio.CancelScope) -> None:
        await self._gone.wait()
        scope.cancel()

    async def notify(self, method: str, params: JsonObject | None) -> None:
        self.notes.append((method, params))

    def follow(self, task_id: str) -> None:
        self.followed.append(task_id)

    def unfollow(self, task_id: str) -> None:
        self.followed.remove(task_id)

    async def closed(self) -> str:
        await self._gone.wait()
        return self._why

    def lose(self, why: str = "it left") -> None:
        """Go away: what is being answered never will be."""
        self._why = why
        self._gone.set()

    def say(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification."""
        self.inbox.heard(method, params)

    async def ask(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """Send a request."""
        return await self.inbox.asked(method, params)


class TwinConnector:
    """Opens links to twins by connection id."""

    def __init__(self, *twins: Twin) -> None:
        self.twins = {twin.id: twin for twin in twins}

    @asynccontextmanager
    async def open(self, upstream: Upstream, hello: Hello, inbox: Inbox) -> AsyncIterator[TwinLink]:
        twin = self.twins[upstream.id]
        await twin.may_start.wait()
        if twin.starts:
            raise UpstreamUnavailable(twin.starts.popleft())
        link = TwinLink(twin, upstream, hello, inbox)
        twin.links.append(link)
        twin.arrivals.add({"method": "start"})
        try:
            yield link
        finally:
            link.lose("it was closed")


class TwinClient:
    """A client: answers what `answers` has, and keeps what it is told in `heard`.

    While `patience` is an event that is not set, what it is told does not get through.
    """

    def __init__(self, client: str = "client", **answers: JsonObject | WfMcpError) -> None:
        self.client = client
        self.answers = answers
        self.questions: list[tuple[str, JsonObject]] = []
        self.heard: list[tuple[str, JsonObject]] = []
        self.arrivals = Arrivals()
        self.patience = anyio.Event()
        self.patience.set()
        self.reason: str | None = None

    async def cancel_reason(self) -> str | None:
        return self.reason

    async def ask(self, method: str, params: JsonObject, withdrawn: Any = None) -> JsonObject:
        self.questions.append((method, params))
        answer = self.answers.get(method.replace("/", "_"), {"asked": self.client})
        if isinstance(answer, WfMcpError):
            raise answer
        return answer

    async def tell(self, method: str, params: JsonObject) -> None:
        await self.patience.wait()
        await anyio.lowlevel.checkpoint()
        self.heard.append((method, params))
        self.arrivals.add({"method": method})

    async def hears(self, method: str, seconds: float = 5) -> None:
        """Wait until it was told `method`."""
        await self.arrivals.wait_for(method, seconds)


def answer_as_usual(method: str) -> Answer:
    """How a twin answers without a script: lists by page, everything else with a trace of what was asked."""

    async def answer(link: TwinLink, params: JsonObject) -> JsonObject:
        kind = KIND_OF_LIST.get(method)
        if kind is not None:
            return _page(getattr(link.twin, kind.name), kind.key, link.twin.page_size, params.get("cursor"))
        make = _USUAL.get(method)
        if make is None:
            raise RelayedError(METHOD_NOT_FOUND, "Method not found")
        return make(link.twin.id, params)

    return answer


def _page(items: list[JsonObject], key: str, size: int | None, cursor: str | None) -> JsonObject:
    start = int(cursor or 0)
    end = start + (size or len(items) or 1)
    page: JsonObject = {key: items[start:end]}
    return {**page, "nextCursor": str(end)} if end < len(items) else page


def text(said: str) -> JsonObject:
    """A tool result of one text block."""
    return {"content": [{"type": "text", "text": said}]}


_USUAL: dict[str, Callable[[str, JsonObject], JsonObject]] = {
    "tools/call": lambda name, params: text(f"{name} ran {params['name']}"),
    "prompts/get": lambda name, params: {"messages": [], "description": f"{name} said {params['name']}"},
    "resources/read": lambda name, params: {"contents": [{"uri": params["uri"], "text": f"{name} read it"}]},
    "completion/complete": lambda name, params: {"completion": {"values": [name]}, "ref": params["ref"]},
}


def tool(name: str, **fields: Any) -> JsonObject:
    """One entry of `tools/list`."""
    return {"name": name, "inputSchema": {"type": "object"}, **fields}


def resource(uri: str, **fields: Any) -> JsonObject:
    """One entry of `resources/list`."""
    return {"uri": uri, "name": uri, **fields}


def template(uri: str, **fields: Any) -> JsonObject:
    """One entry of `resources/templates/list`."""
    return {"uriTemplate": uri, "name": uri, **fields}


def prompt(name: str, **fields: Any) -> JsonObject:
    """One entry of `prompts/list`."""
    return {"name": name, **fields}
