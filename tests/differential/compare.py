"""Compares two recordings of one script, direct and proxied, message by message, at both wires.

What the protocol guarantees is compared strictly: a request has one answer; what belongs to a request comes in order
and before its answer; what one side sends while only one call is open comes in the order in which it was sent. What
belongs to no request is compared as a multiset per step, list_changed up to coalescing: it may come fewer times, at
least once.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tests.differential.story import Chapter, Exchange, Note, Teller
from tests.differential.tap import START, Recording, Tape
from tests.differential.translate import Back, public_id, public_name, public_uri

__all__ = ["Difference", "compare", "public_id", "public_name", "public_uri"]

Wire = Literal["client", "upstream"]
Scrub = Callable[[str], str]
MISSING = "(nothing)"
WHOLE = "$"


@dataclass(frozen=True)
class Difference:
    """One place where the runs differ; `path` is the JSON path in the message, `$` the message itself."""

    wire: Wire
    step: str
    method: str
    path: str
    direct: Any
    proxied: Any

    def __str__(self) -> str:
        values = f"{short(self.direct)} -> {short(self.proxied)}"
        return f"[{self.wire}] {self.step}: {self.method} {self.path}: {values}"


def compare(
    direct: Recording,
    proxied: Recording,
    scrub: Scrub = str,
    others: tuple[str, ...] = (),
    *,
    on: tuple[Wire, ...] = ("client", "upstream"),
    steps: str = "",
    unordered: tuple[str, ...] = (),
    back: type[Back] = Back,
    plain: Back | None = None,
) -> list[Difference]:
    """All differences, or those on some wires or in the steps whose name starts with `steps`.

    `back` knows the positions of an era, and `plain` what each hop makes for itself. `scrub` takes out of a text what
    is another at every run, such as the time of day; `others` are the labels of the upstreams mounted beside the one
    that is compared. In `unordered` steps the upstream tells things of a request on no stream of that request, so that
    nothing says what comes first.
    """
    assert proxied.label is not None
    tapes: dict[Wire, tuple[Tape, Tape, Back | None, Back | None]] = {
        "client": (direct.client, proxied.client, back(proxied.label, others), plain),
        "upstream": (direct.upstream, proxied.upstream, None, None),
    }
    found = [difference for wire in on for difference in wires(wire, tapes[wire], scrub, unordered)]
    return [difference for difference in found if difference.step.startswith(steps) or difference.step == ""]


def wires(
    wire: Wire, tapes: tuple[Tape, Tape, Back | None, Back | None], scrub: Scrub, unordered: tuple[str, ...] = ()
) -> Iterator[Difference]:
    """The differences at one wire."""
    direct, proxied, back, plain = tapes
    for problem in proxied.problems:
        yield Difference(wire, "", "transport", WHOLE, MISSING, problem)
    there = Teller(plain).tell(direct.entries)
    here = Teller(back).tell(proxied.entries)
    for step in list(dict.fromkeys([*there, *here])):
        steps = Steps(wire, step, scrub, ordered=step not in (START, *unordered))
        yield from steps.compare(there.get(step, Chapter()), here.get(step, Chapter()))


class Steps:
    """Compares one step of two runs."""

    def __init__(self, wire: Wire, step: str, scrub: Scrub, *, ordered: bool) -> None:
        self._wire, self._step, self._scrub, self._ordered = wire, step, scrub, ordered

    def compare(self, there: Chapter, here: Chapter) -> Iterator[Difference]:
        """The differences in this step."""
        overlapping = there.overlapping() or here.overlapping()
        for method, mine, theirs in self._paired(there.exchanges, here.exchanges, overlapping):
            yield from self._exchange(method, mine, theirs)
        for method, one, two in self._paired(there.logs, here.logs, overlapping or not self._ordered):
            yield from self._note(method, one, two, loose=not self._ordered)
        for method, one, two in self._paired(*self._coalesced(there.loose, here.loose), True):
            yield from self._note(method, one, two, loose=True)
        for stray in here.strays:
            yield Difference(self._wire, self._step, "response", WHOLE, MISSING, stray)
        if not overlapping and self._ordered and there.order() != here.order():
            yield Difference(self._wire, self._step, "order", WHOLE, there.order(), here.order())

    def _coalesced(self, there: list[Note], here: list[Note]) -> tuple[list[Note], list[Note]]:
        """What belongs to no request, without notices of changed lists that may as well be fewer (design D9).

        While a connection opens they are not compared at all: an upstream may tell of lists that nobody has seen yet.
        """
        for method in {note.method for note in there if note.method.endswith("/list_changed")}:
            few, many = (sum(note.method == method for note in notes) for notes in (here, there))
            if 0 < few < many:
                there = [note for n, note in enumerate(there) if note.method != method or n in last(there, method, few)]
        if self._step == START:
            there, here = ([n for n in notes if not n.method.endswith("/list_changed")] for notes in (there, here))
        return there, here

    def _paired(self, there: list[Any], here: list[Any], unordered: bool) -> Iterator[tuple[str, Any, Any]]:
        groups: dict[tuple[str, str], tuple[list[Any], list[Any]]] = {}
        for side, items in enumerate((there, here)):
            for item in items:
                groups.setdefault((item.toward, item.method), ([], []))[side].append(item)
        for (_, method), (one, two) in groups.items():
            if unordered:
                one, two = (sorted(items, key=self._sorting) for items in (one, two))
            for n in range(max(len(one), len(two))):
                yield method, one[n] if n < len(one) else None, two[n] if n < len(two) else None

    def _sorting(self, item: Any) -> str:
        return canonical(scrubbed(item.body, self._scrub))

    def _exchange(self, method: str, one: Exchange | None, two: Exchange | None) -> Iterator[Difference]:
        if one is None or two is None:
            yield self._whole(method, one and one.body, two and two.body)
            return
        yield from self._bodies(method, one.body, two.body)
        yield from self._bodies(method, one.answer, two.answer)
        for n in range(max(len(one.notes), len(two.notes))):
            mine = one.notes[n] if n < len(one.notes) else None
            theirs = two.notes[n] if n < len(two.notes) else None
            yield from self._note(one.notes[n].method if mine else two.notes[n].method, mine, theirs)

    def _note(self, method: str, one: Note | None, two: Note | None, *, loose: bool = False) -> Iterator[Difference]:
        if one is None or two is None:
            yield self._whole(method, one and one.body, two and two.body)
            return
        yield from self._bodies(method, one.body, two.body)
        if one.inside != two.inside and not loose:
            words = {True: "before the answer", False: "after the answer"}
            yield self._whole(method, words[one.inside], words[two.inside])

    def _bodies(self, method: str, one: Any, two: Any) -> Iterator[Difference]:
        for path, mine, theirs in differ(scrubbed(one, self._scrub), scrubbed(two, self._scrub), WHOLE):
            yield Difference(self._wire, self._step, method, path, mine, theirs)

    def _whole(self, method: str, one: Any, two: Any) -> Difference:
        return Difference(self._wire, self._step, method, WHOLE, one or MISSING, two or MISSING)


def last(notes: list[Note], method: str, n: int) -> list[int]:
    """Where the last `n` notes of a method stand."""
    return [at for at, note in enumerate(notes) if note.method == method][-n:]


def differ(one: Any, two: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """(path, here, there) of the smallest parts that differ; numbers differ also by type."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in dict.fromkeys([*one, *two]):
            yield from differ(one.get(key, MISSING), two.get(key, MISSING), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(two, list):
        for n in range(max(len(one), len(two))):
            mine, theirs = (items[n] if n < len(items) else MISSING for items in (one, two))
            yield from differ(mine, theirs, f"{path}[{n}]")
    elif type(one) is not type(two) or one != two:
        yield path, one, two


def scrubbed(value: Any, scrub: Scrub) -> Any:
    """A JSON value with all its texts scrubbed."""
    if scrub is str:
        return value
    if isinstance(value, dict):
        return {key: scrubbed(item, scrub) for key, item in value.items()}
    if isinstance(value, list):
        return [scrubbed(item, scrub) for item in value]
    return scrub(value) if isinstance(value, str) else value


def canonical(value: Any) -> str:
    """The same text for the same JSON."""
    return json.dumps(value, sort_keys=True)


def short(value: Any) -> str:
    """A value for a message."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return text if len(text) < 300 else f"{text[:300]}… ({len(text)})"
