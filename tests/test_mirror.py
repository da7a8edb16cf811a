"""The tests mirror the source file for file, so that either is found from the other (style 3.6)."""

from pathlib import Path

import pytest
from tests.sources import MODULES, PACKAGE, Source

TESTS = Path(__file__).parent

MIRRORED = ("core", "plugin", "runtime", "builtin", "edge", "cli")
"""Folders of tests in which every test module has a source; the others are ordered by what they show."""

ELSEWHERE = {
    # module, or package of modules: (the tests that cover it, why they are not at the mirrored place)
    "wf_mcp.core.config_models": ("core/test_config.py", "shapes, seen through the loader that gives them a meaning"),
    "wf_mcp.core.config_resolve": ("core/test_config_entry.py", "a step of reading one entry, seen through that entry"),
    "wf_mcp.edge.reaper_main": ("edge/test_reaper.py", "a program of its own, run as one by its starter's tests"),
    "wf_mcp.edge.http_guard": ("edge/test_serving.py", "a sentence around the guard, seen through the whole front"),
    "wf_mcp.edge.http_exchanges": ("edge/test_http_modern.py", "how they end, seen through the endpoint"),
    "wf_mcp.edge.http_plain": ("edge/test_http_front.py", "bodies and refusals, seen through the endpoint"),
    "wf_mcp.edge.http_sessions": ("edge/test_http_front.py", "the table of sessions, seen through the endpoint"),
    "wf_mcp.edge.http_conversation": ("edge/test_http_channel.py", "what exchanges share, seen through the channel"),
    "wf_mcp.edge.http_events": ("edge/test_http_channel.py", "an answer's stream, seen through the channel"),
    "wf_mcp.edge.http_listen": ("edge/test_http_channel.py", "the GET stream, seen through the channel"),
    "wf_mcp.edge.http_post": ("edge/test_http_channel.py", "one request, seen through the channel"),
    "wf_mcp.edge.http_wire": ("edge/test_http_session.py", "the two ends of a session's dispatcher"),
    "wf_mcp.edge.streams": ("edge/test_stdio.py", "what both stdio sides share; the tests of each side run it"),
    "wf_mcp.runtime.ports": ("contract/test_link.py", "what the runtime relies on, kept by the real link and its twin"),
    "wf_mcp.cli": ("interaction/test_cli.py", "the command line is tested as what users type"),
}


def mirrored(source: Source) -> Path:
    """Where the tests of `source` belong."""
    inside = source.path.relative_to(PACKAGE)
    return TESTS / inside.parent / f"test_{inside.stem}.py"


def elsewhere(source: Source) -> str | None:
    """The entry of the table that `source` falls under."""
    return next((name for name in ELSEWHERE if source.name == name or source.name.startswith(f"{name}.")), None)


@pytest.mark.parametrize("source", MODULES, ids=lambda source: source.name)
def test_a_module_that_does_something_has_its_tests(source: Source) -> None:
    assert source.bare() or elsewhere(source) or mirrored(source).is_file(), f"{mirrored(source)} is missing"


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_table_of_exceptions_is_true_and_needed(name: str) -> None:
    tests, why = ELSEWHERE[name]
    covered = [source for source in MODULES if elsewhere(source) == name]
    assert [source.name for source in covered if not mirrored(source).is_file()] != []
    assert (TESTS / tests).is_file()
    assert why


@pytest.mark.parametrize(
    "path", [path for folder in MIRRORED for path in sorted((TESTS / folder).rglob("test_*.py"))], ids=lambda p: p.stem
)
def test_a_test_module_has_its_source(path: Path) -> None:
    inside = path.relative_to(TESTS)
    assert (PACKAGE / inside.parent / f"{inside.stem.removeprefix('test_')}.py").is_file()
