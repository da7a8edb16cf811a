"""A tape, told as what belongs together: requests with their answers and what was said on the way.

Ids, progress tokens and cursors, which are each hop's own, are used to find what belongs together and are then left
out. The pages of a list are joined, since who lists decides how often to ask.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.differential.tap import START, Entry, Side
from tests.differential.translate import LIST_KEYS, Back
from tests.inbox import JsonObject

PROGRESS, CANCELLED, LOG = "notifications/progress", "notifications/cancelled", "notifications/message"
OF_CONNECTION = ("initialize", "notifications/initialized")
"""These open a connection, whenever that happens; they are told at the start."""
Key = tuple[Side, type, Any]


@dataclass
class Note:
    """A notification; `inside` says whether what it belongs to was still unanswered."""

    at: int
    step: str
    toward: Side
    method: str
    body: JsonObject
    inside: bool


@dataclass
class Exchange:
    """A request, its notifications, and its answer, if it got one."""

    at: int
    step: str
    toward: Side
    method: str
    body: JsonObject
    cursor: Any = None
    ended: int | None = None
    answer: JsonObject = field(default_factory=dict)
    following: Any = None
    notes: list[Note] = field(default_factory=list)


@dataclass
class Chapter:
    """One step: its exchanges, the logs of its calls, what belongs to no request, and answers to nothing."""

    exchanges: list[Exchange] = field(default_factory=list)
    logs: list[Note] = field(default_factory=list)
    loose: list[Note] = field(default_factory=list)
    strays: list[JsonObject] = field(default_factory=list)

    def overlapping(self) -> bool:
        """Whether two requests to the server were open at once: their order then means nothing."""
        mine = [e for e in self.exchanges if e.toward == "server"]
        return any(a.ended is None or a.ended > b.at for a, b in pairwise(mine))

    def order(self) -> list[tuple[str, str, str]]:
        """What happened, one thing after the other: (what, toward whom, method)."""
        events: list[tuple[int, tuple[str, str, str]]] = []
        for exchange in self.exchanges:
            events.append((exchange.at, ("asked", exchange.toward, exchange.method)))
            if exchange.ended is not None:
                events.append((exchange.ended, ("answered", exchange.toward, exchange.method)))
            # What is told of a request after its answer (the progress of a task) may come on another stream.
            events += [(note.at, ("told", note.toward, note.method)) for note in exchange.notes if note.inside]
        events += [(note.at, ("told", note.toward, note.method)) for note in self.logs]
        return [event for _, event in sorted(events, key=lambda event: event[0])]


class Teller:
    """Reads the entries of one wire; `back` translates where the wire has public names."""

    def __init__(self, back: Back | None) -> None:
        self.chapters: dict[str, Chapter] = {}
        self._back = back
        self._all: list[Exchange] = []
        self._open: dict[Key, Exchange] = {}
        self._known: dict[Key, Exchange] = {}
        self._tokens: dict[Key, Exchange] = {}

    def tell(self, entries: list[Entry]) -> dict[str, Chapter]:
        """The chapters by step."""
        for at, entry in enumerate(entries):
            message = entry.message
            if "method" not in message:
                self._answered(at, entry, message)
            elif "id" in message:
                self._asked(at, entry, message)
            else:
                self._told(at, entry, message)
        for exchange in joined(self._all):
            self._chapter(exchange.step).exchanges.append(exchange)
        return self.chapters

    def _chapter(self, step: str) -> Chapter:
        return self.chapters.setdefault(step, Chapter())

    def _asked(self, at: int, entry: Entry, message: JsonObject) -> None:
        method, toward = message["method"], entry.toward
        body = {key: value for key, value in message.items() if key != "id"}
        exchange = Exchange(at, START if method in OF_CONNECTION else entry.step, toward, method, body)
        params = body.get("params")
        if isinstance(params, dict):
            exchange.cursor = params.get("cursor")
            params = without(params, "cursor")
            meta = params.get("_meta")
            if isinstance(meta, dict) and "progressToken" in meta:
                # Progress flows against the request: toward whoever asked.
                self._tokens[key_of(other(toward), meta["progressToken"])] = exchange
                params = {**params, "_meta": {**meta, "progressToken": "TOKEN"}}
            if self._back is not None:
                params = self._back.request(method, params, of_client=toward == "server")
            exchange.body["params"] = params
        # A list without a cursor may have empty params, or none.
        if method in LIST_KEYS and not exchange.body.get("params"):
            exchange.body.pop("params", None)
        self._all.append(exchange)
        key = key_of(toward, message["id"])
        self._open[key] = self._known[key] = exchange

    def _answered(self, at: int, entry: Entry, message: JsonObject) -> None:
        exchange = self._open.pop(key_of(other(entry.toward), message.get("id")), None)
        body = {key: value for key, value in message.items() if key != "id"}
        if exchange is None:
            self._chapter(entry.step).strays.append(message)
            return
        exchange.ended = at
        if isinstance(body.get("result"), dict):
            exchange.following = body["result"].get("nextCursor")
            body["result"] = without(body["result"], "nextCursor")
        if self._back is not None:
            of_client = entry.toward == "server"
            if "result" in body:
                body["result"] = self._back.result(exchange.method, body["result"], of_client=of_client)
            if "error" in body:
                body["error"] = self._back.error(body["error"], of_client=of_client)
        exchange.answer = body

    def _told(self, at: int, entry: Entry, message: JsonObject) -> None:
        method, toward = message["method"], entry.toward
        params = message.get("params")
        owner: Exchange | None = None
        if isinstance(params, dict):
            if method == PROGRESS:
                owner = self._tokens.get(key_of(toward, params.get("progressToken")))
                params = {**params, "progressToken": "TOKEN" if owner else "TOKEN OF NOTHING"}
            if method == CANCELLED:
                owner = self._known.get(key_of(toward, params.get("requestId")))
                params = {**params, "requestId": owner.method if owner else "ID OF NOTHING"}
            if self._back is not None:
                params = self._back.note(method, params, of_client=toward == "server")
        body = dict(message) if params is None else {**message, "params": params}
        step = START if method in OF_CONNECTION else entry.step
        inside = any(e.toward == "server" for e in self._open.values()) if owner is None else owner.ended is None
        note = Note(at, step, toward, method, body, inside)
        if owner is not None and owner.step == step:
            owner.notes.append(note)
        elif method == LOG:
            self._chapter(step).logs.append(note)
        else:
            self._chapter(step).loose.append(note)


def joined(exchanges: list[Exchange]) -> Iterator[Exchange]:
    """The exchanges, with the pages of one list made one."""
    waiting: dict[str, Exchange] = {}
    for exchange in exchanges:
        first = waiting.get(exchange.method)
        if first is not None and exchange.cursor is not None and same(exchange.cursor, first.following):
            first.ended, first.following = exchange.ended, exchange.following
            first.answer = one_page(exchange.method, first.answer, exchange.answer)
        else:
            yield exchange
            if exchange.method in LIST_KEYS:
                waiting[exchange.method] = exchange


def one_page(method: str, first: JsonObject, second: JsonObject) -> JsonObject:
    """Two pages as one; an error in the middle of a list is the outcome of the whole."""
    if "result" not in first or "result" not in second:
        return second
    key = LIST_KEYS[method]
    items = first["result"].get(key, []) + second["result"].get(key, [])
    return {**first, **second, "result": {**first["result"], **second["result"], key: items}}


def key_of(toward: Side, value: Any) -> Key:
    """Ids and tokens are the same only if their types are: `1` is not `"1"`."""
    return toward, type(value), value


def same(one: Any, two: Any) -> bool:
    """Equal, types included."""
    return type(one) is type(two) and bool(one == two)


def other(toward: Side) -> Side:
    """The other direction."""
    return "client" if toward == "server" else "server"


def without(body: JsonObject, key: str) -> JsonObject:
    """A copy without one key."""
    return {name: value for name, value in body.items() if name != key}
