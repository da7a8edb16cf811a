"""The table of kinds agrees with the SDK's model of the protocol, and with itself."""

import pytest
from mcp_types import methods

from wf_mcp.core.kinds import KIND_OF_LIST, KINDS, KINDS_OF_CHANGE, RESOURCES, TEMPLATES, Kind
from wf_mcp.core.notify import FROM_UPSTREAM

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@kinds
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_list_holds_its_items_where_the_protocol_has_them(kind: Kind, version: str) -> None:
    result = {kind.key: [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    methods.validate_server_result(kind.method, version, result)


@kinds
def test_a_kind_is_found_by_the_method_that_lists_it(kind: Kind) -> None:
    assert KIND_OF_LIST[kind.method] is kind


def test_every_kind_is_made_stale_by_one_notification() -> None:
    stale = [kind for made in KINDS_OF_CHANGE.values() for kind in made]
    assert sorted(kind.name for kind in stale) == sorted(kind.name for kind in KINDS)


def test_templates_go_with_resources() -> None:
    assert KINDS_OF_CHANGE["notifications/resources/list_changed"] == (RESOURCES, TEMPLATES)


def test_what_makes_a_list_stale_is_an_event_too() -> None:
    assert set(KINDS_OF_CHANGE) == set(FROM_UPSTREAM)
