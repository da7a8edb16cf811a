"""Hiding configured secrets in texts that leave wf-mcp: logs, errors, status, events.

Knows strings and how they may be disguised (JSON escapes, percent escapes, one line of several). Which strings are
secret is decided in `config_secrets.py`.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, quote_plus

MASK: Final = "***"
SHORTEST: Final = 4
SHORTEST_LINE: Final = 8

COMMONPLACE: Final = frozenset(
    [
        *("true", "false", "null", "none", "undefined", "auto", "yes", "enabled", "disabled", "default"),
        *("trace", "debug", "info", "warn", "warning", "error", "critical", "silent", "verbose"),
        *("dev", "test", "local", "prod", "development", "testing", "staging", "production", "localhost"),
        *("admin", "root", "user", "guest", "http", "https", "stdio", "utf-8", "utf8", "json", "text", "latest"),
    ]
)
"""Words that configurations are full of; hiding them would hide nothing and garble everything."""


class Secrets:
    """A fixed set of secret strings; `mask` and `mask_json` return copies without them."""

    __slots__ = ("_needles", "strings")

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self.strings: Final = frozenset(text for text in strings if worth_hiding(text))
        needles = {form for text in self.strings for form in _disguises(text)}
        self._needles: Final = tuple(sorted(needles, key=lambda needle: (-len(needle), needle)))

    def __repr__(self) -> str:
        return f"Secrets({len(self.strings)} hidden)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secrets) and self.strings == other.strings

    def __hash__(self) -> int:
        return hash(self.strings)

    def mask(self, text: str) -> str:
        """`text` with every secret as `***`; secrets that overlap are hidden together, so no end of one remains."""
        spans = sorted(span for needle in self._needles for span in _spans(text, needle))
        if not spans:
            return text
        parts: list[str] = []
        done = 0
        start, end = spans[0]
        for next_start, next_end in spans[1:]:
            if next_start < end:
                end = max(end, next_end)
                continue
            parts += (text[done:start], MASK)
            done, start, end = end, next_start, next_end
        return "".join((*parts, text[done:start], MASK, text[end:]))

    def mask_json(self, value: Any) -> Any:
        """A JSON value with every string and key masked; the same object when nothing was hidden."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            items = [self.mask_json(item) for item in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if isinstance(value, dict):
            return self._mask_object(value)
        return value

    def _mask_object(self, value: dict[str, Any]) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        changed = False
        for key, item in value.items():
            new_key, new_item = self.mask(key), self.mask_json(item)
            changed = changed or new_key is not key or new_item is not item
            while new_key in masked:  # two keys that differ only in what is hidden stay two
                new_key += "*"
            masked[new_key] = new_item
        return masked if changed else value


def worth_hiding(text: str) -> bool:
    """Whether `text` is long and rare enough to be looked for."""
    bare = text.strip()
    return len(bare) >= SHORTEST and bare.lower() not in COMMONPLACE


def _spans(text: str, needle: str) -> Iterator[tuple[int, int]]:
    start = text.find(needle)
    while start >= 0:
        yield start, start + len(needle)
        # Overlapping occurrences of the same needle count too: "abab" in "ababab".
        start = text.find(needle, start + 1)


def _disguises(secret: str) -> Iterator[str]:
    """The forms in which `secret` may stand in a log line or a URL."""
    plain = {secret, secret.strip()}
    # stderr is read line by line: a key of several lines would never be seen whole.
    plain |= {line.strip() for line in secret.splitlines() if len(line.strip()) >= SHORTEST_LINE}
    for text in plain:
        yield text
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        encoded = text.encode(errors="surrogatepass")
        for safe in ("", "/", "/:@"):
            for quoted in (quote(encoded, safe=safe), quote_plus(encoded, safe=safe)):
                yield quoted
                yield _lower_escapes(quoted)


def _lower_escapes(quoted: str) -> str:
    parts = quoted.split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])
