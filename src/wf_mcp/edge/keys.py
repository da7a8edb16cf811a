"""The key that seals what clients keep for us, in the state folder: it outlives a restart, and so do cursors and
passed-on states (design D8).
"""

import logging
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from wf_mcp.core.seal import KEY_SIZE
from wf_mcp.edge.folders import private_dir

logger = logging.getLogger(__name__)

KEY_FILE: Final = "sealing.key"
"""The file in the state folder; its owner alone may read it (0600)."""


def sealing_key(folder: Path) -> bytes:
    """The key in `folder`, made where there is none; of processes that start at once, all get the same one.

    A key that cannot be kept or is not private serves for this run only, and a warning says so: what was sealed under
    it is refused after a restart.
    """
    try:
        file = private_dir(folder) / KEY_FILE
        if not file.exists():
            _make(file)
        return _read(file)
    except (OSError, ValueError) as error:
        logger.warning(
            "no lasting key for cursors and states, they end with this run: %s. Remove %s to have a new one made",
            error,
            folder / KEY_FILE,
        )
        return secrets.token_bytes(KEY_SIZE)


def _make(file: Path) -> None:
    """Put a whole new key in place, unless somebody else just did."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{KEY_FILE}.")  # made 0600
    try:
        with os.fdopen(descriptor, "wb") as fresh:
            fresh.write(secrets.token_bytes(KEY_SIZE))
        with suppress(FileExistsError):
            os.link(name, file)
    finally:
        os.unlink(name)


def _read(file: Path) -> bytes:
    with file.open("rb") as kept:
        mode = stat.S_IMODE(os.fstat(kept.fileno()).st_mode)
        key = kept.read(KEY_SIZE + 1)
    if os.name == "posix" and mode & 0o077:
        raise ValueError(f"{file} can be read by others (mode {mode:04o})")
    if len(key) != KEY_SIZE:
        raise ValueError(f"{file} does not hold {KEY_SIZE} bytes")
    return key
