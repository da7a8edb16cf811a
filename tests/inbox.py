"""Things that arrive, and waiting for one of them without sleeping."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio

JsonObject = dict[str, Any]


class Inbox:
    """Remembers every JSON object that arrived, in order."""

    def __init__(self) -> None:
        self.items: list[JsonObject] = []
        self._arrived = anyio.Event()

    def add(self, item: JsonObject) -> None:
        """One more."""
        self.items.append(item)
        arrived, self._arrived = self._arrived, anyio.Event()
        arrived.set()

    def __iter__(self) -> Iterator[JsonObject]:
        return iter(self.items)

    def of(self, method: str) -> list[JsonObject]:
        """All with this method."""
        return [item for item in self.items if item.get("method") == method]

    async def wait_for(self, wanted: Callable[[JsonObject], bool] | str, seconds: float = 10) -> JsonObject:
        """The first item that is wanted (a predicate or a method), also one that came earlier; TimeoutError."""
        test = wanted if callable(wanted) else lambda item: item.get("method") == wanted
        with anyio.fail_after(seconds):
            while True:
                found = next((item for item in self.items if test(item)), None)
                if found is not None:
                    return found
                await self._arrived.wait()


async def eventually(check: Callable[[], Any] | Callable[[], Awaitable[Any]], seconds: float = 10) -> Any:
    """The first true value of `check`, looked at again and again: for what cannot notify us, such as a file."""
    with anyio.fail_after(seconds):
        while True:
            value = check()
            if isinstance(value, Awaitable):
                value = await value
            if value:
                return value
            await anyio.sleep(0.02)
