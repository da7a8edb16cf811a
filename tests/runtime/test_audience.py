"""Who shares a session with whom (design D4)."""

import pytest

from wf_mcp.core.config_values import Isolation
from wf_mcp.runtime.audience import Audience, alone

CLIENT = Audience("me", "team", "all", owned=True)
SESSIONLESS = Audience("team", "team", "all")


@pytest.mark.parametrize(
    ("isolation", "own", "without"),
    [("client", "me", "team"), ("principal", "team", "team"), ("shared", "all", "all")],
)
def test_each_way_of_sharing_has_its_key(isolation: Isolation, own: str, without: str) -> None:
    assert CLIENT.key(isolation) == own
    assert SESSIONLESS.key(isolation) == without


def test_a_client_owns_what_is_under_its_own_key_and_nothing_else() -> None:
    assert [CLIENT.owns(key) for key in ("me", "team", "all", "another")] == [True, False, False, False]


def test_who_has_no_connection_owns_nothing() -> None:
    assert [SESSIONLESS.owns(key) for key in ("team", "all")] == [False, False]


def test_the_only_client_there_is_owns_every_session() -> None:
    only = alone("stdio")
    assert {only.key(isolation) for isolation in ("client", "principal", "shared")} == {"stdio"}
    assert only.owns("stdio")
    assert only.keys == {"stdio"}


def test_callers_with_equal_keys_are_one_audience() -> None:
    assert Audience("me", "team", "all", owned=True) == CLIENT
    assert len({CLIENT, Audience("me", "team", "all", owned=True), SESSIONLESS}) == 2
    assert CLIENT.keys == {"me", "team", "all"}
