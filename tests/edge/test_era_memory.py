"""What was found out about eras, over time and over restarts."""

import json
import logging
from pathlib import Path

import pytest
from tests.runtime.stage import upstream

from wf_mcp.edge.era_memory import REMEMBERED, EraMemory

UP = upstream("up")


def test_an_era_is_kept_for_an_entry_as_it_is_configured_and_for_an_era_of_clients() -> None:
    memory = EraMemory()
    assert memory.get(UP, "handshake") is None
    memory.keep(UP, "handshake", "modern")
    assert memory.get(UP, "handshake") == "modern"
    assert memory.get(UP, "modern") is None
    assert memory.get(upstream("up", digest="2"), "handshake") is None
    memory.forget(UP, "handshake")
    memory.forget(UP, "handshake")
    assert memory.get(UP, "handshake") is None


def test_it_survives_a_restart_in_a_file_of_the_owner_s(tmp_path: Path) -> None:
    file = tmp_path / "state" / "eras.json"
    EraMemory(file).keep(UP, "handshake", "modern")
    assert EraMemory(file).get(UP, "handshake") == "modern"
    assert (file.stat().st_mode & 0o777, [each.name for each in file.parent.iterdir()]) == (0o600, ["eras.json"])
    EraMemory(file).forget(UP, "handshake")
    assert EraMemory(file).get(UP, "handshake") is None


@pytest.mark.parametrize("text", ["{", "[]", "\udcff", "null"])
def test_a_file_that_makes_no_sense_is_not_used_and_replaced(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "eras.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    memory = EraMemory(file)
    with caplog.at_level(logging.WARNING):
        assert memory.get(UP, "modern") is None
    assert str(file) in caplog.text
    memory.keep(UP, "modern", "handshake")
    assert EraMemory(file).get(UP, "modern") == "handshake"


def test_words_that_are_no_era_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "eras.json"
    file.write_text(json.dumps({"up 1 modern": "ancient", "up 1 handshake": "modern", "x": 3}))
    assert EraMemory(file).get(UP, "modern") is None
    assert EraMemory(file).get(UP, "handshake") == "modern"


def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    memory = EraMemory(tmp_path / "file" / "eras.json")
    with caplog.at_level(logging.WARNING):
        memory.keep(UP, "modern", "modern")
    assert memory.get(UP, "modern") == "modern"
    assert "cannot be remembered" in caplog.text


def test_it_does_not_grow_for_ever() -> None:
    memory = EraMemory()
    memory.keep(UP, "modern", "modern")
    for number in range(REMEMBERED):
        memory.keep(upstream(f"u{number}"), "modern", "modern")
    assert memory.get(UP, "modern") is None
    assert memory.get(upstream("u0"), "modern") == "modern"
