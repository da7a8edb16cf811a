"""Where nobody watches, requests pass as they are."""

import pytest
from tests.runtime.stage import upstream

from wf_mcp.runtime.telemetry import UNWATCHED


def test_what_nobody_watches_passes() -> None:
    result = {"content": []}
    for operation in (UNWATCHED.sent(upstream("a"), "x", None), UNWATCHED.asked(upstream("a"), "x", {})):
        with operation as watched, UNWATCHED.apart():
            assert watched.answered(result) is result
        with pytest.raises(KeyError), operation:
            raise KeyError
