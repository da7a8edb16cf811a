"""Where in a JSON5 text each value stands: line and column of a JSON path.

`json5` says whether a text is legal and what it means, but forgets where things stood. This scanner knows only
places: it walks the tokens once, without recursion, and stops at the first one that cannot be there. It judges
nothing else; `config.py` asks it where to point.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import json5

JsonPath: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the root to a value; `()` is the root itself."""

DEEPEST: Final = 32
"""Most levels of nesting: more than any configuration has, fewer than `json5` can read."""

_LINE_END: Final = re.compile(r"\r\n|[\n\r]")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN: Final = re.compile(
    r"""(?P<space>(?:[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)+)
    |(?P<string>"(?:[^"\\\n\r]|\\(?:\r\n|.))*"|'(?:[^'\\\n\r]|\\(?:\r\n|.))*')
    |(?P<mark>[{}\[\],:])
    |(?P<word>(?:[^\s{}\[\],:"'/\\]|\\u[0-9a-fA-F]{4})+)""",
    re.DOTALL | re.VERBOSE,
)
_SCALAR: Final = re.compile(
    r"null|true|false|[+-]?(?:Infinity|NaN|0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """The first place where a token cannot stand: what is there and what could be."""

    offset: int
    path: JsonPath
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class Positions:
    """Offsets of keys and values by path, keys given twice, and the first fault, if any."""

    text: str = field(repr=False)
    values: Mapping[JsonPath, int]
    keys: Mapping[JsonPath, int]
    duplicates: tuple[tuple[JsonPath, int, int], ...]
    """(path, offset of the first key, offset of the second)."""
    fault: Fault | None
    line_ends: tuple[int, ...] = field(repr=False)

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column of `offset`, both from 1; CRLF is one line end."""
        line = bisect_right(self.line_ends, offset)
        return line + 1, offset - (self.line_ends[line - 1] if line else 0) + 1

    def of(self, path: JsonPath, *, key: bool = False) -> tuple[int, int]:
        """Where the value at `path` (or its key) stands; for a path that is not there, its nearest parent."""
        if key and path in self.keys:
            return self.line_column(self.keys[path])
        while path and path not in self.values:
            path = path[:-1]
        return self.line_column(self.values.get(path, 0))

    def at(self, offset: int) -> JsonPath:
        """The path of the value that starts last at or before `offset`."""
        before = [(start, path) for path, start in self.values.items() if start <= offset]
        return max(before, key=lambda each: each[0])[1] if before else ()


def json_path(path: JsonPath) -> str:
    """`("mcpServers", "my server", "args", 1)` as `$.mcpServers["my server"].args[1]`."""
    return "$" + "".join(_step(part) for part in path)


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _IDENTIFIER.fullmatch(part) else f"[{json.dumps(part, ensure_ascii=False)}]"


def whole(text: str) -> str:
    r"""`text` with surrogate pairs joined: `json5` reads the two escapes of `"\ud83d\ude00"` as two characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def scan(text: str) -> Positions:
    """Walk `text` to its end or to the first token that cannot be there; never raises."""
    walk = _Walk()
    for kind, token, offset in _tokens(text):
        reason = "a character that starts nothing" if kind == "bad" else None
        if kind == "open":
            reason = "a string or comment that is not closed"
        if reason is not None or not walk.feed(kind, token, offset):
            return walk.result(text, Fault(offset, walk.top.path, reason or _shown(kind, token), walk.expected()))
    end = None
    if walk.top.wants != "end":
        end = Fault(len(text), walk.top.path, "the end of the file", walk.expected())
    return walk.result(text, end)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    offset = 0
    while match := _TOKEN.match(text, offset):
        if match.lastgroup != "space":
            yield str(match.lastgroup), match.group(), offset
        offset = match.end()
    if offset < len(text):
        yield ("open" if text[offset] in "\"'/" else "bad"), text[offset], offset


def _shown(kind: str, token: str) -> str:
    # Strings and words may be secrets that lost their quotes; only punctuation is repeated.
    return f'"{token}"' if kind == "mark" else {"string": "a string"}.get(kind, "a word without quotes")


def _key_text(kind: str, token: str) -> str:
    if "\\" not in token:
        return token[1:-1] if kind == "string" else token
    if kind == "string":
        try:
            return whole(json5.loads(token))
        except ValueError:  # an escape that JSON5 does not have: json5 reports it when the text is parsed
            return token[1:-1]
    return whole(re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), token))


@dataclass(slots=True)
class _Open:
    """One container being read; the root is a container of one value."""

    path: JsonPath
    close: str
    wants: str
    step: str | int = 0


_EXPECTED: Final[Mapping[tuple[str, str], str]] = {
    ("}", "key"): 'a key or "}"',
    ("}", "colon"): '":"',
    ("}", "comma"): '"," or "}"',
    ("]", "value"): 'a value or "]"',
    ("]", "comma"): '"," or "]"',
    ("", "end"): "nothing more",
}


@dataclass(slots=True)
class _Walk:
    """The state machine behind `scan`: a stack of open containers and what each wants next."""

    values: dict[JsonPath, int] = field(default_factory=dict)
    keys: dict[JsonPath, int] = field(default_factory=dict)
    duplicates: list[tuple[JsonPath, int, int]] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=lambda: [_Open((), "", "value")])

    @property
    def top(self) -> _Open:
        return self.stack[-1]

    def expected(self) -> str:
        if len(self.stack) > DEEPEST:
            return f"at most {DEEPEST} levels"
        return _EXPECTED.get((self.top.close, self.top.wants), "a value")

    def feed(self, kind: str, token: str, offset: int) -> bool:
        """Take one token; false when it cannot stand here."""
        steps: Mapping[str, Callable[[str, str, int], bool]] = {
            "key": self._key,
            "colon": self._colon,
            "value": self._value,
            "comma": self._comma,
        }
        step = steps.get(self.top.wants)
        return step is not None and step(kind, token, offset)

    def _key(self, kind: str, token: str, offset: int) -> bool:
        if kind == "mark":
            return self._close(token)
        top = self.top
        top.step, top.wants = _key_text(kind, token), "colon"
        path = (*top.path, top.step)
        if path in self.keys:
            self.duplicates.append((path, self.keys[path], offset))
        self.keys[path] = offset
        return True

    def _colon(self, _kind: str, token: str, _offset: int) -> bool:
        if token != ":":
            return False
        self.top.wants = "value"
        return True

    def _value(self, kind: str, token: str, offset: int) -> bool:
        top = self.top
        if token == "]":
            return self._close(token)
        if len(self.stack) > DEEPEST:
            return False
        path = (*top.path, top.step) if top.close else ()
        if token in ("{", "["):
            inner = _Open(path, "}", "key") if token == "{" else _Open(path, "]", "value")
        elif kind == "string" or (kind == "word" and _SCALAR.fullmatch(token)):
            inner = None
        else:
            return False
        self.values[path] = offset
        top.wants = "comma" if top.close else "end"
        if inner is not None:
            self.stack.append(inner)
        return True

    def _comma(self, _kind: str, token: str, _offset: int) -> bool:
        top = self.top
        if token != ",":
            return self._close(token)
        if isinstance(top.step, int):
            top.step += 1
        top.wants = "key" if top.close == "}" else "value"
        return True

    def _close(self, token: str) -> bool:
        if token != self.top.close:
            return False
        self.stack.pop()
        return True

    def result(self, text: str, fault: Fault | None) -> Positions:
        ends = tuple(match.end() for match in _LINE_END.finditer(text))
        return Positions(text, self.values, self.keys, tuple(self.duplicates), fault, ends)
