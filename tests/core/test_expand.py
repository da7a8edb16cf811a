"""`${VAR}` references (field cases F74, F75)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wf_mcp.core.expand import HOST_VARIABLES, Expanded, expand

ENV = {"A": "1", "EMPTY": "", "NESTED": "${A} $$ $A", "ODD": 'it\'s "so"\nand so', "_x9": "y"}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("plain", "plain"),
        ("${A}", "1"),
        ("x${A}y${A}", "x1y1"),
        ("${_x9}", "y"),
        ("${env:A}", "1"),
        ("${env:NOPE:-d}", "d"),
        ("${A:-d}", "1"),
        ("${NOPE:-d}", "d"),
        ("${NOPE:-}", ""),
        ("${NOPE:-a:-b $x {}", "a:-b $x {"),
        ("${EMPTY}|${EMPTY:-d}", "|"),
        ("${NOPE:-$$}", "$$"),
        ("${NESTED}", "${A} $$ $A"),
        ("${ODD}", 'it\'s "so"\nand so'),
        ("$$", "$"),
        ("$${A}", "${A}"),
        ("$$${A}", "$1"),
        ("$$$", "$$"),
        ("$", "$"),
        ("$A and $1 and a$", "$A and $1 and a$"),
        ("p${w", "p${w"),
    ],
)
def test_references_are_replaced_once(text, result):
    expanded = expand(text, ENV)
    assert expanded.text == result
    assert expanded.missing == expanded.unsupported == ()


def test_what_the_environment_answered_is_told():
    assert expand("${A}${NOPE:-d}${EMPTY}", ENV).used == (("A", "1"), ("EMPTY", ""))


def test_missing_variables_are_named_once_for_each_reference():
    assert expand("a${NOPE}b${env:NADA}", ENV) == Expanded("ab", missing=("NOPE", "NADA"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("${input:token}", "${input:token}"),
        ("${workspaceFolder}/x", "${workspaceFolder}"),
        ("${config:a.b}", "${config:a.b}"),
        ("${MY-VAR}", "${MY-VAR}"),
        ("pass${w!rd hunter2}", "a ${...} that is no variable"),
        ("${}", "a ${...} that is no variable"),
        ("${A2:-${hunter2}}", "a reference inside the default of A2"),
    ],
)
def test_other_forms_are_named_without_what_could_be_a_secret(text, shown):
    expanded = expand(text, ENV)
    assert expanded.unsupported == (shown,)
    assert expanded.missing == ()


def test_an_editor_variable_is_a_variable_where_the_environment_has_it():
    assert "workspaceFolder" in HOST_VARIABLES
    assert expand("${workspaceFolder}${userHome:-/h}", {"workspaceFolder": "/w"}) == Expanded(
        "/w/h", used=(("workspaceFolder", "/w"),)
    )


@given(st.text())
def test_doubling_every_dollar_keeps_any_text(text):
    assert expand(text.replace("$", "$$"), ENV) == Expanded(text)


@given(st.text())
def test_a_value_is_never_expanded_again(value):
    assert expand("<${V}>", {"V": value}).text == f"<{value}>"
