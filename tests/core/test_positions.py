"""Where values stand in a JSON5 text."""

import json

import json5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.positions import DEEPEST, json_path, scan, whole

TEXT = """{ // a comment with "quotes" { [
  mcpServers: {
    "my server": {"args": ['x', "y//z", /* } */ 3,], url: 'http://h//x'},\r
    b: {},
  },
}
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (1, 1)),
        (("mcpServers",), (2, 15)),
        (("mcpServers", "my server"), (3, 18)),
        (("mcpServers", "my server", "args"), (3, 27)),
        (("mcpServers", "my server", "args", 0), (3, 28)),
        (("mcpServers", "my server", "args", 1), (3, 33)),
        (("mcpServers", "my server", "args", 2), (3, 49)),
        (("mcpServers", "my server", "url"), (3, 59)),
        (("mcpServers", "b"), (4, 8)),
        (("mcpServers", "b", "nowhere", 7), (4, 8)),
        (("nowhere",), (1, 1)),
    ],
)
def test_a_value_is_found_by_its_path(path, place):
    assert scan(TEXT).of(path) == place


def test_a_key_is_found_by_its_path_and_an_item_stands_for_its_own_key():
    positions = scan(TEXT)
    assert positions.of(("mcpServers", "b"), key=True) == (4, 5)
    assert positions.of(("mcpServers", "my server", "args", 1), key=True) == (3, 33)


def test_keys_are_decoded_as_json5_decodes_them():
    text = r"""{"a\u0062": 1, c\u0064: 2, 'e\'f': 3, "\
g": 4}"""
    assert [path[0] for path in scan(text).keys] == list(json5.loads(text)) == ["ab", "cd", "e'f", "g"]


def test_a_key_with_an_illegal_escape_is_left_to_json5():
    assert scan(r'{"\u12": 1}').keys == {(r"\u12",): 1}


def test_every_kind_of_line_end_counts_once():
    positions = scan('{\r\n"a": 1,\r"b": 2,\n"c": 3}')
    assert [positions.of((key,), key=True) for key in "abc"] == [(2, 1), (3, 1), (4, 1)]


def test_keys_given_twice_are_listed_with_both_places():
    positions = scan('{"a": {"b": 1, b: 2}, "a": 3}')
    assert positions.duplicates == ((("a", "b"), 7, 15), (("a",), 1, 22))


@pytest.mark.parametrize(
    ("text", "offset", "found", "expected"),
    [
        ("", 0, "the end of the file", "a value"),
        ('{"a": {', 7, "the end of the file", 'a key or "}"'),
        ('{"a" 1}', 5, "a word without quotes", '":"'),
        ('{"a"', 4, "the end of the file", '":"'),
        ('{"a":1,,}', 7, '","', 'a key or "}"'),
        ('{"a":1 "b":2}', 7, "a string", '"," or "}"'),
        ("[1 2]", 3, "a word without quotes", '"," or "]"'),
        ("[1,,]", 3, '","', 'a value or "]"'),
        ("[1}", 2, '"}"', '"," or "]"'),
        ('{"a": ]', 6, '"]"', "a value"),
        ("{a: hunter2}", 4, "a word without quotes", "a value"),
        ('{"a": "hunter2', 6, "a string or comment that is not closed", "a value"),
        ("{} /* x", 3, "a string or comment that is not closed", "nothing more"),
        ("{a: \\}", 4, "a character that starts nothing", "a value"),
        ("{} {}", 3, '"{"', "nothing more"),
        ("]", 0, '"]"', "a value"),
    ],
)
def test_the_first_token_that_cannot_stand_is_the_fault(text, offset, found, expected):
    fault = scan(text).fault
    assert fault is not None
    assert (fault.offset, fault.found, fault.expected) == (offset, found, expected)
    assert "hunter2" not in f"{fault}"


def test_nesting_has_a_limit_that_json5_can_read():
    fault = scan("[" * 50_000).fault
    assert fault is not None
    assert (fault.offset, fault.expected) == (DEEPEST, f"at most {DEEPEST} levels")
    deepest = '{"a":' * (DEEPEST - 1) + "[]" + "}" * (DEEPEST - 1)
    assert scan(deepest).fault is None
    json5.loads(deepest)


def test_surrogate_pairs_are_joined_and_halves_kept():
    assert list(scan(r"""{"\ud83d\ude00": 1, '\ud83d': 2, \ud83d\ude00a: 3}""").keys) == [
        ("😀",),
        ("\ud83d",),
        ("😀a",),
    ]
    assert whole("a\ud83d\ude00é\ude00") == "a😀é\ude00"


def test_an_offset_belongs_to_the_value_that_started_last():
    positions = scan('{"a": [1, 22]}')
    assert [positions.at(offset) for offset in (0, 6, 7, 11)] == [(), ("a",), ("a", 0), ("a", 1)]
    assert scan("").at(0) == ()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("mcpServers", "my server", "args", 1), '$.mcpServers["my server"].args[1]'),
        (("a.b", "@x/y", 'q"', "é", "_z9"), '$["a.b"]["@x/y"]["q\\""]["é"]._z9'),
    ],
)
def test_a_path_is_written_as_json_path(path, text):
    assert json_path(path) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(json_values, st.sampled_from([None, 1]), st.booleans())
def test_every_value_of_a_legal_text_is_found_where_it_stands(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    positions = scan(text)
    assert positions.fault is None
    assert positions.duplicates == ()
    decoder = json.JSONDecoder()
    for path, offset in positions.values.items():
        expected = value
        for step in path:
            expected = expected[step]
        assert decoder.raw_decode(text, offset)[0] == expected


@given(st.text(st.sampled_from("{}[],:\"'/*\\ \n\r\tab01.-$"), max_size=40))
def test_any_text_is_scanned_without_an_error_and_json5_agrees_about_good_ones(text):
    positions = scan(text)
    try:
        json5.loads(text)
    except ValueError:
        return
    assert positions.fault is None
