"""The cells of the matrix, and wf-mcp between a client and the fixture that can do everything, in each of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from tests.inbox import JsonObject
from tests.matrix.person import Person
from tests.rawclient import Era
from tests.rig import Rig

Transport = Literal["stdio", "http"]
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")
ERAS: tuple[Era, ...] = ("handshake", "modern")
SHORT: dict[Era, str] = {"handshake": "hs", "modern": "modern"}


@dataclass(frozen=True)
class Cell:
    """Who speaks which era, and how both sides are connected."""

    client: Era
    upstream: Era
    transport: Transport

    @property
    def eras(self) -> str:
        """Such as `hs→modern`."""
        return f"{SHORT[self.client]}→{SHORT[self.upstream]}"

    @property
    def id(self) -> str:
        """The same in plain characters, for the test's id."""
        return f"{SHORT[self.client]}-{SHORT[self.upstream]}-{self.transport}"

    def __str__(self) -> str:
        return f"{self.eras} {self.transport}"


CELLS = tuple(Cell(client, upstream, t) for client in ERAS for upstream in ERAS for t in TRANSPORTS)
COLUMNS = tuple(dict.fromkeys(cell.eras for cell in CELLS))


class Table:
    """One cell at work: clients can be added as they are needed."""

    def __init__(self, rig: Rig, cell: Cell) -> None:
        self.upstream = rig.full("full", cell.upstream, cell.transport)
        self.cell = cell
        self._endpoint = rig.serve(cell.transport)

    def cancelled(self) -> list[JsonObject]:
        """What the upstream recorded of calls that were cancelled."""
        notices = self.upstream.events("notification", method="notifications/cancelled")
        return [*notices, *self.upstream.events("cancelled")]

    @asynccontextmanager
    async def person(self, capabilities: JsonObject | None = None) -> AsyncIterator[Person]:
        """One more client, which can do everything or what is said."""
        async with self._endpoint.raw(self.cell.client, capabilities=capabilities) as client:
            yield Person(client)
