"""Hiding secrets (design D13, field case F85)."""

import copy
import json
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wf_mcp.core.secrets import MASK, SHORTEST, Secrets, worth_hiding


@pytest.mark.parametrize(
    ("secrets", "text", "masked"),
    [
        (["hunter2"], "the password is hunter2.", "the password is ***."),
        (["hunter2"], "nothing here", "nothing here"),
        (["abcd", "abcdefgh"], "abcdefgh abcd", "*** ***"),
        (["abcd", "cdefgh"], "abcdefgh", "***"),
        (["abcd", "cdefgh"], "x abcdefgh y abcd", "x *** y ***"),
        (["abab"], "xabababx", "x***x"),
        (["abcd"], "abcdabcd", "******"),
        (['a"b\\c\n'], 'say "a\\"b\\\\c\\n" or a"b\\c\n', 'say "***" or ***'),
        (["p@ss w/rd"], "p%40ss%20w%2Frd p%40ss+w%2Frd p%40ss%20w%2frd p%40ss%20w/rd", "*** *** *** ***"),
        (["pässé!"], "p\\u00e4ss\\u00e9! pässé! p%C3%A4ss%C3%A9%21", "*** *** ***"),
        (["first line\nsecond line\nx"], "read: second line", "read: ***"),
        (["secret\n"], "secret", "***"),
        (["1", "true", "TRUE", "abc", "production"], "1 true abc production", "1 true abc production"),
        ([], "anything", "anything"),
    ],
)
def test_a_text_is_masked(secrets, text, masked):
    assert Secrets(secrets).mask(text) == masked


def test_a_json_value_is_masked_inside_and_not_changed():
    value = {"a": ["hunter2", 1, None, {"hunter2": "x hunter2"}], "b": {"c": True}}
    before = copy.deepcopy(value)
    assert Secrets(["hunter2"]).mask_json(value) == {"a": [MASK, 1, None, {MASK: f"x {MASK}"}], "b": {"c": True}}
    assert value == before


def test_a_json_value_without_secrets_is_the_same_object():
    value = {"a": ["x", {"b": "y"}], "c": []}
    assert Secrets(["hunter2"]).mask_json(value) is value


def test_keys_that_differ_in_a_secret_only_stay_apart():
    assert Secrets(["hunter1", "hunter2"]).mask_json({"hunter1": 1, "hunter2": 2}) == {MASK: 1, MASK + "*": 2}


def test_secrets_do_not_show_themselves():
    secrets = Secrets(["hunter2", "no"])
    assert repr(secrets) == "Secrets(1 hidden)"
    assert secrets == Secrets(["hunter2"])
    assert hash(secrets) == hash(Secrets(["hunter2"]))
    assert secrets != frozenset({"hunter2"})
    assert secrets.strings == {"hunter2"}


@pytest.mark.parametrize("text", ["", "abc", "   a   ", "True", " false\n", "localhost"])
def test_short_and_common_words_are_not_worth_hiding(text):
    assert not worth_hiding(text)


secret_texts = st.text(min_size=SHORTEST, max_size=12).filter(worth_hiding)


@given(st.lists(secret_texts, min_size=1, max_size=4), st.text(max_size=10), st.text(max_size=10))
def test_no_form_of_a_secret_survives(secrets, before, after):
    hidden = Secrets(secrets)
    for secret in secrets:
        assume(MASK not in secret and secret not in MASK and not set(secret.strip()) <= {"*"})
        for form in (secret, json.dumps(secret)[1:-1], quote(secret.encode(errors="surrogatepass"))):
            masked = hidden.mask(f"{before}{form}{after}")
            assert MASK in masked
            # What is left of the text holds no whole secret; the mask itself may complete one by chance.
            assert all(secret not in piece for piece in masked.split(MASK) for secret in secrets)
