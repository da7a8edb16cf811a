"""What an upstream says belongs to the request in whose context it is read (matrix D.4 item 8)."""

from contextvars import copy_context

from wf_mcp.runtime.attribution import addressed, said_in, sending


def test_what_is_read_in_the_context_of_a_request_was_said_to_it() -> None:
    with sending("first"):
        first = copy_context()
        with sending("second"):
            assert addressed() == "second"
        assert addressed() == "first"
    assert addressed() is None
    with said_in(first):
        assert addressed() == "first"
    assert addressed() is None


def test_where_the_transport_does_not_tell_nothing_is_known() -> None:
    with sending("a request of somebody else's"), said_in(None):
        assert addressed() is None
    with said_in(copy_context()):
        assert addressed() is None
