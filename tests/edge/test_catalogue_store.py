"""Catalogues as files: whole or not at all, for their owner alone, no more than there is room for, and never fatal."""

import json
import logging
import os
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runtime.memory import tool

from wf_mcp.core.kinds import KINDS
from wf_mcp.core.stored import CatalogueKey, Stored, StoredList
from wf_mcp.edge import catalogue_store as module
from wf_mcp.edge.catalogue_store import CatalogueFiles

pytestmark = pytest.mark.anyio

KEY = CatalogueKey("digest-of-a-secret", {"capabilities": {}, "era": "handshake"})
LISTS = {kind.name: StoredList(()) for kind in KINDS} | {"tools": StoredList((tool("a"),))}
STORED = Stored(1000.0, "handshake", {"capabilities": {"tools": {}}}, LISTS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "catalogues"


@pytest.fixture
def files(folder: Path) -> CatalogueFiles:
    return CatalogueFiles(folder, b"k" * 32)


def only(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def other(number: int) -> CatalogueKey:
    return replace(KEY, digest=f"digest {number}")


async def test_what_is_kept_is_there_for_the_next_process(files: CatalogueFiles, folder: Path) -> None:
    assert files.load(KEY) is None
    await files.save(KEY, STORED)
    assert files.load(KEY) == STORED
    assert CatalogueFiles(folder, b"k" * 32).load(KEY) == STORED
    assert [files.load(other(1)), CatalogueFiles(folder, b"x" * 32).load(KEY)] == [None, None]


async def test_files_are_private_and_their_names_say_nothing(files: CatalogueFiles, folder: Path) -> None:
    await files.save(KEY, STORED)
    file = only(folder)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (len(file.stem), file.suffix) == (40, ".json")
    assert "digest" not in file.read_text()


@pytest.mark.parametrize("broken", ["", "{", "{}", '{"version": 0}', "\x00" * 50], ids=repr)
async def test_a_broken_file_is_as_none(
    files: CatalogueFiles, folder: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    await files.save(KEY, STORED)
    only(folder).write_text(broken)
    assert files.load(KEY) is None
    assert "is not used, its upstream is asked again" in caplog.text
    await files.save(KEY, STORED)
    assert files.load(KEY) == STORED


async def test_a_folder_that_cannot_be_used_costs_only_the_memory(tmp_path: Path, caplog) -> None:
    (tmp_path / "file").write_text("in the way")
    files = CatalogueFiles(tmp_path / "file" / "catalogues", b"k" * 32)
    await files.save(KEY, STORED)
    assert files.load(KEY) is None
    assert "cannot be kept" in caplog.text


async def test_the_same_lists_are_written_once_in_a_while(files: CatalogueFiles, folder: Path) -> None:
    def written() -> float:
        at: float = json.loads(only(folder).read_bytes())["at"]
        return at

    await files.save(KEY, STORED)
    await files.save(KEY, replace(STORED, at=1030.0))
    assert written() == 1000.0
    await files.save(KEY, replace(STORED, at=1031.0, initialized={"capabilities": {}}))
    assert written() == 1031.0
    await files.save(KEY, replace(STORED, at=1200.0))
    assert written() == 1200.0


async def test_one_that_is_too_large_is_not_kept(files: CatalogueFiles, folder: Path, monkeypatch, caplog) -> None:
    await files.save(KEY, STORED)
    monkeypatch.setattr(module, "SIZE", 400)
    large = {**LISTS, "tools": StoredList((tool("a" * 400),))}
    await files.save(KEY, replace(STORED, lists=large))
    assert list(folder.iterdir()) == []
    assert "is not kept" in caplog.text


async def test_what_nobody_used_for_long_goes_and_using_it_keeps_it(folder: Path) -> None:
    first = CatalogueFiles(folder, b"k" * 32)
    for number in range(3):
        await first.save(other(number), STORED)
    long_ago = time.time() - module.UNUSED - 60
    for file in folder.iterdir():
        os.utime(file, (long_ago, long_ago))
    draft, strange = folder / ".draft-x", folder / "README"
    for file in (draft, strange):
        file.write_text("")
        os.utime(file, (long_ago, long_ago))
    second = CatalogueFiles(folder, b"k" * 32)
    assert second.load(other(1)) == STORED
    await second.save(KEY, STORED)
    assert [second.load(key) for key in (other(0), other(1), other(2), KEY)] == [None, STORED, None, STORED]
    assert (draft.exists(), strange.exists()) == (False, True)


async def test_of_too_many_the_latest_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = CatalogueFiles(folder, b"k" * 32)
    for number in range(4):
        await first.save(other(number), STORED)
    size = next(folder.iterdir()).stat().st_size
    for number in range(4):
        used = time.time() - 1000 + number
        os.utime(first._file(other(number)), (used, used))
    monkeypatch.setattr(module, "TOTAL", 3 * size + 1)
    second = CatalogueFiles(folder, b"k" * 32)
    await second.save(other(9), STORED)
    assert [number for number in (0, 1, 2, 3, 9) if second.load(other(number))] == [2, 3, 9]


async def test_warnings_name_the_file_only(files: CatalogueFiles, folder: Path, caplog) -> None:
    await files.save(KEY, STORED)
    only(folder).write_text("hunter2")
    with caplog.at_level(logging.DEBUG):
        files.load(KEY)
    assert "hunter2" not in caplog.text
    assert KEY.digest not in caplog.text
