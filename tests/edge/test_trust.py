"""Approvals of project files (design D11)."""

import hashlib
import os

import pytest

from wf_mcp.edge.trust import is_trusted, trust, untrust


@pytest.fixture
def env(tmp_path):
    return {"WF_MCP_STATE_DIR": str(tmp_path / "state")}


@pytest.fixture
def project(tmp_path):
    path = tmp_path / "project" / ".mcp.json"
    path.parent.mkdir()
    path.write_bytes(b"{}")
    return path


def test_a_file_is_trusted_with_the_bytes_that_were_approved(project, env):
    assert not is_trusted(project, env=env)
    assert trust(project, env=env) == hashlib.sha256(b"{}").hexdigest()
    assert is_trusted(project, env=env)
    project.write_bytes(b"{ }")
    assert not is_trusted(project, env=env)
    project.write_bytes(b"{}")
    assert is_trusted(project, env=env)


def test_bytes_already_read_are_compared_instead_of_the_file(project, env):
    trust(project, b"shown", env=env)
    assert not is_trusted(project, env=env)
    assert is_trusted(project, b"shown", env=env)


def test_an_approval_is_withdrawn_once(project, env):
    trust(project, env=env)
    project.unlink()
    assert not is_trusted(project, env=env)
    assert untrust(project, env=env)
    assert not untrust(project, env=env)


def test_an_approval_is_for_one_folder_even_where_links_lead_to_the_same_bytes(project, env, tmp_path):
    trust(project, env=env)
    other = tmp_path / "other"
    other.mkdir()
    (other / ".mcp.json").symlink_to(project)
    assert not is_trusted(other / ".mcp.json", env=env)
    (tmp_path / "way").symlink_to(project.parent)
    assert is_trusted(tmp_path / "way" / ".mcp.json", env=env)


def test_approvals_are_files_for_their_owner_alone_and_leave_no_draft(project, env, tmp_path):
    trust(project, env=env)
    trust(project, env=env)
    (approval,) = (tmp_path / "state" / "trust").iterdir()
    assert approval.stat().st_mode & 0o777 == 0o600
    assert approval.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("text", ["", "[]", "{", '{"path": 1}', "\x80"])
def test_a_broken_approval_is_none(project, env, tmp_path, text):
    trust(project, env=env)
    (approval,) = (tmp_path / "state" / "trust").iterdir()
    approval.write_text(text, encoding="latin-1")
    assert not is_trusted(project, env=env)


def test_a_missing_file_cannot_be_approved(tmp_path, env):
    with pytest.raises(FileNotFoundError):
        trust(tmp_path / "nowhere.json", env=env)


def test_a_write_that_fails_leaves_the_old_approval_and_no_draft(project, env, tmp_path, monkeypatch):
    trust(project, env=env)

    def fail(source, target):
        raise PermissionError(source)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PermissionError):
        trust(project, b"other", env=env)
    assert is_trusted(project, env=env)
    assert len(list((tmp_path / "state" / "trust").iterdir())) == 1
