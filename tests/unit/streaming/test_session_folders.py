"""Where a session keeps its sockets."""

import tempfile

import pytest

from market_spread.streaming.modes.registry import socket_folder

# What the kernel takes of a path, less the name that Spark gives a socket: `/.<uuid>.sock`.
ROOM_BYTES = 107 - 43


@pytest.mark.parametrize("folder", ["/r/" + "a" * (ROOM_BYTES - 3), "/r/a b"])
def test_sockets_are_in_the_folder_of_the_session(folder: str) -> None:
    assert socket_folder(folder) == folder


@pytest.mark.parametrize("folder", ["/r/" + "a" * (ROOM_BYTES - 2), "/r/" + "é" * 31])
def test_a_path_that_would_be_too_long_for_a_socket_is_not_taken(folder: str) -> None:
    assert socket_folder(folder) == tempfile.gettempdir()
