"""Which plug-ins are found and used, from real package metadata; nobody's mistake stops wf-mcp."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from wf_mcp.core.errors import PluginError
from wf_mcp.plugin import ConfigSection, impl
from wf_mcp.plugin.manager import Plugins, build_plugins

GOOD = """
from wf_mcp.plugin import impl

@impl
def wf_component_transforms(mount):
    return [lambda component: component]
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put packages with entry points on the path, as pip would leave them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def install(name: str, source: str = GOOD, *, package: str | None = None, version: str = "1.0") -> None:
        package = package or f"pkg_{name}"
        (tmp_path / f"{package}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{package}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", encoding="utf-8"
        )
        (info / "entry_points.txt").write_text(f"[wf_mcp]\n{name} = {package}\n", encoding="utf-8")

    yield install
    for module in set(sys.modules) - before:
        if module.startswith("pkg_"):
            del sys.modules[module]


def summary(plugins: Plugins) -> dict[str, tuple[str, str | None]]:
    """State and reason by name, of the packages that a test installed or configured."""
    return {status.name: (status.state, status.reason) for status in plugins.statuses()}


def states(config: dict[str, Any] | None = None, **options: Any) -> dict[str, tuple[str, str | None]]:
    return summary(build_plugins([], config or {}, **options))


def test_an_installed_plug_in_is_used_and_its_version_known(install: Install) -> None:
    install("credit", version="2.5")
    (status,) = [status for status in build_plugins([], {}).statuses() if status.name == "credit"]
    assert (status.state, status.version, status.reason) == ("active", "2.5", None)


def test_entry_points_can_be_left_alone(install: Install) -> None:
    install("credit")
    assert states(load_entry_points=False) == {}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no')", "it cannot be imported: RuntimeError: no"),
        ("import sys; sys.exit(3)", "it cannot be imported: SystemExit: 3"),
        ("import not_there_at_all", "it cannot be imported: ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("def broken(:", "it cannot be imported: SyntaxError"),
        (GOOD.replace("transforms", "transform"), "unknown hook 'wf_component_transform'; did you mean"),
        (GOOD.replace("def", "async def"), "wf_component_transforms is async"),
        (GOOD.replace("(mount)", "(mounts)"), "Plugin 'bad' for hook 'wf_component_transforms'"),
    ],
)
def test_a_broken_plug_in_is_named_and_the_others_go_on(source: str, reason: str, install: Install) -> None:
    install("bad", source)
    install("good")
    found = states()
    assert found["good"] == ("active", None)
    assert found["bad"][0] == "failed"
    assert (found["bad"][1] or "").startswith(reason)
    assert "\n" not in (found["bad"][1] or "")
    with pytest.raises(PluginError, match="'bad' is required and cannot be used"):
        build_plugins([], {"bad": {"required": True}})


def test_a_plug_in_that_failed_leaves_nothing_behind(install: Install) -> None:
    install("bad", GOOD + "\n@impl\ndef wf_event_sinks(nonsense):\n    return []\n")
    plugins = build_plugins([], {})
    assert summary(plugins)["bad"][0] == "failed"
    assert plugins.call_interceptors() == ()
    assert [owned.plugin for owned in plugins.event_sinks()] == []


def test_switched_off_and_blocked_ones_are_not_imported(install: Install) -> None:
    install("off", "raise RuntimeError('imported')")
    install("shut", "raise RuntimeError('imported')")
    found = states({"off": {"enabled": False, "required": True}}, blocked=frozenset({"shut"}))
    assert found["off"] == ("disabled", "its configuration says so")
    assert found["shut"] == ("disabled", "blocked by WF_MCP_BLOCK_PLUGINS")
    with pytest.raises(PluginError, match="blocked"):
        build_plugins([], {"shut": {"required": True}}, blocked=frozenset({"shut"}))


def test_configured_and_not_installed(install: Install) -> None:
    install("redact")
    found = states({"redcat": {}, "gone": {"enabled": False}})
    assert found["redcat"] == ("missing", "no installed package provides it; did you mean 'redact'?")
    assert found["gone"] == ("disabled", "its configuration says so; it is not installed")
    with pytest.raises(PluginError, match="'redcat' is required and cannot be used: no installed package"):
        build_plugins([], {"redcat": {"required": True}})


def test_two_packages_with_one_name(install: Install) -> None:
    install("twin", package="pkg_one")
    install("twin", package="pkg_two")
    found = [(s.state, s.reason) for s in build_plugins([], {}).statuses() if s.name == "twin"]
    assert sorted(found, key=str) == [("active", None), ("failed", "another plug-in has this name already")]


def test_the_order_is_the_configuration_s_then_by_name(install: Install) -> None:
    for name in ("a", "b", "c", "d"):
        install(name)
    found = states({"d": {}, "b": {}})
    assert [name for name in found if name in "abcd"] == ["d", "b", "a", "c"]


class Settings(BaseModel):
    limit: int = 5


class Sectioned:
    def __init__(self, section: Any = ConfigSection("demo", Settings)) -> None:  # noqa: B008
        self.section = section

    @impl
    def wf_config_section(self) -> Any:
        if isinstance(self.section, Exception):
            raise self.section
        return self.section


class Plain:
    @impl
    def wf_event_sinks(self) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("plugin", "settings", "state", "reason"),
    [
        (Sectioned(), {}, "active", None),
        (Sectioned(), {"limit": 3, "enabled": True, "required": False}, "active", None),
        (Sectioned(), {"limit": "x"}, "failed", "wf.plugins.demo.limit: Input should be a valid integer"),
        (Sectioned(ValueError("x")), {}, "failed", "wf_config_section raised ValueError: x"),
        (Sectioned("demo"), {}, "failed", "wf_config_section returned str, not ConfigSection"),
        (Sectioned(None), {}, "active", None),
        (Sectioned(None), {"limit": 3}, "failed", "it has no settings, and wf.plugins.demo holds 'limit'"),
        (Plain(), {"limit": 3}, "failed", "it has no settings, and wf.plugins.demo holds 'limit'"),
        (Sectioned(ConfigSection("other", Settings)), {}, "failed", "its section is named 'other' and its entry point"),
        (Plain(), {"enabled": "no"}, "failed", "'enabled' is true or false, not 'no'"),
        (Plain(), {"required": 1}, "failed", "'required' is true or false, not 1"),
    ],
)
def test_settings(plugin: object, settings: dict[str, Any], state: str, reason: str | None) -> None:
    found = states({"demo": settings}, load_entry_points=False, extra=[("demo", plugin)])
    assert found["demo"][0] == state
    assert (found["demo"][1] or "").startswith(reason or "")
    assert (found["demo"][1] is None) == (reason is None)


def test_built_in_ones_have_settings_and_cannot_be_switched_off() -> None:
    config = {"demo": {"limit": 3, "enabled": False}}
    plugins = build_plugins([("demo", Sectioned())], config, load_entry_points=False)
    assert summary(plugins) == {"demo": ("active", "built in: it cannot be disabled")}
    with pytest.raises(PluginError, match=r"the built-in plug-in 'demo' cannot be used: wf\.plugins\.demo\.limit"):
        build_plugins([("demo", Sectioned())], {"demo": {"limit": "x"}}, load_entry_points=False)


def test_one_object_is_one_plug_in() -> None:
    plugin = Plain()
    found = states(load_entry_points=False, extra=[("one", plugin), ("two", plugin)])
    assert found["one"] == ("active", None)
    assert found["two"][0] == "failed"
