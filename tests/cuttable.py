"""A TCP forwarder between wf-mcp and an upstream, whose connections a test can cut or freeze."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import SocketAttribute, SocketStream


class Cuttable:
    """Forwards every connection to `port`, under a port of its own."""

    def __init__(self, port: int, here: int) -> None:
        self.port = here
        self._target = port
        self._open: set[SocketStream] = set()
        self._swallowed: set[SocketStream] = set()

    async def serve(self, near: SocketStream) -> None:
        """One connection, both ways, until either end closes it or it is cut."""
        async with near, await anyio.connect_tcp("127.0.0.1", self._target) as far:
            self._open |= {near, far}
            async with anyio.create_task_group() as tasks:
                for source, sink in ((near, far), (far, near)):
                    tasks.start_soon(self._pump, source, sink, tasks.cancel_scope)
            self._open -= {near, far}

    async def _pump(self, source: SocketStream, sink: SocketStream, scope: anyio.CancelScope) -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream):
            while True:
                data = await source.receive()
                if source not in self._swallowed:
                    await sink.send(data)
        if source in self._swallowed:
            await anyio.sleep_forever()  # not even the end of it is passed on
        scope.cancel()

    async def cut(self) -> int:
        """Closes all connections that are open now; how many there were."""
        ends, self._open = self._open, set()
        for end in ends:
            await end.aclose()
        return len(ends) // 2

    def swallow(self) -> int:
        """Drops whatever comes over the connections that are open now, and leaves them open; how many there are."""
        self._swallowed |= self._open
        return len(self._open) // 2


@asynccontextmanager
async def cuttable(port: int) -> AsyncIterator[Cuttable]:
    """A forwarder to a port of this machine."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        link = Cuttable(port, listener.extra(SocketAttribute.local_port))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, link.serve)
            yield link
            tasks.cancel_scope.cancel()
