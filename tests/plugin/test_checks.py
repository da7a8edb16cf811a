"""What is wrong with a plug-in, told so that its author can act (style habit 11)."""

from collections.abc import Callable
from typing import Any

import pluggy
import pytest
from pydantic import BaseModel, ConfigDict, field_validator

from wf_mcp.plugin import NAME, impl, spec
from wf_mcp.plugin.checks import Unusable, check_hooks, nearest, told, validated


class Fine:
    @impl
    def wf_event_sinks(self) -> list[Any]:
        return []

    @impl(optionalhook=True)
    def wf_hook_of_a_later_version(self) -> list[Any]:
        return []


class Misspelled:
    @impl
    def wf_component_transform(self) -> list[Any]:
        return []


class Async:
    @impl
    async def wf_event_sinks(self) -> list[Any]:
        return []


class AsyncGenerator:
    @impl
    async def wf_event_sinks(self) -> Any:
        yield None


class StaticAsync:
    @staticmethod
    @impl
    async def wf_event_sinks() -> list[Any]:
        return []


class Unmarked:
    def wf_event_sinks(self) -> list[Any]:
        return []


class Wrapper:
    @impl(wrapper=True)
    def wf_event_sinks(self) -> Any:
        return (yield)


class Renamed:
    @impl(specname="wf_event_sinks")
    def sinks(self) -> list[Any]:
        return []


class Empty:
    pass


class Unhashable:
    __hash__ = None


@pytest.fixture
def manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(NAME)
    manager.add_hookspecs(spec)
    return manager


def test_a_good_plug_in_passes(manager: pluggy.PluginManager) -> None:
    check_hooks(manager, Fine())


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        (Misspelled, "unknown hook 'wf_component_transform'; did you mean 'wf_component_transforms'?"),
        (Async, "wf_event_sinks is async: hooks are synchronous, what they return may be awaited"),
        (AsyncGenerator, "wf_event_sinks is async: hooks are synchronous, what they return may be awaited"),
        (StaticAsync, "wf_event_sinks is async: hooks are synchronous, what they return may be awaited"),
        (Unmarked, "wf_event_sinks is not marked: put @impl above it"),
        (Wrapper, "wf_event_sinks uses the option 'wrapper' of @impl, which wf-mcp does not have"),
        (Renamed, "unknown hook 'sinks'"),
        (Empty, "it implements no hook of wf-mcp"),
        (Unhashable, "the object that its entry point names cannot be hashed; name a module, or an object that can"),
    ],
)
def test_what_would_not_work_is_told(plugin: Callable[[], object], reason: str, manager: pluggy.PluginManager) -> None:
    with pytest.raises(Unusable) as caught:
        check_hooks(manager, plugin())
    assert str(caught.value) == reason


class Settings(BaseModel):
    limit: int = 5
    words: list[str] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Throwing(BaseModel):
    limit: int = 5

    @field_validator("limit")
    @classmethod
    def _divide(cls, limit: int) -> int:
        return 1 // limit


def test_settings_become_the_model() -> None:
    assert validated("demo", Settings, {"limit": 3}) == Settings(limit=3)
    assert validated("demo", Open, {"more": 1}).model_extra == {"more": 1}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"limit": "s3cret"}, "wf.plugins.demo.limit: Input should be a valid integer"),
        ({"words": ["a", 1]}, "wf.plugins.demo.words.1: Input should be a valid string"),
        ({"limits": "s3cret"}, "wf.plugins.demo.limits: Extra inputs are not permitted"),
    ],
)
def test_a_mistake_is_told_with_its_path_and_without_the_value(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unusable) as caught:
        validated("demo", Settings, settings)
    assert str(caught.value).startswith(reason)
    assert "s3cret" not in str(caught.value)


def test_a_validator_that_breaks_is_a_reason_too() -> None:
    with pytest.raises(Unusable, match="could not be checked: ZeroDivisionError"):
        validated("demo", Throwing, {"limit": 0})


def test_words() -> None:
    assert nearest("redcat", ["redact", "audit"]) == "; did you mean 'redact'?"
    assert nearest("zzz", ["redact"]) == ""
    assert told(ValueError("two\nlines")) == "ValueError: two lines"
