"""How problems read, and that they repeat no secret."""

import pytest

from wf_mcp.core.config_problems import BadConfig, Findings, Problem, described
from wf_mcp.core.positions import scan

ENTRY = ("mcpServers", "a")


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        (None, (), "null"),
        (True, (*ENTRY, "env", "A"), "true"),
        ("hunter2", (*ENTRY, "command"), "a string"),
        ("hunter2", (*ENTRY, "env", "type"), "a string"),
        ("hunter2", ("wf", "auth", "tokens", "a"), "a string"),
        ("hunter2", ("wf", "plugins", "a"), "a string"),
        (8675309, (*ENTRY, "env", "A"), "a number"),
        ("", (*ENTRY, "type"), "an empty string"),
        ([], (*ENTRY, "type"), "an array"),
        ({}, ("wf", "admin"), "an object"),
        ("sze", (*ENTRY, "type"), '"sze"'),
        ("é", (*ENTRY, "wf", "start"), '"é"'),
        (1.5, ("wf", "page_size"), "1.5"),
        ("x" * 60, ("wf", "admin"), '"' + "x" * 39 + "…"),
    ],
)
def test_a_value_is_shown_only_where_no_secret_can_stand(value, path, text):
    assert described(value, path) == text


def test_a_problem_names_place_path_found_and_expected():
    problem = Problem("f.json", 3, 4, "$.wf", "3", "an object")
    assert str(problem) == "f.json:3:4: $.wf: found 3, expected an object"
    assert str(Problem("f.json", None, None, "$", "no such file", "a file")) == (
        "f.json: $: found no such file, expected a file"
    )
    assert str(BadConfig([problem, problem])) == f"{problem}\n{problem}"


def test_findings_point_into_the_text():
    findings = Findings("f", scan('{"a": 1,\n"b": 2}'))
    findings.problem(("b",), "x", "y")
    findings.problem(("a",), "x", "y", key=True)
    findings.note(("b",), "z")
    assert [(problem.line, problem.column, problem.path) for problem in findings.ordered()] == [
        (1, 2, "$.a"),
        (2, 6, "$.b"),
    ]
    assert findings.notes == ["f:2:1: $.b: z"]
