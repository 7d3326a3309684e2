"""A port of ours that leads elsewhere: bytes both ways, ends that are passed on, and other ends that are not there."""

import socket
import threading
from collections.abc import Iterator

import pytest

from market_spread.common.errors import RunVoidError
from market_spread.controller.deploy.kubernetes.api import Forward


def echo(far: socket.socket) -> None:
    with far:
        while piece := far.recv(4096):
            far.sendall(piece.upper())


def dial() -> socket.socket:
    """The other end: what it is sent comes back in capitals."""
    near, far = socket.socketpair()
    threading.Thread(target=echo, args=(far,), daemon=True).start()
    return near


@pytest.fixture
def forward() -> Iterator[Forward]:
    forward = Forward(dial)
    yield forward
    forward.close()


def connected(forward: Forward) -> socket.socket:
    host, _, port = forward.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=5)


def read(near: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (piece := near.recv(count - len(found))):
        found += piece
    return found


def test_bytes_go_both_ways_on_each_connection(forward: Forward) -> None:
    with connected(forward) as first, connected(forward) as second:
        first.sendall(b"first")
        second.sendall(b"second" * 50_000)

        assert read(first, 5) == b"FIRST"
        assert read(second, 300_000) == b"SECOND" * 50_000


def test_connection_whose_other_end_is_not_there_ends() -> None:
    def refuse() -> socket.socket:
        raise RunVoidError("the pod is gone")

    forward = Forward(refuse)
    with connected(forward) as near:
        assert near.recv(1) == b""
    forward.close()


def test_close_breaks_what_is_connected_and_listens_no_more(forward: Forward) -> None:
    near = connected(forward)
    near.sendall(b"x")
    before = near.recv(1)

    forward.close()

    assert before == b"X"
    assert near.recv(1) == b""
    near.close()
    with pytest.raises(OSError, match="refused"):
        connected(forward)
