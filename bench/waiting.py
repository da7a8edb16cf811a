"""Waiting for all upstreams: the first lists may come before some have answered."""

import asyncio

from bench.client import Client

LIMIT_SECONDS = 120.0
PAUSE = 0.02
OWN = ("wf.", "wf_")


async def whole_list(client: Client, tools: int, seconds: float = LIMIT_SECONDS) -> list[str]:
    """Ask for the list until all its tools are there, and return their names without those of wf-mcp's own tools.

    Raises `TimeoutError` where they never are.
    """
    async with asyncio.timeout(seconds):
        while True:
            names = [tool["name"] for tool in await client.tools()]
            found = [name for name in names if not name.startswith(OWN)]
            if len(found) >= tools:
                return found
            await asyncio.sleep(PAUSE)
