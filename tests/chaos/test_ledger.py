"""What the books of the chaos suite notice."""

import json
from pathlib import Path

import pytest
from tests.chaos.ledger import Ledger
from tests.chaos.upstreams import ChaosUpstream
from tests.rig import Rig


@pytest.fixture
def upstream(tmp_path: Path) -> ChaosUpstream:
    return ChaosUpstream(Rig(tmp_path), "alpha", "stdio")


def ran(upstream: ChaosUpstream, *tokens: str) -> None:
    """The upstream's own log."""
    lines = [json.dumps({"event": "ran", "pid": 1, "token": token}) for token in tokens]
    upstream.log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def said(token: str, client: str = "one", name: str = "alpha") -> dict[str, object]:
    return {"content": [{"type": "text", "text": json.dumps({"token": token, "client": client, "name": name})}]}


def test_books_that_agree(upstream: ChaosUpstream) -> None:
    ledger = Ledger()
    entry = ledger.open("one", upstream)
    ran(upstream, entry.token)
    ledger.result(entry, said(entry.token))
    ledger.heard("one", {"message": entry.token, "progressToken": entry.token})
    ledger.audit([upstream])
    assert ledger.faults == []
    assert ledger.counts == {"progress": 1, "result": 1}


def test_a_lost_reply(upstream: ChaosUpstream) -> None:
    ledger = Ledger()
    ran(upstream, ledger.open("one", upstream).token)
    ledger.audit([upstream])
    assert ledger.faults == ["lost: one.0 to alpha has never ended"]


def test_a_doubled_execution(upstream: ChaosUpstream) -> None:
    ledger = Ledger()
    entry = ledger.open("one", upstream)
    ran(upstream, entry.token, entry.token)
    ledger.result(entry, said(entry.token))
    ledger.audit([upstream])
    assert ledger.faults == ["doubled: alpha executed one.0 2 times (result)"]


def test_crossed_replies_progress_and_executions(upstream: ChaosUpstream) -> None:
    ledger = Ledger()
    entry = ledger.open("one", upstream)
    ran(upstream, entry.token, "somebody's")
    ledger.result(entry, said(entry.token, client="two"))
    ledger.heard("two", {"message": entry.token, "progressToken": entry.token})
    ledger.audit([upstream])
    assert [fault.partition(":")[0] for fault in ledger.faults] == ["crossed"] * 3


def test_an_error_that_names_nobody(upstream: ChaosUpstream) -> None:
    upstream.role = "bad"
    ledger = Ledger()
    ran(upstream)
    ledger.error(ledger.open("one", upstream), "Something went wrong")
    ledger.error(ledger.open("one", upstream), "Upstream 'alpha' was lost")
    ledger.audit([upstream])
    assert ledger.faults == ["unclear error of alpha: Something went wrong"]


def test_a_result_without_an_execution(upstream: ChaosUpstream) -> None:
    ledger = Ledger()
    entry = ledger.open("one", upstream)
    ledger.result(entry, said(entry.token))
    ledger.audit([upstream])
    assert ledger.faults == ["invented: one.0 has a result, and alpha never executed it"]
