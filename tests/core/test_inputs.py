"""What a result asks of the client, and its answers (2026-07-28 basic/patterns/mrtr; matrix A.3, C.1, C.3)."""

from typing import Any

import pytest

from wf_mcp.core.inputs import (
    input_requests,
    is_input_required,
    is_retry,
    lacking,
    map_requests,
    map_responses,
    methods_of,
    named,
)
from wf_mcp.core.wire import JsonObject

ASK: JsonObject = {"method": "elicitation/create", "params": {"message": "Who?"}}
ROOTS: JsonObject = {"method": "roots/list"}


def told(method: str, params: JsonObject) -> JsonObject:
    return {**params, "told": method} if params else params


def test_only_one_result_type_asks_for_input() -> None:
    assert is_input_required({"resultType": "input_required", "requestState": "s"})
    assert not is_input_required({"resultType": "complete"})
    assert not is_input_required({})


@pytest.mark.parametrize("params", [{"requestState": ""}, {"inputResponses": {}}], ids=repr)
def test_a_retry_brings_answers_or_a_state(params: JsonObject) -> None:
    assert is_retry(params)
    assert not is_retry({"name": "x", "_meta": {}})


@pytest.mark.parametrize("wanted", [None, [], "x", {"a": 1, "b": {}, "c": {"method": 3}}], ids=repr)
def test_what_has_not_the_shape_of_a_request_for_input_is_none(wanted: Any) -> None:
    assert input_requests({"inputRequests": wanted}) == {}
    result = {"inputRequests": wanted}
    assert map_requests(result, told) is result


def test_each_request_is_mapped_under_its_key_and_all_else_stays() -> None:
    result = {"inputRequests": {"a": ASK, "b": ROOTS, "odd": 3}, "requestState": "s", "x": 1}
    assert map_requests(result, told) == {
        "inputRequests": {
            "a": {"method": "elicitation/create", "params": {"message": "Who?", "told": "elicitation/create"}},
            "b": {"method": "roots/list"},
            "odd": 3,
        },
        "requestState": "s",
        "x": 1,
    }
    assert methods_of(result) == {"a": "elicitation/create", "b": "roots/list"}


def test_answers_are_mapped_by_what_was_asked_and_an_unknown_one_by_its_shape() -> None:
    answers = {
        "a": {"action": "accept"},
        "b": {"role": "assistant", "content": {}},
        "c": {"roots": []},
        "d": {"role": "assistant", "content": {}},
        "e": 3,
    }
    assert map_responses(answers, {"a": "elicitation/create", "b": "sampling/createMessage"}, told) == {
        "a": {"action": "accept", "told": "elicitation/create"},
        "b": {"role": "assistant", "content": {}, "told": "sampling/createMessage"},
        "c": {"roots": [], "told": ""},
        "d": {"role": "assistant", "content": {}, "told": "sampling/createMessage"},
        "e": 3,
    }
    assert map_responses([1], {}, told) == [1]


SAMPLE, ELICIT = "sampling/createMessage", "elicitation/create"


@pytest.mark.parametrize(
    ("declared", "method", "params", "missing"),
    [
        ({}, "roots/list", {}, {"roots": {}}),
        ({"roots": {}}, "roots/list", {}, None),
        ({}, SAMPLE, {}, {"sampling": {}}),
        ({"sampling": {}}, SAMPLE, {}, None),
        ({"sampling": {}}, SAMPLE, {"tools": []}, {"sampling": {"tools": {}}}),
        ({"sampling": {}}, SAMPLE, {"toolChoice": {}}, {"sampling": {"tools": {}}}),
        ({"sampling": {"tools": {}}}, SAMPLE, {"tools": []}, None),
        ({}, ELICIT, {}, {"elicitation": {"form": {}}}),
        ({"elicitation": {}}, ELICIT, {}, None),
        ({"elicitation": {"form": {}}}, ELICIT, {"mode": "form"}, None),
        ({"elicitation": {}}, ELICIT, {"mode": "url"}, {"elicitation": {"url": {}}}),
        ({"elicitation": {"url": {}}}, ELICIT, {"mode": "url"}, None),
        ({"elicitation": {"url": {}}}, ELICIT, {}, {"elicitation": {"form": {}}}),
        ({"elicitation": None}, ELICIT, {}, {"elicitation": {"form": {}}}),
    ],
)
def test_what_a_client_lacks_to_be_asked(
    declared: JsonObject, method: str, params: JsonObject, missing: JsonObject | None
) -> None:
    assert lacking(declared, method, params) == missing


@pytest.mark.parametrize(
    ("required", "words"),
    [
        ({"elicitation": {"url": {}}, "roots": {}}, "elicitation.url, roots"),
        ({"sampling": {"tools": {}, "context": {}}}, "sampling.tools, sampling.context"),
        ({}, "one that it does not name"),
        (None, "one that it does not name"),
        ({"roots": 3}, "roots"),
    ],
)
def test_capabilities_in_words(required: Any, words: str) -> None:
    assert named(required) == words
