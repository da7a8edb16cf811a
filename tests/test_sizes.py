"""No file needs scrolling to understand: limits without a list of exceptions (style 1, 3.6)."""

import statistics

import pytest
from tests.sources import MODULES, PLUGIN_MODULES, Source

MODULE_LIMIT = 400
FUNCTION_LIMIT = 60
MEDIAN_LIMIT = 120


@pytest.mark.parametrize("source", [*MODULES, *PLUGIN_MODULES], ids=lambda source: source.name)
def test_a_module_is_short(source: Source) -> None:
    assert source.lines <= MODULE_LIMIT


@pytest.mark.parametrize("source", [*MODULES, *PLUGIN_MODULES], ids=lambda source: source.name)
def test_its_functions_are_short(source: Source) -> None:
    long = {
        function.name: length
        for function in source.functions()
        if (length := (function.end_lineno or function.lineno) - function.lineno + 1) > FUNCTION_LIMIT
    }
    assert long == {}


def test_most_modules_are_much_shorter() -> None:
    assert statistics.median(source.lines for source in (*MODULES, *PLUGIN_MODULES)) <= MEDIAN_LIMIT
