"""What is sealed around an upstream's `requestState`, and what a retry has to agree with (2026-07-28
basic/patterns/mrtr § Server Requirements).
"""

import json
from dataclasses import replace

import pytest

from wf_mcp.core.passing import LIFETIME, Binding, Passed, binding, claims, opened, refusal
from wf_mcp.core.wire import JsonObject

CALL: JsonObject = {"name": "x", "arguments": {"a": 1, "b": [None]}}
OTHER = "it belongs to a request with other parameters"
BOUND = binding("alpha", "tools/call", CALL, "anna")
ASKED: JsonObject = {"inputRequests": {"k": {"method": "roots/list"}}, "requestState": "exact \u00e9 \x00 bytes"}


def test_a_retry_has_the_same_binding_whatever_the_order_and_the_answers() -> None:
    retry = {
        "arguments": {"b": [None], "a": 1},
        "inputResponses": {},
        "requestState": "s",
        "_meta": {"progressToken": 2},
        "name": "x",
    }
    assert binding("alpha", "tools/call", retry, "anna") == BOUND


def test_what_was_sealed_comes_back_whole_through_json() -> None:
    sealed = json.loads(json.dumps(claims(BOUND, ASKED, 100.0)))
    assert refusal(sealed, BOUND, 100.0 + LIFETIME) is None
    assert opened(sealed) == Passed("exact \u00e9 \x00 bytes", {"k": "roots/list"})


@pytest.mark.parametrize("result", [{}, {"requestState": None}], ids=repr)
def test_an_upstream_that_gave_no_state_gets_none(result: JsonObject) -> None:
    assert opened(claims(BOUND, result, 0.0)) == Passed(None, {})


def test_an_empty_state_is_a_state() -> None:
    assert opened(claims(BOUND, {"requestState": ""}, 0.0)).state == ""


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (replace(BOUND, upstream="beta"), "it belongs to another server's request"),
        (replace(BOUND, method="prompts/get"), "it belongs to a tools/call request"),
        (replace(BOUND, principal="bob"), "it belongs to another client"),
        (replace(BOUND, principal=None), "it belongs to another client"),
        (
            binding("alpha", "tools/call", {**CALL, "arguments": {"a": 2}}, "anna"),
            OTHER,
        ),
        (
            binding("alpha", "tools/call", {**CALL, "name": "y"}, "anna"),
            OTHER,
        ),
    ],
)
def test_a_state_is_good_for_its_own_request_only(other: Binding, reason: str) -> None:
    assert refusal(claims(BOUND, ASKED, 0.0), other, 0.0) == reason


def test_a_state_expires() -> None:
    said = refusal(claims(BOUND, ASKED, 0.0), BOUND, LIFETIME + 1)
    assert said == "it has expired; start the request anew, without it"
