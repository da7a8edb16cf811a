"""What is known of one listen request (matrix A.4)."""

import pytest

from wf_mcp.edge.listen_stream import ListenStream

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("honoured", "yes"),
    [
        (None, False),
        ({}, False),
        ({"resourceSubscriptions": "demo://a"}, False),
        ({"resourceSubscriptions": []}, False),
        ({"resourceSubscriptions": ["demo://a"]}, True),
    ],
    ids=str,
)
async def test_a_uri_is_honoured_where_the_acknowledgement_names_it(honoured: dict | None, yes: bool) -> None:
    stream = ListenStream(1, {"resourceSubscriptions": ["demo://a"]}, honoured=honoured)
    assert stream.honours("demo://a") is yes


async def test_it_works_from_its_acknowledgement_to_its_end() -> None:
    stream = ListenStream(1, {})
    seen = [stream.working]
    stream.honoured = {}
    seen.append(stream.working)
    stream.alive = False
    assert [*seen, stream.working] == [False, True, False]
