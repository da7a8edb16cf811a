"""What a parked call shows, takes and seals (matrix D.4)."""

from typing import Any

import pytest

from wf_mcp.core.parked import as_input_request, fits, input_required, sealed_claims
from wf_mcp.core.passing import binding, refusal


def test_a_question_leaves_behind_what_its_era_alone_has() -> None:
    url = {"mode": "url", "url": "https://x.test", "elicitationId": "e", "message": "m", "vendor": None}
    assert as_input_request("elicitation/create", {**url, "_meta": {"progressToken": 1, "k": None}}) == {
        "method": "elicitation/create",
        "params": {"mode": "url", "url": "https://x.test", "message": "m", "vendor": None, "_meta": {"k": None}},
    }
    assert as_input_request("roots/list", {"_meta": {"progressToken": 1}}) == {"method": "roots/list"}


@pytest.mark.parametrize(
    ("method", "good", "bad"),
    [
        ("elicitation/create", [{"action": "accept", "content": {}}, {"action": "decline"}], [{}, {"action": "no"}, 3]),
        ("sampling/createMessage", [{"role": "assistant", "content": {}, "model": "m"}], [{"role": "assistant"}, None]),
        ("roots/list", [{"roots": []}], [{}, {"roots": {}}, []]),
    ],
)
def test_an_answer_has_the_shape_that_its_question_needs(method: str, good: list[Any], bad: list[Any]) -> None:
    assert [fits(method, each) for each in good] == [True] * len(good)
    assert [fits(method, each) for each in bad] == [False] * len(bad)


def test_a_state_is_bound_to_its_request() -> None:
    bound = binding("alpha", "tools/call", {"name": "x", "_meta": {"progressToken": 1}}, "alice")
    claims = sealed_claims(bound, 100.5)
    retry = {"name": "x", "inputResponses": {}, "requestState": "s"}
    assert refusal(claims, binding("alpha", "tools/call", retry, "alice"), 100.0) is None
    others = [
        (bound, 101.0),
        (binding("beta", "tools/call", retry, "alice"), 1.0),
        (binding("alpha", "prompts/get", retry, "alice"), 1.0),
        (binding("alpha", "tools/call", retry, "bob"), 1.0),
        (binding("alpha", "tools/call", {**retry, "arguments": {}}, "alice"), 1.0),
    ]
    assert [refusal(claims, *other) is None for other in others] == [False] * 5
    assert input_required({"a": {"method": "roots/list"}}, "s") == {
        "resultType": "input_required",
        "inputRequests": {"a": {"method": "roots/list"}},
        "requestState": "s",
    }
