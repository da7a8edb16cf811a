"""Error -32042 for those who do not know it (matrix D.3)."""

from typing import Any

import pytest

from wf_mcp.core.elicited import as_questions, elicitations, in_words
from wf_mcp.core.errors import RelayedError

ENTRY = {"mode": "url", "elicitationId": "e", "url": "https://x.test/1", "message": "Sign in", "vendor": 1}


def test_the_urls_of_the_error_are_questions_or_words() -> None:
    wanted = elicitations(RelayedError(-32042, "URLs", {"elicitations": [ENTRY, 7, {"url": "https://x.test/2"}, {}]}))
    assert wanted == [ENTRY, {"url": "https://x.test/2"}]
    assert as_questions(wanted) == {
        "url-1": ("elicitation/create", ENTRY),
        "url-2": ("elicitation/create", {"message": "", "url": "https://x.test/2", "mode": "url"}),
    }
    assert in_words("Two steps", wanted) == (
        "Two steps. Open these addresses, then make the call again:\n"
        "- Sign in: https://x.test/1\n"
        "- open: https://x.test/2"
    )


@pytest.mark.parametrize(
    "data", [None, {}, {"elicitations": 3}, {"elicitations": []}, {"elicitations": [{}]}], ids=repr
)
def test_without_any_url_it_is_an_error_like_others(data: Any) -> None:
    assert elicitations(RelayedError(-32042, "odd", data)) is None
    assert elicitations(RelayedError(-32602, "other", {"elicitations": [ENTRY]})) is None
