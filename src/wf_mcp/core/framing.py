"""Bytes in, complete lines out: the framing of newline-delimited JSON, at a cost linear in the bytes.

Knows nothing of JSON-RPC except, in `replace_lone_surrogates`, how JSON escapes a character; `edge/stdio.py` reads
the descriptors and parses what comes out.
"""

import re
from dataclasses import dataclass

HEAD = 200
"""How many bytes of an over-long line are kept to show how it began."""
NOISE = 1024 * 1024
"""Bytes after which a line that does not begin like a JSON object or array counts as over-long where there is a limit:
it is no message.
"""
_BEGINNINGS = b"{[ \t\r"


@dataclass(frozen=True, slots=True)
class Overlong:
    """Stands for a line that went over the limit; its remaining bytes are skipped up to the next newline."""

    head: bytes


class Lines:
    """Cuts a stream of chunks into lines without looking at any byte twice.

    The pieces of an unfinished line are kept apart and joined once, when the newline comes: appending to one growing
    value and searching it again for each chunk would be quadratic, which a 50 MB line makes visible.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """The lines that `chunk` completes, without `\\n` or `\\r\\n`; an `Overlong` once one passes the limit."""
        found: list[bytes | Overlong] = []
        start = 0
        # Not `split`, which compares byte by byte.
        while (end := chunk.find(b"\n", start)) >= 0:
            self._take(chunk[start:end], found)
            self._end(found)
            start = end + 1
        if start < len(chunk):
            self._take(chunk[start:], found)
        return found

    def finish(self) -> list[bytes | Overlong]:
        """What was left without a newline when the stream ended: at most one line."""
        found: list[bytes | Overlong] = []
        if self._parts:
            self._end(found)
        return found

    def _take(self, piece: bytes, found: list[bytes | Overlong]) -> None:
        if self._skipping:
            return
        self._size += len(piece)
        self._parts.append(piece)
        if self._limit is not None and (self._size > self._limit or self._is_noise()):
            found.append(Overlong(self._head()))
            self._parts.clear()
            self._skipping = True

    def _is_noise(self) -> bool:
        return self._size > NOISE and self._parts[0][0] not in _BEGINNINGS

    def _end(self, found: list[bytes | Overlong]) -> None:
        if not self._skipping:
            line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            found.append(line.removesuffix(b"\r"))
        self._parts.clear()
        self._size = 0
        self._skipping = False

    def _head(self) -> bytes:
        head = b""
        for part in self._parts:
            head += part[: HEAD - len(head)]
            if len(head) == HEAD:
                break
        return head


_ESCAPE = re.compile(
    rb"\\(?:"
    rb"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a proper pair
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
    rb"|.)"  # any other escape, so that an escaped backslash never starts one
)


def replace_lone_surrogates(line: bytes) -> bytes:
    """`line` with each escaped half of a surrogate pair made U+FFFD; the same object when there is none.

    JavaScript servers that cut a string inside an emoji send these; RFC 8259 section 8.2 lets parsers refuse them, and
    pydantic's does, which would lose the whole message.
    """
    repaired = _ESCAPE.sub(lambda found: rb"\ufffd" if found["lone"] else found[0], line)
    return line if repaired == line else repaired
