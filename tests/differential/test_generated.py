"""Any sequence of operations, directly and through wf-mcp, on connections that live through all of them."""

import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.covers import covers
from tests.differential import scenarios
from tests.differential.compare import compare
from tests.differential.scenarios import CHANGED, COMPLETE, LINK, UPDATED
from tests.differential.script import LISTS, Run, Step, calling, completing, together
from tests.differential.stage import OTHER, Stage, recorded, running
from tests.differential.tap import Recording
from tests.differential.tolerated import judge
from tests.rig import Front

pytestmark = pytest.mark.timeout(120)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(TEXT | st.sampled_from(["uri", "name", "_meta", "taskId"]), JSON, max_size=4)
SCHEMES = st.sampled_from(["demo://", "DEMO://", "file://", "ui://", "x-y+z.1://", "urn:", "note:"])
URIS = st.builds(lambda scheme, rest: scheme + rest, SCHEMES, st.text("aZ9/?#%~:@[]{}ü→ .", min_size=1, max_size=12))


def a_call(name: str, *heard: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    """A call with generated arguments, with or without a progress token and metadata."""
    more = st.fixed_dictionaries({"token": st.booleans(), "meta": st.fixed_dictionaries({"vendor/k": JSON})})
    made = st.fixed_dictionaries(arguments)
    return st.builds(lambda arguments, more: calling(name, arguments, *heard, **more), made, more)


def an_error() -> st.SearchStrategy[Step]:
    body = {"code": st.integers(-40000, 40000), "message": TEXT}
    # `data.uri` is mapped, and what has no scheme has no form of its own to come back from.
    data = JSON | st.fixed_dictionaries({"uri": URIS, "x": JSON})
    return a_call("fail", error=st.fixed_dictionaries(body, optional={"data": data}))


def reading(uri: str) -> Step:
    return partial(Run.read, uri=uri)


def listing(kind: str) -> Step:
    return partial(Run.listed, kind=kind)


QUIET = st.one_of(
    a_call("seen", anything=JSON, more=OBJECTS),
    a_call("structured", value=JSON),
    a_call("progress"),
    a_call("logs"),
    an_error(),
    URIS.map(reading),
    st.builds(lambda value: completing(scenarios.REF_PROMPT, "uri", value), TEXT),
    st.builds(lambda value: completing({"type": "ref/resource", "uri": LINK}, "q", value), TEXT),
    st.sampled_from([calling(name) for name in ("contents", "is_error", "empty", "not_even_content", "needs_url")]),
)
ASKING = st.one_of(
    st.sampled_from(
        [calling("sample", {}, token=True), calling("roots"), calling("pings"), calling("unknown_question")]
    ),
    a_call("sample_plainly", say=TEXT | st.just("refuse")),
    a_call("elicit", message=TEXT | st.sampled_from(["decline", "cancel", "fail"])),
    st.just(calling("elicit_url", {}, COMPLETE)),
)
WHOLE = st.sampled_from(
    [
        *(listing(kind) for kind in LISTS),
        scenarios.levels,
        scenarios.cancelling,
        scenarios.rooting,
        scenarios.prompting,
        scenarios.tasks,
        calling("change", {"kinds": ["tools", "resources"]}, CHANGED[0], CHANGED[2]),
    ]
)


async def subscribed(run: Run) -> None:
    """Subscribes, hears one update, unsubscribes, and hears none."""
    await run.request("resources/subscribe", {"uri": run.uri(LINK)})
    await run.call("touch", {"uri": LINK})
    await run.heard(UPDATED)
    await run.request("resources/unsubscribe", {"uri": run.uri(LINK)})
    await run.call("touch", {"uri": LINK})


OPERATIONS = st.one_of(
    QUIET,
    QUIET,
    ASKING,
    WHOLE,
    st.just(subscribed),
    st.lists(QUIET, min_size=2, max_size=4).map(lambda q: together(*q)),
)


class Pair:
    """A direct connection and one through wf-mcp, that both live as long as the test."""

    def __init__(self, portal: BlockingPortal, direct: Run, proxied: Run) -> None:
        self._portal, self._direct, self._proxied = portal, direct, proxied
        self._examples = itertools.count(1)

    def play(self, operations: list[Step]) -> tuple[Recording, Recording, str]:
        """What both did so far, and how the names of these operations' steps start."""
        example = f"example {next(self._examples)}: "
        for run in (self._direct, self._proxied):
            for n, operation in enumerate(operations):
                self._portal.call(run.play, f"{example}{n}", operation)
        return recorded(self._direct), recorded(self._proxied), example


@pytest.fixture(scope="module", params=["stdio", "http"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    transport: Front = request.param
    folder: Path = tmp_path_factory.mktemp("generated")
    stage = Stage(folder, "full", transport)
    with ExitStack() as stack:
        stack.callback(stage.close)
        portal = stack.enter_context(start_blocking_portal())
        runs = [
            stack.enter_context(portal.wrap_async_context_manager(running(stage, front))) for front in (None, transport)
        ]
        pair = Pair(portal, *runs)
        pair.play([calling("empty")])
        yield pair


@covers("differential.generated", "Any sequence of operations has the same outcome and the same messages as directly")
@settings(
    max_examples=15,
    deadline=None,
    derandomize="CI" in os.environ,
    database=None,
    # Not shrunk: every try is a conversation, and the first example that fails names the step and the path.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=12))
def test_any_sequence_of_operations(pair: Pair, operations: list[Step]) -> None:
    direct, proxied, example = pair.play(operations)
    left, _ = judge(compare(direct, proxied, others=(OTHER,), steps=example))
    assert [str(difference) for difference in left] == []
