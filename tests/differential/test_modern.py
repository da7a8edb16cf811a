"""One script over all message kinds of 2026-07-28, directly and through wf-mcp: equal, but for the tolerated table."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tests.covers import covers
from tests.differential.compare import Difference, compare
from tests.differential.modern_script import record
from tests.differential.modern_translate import ModernBack, Same
from tests.differential.mutations import passed_on
from tests.differential.stage import LABEL, OTHER, PAIRINGS, Stage
from tests.differential.tap import Entry, Recording, Tape
from tests.differential.tolerated import Row
from tests.differential.translate import public_id, public_name, public_uri
from tests.inbox import JsonObject
from tests.rig import FRONTS, Front

pytestmark = pytest.mark.timeout(120)
DISCOVER = "server/discover"
TOLERATED: tuple[Row, ...] = (
    Row(("client",), DISCOVER, "$.result.instructions", "design D16, matrix D.1: merged, labelled, capped"),
    Row(("client",), DISCOVER, "$.result.capabilities.experimental", "matrix D.1: unknown semantics do not merge"),
    Row(("client",), DISCOVER, "$.result.vendor", "matrix B.1: we are who answers"),
    Row(("client",), "notifications/cancelled", "$", "matrix A.1: over HTTP closing the stream is the cancel"),
    Row(("client",), "tools/call", "$.error.code", "matrix A.5: -32002 is not of this era, and MUST NOT be sent"),
    Row(("client",), "tools/call", "$.result.requestState", "matrix A.3: ours binds what is asked to who was asked"),
    Row(("client",), "tools/call", "$.params.requestState", "matrix A.3: ours binds what is asked to who was asked"),
    Row(("client",), "resources/read", "$.result.ttlMs", "matrix A.1: the result of a retry MUST NOT be cached"),
)


class Forth(ModernBack):
    """The way from the upstream's terms to the public ones, at the very same positions."""

    def name(self, public: object) -> object:
        return public_name(self.label, public) if isinstance(public, str) else public

    def id(self, public: object) -> object:
        return public_id(self.label, public) if isinstance(public, str) else public

    def uri(self, public: object) -> object:
        return public_uri(self.label, public) if isinstance(public, str) else public

    def _listed(self, method: str, items: list[JsonObject]) -> list[JsonObject]:
        return super()._listed(method, items)


class Made:
    """Every run, made once for each transport of the upstream."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._runs: dict[Front, dict[Front | None, Recording]] = {}

    def of(self, upstream: Front) -> dict[Front | None, Recording]:
        """The direct run (`None`) and those through each front."""
        if upstream not in self._runs:
            self._runs[upstream] = anyio.run(self._make, self._factory.mktemp(f"modern-{upstream}"), upstream)
        return self._runs[upstream]

    async def _make(self, folder: Path, upstream: Front) -> dict[Front | None, Recording]:
        stage = Stage(folder, "full", upstream, "modern")
        made: dict[Front | None, Recording] = {}

        async def make(front: Front | None) -> None:
            made[front] = await record(stage, front)

        try:
            async with anyio.create_task_group() as tasks:
                for front in (None, *FRONTS):
                    tasks.start_soon(make, front)
        finally:
            stage.close()
        return made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory)


def differences(direct: Recording, proxied: Recording) -> list[Difference]:
    return compare(direct, proxied, others=(OTHER,), back=ModernBack, plain=Same(""))


def judge(found: list[Difference]) -> tuple[list[str], set[Row]]:
    """(what nothing tolerates, the rows that were used)."""
    used = {row for each in found for row in TOLERATED if row.covers(each)}
    return [str(each) for each in found if not any(row.covers(each) for row in TOLERATED)], used


@covers("differential.modern", "Every message kind of 2026-07-28 is the same as directly, at both wires")
@pytest.mark.parametrize(("front", "upstream"), PAIRINGS)
def test_an_upstream_that_can_do_everything(made: Made, front: Front, upstream: Front) -> None:
    runs = made.of(upstream)
    left, _ = judge(differences(runs[None], runs[front]))
    assert left == []


def test_the_tolerated_table_is_short_exact_and_used(made: Made) -> None:
    used = set().union(*(judge(differences(made.of(u)[None], made.of(u)[f]))[1] for f, u in PAIRINGS))
    assert [row for row in TOLERATED if row not in used] == []
    assert all(row.path.startswith("$") and "*" not in row.path and row.clause for row in TOLERATED)


def test_a_perfect_proxy_differs_in_nothing(made: Made) -> None:
    direct = made.of("stdio")[None]
    assert judge(differences(direct, passed_on(direct, LABEL, Forth(LABEL))))[0] == []


def faults(entry: Entry) -> Iterator[tuple[str, list[JsonObject]]]:
    """What a lossy proxy could do to one message: lose it, or lose one field of what it says."""
    yield "lost", []
    for part in ("params", "result", "error"):
        body = entry.message.get(part)
        for key in body if isinstance(body, dict) else ():
            changed = copy.deepcopy(entry.message)
            del changed[part][key]
            yield f"without {part}.{key}", [changed]


def decided(entry: Entry, fault: str) -> bool:
    """Whether the table tolerates a fault: that is its business."""
    path = fault.replace("without ", "$.")
    whole = {row.method for row in TOLERATED if row.path == "$"}
    return entry.message.get("method") in whole or path in {row.path for row in TOLERATED}


@covers("differential.modern-mutations", "A message or a field that is lost on the way of 2026-07-28 is noticed")
def test_a_fault_is_noticed(made: Made) -> None:
    direct = made.of("stdio")[None]
    perfect = passed_on(direct, LABEL, Forth(LABEL))
    seen: set[tuple[str, str, str]] = set()
    missed: list[str] = []
    for at, entry in enumerate(perfect.client.entries):
        for fault, messages in faults(entry):
            kind = (entry.toward, entry.message.get("method", "answer"), fault)
            if kind in seen or "ursor" in fault or decided(entry, fault):
                continue  # pages are joined: who lists decides how often to ask
            seen.add(kind)
            entries = [*perfect.client.entries]
            entries[at : at + 1] = [replace(entry, message=message) for message in messages]
            faulty = Recording(Tape(entries), perfect.upstream, LABEL)
            if not judge(differences(direct, faulty))[0]:
                missed.append(f"{entry.step}: {kind}")
    assert not missed, "\n".join(missed)
    assert len(seen) >= 80
