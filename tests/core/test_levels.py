"""Log levels: their order, and the one that suits several clients (2025-11-25 server/utilities/logging)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.levels import LEVELS, most_verbose, shows

ANY = st.sampled_from(LEVELS)


def test_the_levels_are_those_of_rfc_5424_the_most_verbose_first() -> None:
    assert LEVELS == ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@given(st.lists(ANY, min_size=1), ANY)
def test_the_most_verbose_level_shows_what_any_of_them_shows(wanted: list[str], level: str) -> None:
    chosen = most_verbose(wanted)
    assert shows(chosen, level) == any(shows(each, level) for each in wanted)


@pytest.mark.parametrize("levels", [[], ["loud"]], ids=repr)
def test_of_none_there_is_none(levels: list[str]) -> None:
    assert most_verbose(iter(levels)) is None


def test_levels_may_come_from_an_iterator() -> None:
    assert most_verbose(iter(["error", "debug", "info"])) == "debug"


@given(ANY, ANY)
def test_what_is_as_severe_as_wanted_is_shown(wanted: str, level: str) -> None:
    assert shows(wanted, level) == (LEVELS.index(level) >= LEVELS.index(wanted))


@pytest.mark.parametrize("level", [*LEVELS, "loud", None, 3, ["error"]], ids=repr)
def test_who_asked_for_nothing_is_shown_everything(level: object) -> None:
    assert shows(None, level)


@pytest.mark.parametrize("level", ["loud", None, 3, ["error"]], ids=repr)
def test_a_level_that_nobody_knows_is_shown(level: object) -> None:
    assert shows("emergency", level)
