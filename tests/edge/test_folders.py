"""Where wf-mcp keeps its files."""

from pathlib import Path

import pytest
from platformdirs import PlatformDirs

from wf_mcp.edge.folders import cache_dir, config_dir, private_dir, state_dir

DIRS = PlatformDirs("wf-mcp", appauthor=False)
FOLDERS = [
    (state_dir, "WF_MCP_STATE_DIR", DIRS.user_state_path),
    (config_dir, "WF_MCP_CONFIG_DIR", DIRS.user_config_path),
    (cache_dir, "WF_MCP_CACHE_DIR", DIRS.user_cache_path),
]


@pytest.mark.parametrize(("folder", "variable", "platform"), FOLDERS)
def test_the_environment_wins_over_the_platform(folder, variable, platform, tmp_path):
    assert folder({variable: str(tmp_path)}) == tmp_path
    assert folder({}) == folder({variable: ""}) == platform
    assert folder({variable: "relative"}) == Path.cwd() / "relative"


def test_a_private_folder_is_for_its_owner(tmp_path):
    folder = private_dir(tmp_path / "a" / "b")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_dir(folder) == folder
