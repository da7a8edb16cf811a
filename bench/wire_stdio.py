"""A bare client's end of a process's pipes: one line per message."""

import asyncio
import json
from typing import Final

from bench.messages import BadAnswer, Era, Json, encoded, request, result


class StdioWire:
    """Requests by id over a process's stdin and stdout; `read` has to run meanwhile."""

    LIMIT: Final = 256 * 2**20

    def __init__(self, process: asyncio.subprocess.Process, era: Era) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._era = era
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Json]] = {}

    @property
    def pid(self) -> int | None:
        """The process."""
        return self._process.pid

    async def read(self) -> None:
        """Hand every answer to who waits for it, until stdout ends."""
        while line := await self._stdout.readline():
            message = json.loads(line)
            waiting = self._waiting.pop(message.get("id"), None) if "method" not in message else None
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        for left in self._waiting.values():
            if not left.done():
                left.set_exception(BadAnswer("the process closed its stdout"))

    async def ask(self, method: str, params: Json) -> Json:
        """One request's result."""
        self._number += 1
        number = self._number
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._stdin.write(request(self._era, number, method, params) + b"\n")
        await self._stdin.drain()
        return result(await answer)

    async def tell(self, message: Json) -> None:
        """One notification."""
        self._stdin.write(encoded(message) + b"\n")
        await self._stdin.drain()

    async def close(self) -> None:
        """End of stdin, upon which a server ends."""
        self._stdin.close()
        try:
            await self._stdin.wait_closed()
        except (BrokenPipeError, ConnectionResetError):
            return
