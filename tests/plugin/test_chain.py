"""Folding transforms and composing interceptors, with plug-ins that fail in every way (design D10; field case F87)."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from wf_mcp.core.errors import InvalidParams, PluginError, RelayedError
from wf_mcp.core.views import Component, Prompt, Result, Tool
from wf_mcp.plugin.chain import apply_components, apply_results, compose_interceptors
from wf_mcp.plugin.types import CallInfo, CallInterceptor, CallNext, CallRequest, Owned

INFO = CallInfo("gh", "gh", "tools/call", "search", "gh.search")
REQUEST = CallRequest("tools/call", "gh.search", {"name": "gh.search", "arguments": {"q": "x"}}, "gh", "gh")
TOOL = Tool({"name": "search"})
RESULT = Result({"content": []})


class Failures:
    """Collects what was reported."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def __call__(self, plugin: str, hook: str, error: Exception) -> None:
        self.seen.append((plugin, hook, f"{type(error).__name__}: {error}"))


@pytest.fixture
def failures() -> Failures:
    return Failures()


def renamed(suffix: str) -> Callable[[Component], Component]:
    return lambda component: component.replace(name=component.name + suffix)


def boom(*_: Any) -> Any:
    raise ValueError("boom")


def own(*values: Any, required: bool = False) -> list[Owned[Any]]:
    return [Owned(f"p{place}", value, required) for place, value in enumerate(values)]


def test_components_pass_through_all_in_order(failures: Failures) -> None:
    assert apply_components(own(renamed("1"), renamed("2")), TOOL, failures) == Tool({"name": "search12"})
    assert apply_components([], TOOL, failures) is TOOL


def test_none_hides_and_later_transforms_are_not_asked(failures: Failures) -> None:
    assert apply_components(own(renamed("1"), lambda _: None, boom), TOOL, failures) is None
    assert failures.seen == []


def test_a_failing_component_transform_is_skipped_and_named(failures: Failures) -> None:
    assert apply_components(own(renamed("1"), boom, renamed("2")), TOOL, failures) == Tool({"name": "search12"})
    assert failures.seen == [("p1", "wf_component_transforms", "ValueError: boom")]


def test_a_transform_may_not_turn_a_tool_into_something_else(failures: Failures) -> None:
    assert apply_components(own(lambda _: Prompt({"name": "p"}), lambda c: c.raw), TOOL, failures) is TOOL
    assert [what for _, _, what in failures.seen] == [
        "TypeError: a Tool became Prompt",
        "TypeError: a Tool became dict",
    ]


def test_a_component_that_a_required_plug_in_cannot_handle_is_hidden(failures: Failures) -> None:
    assert apply_components(own(boom, required=True), TOOL, failures) is None
    assert len(failures.seen) == 1


def test_results_pass_through_all_in_order_with_the_call(failures: Failures) -> None:
    def add(result: Result, info: CallInfo) -> Result:
        return result.replace(seen=[*result.raw.get("seen", []), info.local_target])

    assert apply_results(own(add, add), RESULT, INFO, failures).raw == {"content": [], "seen": ["search", "search"]}
    assert apply_results([], RESULT, INFO, failures) is RESULT


@pytest.mark.parametrize("broken", [boom, lambda result, info: None, lambda result, info: result.raw])
def test_a_failing_result_transform_is_skipped_and_named(broken: Any, failures: Failures) -> None:
    assert apply_results(own(broken), RESULT, INFO, failures) is RESULT
    assert [seen[:2] for seen in failures.seen] == [("p0", "wf_result_transforms")]


def test_a_failing_result_transform_of_a_required_plug_in_withholds_the_result(failures: Failures) -> None:
    with pytest.raises(PluginError, match="'p0' failed on this call; it is required") as caught:
        apply_results(own(boom, required=True), RESULT, INFO, failures)
    assert "boom" not in caught.value.message, "what was raised may quote what is to be kept back"
    assert len(failures.seen) == 1


class Upstream:
    """The innermost call: counts, and answers or raises."""

    def __init__(self, answer: Result | Exception = RESULT) -> None:
        self.answer = answer
        self.requests: list[CallRequest] = []

    async def __call__(self, request: CallRequest) -> Result:
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def around(name: str, log: list[str]) -> CallInterceptor:
    async def intercept(request: CallRequest, call_next: CallNext) -> Result:
        log.append(f"{name} in {request.target}")
        result = await call_next(request.replace(params={**request.params, name: True}))
        log.append(f"{name} out")
        return result.replace(**{name: True})

    return intercept


async def fails_before(request: CallRequest, call_next: CallNext) -> Result:
    raise ValueError("before")


async def fails_after(request: CallRequest, call_next: CallNext) -> Result:
    await call_next(request)
    raise ValueError("after")


async def forgets_to_return(request: CallRequest, call_next: CallNext) -> Any:
    await call_next(request)


async def hides_the_error(request: CallRequest, call_next: CallNext) -> Result:
    try:
        return await call_next(request)
    except Exception as error:
        raise ValueError("while handling") from error


def not_async(request: CallRequest, call_next: CallNext) -> Any:
    return RESULT


@pytest.mark.anyio
async def test_the_first_interceptor_is_outermost_and_sees_public_names(failures: Failures) -> None:
    log: list[str] = []
    upstream = Upstream()
    call = compose_interceptors(own(around("a", log), around("b", log)), upstream, failures)
    assert (await call(REQUEST)).raw == {"content": [], "b": True, "a": True}
    assert log == ["a in gh.search", "b in gh.search", "b out", "a out"]
    assert upstream.requests == [REQUEST.replace(params={**REQUEST.params, "a": True, "b": True})]


def test_without_interceptors_there_is_no_layer(failures: Failures) -> None:
    upstream = Upstream()
    assert compose_interceptors([], upstream, failures) is upstream


@pytest.mark.anyio
@pytest.mark.parametrize("broken", [fails_before, fails_after, forgets_to_return, not_async])
async def test_a_failing_interceptor_costs_nothing_and_the_call_is_run_once(broken: Any, failures: Failures) -> None:
    log: list[str] = []
    upstream = Upstream()
    call = compose_interceptors(own(around("a", log), broken), upstream, failures)
    assert (await call(REQUEST)).raw == {"content": [], "a": True}
    assert len(upstream.requests) == 1
    assert [seen[:2] for seen in failures.seen] == [("p1", "wf_call_interceptors")]


@pytest.mark.anyio
@pytest.mark.parametrize("error", [RelayedError(-32001, "theirs"), RuntimeError("odd")], ids=["relayed", "odd"])
async def test_an_error_of_the_rest_passes_as_it_is_and_is_nobodys_failure(
    error: Exception, failures: Failures
) -> None:
    call = compose_interceptors(own(around("a", []), fails_after), Upstream(error), failures)
    with pytest.raises(type(error)) as caught:
        await call(REQUEST)
    assert caught.value is error
    assert failures.seen == []


@pytest.mark.anyio
async def test_a_failure_on_top_of_an_error_of_the_rest_leaves_that_error(failures: Failures) -> None:
    error = RelayedError(-32001, "theirs")
    with pytest.raises(RelayedError) as caught:
        await compose_interceptors(own(hides_the_error), Upstream(error), failures)(REQUEST)
    assert caught.value is error
    assert failures.seen == [("p0", "wf_call_interceptors", "ValueError: while handling")]


@pytest.mark.anyio
async def test_an_interceptor_refuses_with_a_wf_mcp_error_or_a_result_of_its_own(failures: Failures) -> None:
    async def refuse(request: CallRequest, call_next: CallNext) -> Result:
        raise InvalidParams("not today")

    async def answer(request: CallRequest, call_next: CallNext) -> Result:
        return Result.tool_error("not today")

    upstream = Upstream()
    with pytest.raises(InvalidParams, match="not today"):
        await compose_interceptors(own(refuse), upstream, failures)(REQUEST)
    assert (await compose_interceptors(own(answer), upstream, failures)(REQUEST)).is_error
    assert (upstream.requests, failures.seen) == ([], [])


@pytest.mark.anyio
@pytest.mark.parametrize("broken", [fails_before, fails_after, forgets_to_return])
async def test_a_failing_interceptor_of_a_required_plug_in_fails_closed(broken: Any, failures: Failures) -> None:
    upstream = Upstream()
    with pytest.raises(PluginError, match="'p0' failed on this call"):
        await compose_interceptors(own(broken, required=True), upstream, failures)(REQUEST)
    assert len(upstream.requests) == (0 if broken is fails_before else 1)
    assert len(failures.seen) == 1


@pytest.mark.anyio
async def test_a_call_that_was_begun_and_abandoned_is_not_run_again(failures: Failures) -> None:
    begun = 0

    async def never(request: CallRequest) -> Result:
        nonlocal begun
        begun += 1
        await anyio.sleep_forever()
        raise AssertionError

    async def impatient(request: CallRequest, call_next: CallNext) -> Result:
        with anyio.fail_after(0):
            return await call_next(request)

    with anyio.fail_after(5), pytest.raises(PluginError, match="not run again"):
        await compose_interceptors(own(impatient), never, failures)(REQUEST)
    assert begun == 1


@pytest.mark.anyio
async def test_a_retry_that_works_is_the_result_even_if_the_interceptor_then_fails(failures: Failures) -> None:
    upstream = Upstream(RelayedError(-32001, "once"))

    async def retry(request: CallRequest, call_next: CallNext) -> Result:
        try:
            await call_next(request)
        except RelayedError:
            upstream.answer = RESULT
            await call_next(request)
        raise ValueError("after all")

    assert await compose_interceptors(own(retry), upstream, failures)(REQUEST) is RESULT
