"""The table of field cases is complete, names tests that exist, and quotes what is really written."""

import ast
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.field_cases import CASES, Case
from tests.field_run import FieldRun, bare, missing, whole

TESTS = Path(__file__).parent
CLAUSE = re.compile(r"20\d\d-\d\d-\d\d [a-z]+(/[a-z-]+)*( § .+)?")
ROWS = pytest.mark.parametrize(("number", "case"), CASES.items(), ids=[*CASES])


@cache
def functions_in(path: Path) -> frozenset[str]:
    """The names of the functions in a file, from its text."""
    body = ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else []
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_case_has_its_row_in_order() -> None:
    assert [*CASES] == [f"F{number:02}" for number in range(1, 99)]


@ROWS
def test_a_row_says_something(number: str, case: Case) -> None:
    assert case.words
    assert case.tests or case.does_not_apply or case.later
    assert len(set(case.tests)) == len(case.tests)


@ROWS
def test_every_test_exists(number: str, case: Case) -> None:
    for test in case.tests:
        path, _, name = test.partition("::")
        assert name.startswith("test_") and name in functions_in(TESTS / path), test


@ROWS
def test_what_is_quoted_is_written_there(number: str, case: Case) -> None:
    if (decision := case.does_not_apply) is None:
        return
    assert decision.words
    if decision.where.startswith("docs/"):
        page = (TESTS.parent / decision.where).read_text(encoding="utf-8")
        assert decision.words in " ".join(page.split())
    else:
        assert CLAUSE.fullmatch(decision.where)


# -- that they ran ---------------------------------------------------------------------------------------------------


def report(node: str, outcome: str = "passed", when: str = "call") -> Any:
    return SimpleNamespace(nodeid=f"tests/{node}", outcome=outcome, when=when)


def run(config: pytest.Config, *reports: Any, monkeypatch: pytest.MonkeyPatch) -> pytest.ExitCode:
    """The exit status of a whole run in which a.py::test_a is the one listed test."""
    monkeypatch.setattr("tests.field_run.CASES", {"F01": Case("x", ("a.py::test_a",))})
    monkeypatch.setattr("tests.field_run.whole", lambda config: True)
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    watch = FieldRun(config)
    for each in reports:
        watch.pytest_runtest_logreport(each)
    watch.pytest_sessionfinish(session)
    status: pytest.ExitCode = session.exitstatus
    return status


def test_a_run_without_a_listed_test_fails(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    good, failed = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED
    for expected, *reports in (
        (good, report("a.py::test_a", when="setup"), report("a.py::test_a"), report("a.py::test_a", when="teardown")),
        (good, report("a.py::test_a[x-1]"), report("a.py::test_a[y]"), report("b.py::test_b", "failed")),
        (failed, report("b.py::test_a")),
        (failed, report("a.py::test_a", when="setup")),
        (failed, report("a.py::test_a[x]"), report("a.py::test_a[y]", "skipped", "setup")),
        (failed, report("a.py::test_a"), report("a.py::test_a", "failed", "teardown")),
        (failed, report("a.py::test_a[x]", "failed"), report("a.py::test_a[y]")),
    ):
        assert run(pytestconfig, *reports, monkeypatch=monkeypatch) == expected, reports


@pytest.mark.parametrize(
    ("arguments", "options", "expected"),
    [
        (["tests"], {}, True),
        ([str(TESTS.parent)], {}, True),
        (["tests", "plugins"], {}, True),
        (["tests/core"], {}, False),
        (["tests/test_field_cases.py::test_a_row_says_something"], {}, False),
        (["tests"], {"keyword": "x"}, False),
        (["tests"], {"markexpr": "not node"}, False),
        (["tests"], {"lf": True}, False),
        (["tests"], {"deselect": ["x"]}, False),
    ],
)
def test_a_selection_is_no_whole_run(arguments: list[str], options: dict[str, Any], expected: bool) -> None:
    config: Any = SimpleNamespace(
        args=arguments, option=SimpleNamespace(**options), invocation_params=SimpleNamespace(dir=TESTS.parent)
    )
    assert whole(config) is expected


def test_ids_are_compared_without_parameters() -> None:
    assert bare("tests/interaction/test_x.py::test_name[a-b[c]]") == "interaction/test_x.py::test_name"
    assert missing({"F01": ("a", "b"), "F02": ("a",)}, {"a": True, "b": False}) == {"F01": ["b"]}
