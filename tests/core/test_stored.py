"""A catalogue as it is written: it comes back as it was, and what is not one is refused whole with the reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from tests.runtime.memory import prompt, resource, template, tool

from wf_mcp.core.hints import Hints
from wf_mcp.core.kinds import KINDS
from wf_mcp.core.stored import BadStored, CatalogueKey, Stored, StoredList, dump, parse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
STORED = Stored(
    1000.5,
    "modern",
    {"protocolVersion": "2026-07-28", "capabilities": {"tools": {}}, "serverInfo": {"name": "x"}},
    {
        "tools": StoredList((tool("a"), tool("b", vendor=1)), {"page": "one"}, Hints(5000, "public")),
        "prompts": StoredList((prompt("p"),)),
        "resources": StoredList((resource("r://1"),)),
        "templates": StoredList((template("t://{x}"),)),
    },
)


def test_it_is_written_as_one_line_of_json() -> None:
    assert json.loads(dump(STORED)) == snapshot(
        {
            "version": 1,
            "at": 1000.5,
            "era": "modern",
            "initialized": {
                "protocolVersion": "2026-07-28",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "x"},
            },
            "lists": {
                "tools": {
                    "items": [
                        {"name": "a", "inputSchema": {"type": "object"}},
                        {"name": "b", "inputSchema": {"type": "object"}, "vendor": 1},
                    ],
                    "meta": {"page": "one"},
                    "hints": {"ttlMs": 5000, "cacheScope": "public"},
                },
                "prompts": {"items": [{"name": "p"}]},
                "resources": {"items": [{"uri": "r://1", "name": "r://1"}]},
                "templates": {"items": [{"uriTemplate": "t://{x}", "name": "t://{x}"}]},
            },
        }
    )
    assert dump(STORED).count("\n") == 0


def test_it_comes_back_as_it_was() -> None:
    assert parse(dump(STORED)) == STORED
    assert parse(dump(STORED).encode()) == STORED


@given(JSON)
def test_whatever_upstreams_put_into_it(odd: Any) -> None:
    lists = {kind.name: StoredList(({kind.field: "x", "odd": odd},), {"odd": odd}) for kind in KINDS}
    stored = Stored(1.0, "handshake", {"capabilities": {}, "odd": odd}, lists)
    assert parse(dump(stored)) == stored


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(dump(STORED)), **fields})


def listed(**fields: Any) -> str:
    return changed(lists={**json.loads(dump(STORED))["lists"], **fields})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is no JSON: Expecting value: line 1 column 1 (char 0)"),
        (dump(STORED)[:-1], "it is no JSON: "),
        ("[" * 100_000, "it is no JSON: "),
        (b"\xff\xfe\x00", "it is no JSON: "),
        ("[]", "it is not of version 1"),
        (changed(version=2), "it is not of version 1"),
        (changed(at=None), "it does not say when it was made"),
        (changed(at=True), "it does not say when it was made"),
        (changed(at=-1), "it does not say when it was made"),
        (changed(era="future"), "it is of the era 'future'"),
        (changed(initialized=[]), "it does not say what the upstream declared"),
        (changed(initialized={}), "it does not say what the upstream declared"),
        (changed(lists=[]), "it has no lists"),
        (listed(tools=None), "it has no list of tools"),
        (listed(tools={}), "it has no list of tools"),
        (listed(prompts={"items": [{"title": "p"}]}), "one of its prompts has no name"),
        (listed(templates={"items": ["t"]}), "one of its templates has no uriTemplate"),
        (listed(tools={"items": [], "meta": 3}), "what it says about its tools is no object"),
        (listed(tools={"items": [], "hints": 3}), "what it says about its tools is no object"),
    ],
)
def test_what_is_no_catalogue_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(BadStored) as caught:
        parse(text)
    assert str(caught.value).startswith(reason)


def test_equal_keys_have_equal_texts_and_others_have_others() -> None:
    one = CatalogueKey("digest", {"capabilities": {"a": {}, "b": {}}, "era": "modern"}, "alice")
    same = CatalogueKey("digest", {"era": "modern", "capabilities": {"b": {}, "a": {}}}, "alice")
    assert (one, one.text, hash(one)) == (same, same.text, hash(same))
    others = [
        CatalogueKey("other", one.declared, "alice"),
        CatalogueKey("digest", {**one.declared, "era": "handshake"}, "alice"),
        CatalogueKey("digest", one.declared, "bob"),
        CatalogueKey("digest", one.declared),
    ]
    assert len({one.text, *(each.text for each in others)}) == 5
