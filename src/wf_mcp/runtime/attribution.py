"""To which request in flight belongs what an upstream says meanwhile (matrix B.3, D.4 item 8).

Over HTTP the response stream of a request tells: what comes on it is read in the context that the request was sent in.
Over stdio nothing on the wire tells, and nothing is known here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar

_sent: ContextVar[object | None] = ContextVar("wf_mcp_request_in_flight", default=None)


@contextmanager
def sending(request: object) -> Iterator[None]:
    """For the time of the block, what is sent is sent for `request`, and what is read in answer is said to it."""
    token = _sent.set(request)
    try:
        yield
    finally:
        _sent.reset(token)


@contextmanager
def said_in(context: Context | None) -> Iterator[None]:
    """For the time of the block, take what is heard as said in `context`, where the transport knows it."""
    with sending(context.get(_sent) if context is not None else None):
        yield


def addressed() -> object | None:
    """The request that what is being heard was said to; `None` where that is not known."""
    return _sent.get()
