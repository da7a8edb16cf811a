"""What befalls wf-mcp and its upstreams during the chaos: kills, reloads, and guests who do not behave."""

import json
import os
import random
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
from tests.chaos.clients import ChaosClient, Stage, structured
from tests.chaos.upstreams import ChaosUpstream
from tests.endpoint import Endpoint
from tests.inbox import JsonObject
from tests.rawclient import HANDSHAKE, RawError


@dataclass
class Weather:
    """The disturbances of one run; each has a random sequence of its own."""

    stage: Stage
    endpoint: Endpoint
    admin: ChaosClient

    async def rage(self, seconds: float) -> None:
        """Everything at once, for so long; then every upstream is up again."""
        rng = {name: random.Random(f"{self.stage.seed}:{name}") for name in ("kill", "reload", "freeze")}
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._kill, rng["kill"])
                tasks.start_soon(self._reload, rng["reload"])
                if self.endpoint.url is not None:
                    tasks.start_soon(self._freeze, rng["freeze"])
        for upstream in self.stage.cast.of_role("victim"):
            if upstream.front == "http" and not upstream.pids:
                upstream.serve()

    async def _kill(self, rng: random.Random) -> None:
        """`kill -9` of one process of a victim; one over HTTP comes back on the same port after a while."""
        while True:
            await anyio.sleep(rng.uniform(0.5, 2))
            victim = rng.choice(self.stage.cast.of_role("victim"))
            self.stage.ledger.counts["kills"] += 1
            if victim.front == "http":
                with anyio.CancelScope(shield=True):
                    victim.kill()
                    await anyio.sleep(rng.uniform(0, 1))
                    await anyio.to_thread.run_sync(victim.serve)
            elif pids := victim.pids:
                pid = rng.choice(pids)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    async def _reload(self, rng: random.Random) -> None:
        """The config changes: a guest comes or goes, a victim is configured anew; then it is loaded again."""
        rig, cast = self.stage.cast.rig, self.stage.cast
        while True:
            await anyio.sleep(rng.uniform(3, 8))
            if (guest := cast.guest) is not None and rng.random() < 0.7:
                if guest.name in rig.entries:
                    del rig.entries[guest.name]
                else:
                    rig.entries[guest.name] = guest.entry
            victim = rng.choice([each for each in cast.of_role("victim") if each.front == "stdio"])
            if rng.random() < 0.7:
                victim.seed = str(rng.randrange(1_000))
                rig.entries[victim.name] = victim.entry
            if rng.random() < 0.2:
                await self._broken()
            rig.write()
            await self.reload(expect_error=False)

    async def _broken(self) -> None:
        """A file that is broken off in the middle: it is refused, and everything runs on."""
        text = self.stage.cast.rig.write().read_text(encoding="utf-8")
        self.stage.cast.rig.write(text[: len(text) // 2])
        await self.reload(expect_error=True)

    async def reload(self, *, expect_error: bool) -> None:
        """`wf.admin.reload_config`, and a look at what it says."""
        self.stage.ledger.counts["reloads"] += 1
        try:
            report = structured(await self.admin.call("wf.admin.reload_config", {}, seconds=40))
        except (RawError, TimeoutError) as error:
            self.stage.ledger.fault(f"reload failed: {type(error).__name__}: {error}")
            return
        if (report["error"] is not None) is not expect_error:
            self.stage.ledger.fault(f"a reload reported {report}")

    async def _freeze(self, rng: random.Random) -> None:
        """A client that asks for a lot and reads nothing; and one that goes away in the middle of a request."""
        while True:
            await anyio.sleep(rng.uniform(3, 8))
            self.stage.ledger.counts["frozen clients"] += 1
            with suppress(OSError, anyio.BrokenResourceError, anyio.EndOfStream):
                await self._frozen(rng)

    async def _frozen(self, rng: random.Random) -> None:
        assert self.endpoint.url is not None
        host, port = self.endpoint.url.removeprefix("http://").removesuffix("/mcp").split(":")
        target = rng.choice(self.stage.cast.of_role("steady"))
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(self._post(hello()))
            await stream.receive()
            for _ in range(20):
                await stream.send(self._post(self._big(target)))
            await anyio.sleep(rng.uniform(1, 3))
            await stream.send(self._post(hello())[:-20])

    def _big(self, target: ChaosUpstream) -> JsonObject:
        entry = self.stage.ledger.open("frozen", target)
        entry.outcome = "left"
        arguments = {"token": entry.token, "client": "frozen", "size": 500_000}
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "frozen", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": f"{target.name}.echo", "arguments": arguments, "_meta": meta}
        return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}

    def _post(self, message: JsonObject) -> bytes:
        body = json.dumps(message).encode()
        headers: dict[str, Any] = {
            "host": "127.0.0.1",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            **self.endpoint.headers,
        }
        if message["method"] == "tools/call":
            headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"}
            headers["mcp-name"] = message["params"]["name"]
        lines = [f"{name}: {value}" for name, value in {**headers, "content-length": len(body)}.items()]
        return "\r\n".join(["POST /mcp HTTP/1.1", *lines, "", ""]).encode() + body


def hello() -> JsonObject:
    """An `initialize` request."""
    info = {"name": "frozen", "version": "1"}
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": info}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
