"""Records every JSON-RPC message, in order and with its direction, at the client's wire and at the upstream's.

The client's wire is recorded by the client itself, as it sends and receives. The upstream's is recorded by
`fixtures/wiretap.py`, which stands between the upstream and its user, be that the client or wf-mcp. Both take their
times from the monotonic clock, which all processes of a machine share, so that what happened at the upstream can be put
to the step of the script that caused it.
"""

import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
from tests.endpoint import Endpoint
from tests.inbox import JsonObject
from tests.rawclient import HANDSHAKE, META, Era, RawClient, unwrapped
from tests.rawlinks import LOST, HttpLink, StdioLink

Side = Literal["server", "client"]
START = "start"
ODD_IDS = ("1", "", "ü→", 2**53 - 1)
"""Ids that a careless proxy mixes up with its own or with each other."""


@dataclass(frozen=True)
class Entry:
    """One message: when it passed, whom it was for, and in which step of the script."""

    t: float
    toward: Side
    message: JsonObject
    step: str = START


@dataclass
class Tape:
    """One wire of one run. `problems` are faults of the transport itself, such as a wrong id on an HTTP answer."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass
class Recording:
    """Both wires of one run; `label` is `None` for a direct one."""

    client: Tape
    upstream: Tape
    label: str | None = None


class Tap:
    """The tape of the client's wire while it runs; `step` names what is being recorded."""

    def __init__(self) -> None:
        self.tape = Tape()
        self.marks: list[tuple[float, str]] = [(0.0, START)]
        self._changed = anyio.Event()

    @property
    def step(self) -> str:
        """The step that is going on."""
        return self.marks[-1][1]

    def begin(self, step: str) -> None:
        """All that follows belongs to this step."""
        self.marks.append((time.monotonic(), step))

    def add(self, toward: Side, message: JsonObject) -> None:
        """One more message."""
        if message is not LOST:
            self.tape.entries.append(Entry(time.monotonic(), toward, message, self.step))
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    def step_at(self, t: float) -> str:
        """The step that was going on at a time."""
        return next(step for began, step in reversed(self.marks) if began <= t)

    def now(self) -> list[Entry]:
        """What was recorded in the present step."""
        return [entry for entry in self.tape.entries if entry.step == self.step]

    async def until(self, wanted: Callable[[list[Entry]], bool], seconds: float) -> bool:
        """Waits until the present step's entries are as wanted; false if they are not in time."""
        with anyio.move_on_after(seconds):
            while not wanted(self.now()):
                await self._changed.wait()
        return wanted(self.now())


Answer = Callable[["TapClient", JsonObject], Awaitable[JsonObject | None]]
"""What the scripted client says to a question: `{"result": …}`, `{"error": …}`, or nothing at all."""


class TapClient(RawClient):
    """A raw client that records, whose ids are odd, and which answers as its script says."""

    def __init__(self, hello: JsonObject, answer: Answer, era: Era = "handshake") -> None:
        super().__init__(era, hello["capabilities"], "tap")
        self.tap = Tap()
        self._hello, self._answer = hello, answer
        self._ids = itertools.chain(ODD_IDS, itertools.count(10))

    def take(self, message: JsonObject) -> None:
        self.tap.add("client", message)
        super().take(message)

    async def greet(self) -> None:
        if self.era == "modern":
            self.hello = await self.request("server/discover", {})
            return
        self.hello = await self.request("initialize", {"protocolVersion": HANDSHAKE, **self._hello})
        await self.notify("notifications/initialized")

    def _stamped(self, params: JsonObject | None) -> JsonObject | None:
        """In the modern era the script's own client info says who asks."""
        stamped = super()._stamped(params)
        if self.era == "modern" and stamped is not None:
            stamped["_meta"][f"{META}/clientInfo"] = self._hello["clientInfo"]
        return stamped

    async def said(self, question: JsonObject) -> JsonObject:
        """The script's result for a question of a modern result."""
        body = await self._answer(self, question)
        assert body is not None and "result" in body, question
        result: JsonObject = body["result"]
        return result

    def soon(self, method: str, params: JsonObject) -> None:
        """A notification, without waiting until it is sent."""
        assert self._tasks is not None
        self._tasks.start_soon(self.notify, method, params)

    async def _reply(self, message: JsonObject) -> None:
        body = await self._answer(self, message)
        if body is not None:
            await self.link.send({"jsonrpc": "2.0", "id": message["id"], **body}, self._headers("", None))


class TapStdio(StdioLink):
    """Records what is sent."""

    tap: Tap

    async def send(self, message: JsonObject, headers: dict[str, str]) -> None:
        self.tap.add("server", message)
        await super().send(message, headers)

    def _line(self, line: bytes) -> None:
        before = len(self.garbage)
        super()._line(line)
        self.tap.tape.problems += [f"not JSON: {text!r}" for text in self.garbage[before:]]


class TapHttp(HttpLink):
    """Records what is sent, and answers whose id is not that of their request."""

    tap: Tap

    async def send(self, message: JsonObject, headers: dict[str, str]) -> None:
        self.tap.add("server", message)
        await super().send(message, headers)

    def _answer(self, data: bytes, message: JsonObject, response: httpx2.Response) -> JsonObject:
        try:
            found = json.loads(data).get("id")
        except (ValueError, AttributeError):
            found = None
        if (type(found), found) != (type(message.get("id")), message.get("id")):
            self.tap.tape.problems.append(f"{message.get('method')}: id {message.get('id')!r} answered as {found!r}")
        return super()._answer(data, message, response)


@asynccontextmanager
async def tapped(
    endpoint: Endpoint, hello: JsonObject, answer: Answer, era: Era = "handshake"
) -> AsyncIterator[TapClient]:
    """A recording client of an endpoint, over stdio or HTTP as that has it; initialized, with an open GET stream."""
    client = TapClient(hello, answer, era)
    with unwrapped():
        async with client.running(), _link(endpoint, client) as link:
            link.tap = client.tap
            client.link = link
            await client.greet()
            if isinstance(link, TapHttp) and era == "handshake":
                await link.listen(client.hello["protocolVersion"])
            yield client


def _link(endpoint: Endpoint, client: TapClient) -> Any:
    if endpoint.url is not None:
        return TapHttp.open(endpoint.url, client.take, endpoint.headers)
    return TapStdio.open(
        endpoint.argv,
        client.take,
        env=endpoint.env,
        cwd=endpoint.cwd,
        log=endpoint.log,
        patience=endpoint.patience,
    )


def wire_of(path: Path, tap: Tap) -> dict[str | None, Tape]:
    """What a wiretap recorded so far, by session, each message in the step in which it passed."""
    tapes: dict[str | None, Tape] = {}
    for item in _lines(path):
        tape = tapes.setdefault(item["session"], Tape())
        if "garbage" in item:
            tape.problems.append(f"not JSON: {item['garbage']}")
        else:
            tape.entries.append(Entry(item["t"], item["toward"], item["message"], tap.step_at(item["t"])))
    return tapes


def _lines(path: Path) -> Iterator[JsonObject]:
    if path.exists():
        # A line that is still being written is not one yet.
        whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
        yield from (json.loads(line) for line in whole.split("\n") if line)
