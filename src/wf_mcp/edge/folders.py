"""Where wf-mcp keeps its files: the platform's folders, or those that the environment names.

`WF_MCP_STATE_DIR`, `WF_MCP_CONFIG_DIR` and `WF_MCP_CACHE_DIR` win over the platform, so that a test or a second
installation has folders of its own.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from platformdirs import PlatformDirs

STATE_VARIABLE: Final = "WF_MCP_STATE_DIR"
CONFIG_VARIABLE: Final = "WF_MCP_CONFIG_DIR"
CACHE_VARIABLE: Final = "WF_MCP_CACHE_DIR"

_DIRS: Final = PlatformDirs("wf-mcp", appauthor=False)


def state_dir(env: Mapping[str, str] = os.environ) -> Path:
    """What has to survive: approvals, keys, runtime settings."""
    return _named(env, STATE_VARIABLE) or _DIRS.user_state_path


def config_dir(env: Mapping[str, str] = os.environ) -> Path:
    """What the user writes: `wf-mcp.json`."""
    return _named(env, CONFIG_VARIABLE) or _DIRS.user_config_path


def cache_dir(env: Mapping[str, str] = os.environ) -> Path:
    """What can be made again: catalogues."""
    return _named(env, CACHE_VARIABLE) or _DIRS.user_cache_path


def private_dir(folder: Path) -> Path:
    """`folder`, made where it is missing, for its owner alone (0700)."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _named(env: Mapping[str, str], variable: str) -> Path | None:
    # An empty variable is how shells spell "not set".
    value = env.get(variable)
    return Path(os.path.abspath(value)) if value else None
