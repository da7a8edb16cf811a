"""Reading the pages: their sections, tables, code blocks and links."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("plugins/*/README.md"), ROOT / "tests" / "README.md"]
)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_NAME = re.compile(r"`([^`]+)`")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks(text: str, *languages: str) -> list[str]:
    """The fenced code in one of the languages."""
    return [code for language, code in _FENCE.findall(text) if language in languages]


def prose(text: str) -> str:
    """The text without fenced code."""
    return _FENCE.sub("", text)


def sections(text: str) -> dict[str, str]:
    """What stands under each heading, down to the next heading of any level; headings without their backticks."""
    parts = re.split(r"^#{1,6} (.+)$", prose(text), flags=re.MULTILINE)
    return {heading.replace("`", ""): body for heading, body in zip(parts[1::2], parts[2::2], strict=True)}


def rows(text: str) -> list[list[str]]:
    """The rows of all tables in `text`, cell by cell, without headings."""
    table: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("|---"):
            table.pop()
        elif line.startswith("|"):
            table.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return table


def names(cell: str) -> list[str]:
    """What stands in backticks."""
    return _NAME.findall(cell)


def links(path: Path) -> Iterator[tuple[str, Path, str]]:
    """Each link of a page to a file: as written, the file, and the part after `#`."""
    for target in _LINK.findall(prose(read(path))):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            yield target, (path.parent / file).resolve() if file else path, anchor


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#{1,6} (.+)$", prose(read(path)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
