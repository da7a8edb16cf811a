"""Which era each upstream was found to speak, kept so that the next connection need not find out again (2026-07-28
basic/versioning § Backward Compatibility).

It is kept for each era of clients: an upstream that speaks both is spoken to in the client's own (design D8), and one
that speaks the other only is not asked twice.
"""

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Final

from wf_mcp.core.config import Upstream
from wf_mcp.core.envelope import Era
from wf_mcp.edge.folders import private_dir

logger = logging.getLogger(__name__)

ERAS: Final = "eras.json"
"""The file in the state folder."""

REMEMBERED: Final = 500
"""Upstreams that are remembered; those not heard of for the longest time are forgotten first."""


class EraMemory:
    """Eras by upstream id, digest and the client's era: in memory and, where `file` is given, across restarts.

    A file that cannot be read or written costs no more than finding out again.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._eras: dict[str, Era] | None = None

    def get(self, upstream: Upstream, client: Era) -> Era | None:
        """The era that `upstream`, as it is configured now, was last found to speak to such clients."""
        return self._known().get(_key(upstream, client))

    def keep(self, upstream: Upstream, client: Era, era: Era) -> None:
        """Remember an era that was found."""
        known, key = self._known(), _key(upstream, client)
        if known.get(key) == era:
            return
        known.pop(key, None)  # the latest ones stand last
        known[key] = era
        while len(known) > REMEMBERED:
            del known[next(iter(known))]
        self._write(known)

    def forget(self, upstream: Upstream, client: Era) -> None:
        """Forget an era that did not work any more."""
        if self._known().pop(_key(upstream, client), None) is not None:
            self._write(self._known())

    def _known(self) -> dict[str, Era]:
        if self._eras is None:
            self._eras = {} if self._file is None else _read(self._file)
        return self._eras

    def _write(self, eras: dict[str, Era]) -> None:
        if self._file is None:
            return
        try:
            _replace(self._file, json.dumps(eras, indent=1))
        except OSError as error:
            logger.warning("the eras of upstreams cannot be remembered in %s: %s", self._file, error)


def _key(upstream: Upstream, client: Era) -> str:
    return f"{upstream.id} {upstream.digest} {client}"


def _read(file: Path) -> dict[str, Era]:
    try:
        found = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        logger.warning("what %s says about the eras of upstreams is not used: %s", file, error)
        return {}
    if not isinstance(found, dict):
        logger.warning("what %s says about the eras of upstreams is not used: it is no object", file)
        return {}
    return {key: era for key, era in found.items() if era in ("handshake", "modern")}


def _replace(target: Path, text: str) -> None:
    """Write `text` for the owner alone (0600), all of it or none of it."""
    private_dir(target.parent)
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=".draft-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(draft, target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
