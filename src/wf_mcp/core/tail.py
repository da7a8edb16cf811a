"""The last of a stream of text in bounded memory: what an upstream said on stderr before it died."""


class Tail:
    """Keeps the last `max_bytes` bytes fed to it and shows the last `max_lines` lines of them."""

    def __init__(self, max_bytes: int = 16_384, max_lines: int = 200) -> None:
        self._max_bytes = max_bytes
        self._max_lines = max_lines
        self._kept = bytearray()
        self._cut = False

    def feed(self, chunk: bytes) -> None:
        """Append `chunk`, forgetting what no longer fits. Costs no more than the length of `chunk`."""
        self._cut = self._cut or len(self._kept) + len(chunk) > self._max_bytes
        self._kept += chunk[-self._max_bytes :]
        # Deleting at the front of a bytearray moves its start, not its bytes.
        del self._kept[: max(0, len(self._kept) - self._max_bytes)]

    def lines(self) -> list[str]:
        """The last lines, oldest first. Invalid UTF-8 is replaced; a line whose beginning is gone starts with `…`."""
        text = self._kept.decode("utf-8", "replace")
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if self._cut:
            # The cut may have gone through a character; its rest decodes as replacement characters.
            lines[0] = "…" + lines[0].lstrip("�")
        if lines[-1] == "":
            lines.pop()
        return lines[-self._max_lines :]

    def text(self) -> str:
        """The last lines as one string, without a newline at the end."""
        return "\n".join(self.lines())
