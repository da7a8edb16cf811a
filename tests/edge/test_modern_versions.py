"""What an answer tells of an upstream's versions (2026-07-28 basic/versioning)."""

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from wf_mcp.edge.hop import NoAgreement
from wf_mcp.edge.modern_versions import newest, says_modern, supported


def refusal(code: int | None, data: Any = None) -> NoAgreement:
    return NoAgreement("no", "refused", None if code is None else MCPError(code, "no", data))


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["2025-11-25", "2026-07-28"], "2026-07-28"),
        (["2030-01-01"], None),
        ([], None),
        (None, None),
        ("2026-07-28", None),
    ],
    ids=str,
)
def test_the_newest_common_version_is_chosen(offered: object, chosen: str | None) -> None:
    assert newest(offered) == chosen


@pytest.mark.parametrize(
    ("code", "data", "versions", "modern"),
    [
        (-32022, {"supported": ["2026-07-28"]}, ["2026-07-28"], True),
        (-32022, {"supported": ["2030-01-01"]}, ["2030-01-01"], True),
        (-32022, {"supported": ["2025-11-25", "2026-07-28"]}, ["2025-11-25", "2026-07-28"], True),
        (-32022, {"supported": ["2025-11-25"]}, ["2025-11-25"], False),
        (-32022, {"supported": "2026-07-28"}, None, False),
        (-32022, None, None, False),
        (-32020, None, None, True),
        (-32021, {"supported": ["2026-07-28"]}, None, True),
        (-32601, {"supported": ["2026-07-28"]}, None, False),
        (None, None, None, False),
    ],
)
def test_what_a_refusal_says(code: int | None, data: Any, versions: Any, modern: bool) -> None:
    assert (supported(refusal(code, data)), says_modern(refusal(code, data))) == (versions, modern)
