"""From a pydantic validation error to problems with a place, in words that name what was found and expected.

Also the remarks about keys that nobody here reads. `config_models.py` has the shapes.
"""

import difflib
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from wf_mcp.core.config_problems import Findings, described
from wf_mcp.core.positions import JsonPath

ModelT = TypeVar("ModelT", bound=BaseModel)


def checked(model: type[ModelT], raw: Any, at: JsonPath, findings: Findings) -> ModelT | None:
    """`raw` as `model`; None after recording every problem of it, with paths that start at `at`."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _record(model, detail, at, findings)
        return None


def _record(model: type[BaseModel], detail: ErrorDetails, at: JsonPath, findings: Findings) -> None:
    inside: JsonPath = tuple(part for part in detail["loc"] if part != "[key]")
    path = at + inside
    if detail["type"] == "extra_forbidden":
        known = _keys_at(model, inside[:-1])
        findings.problem(path, f'an unknown key "{inside[-1]}"', one_of(str(inside[-1]), known), key=True)
    else:
        findings.problem(path, described(detail["input"], path), _expected(detail))


def one_of(found: str, known: Sequence[str]) -> str:
    """`one of a, b (did you mean "a"?)`: what to say to somebody who wrote `found`."""
    close = did_you_mean(found, known)
    return f"one of {', '.join(known)}" + (f' (did you mean "{close}"?)' if close else "")


def did_you_mean(found: str, known: Iterable[str]) -> str | None:
    """The known word that `found` most likely stands for, if one is near."""
    by_lower = {word.lower().replace("_", ""): word for word in known}
    close = difflib.get_close_matches(found.lower().replace("-", "").replace("_", ""), by_lower, n=1, cutoff=0.7)
    return by_lower[close[0]] if close else None


def _keys_at(model: type[BaseModel], inside: JsonPath) -> list[str]:
    for part in inside:
        annotation = model.model_fields[str(part)].annotation
        options = get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
        model = next(option for option in options if isinstance(option, type) and issubclass(option, BaseModel))
    return list(model.model_fields)


_EXPECTED: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "string_type": lambda _: "a string",
    "string_too_short": lambda _: "a string that is not empty",
    "bool_type": lambda _: "true or false",
    "int_type": lambda _: "a whole number",
    "int_from_float": lambda _: "a whole number",
    "float_type": lambda _: "a number",
    "finite_number": lambda _: "a finite number",
    "list_type": lambda _: "an array",
    "dict_type": lambda _: "an object",
    "model_type": lambda _: "an object",
    "literal_error": lambda ctx: _json_words(ctx["expected"]),
    "greater_than": lambda ctx: f"a number greater than {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"a number not less than {ctx['ge']:g}",
    "less_than_equal": lambda ctx: f"a number not greater than {ctx['le']:g}",
    "value_error": lambda ctx: str(ctx["error"]),
}


def _expected(detail: ErrorDetails) -> str:
    words = _EXPECTED.get(detail["type"])
    return words(detail.get("ctx", {})) if words else detail["msg"]


def _json_words(expected: str) -> str:
    """Python's spelling of alternatives as JSON's: `True, False or 'write'`."""
    return expected.replace("True", "true").replace("False", "false").replace("'", '"')
