"""The clients of the chaos suite: each calls all the time, and checks whatever comes back."""

import itertools
import json
import math
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import anyio
from tests.chaos.cast import Cast
from tests.chaos.ledger import Entry, Ledger
from tests.chaos.upstreams import ChaosUpstream
from tests.endpoint import Endpoint
from tests.inbox import Inbox, JsonObject
from tests.rawclient import Era, RawClient, RawError
from tests.rawlinks import HttpLink, StdioLink

Phase = Literal["warm-up", "quiet", "chaos", "calm again", "soak", "over"]
LOST = 45.0
"""Seconds after which a call without an end counts as lost; every limit that is configured is shorter."""
AT_ONCE = 8
"""Calls of one client that may be in flight."""


@dataclass
class Stage:
    """What all the clients of one run share."""

    cast: Cast
    ledger: Ledger
    seed: str
    pause: float
    """Seconds between two calls of one client, on average."""
    phase: Phase = "warm-up"

    @property
    def over(self) -> bool:
        """Whether the clients go home."""
        return self.phase == "over"

    @property
    def restless(self) -> bool:
        """Whether clients come and go."""
        return self.phase in ("chaos", "soak")

    def target(self, rng: random.Random) -> ChaosUpstream:
        """Whom to call next: outside the chaos only those that nobody touches."""
        share = rng.random() if self.phase == "chaos" else 0.0
        role: Any = "steady" if share < 0.6 else "victim" if share < 0.8 else "bad"
        return rng.choice(self.cast.of_role(role))


class Notes(Inbox):
    """Checks what a client hears, and keeps nothing."""

    def __init__(self, ledger: Ledger, client: str) -> None:
        super().__init__()
        self._ledger, self._client = ledger, client

    def add(self, item: JsonObject) -> None:
        if item.get("method") == "notifications/progress":
            self._ledger.heard(self._client, item["params"])


REQUEST: ContextVar[int] = ContextVar("the id of the request that this task has made")


def noted_ids() -> Iterator[int]:
    """Ids from 1 on, each known to the task that takes it."""
    for number in itertools.count(1):
        REQUEST.set(number)
        yield number


class ChaosClient(RawClient):
    """Knows which ids are still open: an answer to any other is one too many."""

    def __init__(self, era: Era, name: str, ledger: Ledger) -> None:
        super().__init__(era, {}, name)
        self.ids = noted_ids()
        self.notes = Notes(ledger, name)
        self._ledger = ledger

    def take(self, message: JsonObject) -> None:
        if "method" not in message and "lost" not in message and message.get("id") not in self._replies:
            self._ledger.fault(f"doubled: {self.name} got an answer to {message.get('id')!r}, which was answered")
        super().take(message)

    async def give_up(self) -> None:
        """Cancels the request that this task has made, if it is still open."""
        with suppress(KeyError):
            await self.cancel(REQUEST.get(), "given up")


@asynccontextmanager
async def connected(endpoint: Endpoint, era: Era, name: str, ledger: Ledger) -> AsyncIterator[ChaosClient]:
    """One client, greeted; leaving drops its connections."""
    client = ChaosClient(era, name, ledger)
    if endpoint.url is not None:
        link: Any = HttpLink.open(endpoint.url, client.take, endpoint.headers)
    else:
        options: Any = {"env": endpoint.env, "cwd": endpoint.cwd, "log": endpoint.log, "patience": endpoint.patience}
        link = StdioLink.open(endpoint.argv, client.take, **options)
    async with client.running(), link as client.link:
        await client.greet()
        if era == "handshake" and endpoint.url is not None:
            await client.link.listen(client.hello["protocolVersion"])
        yield client


class Guest:
    """One seat in the audience: a client that calls, leaves, and comes back as another one."""

    def __init__(self, stage: Stage, endpoint: Endpoint, era: Era, number: int) -> None:
        self._stage, self._ledger, self._endpoint, self._era = stage, stage.ledger, endpoint, era
        self._number, self._visits = number, 0
        self._rng = random.Random(f"{stage.seed}:{number}")

    async def live(self) -> None:
        """Visits until the run is over."""
        while not self._stage.over:
            self._visits += 1
            name = f"guest-{self._number}-{self._visits}"
            try:
                async with connected(self._endpoint, self._era, name, self._ledger) as client:
                    self._ledger.counts["visits"] += 1
                    await self.visit(client)
                    if self._era == "handshake" and self._rng.random() < 0.5:
                        await client.link.delete()
            except (RawError, TimeoutError) as error:
                self._ledger.fault(f"{name} could not be served: {type(error).__name__}: {error}")
                return

    async def visit(self, client: ChaosClient) -> None:
        """Calls until it is time to go; every other time without waiting for what is in flight."""
        limiter = anyio.CapacityLimiter(AT_ONCE)
        async with anyio.create_task_group() as tasks:
            while not self._stage.over:
                await anyio.sleep(-math.log(1 - self._rng.random()) * self._stage.pause)
                await limiter.acquire_on_behalf_of(token := object())
                tasks.start_soon(self._act, client, limiter, token)
                if self._stage.restless and self._rng.random() < 0.01:
                    break
            if not self._stage.over and self._rng.random() < 0.5:
                self._ledger.counts["left in the middle"] += 1
                tasks.cancel_scope.cancel()

    async def _act(self, client: ChaosClient, limiter: anyio.CapacityLimiter, token: object) -> None:
        try:
            share = self._rng.random()
            if share < 0.03:
                await self._list(client)
            elif share < 0.06:
                await self._read(client)
            else:
                await self._call(client)
        finally:
            limiter.release_on_behalf_of(token)

    async def _list(self, client: ChaosClient) -> None:
        """A list: once everybody is there, every upstream that nobody touches is in it."""
        warming_up = self._stage.phase == "warm-up"
        try:
            names = set(await client.names())
        except (RawError, TimeoutError) as error:
            self._ledger.fault(f"a list failed: {type(error).__name__}: {error}")
            return
        self._ledger.counts["lists"] += 1
        steady = {f"{upstream.name}.echo" for upstream in self._stage.cast.of_role("steady")}
        if (missing := steady - names) and not warming_up:
            self._ledger.fault(f"a list lacks {sorted(missing)}")

    async def _read(self, client: ChaosClient) -> None:
        """A resource of an upstream that nobody touches."""
        upstream = self._rng.choice(self._stage.cast.of_role("steady"))
        uri = f"note://{upstream.name}/all"
        try:
            result = await client.read(uri)
        except (RawError, TimeoutError) as error:
            self._ledger.fault(f"{uri} could not be read: {type(error).__name__}: {error}")
            return
        self._ledger.counts["reads"] += 1
        if (found := result["contents"][0]) != {"uri": uri, "text": f"all of {upstream.name}"}:
            self._ledger.fault(f"crossed: {uri} was answered with {found}")

    async def _call(self, client: ChaosClient) -> None:
        rng, upstream = self._rng, self._stage.target(self._rng)
        entry = self._ledger.open(client.name, upstream)
        arguments: JsonObject = {"token": entry.token, "client": client.name}
        params: JsonObject = {"name": f"{upstream.name}.echo", "arguments": arguments}
        limit, plain = LOST, rng.random() < 0.7
        if not plain:
            arguments |= {"delay": round(rng.uniform(0, 0.8), 3), "size": rng.choice((0, 0, 1_000, 100_000))}
            if rng.random() < 0.5:
                arguments["steps"], params["_meta"] = rng.randrange(1, 4), {"progressToken": entry.token}
            limit = rng.choice((LOST, LOST, LOST, 0.3))
        await self._ended(client, entry, params, limit, plain)

    async def _ended(self, client: ChaosClient, entry: Entry, params: JsonObject, limit: float, plain: bool) -> None:
        phase, start = self._stage.phase, time.perf_counter()
        try:
            result = await client.request("tools/call", params, seconds=limit)
        except RawError as error:
            if error.code == 0:
                self._ledger.fault(f"lost: {entry.token} to {entry.upstream.name}: {error.message}")
            self._ledger.error(entry, error.message)
        except TimeoutError:
            if limit == LOST:
                self._ledger.fault(f"lost: no end of {entry.token} to {entry.upstream.name} within {LOST} s")
            entry.outcome = "given up"
            await client.give_up()
        except anyio.get_cancelled_exc_class():
            entry.outcome = "left"
            raise
        else:
            self._ledger.result(entry, result)
            if plain and entry.upstream.role == "steady" and entry.outcome == "result" and phase == self._stage.phase:
                self._ledger.latencies.setdefault(phase, []).append(time.perf_counter() - start)


def structured(result: JsonObject) -> JsonObject:
    """What an admin tool returned."""
    found: JsonObject = result.get("structuredContent") or json.loads(result["content"][0]["text"])
    return found
