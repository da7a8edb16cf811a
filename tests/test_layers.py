"""Imports point downwards only, and each layer imports what it is allowed to know (style 3.1)."""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest
from tests.sources import MODULES, PLUGIN_MODULES, Source

LAYERS = ("version", "core", "plugin", "runtime", "builtin", "edge", "app", "testing", "cli")
"""From the bottom to the top; a module imports from its own layer or from one before it."""

BUILTIN_KNOWS = {"core", "plugin", "version"}
"""Bundled plug-ins are written against the surface that everybody's are."""

PURE = {
    *("base64", "binascii", "bisect", "collections", "copy", "dataclasses", "difflib", "enum", "functools"),
    *("graphlib", "hashlib", "hmac", "itertools", "json", "math", "operator", "re", "string", "types", "typing"),
    *("unicodedata", "urllib.parse"),
    *("json5", "pydantic", "pydantic_core"),
}
"""Modules that do no I/O: what core may import as a whole."""

LEXICAL = {"os.path", "pathlib.PurePath", "pathlib.PurePosixPath", "pathlib.PureWindowsPath"}
"""Paths as text; of `os` nothing else is used in core, see `test_core_does_no_io`."""

LEXICAL_OS = {"path", "fsencode", "fsdecode"}
LEXICAL_OS_PATH = {"basename", "commonpath", "dirname", "isabs", "join", "normpath", "split", "splitext"}

PROTOCOL = {"fastmcp", "mcp", "mcp_types"}
PROTOCOL_LAYERS = {"edge", "app", "testing", "cli"}

OPTIONAL = {"uvloop", "opentelemetry"}
"""Dependencies that are used where they are installed, and so are imported where they are needed."""

LATE = {"wf_mcp.edge.http_channel.open_http"}
"""What takes a tenth of the time of a start to import, and is needed only where an upstream is reached over HTTP."""

BY_NAME = {source.name: source for source in MODULES}
IN_CORE = [source for source in MODULES if source.name.split(".")[1:2] == ["core"]]


def layer_of(name: str) -> str:
    """The layer of a module of ours; the package and `__main__` are entrances."""
    part = [*name.split("."), ""][1]
    return {"": "version", "__main__": "cli"}.get(part, part)


def ours(source: Source) -> set[str]:
    """The modules of wf_mcp that `source` imports, each as a module."""
    found = set()
    for name in source.imports():
        if name.split(".")[0] == "wf_mcp":
            found.add(name if name in BY_NAME else name.rpartition(".")[0])
    return found


def every(sources: list[Source] | tuple[Source, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("source", sources, ids=lambda source: source.name)


@every(MODULES)
def test_a_module_belongs_to_a_layer(source: Source) -> None:
    assert layer_of(source.name) in LAYERS


@every(MODULES)
def test_imports_point_downwards(source: Source) -> None:
    place = LAYERS.index(layer_of(source.name))
    upwards = {name for name in ours(source) if LAYERS.index(layer_of(name)) > place}
    # The package itself offers its version, and nothing above that.
    assert upwards == set()


@every([source for source in MODULES if layer_of(source.name) == "builtin"])
def test_bundled_plugins_know_core_and_the_plugin_surface_only(source: Source) -> None:
    assert {layer_of(name) for name in ours(source)} <= BUILTIN_KNOWS


@every(PLUGIN_MODULES)
def test_packaged_plugins_import_the_public_surface_only(source: Source) -> None:
    assert {name.rpartition(".")[0] for name in source.imports() if name.startswith("wf_mcp.")} == {"wf_mcp.plugin"}


@every(IN_CORE)
def test_core_imports_nothing_that_does_io(source: Source) -> None:
    others = {name for name in source.imports() if not name.startswith("wf_mcp.core.") and name not in LEXICAL}
    assert {name for name in others if not _within(name, PURE)} == set()


@every(IN_CORE)
def test_core_does_no_io(source: Source) -> None:
    for node in ast.walk(source.tree()):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input", "exec", "eval", "__import__"}
        if isinstance(node, ast.Attribute):
            if ast.unparse(node.value) == "os":
                assert node.attr in LEXICAL_OS
            elif ast.unparse(node.value) == "os.path":
                assert node.attr in LEXICAL_OS_PATH


@every([source for source in MODULES if layer_of(source.name) not in PROTOCOL_LAYERS])
def test_only_the_rim_knows_fastmcp_and_the_sdk(source: Source) -> None:
    assert {name for name in source.imports() if name.split(".")[0] in PROTOCOL} == set()


@every([*MODULES, *PLUGIN_MODULES])
def test_imports_stand_at_the_top(source: Source) -> None:
    if layer_of(source.name) == "cli":  # a command imports what it needs, so that --help answers at once
        return
    inside = {name for function in source.functions() for name in source.imports(function)}
    assert {name for name in inside - LATE if name.split(".")[0] not in OPTIONAL} == set()


@every([source for source in MODULES if layer_of(source.name) == "cli"])
def test_commands_import_late_only_commands_and_optional_packages(source: Source) -> None:
    inside = {name for function in source.functions() for name in source.imports(function)}
    assert {name for name in inside if not name.startswith("wf_mcp.cli.") and name not in OPTIONAL} == set()


@every([*MODULES, *PLUGIN_MODULES])
def test_imports_are_absolute_and_name_what_they_use(source: Source) -> None:
    for node in ast.walk(source.tree()):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert "*" not in [alias.name for alias in node.names]


def test_there_are_no_import_cycles() -> None:
    graph = {source.name: ours(source) - {source.name} for source in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        pytest.fail(" -> ".join(cycle.args[1]), pytrace=False)


def _within(name: str, modules: set[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:length]) in modules for length in range(1, len(parts) + 1))
