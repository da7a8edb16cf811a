"""The source of wf-mcp and of the bundled plug-ins, as the tests of its structure read it."""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "wf_mcp"
PLUGINS = ROOT / "plugins"


@dataclass(frozen=True)
class Source:
    """One module: its dotted `name`, its `path` and what it consists of."""

    name: str
    path: Path

    @property
    def text(self) -> str:
        """The source text."""
        return self.path.read_text(encoding="utf-8")

    @property
    def lines(self) -> int:
        """How long it is."""
        return len(self.text.splitlines())

    def tree(self) -> ast.Module:
        """The syntax tree; the same one for every test."""
        return _parsed(self.path)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function and method, nested ones too."""
        for node in ast.walk(self.tree()):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def imports(self, root: ast.AST | None = None) -> set[str]:
        """What is imported, as dotted names: `from a import b` is `a.b`, whether `b` is a module or not."""
        found: set[str] = set()
        for node in ast.walk(root or self.tree()):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
        return found

    def bare(self) -> bool:
        """Whether the module only names and describes things: no function in it has a body."""
        return all(_is_remark(node) for function in self.functions() for node in function.body)


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _is_remark(node: ast.stmt) -> bool:
    """A docstring, or the dots of a protocol's method."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _named(path: Path, start: Path) -> str:
    parts = path.relative_to(start).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = tuple(Source(_named(path, PACKAGE.parent), path) for path in sorted(PACKAGE.rglob("*.py")))
"""Every module of `wf_mcp`."""

PLUGIN_MODULES = tuple(
    Source(_named(path, package.parent), path)
    for package in sorted(PLUGINS.glob("*/src/*"))
    for path in sorted(package.rglob("*.py"))
)
"""Every module of the bundled plug-ins."""
