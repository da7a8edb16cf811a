"""What upstreams listed, one file per catalogue in the cache folder (design D5).

Its name is a digest under the state folder's key, so that nobody who sees the folder can try out what the configuration
holds. Several wf-mcp processes may share the folder: a file is replaced whole, and nothing depends on who was last.
"""

import hashlib
import hmac
import logging
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio.to_thread

from wf_mcp.core.stored import BadStored, CatalogueKey, Stored, dump, parse
from wf_mcp.edge.folders import private_dir

logger = logging.getLogger(__name__)

FOLDER: Final = "catalogues"
"""The folder inside the cache folder."""

SIZE: Final = 8 * 1024 * 1024
"""Bytes of one catalogue; a larger one is not kept."""

TOTAL: Final = 256 * 1024 * 1024
"""Bytes of all of them; those not used for the longest time go first."""

UNUSED: Final = 30 * 86_400.0
"""Seconds after which one that nobody used is removed."""

AGAIN: Final = 60.0
"""Seconds in which the same lists are not written a second time: many sessions with one upstream list the same."""

_SUFFIX: Final = ".json"
_DRAFT: Final = ".draft-"
_ABANDONED: Final = 3600.0


class CatalogueFiles:
    """Keeps catalogues in `folder`; a file that cannot be read or written costs no more than listing anew."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder = folder
        self._key = key
        self._written: dict[Path, float] = {}
        self._cleaned = False

    def load(self, key: CatalogueKey) -> Stored | None:
        """What was kept under `key`; using it keeps it from being removed."""
        file = self._file(key)
        try:
            with file.open("rb") as kept:
                text = kept.read(SIZE + 1)
            stored = parse(text)
            os.utime(file)
        except FileNotFoundError:
            return None
        except (OSError, BadStored) as error:
            logger.warning("the catalogue in %s is not used, its upstream is asked again: %s", file, error)
            return None
        return stored

    async def save(self, key: CatalogueKey, stored: Stored) -> None:
        """Keep `stored` under `key`, without holding up the event loop."""
        file = self._file(key)
        lately = abs(stored.at - self._written.get(file, 0.0)) < AGAIN
        self._written[file] = stored.at
        clean, self._cleaned = not self._cleaned, True
        await anyio.to_thread.run_sync(partial(self._save, file, stored, lately=lately, clean=clean))

    def _save(self, file: Path, stored: Stored, *, lately: bool, clean: bool) -> None:
        try:
            if lately and _holds(file, stored):
                return
            text = dump(stored).encode()
            if len(text) > SIZE:
                logger.warning("a catalogue of %d bytes is not kept; %d may be", len(text), SIZE)
                file.unlink(missing_ok=True)
                return
            _replace(file, text)
            if clean:
                self._clean()
        except OSError as error:
            logger.warning("the catalogue of an upstream cannot be kept in %s: %s", file, error)

    def _file(self, key: CatalogueKey) -> Path:
        name = hmac.digest(self._key, b"catalogue\0" + key.text.encode(), hashlib.sha256).hex()
        return self._folder / f"{name[:40]}{_SUFFIX}"

    def _clean(self) -> None:
        """Remove what was not used for long, what is beyond the bounds, and drafts that nobody finished."""
        now, total = time.time(), 0
        for used, size, path in sorted(_entries(self._folder), reverse=True):
            if path.name.startswith(_DRAFT):
                old = now - used > _ABANDONED
            else:
                total += size
                old = now - used > UNUSED or total > TOTAL
            if old:
                path.unlink(missing_ok=True)  # somebody else may be cleaning too


def _holds(file: Path, stored: Stored) -> bool:
    """Whether `file` has the same lists already."""
    try:
        return replace(parse(file.read_bytes()), at=stored.at) == stored
    except (FileNotFoundError, BadStored):
        return False


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """When each of our files was last used, and its size."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_DRAFT) or entry.name.endswith(_SUFFIX):
                with suppress(FileNotFoundError):
                    state = entry.stat(follow_symlinks=False)
                    found.append((state.st_mtime, state.st_size, Path(entry.path)))
    return found


def _replace(target: Path, text: bytes) -> None:
    """Write `text` for the owner alone (0600), all of it or none of it."""
    private_dir(target.parent)
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=_DRAFT)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text)
        os.replace(draft, target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
