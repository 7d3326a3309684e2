"""A gRPC server whose port is taken: one sentence of ours, and none of gRPC's."""

import socket
from contextlib import closing

import grpc
import pytest

from market_spread.common.errors import UsageError
from market_spread.common.grpc.calls import Server, listener, require_bindable


def no_service(server: grpc.Server) -> str:
    return "none"


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]")])
def test_port_in_use_is_one_sentence_and_grpc_says_nothing(
    family: socket.AddressFamily, host: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(socket.create_server((host.strip("[]"), 0), family=family)) as taken:
        address = f"{host}:{taken.getsockname()[1]}"

        with pytest.raises(UsageError) as raised:
            Server(address, no_service)

    assert str(raised.value) == f"{address} cannot be bound: Address already in use; choose another port or 0"
    assert capfd.readouterr().err == ""


def test_free_port_is_bound_after_it_was_tried() -> None:
    with listener("127.0.0.1", 0) as found:
        port = found.getsockname()[1]
    require_bindable(f"127.0.0.1:{port}")

    server = Server(f"127.0.0.1:{port}", no_service)

    assert server.port == port
    server.stop()
