"""What a listen request asks for, and the id that its notifications carry (matrix A.4)."""

from typing import Any

import pytest
from tests.inbox import JsonObject

from wf_mcp.edge.listen_filter import Wanted, subscription_of

LISTS: JsonObject = {kind: {"listChanged": True} for kind in ("tools", "prompts", "resources")}


def test_only_what_is_declared_or_asked_for_is_in_the_filter() -> None:
    wanted = Wanted({**LISTS, "resources": {"listChanged": "yes", "subscribe": True}})
    assert (wanted.filter(), wanted.subscribes) == ({"toolsListChanged": True, "promptsListChanged": True}, True)
    wanted.uris["demo://a"] = wanted.tasks["t"] = None
    assert wanted.filter()["resourceSubscriptions"] == ["demo://a"]
    assert wanted.filter()["taskIds"] == ["t"]


@pytest.mark.parametrize("capabilities", [{}, {"tools": None}, {"resources": {"subscribe": "yes"}}], ids=str)
def test_odd_declarations_declare_nothing(capabilities: JsonObject) -> None:
    wanted = Wanted(capabilities)
    assert (wanted.filter(), wanted.subscribes) == ({}, False)


@pytest.mark.parametrize(
    ("params", "found"),
    [
        (None, (None, {})),
        ({"_meta": None}, (None, {"_meta": None})),
        ({"a": 1, "_meta": {"io.modelcontextprotocol/subscriptionId": "s"}}, ("s", {"a": 1})),
        ({"_meta": {"io.modelcontextprotocol/subscriptionId": 0, "b": 1}}, (0, {"_meta": {"b": 1}})),
    ],
)
def test_a_subscription_id_is_taken_out_and_nothing_else(params: Any, found: Any) -> None:
    assert subscription_of(params) == found
