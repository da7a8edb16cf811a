"""Which project files may start commands: those whose exact bytes the user approved (design D11).

An approval is one small file in the state folder, named by a digest of the project file's path. One file for each
keeps writers from losing each other's approvals; anything that cannot be read is no approval.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wf_mcp.edge.folders import private_dir, state_dir

_FOLDER: Final = "trust"


def trust(path: Path, data: bytes | None = None, *, env: Mapping[str, str] = os.environ) -> str:
    """Approve `path` with its present bytes, or with `data`, the bytes that the user was shown; return their digest.

    Raises:
        OSError: the file cannot be read, or the approval cannot be written.
    """
    digest = _digest(path.read_bytes() if data is None else data)
    _write(_approval(path, env), json.dumps({"path": _place(path), "sha256": digest}))
    return digest


def untrust(path: Path, *, env: Mapping[str, str] = os.environ) -> bool:
    """Withdraw the approval of `path`, which need not exist any more; false when there was none."""
    try:
        _approval(path, env).unlink()
    except FileNotFoundError:
        return False
    return True


def is_trusted(path: Path, data: bytes | None = None, *, env: Mapping[str, str] = os.environ) -> bool:
    """Whether the present bytes of `path`, or `data` where the caller has read them already, were approved for it."""
    try:
        approval = json.loads(_approval(path, env).read_bytes())
        digest = _digest(path.read_bytes() if data is None else data)
    except (OSError, ValueError):
        return False
    return isinstance(approval, dict) and approval == {"path": _place(path), "sha256": digest}


def _place(path: Path) -> str:
    """What an approval is for: the real folder and the file's name in it.

    Not the file's own link target: relative commands start at the folder, so the same bytes reached through a link
    in another folder would start something else.
    """
    return os.path.join(os.path.realpath(path.parent), path.name)


def _approval(path: Path, env: Mapping[str, str]) -> Path:
    name = hashlib.sha256(os.fsencode(_place(path))).hexdigest()
    return state_dir(env) / _FOLDER / f"{name}.json"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(target: Path, text: str) -> None:
    """Write `text` for the owner alone (0600), all of it or none of it."""
    private_dir(target.parent)
    # mkstemp makes the file with mode 0600, and in the same folder the replacement is atomic.
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".draft-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
