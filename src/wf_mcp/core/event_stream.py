"""Bytes in, server-sent events out, at a cost linear in the bytes (WHATWG HTML § 9.2.6)."""

from dataclasses import dataclass

from wf_mcp.core.framing import Lines, Overlong


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event. `id` and `retry` (milliseconds) are there where this event set them; one without data only sets them.

    An empty `id` says that there is none any more.
    """

    data: bytes = b""
    event: str = "message"
    id: str | None = None
    retry: int | None = None


class EventReader:
    """Cuts a stream of chunks into events. What is unfinished when the stream ends is none."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._ends_in_cr = False
        self._fresh = True
        self._clear()

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that `chunk` completes."""
        events: list[ServerEvent] = []
        for line in self._lines.feed(self._with_newlines(chunk)):
            if isinstance(line, Overlong):  # there is no limit to go over
                continue
            if self._fresh:
                self._fresh = False
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line:
                self._field(line)
            elif self._pending:
                events.append(ServerEvent(b"\n".join(self._data), self._event or "message", self._id, self._retry))
                self._clear()
        return events

    def _clear(self) -> None:
        self._data: list[bytes] = []
        self._event = ""
        self._id: str | None = None
        self._retry: int | None = None
        self._pending = False

    def _with_newlines(self, chunk: bytes) -> bytes:
        """`chunk` with every end of line as one newline; a line may end in a carriage return alone."""
        rest = chunk[1:] if self._ends_in_cr and chunk.startswith(b"\n") else chunk
        if chunk:
            self._ends_in_cr = chunk.endswith(b"\r")
        chunk = rest
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in chunk else chunk

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._event = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
            case b"retry" if value.isdigit():
                self._retry = int(value)
            case _:  # a comment, or a field that nobody knows
                return
        self._pending = True
