"""Writes that go out together, in order, and before the end of the connection."""

from collections.abc import Callable

import pytest

from wf_mcp.edge.http_protocol import AT_ONCE, Together


class Socket:
    """A transport that keeps what was written to it at a time."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed_after: int | None = None

    def writelines(self, parts: list[bytes]) -> None:
        self.written.append(b"".join(parts))

    def close(self) -> None:
        self.closed_after = len(self.written)

    def is_closing(self) -> bool:
        return self.closed_after is not None


@pytest.fixture
def socket() -> Socket:
    return Socket()


@pytest.fixture
def later() -> list[Callable[[], None]]:
    return []


@pytest.fixture
def together(socket: Socket, later: list[Callable[[], None]]) -> Together:
    return Together(socket, later.append)  # type: ignore[arg-type]


def test_what_is_written_in_one_turn_goes_out_at_once(
    together: Together, socket: Socket, later: list[Callable[[], None]]
) -> None:
    together.write(b"head ")
    together.write(b"")
    together.write(b"body")
    assert socket.written == []
    assert len(later) == 1
    later.pop()()
    together.write(b"next")
    later.pop()()
    assert socket.written == [b"head body", b"next"]


def test_much_of_it_does_not_wait(together: Together, socket: Socket, later: list[Callable[[], None]]) -> None:
    together.write(b"head ")
    together.write(b"x" * AT_ONCE)
    assert socket.written == [b"head " + b"x" * AT_ONCE]
    later.pop()()
    assert len(socket.written) == 1


def test_the_connection_closes_behind_it(together: Together, socket: Socket) -> None:
    together.write(b"the end")
    together.close()
    assert (socket.written, socket.closed_after, together.is_closing()) == ([b"the end"], 1, True)
