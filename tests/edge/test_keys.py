"""One key, kept for its owner, and none that could be somebody else's (design D8)."""

import logging
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wf_mcp.core.seal import KEY_SIZE
from wf_mcp.edge.keys import KEY_FILE, sealing_key


def test_a_key_is_made_once_and_kept_for_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    key = sealing_key(folder)
    assert len(key) == KEY_SIZE
    assert sealing_key(folder) == key
    assert stat.S_IMODE((folder / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == [KEY_FILE]


def test_of_many_that_start_at_once_all_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: sealing_key(tmp_path), range(64)))
    assert len(keys) == 1


@pytest.mark.parametrize("content", [b"", b"short", b"x" * (KEY_SIZE + 1)], ids=len)
def test_what_is_no_key_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    (tmp_path / KEY_FILE).write_bytes(content)
    (tmp_path / KEY_FILE).chmod(0o600)
    with caplog.at_level(logging.WARNING):
        assert sealing_key(tmp_path) != sealing_key(tmp_path)
    assert f"does not hold {KEY_SIZE} bytes. Remove" in caplog.text
    assert (tmp_path / KEY_FILE).read_bytes() == content


def test_a_key_that_others_may_read_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = sealing_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(0o644)
    with caplog.at_level(logging.WARNING):
        assert sealing_key(tmp_path) != kept
    assert "can be read by others (mode 0644)" in caplog.text


def test_without_a_folder_there_is_a_key_for_this_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        assert len(sealing_key(tmp_path / "file" / "state")) == KEY_SIZE
    assert "they end with this run" in caplog.text
