"""Faults of subject: what a proxy does to the frames between a client and the broker, on real sockets."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from market_spread.controller.deploy.local.links import Link
from market_spread.controller.plan.faults import Fault

PRODUCE, FETCH = 0, 1


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def request(api_key: int, correlation_id: int) -> bytes:
    return frame(struct.pack(">hhi", api_key, 9, correlation_id) + b"request")


def received(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        if not (more := connection.recv(size - len(found))):
            raise ConnectionResetError
        found += more
    return found


def frame_from(connection: socket.socket) -> bytes:
    return received(connection, struct.unpack(">i", received(connection, 4))[0])


class Broker:
    """Answers each request by its correlation id, and knows which arrived."""

    def __init__(self, port: int) -> None:
        self.arrived: list[int] = []
        self._listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._listening.accept()[0],), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), closing(connection):
            while True:
                correlation_id = frame_from(connection)[4:8]
                self.arrived.append(struct.unpack(">i", correlation_id)[0])
                connection.sendall(frame(correlation_id + b"answer"))

    def close(self) -> None:
        with suppress(OSError):  # the second time
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


Connect = Callable[[], socket.socket]


@pytest.fixture
def link() -> Iterator[tuple[Link, Broker, Connect]]:
    subject = Link("job", seed=1)
    broker = Broker(subject.ports[0])
    opened: list[socket.socket] = []

    def connect() -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", subject.ports[1]), 10))
        return opened[-1]

    subject.start()
    yield subject, broker, connect
    for connection in opened:
        connection.close()
    broker.close()
    subject.stop()


def planned(do: str, **keys: Any) -> Fault:
    return Fault(at_s=0, do=do, between=("job", "broker"), for_s=60, **keys)


def exchange(connection: socket.socket, *requests: bytes) -> tuple[list[int], float]:
    """Send all, and await as many answers: their correlation ids, and after how many seconds the last came."""
    begun = time.monotonic()
    connection.sendall(b"".join(requests))
    answers = [struct.unpack(">i", frame_from(connection)[:4])[0] for _ in requests]
    return answers, time.monotonic() - begun


def test_a_link_without_a_fault_carries_all_in_order(link: tuple[Link, Broker, Connect]) -> None:
    _, broker, connect = link

    answers, _ = exchange(connect(), *(request(number % 2, number) for number in range(500)))

    assert answers == broker.arrived == list(range(500))


def test_a_delay_is_added_each_way_and_not_once_for_each_frame(link: tuple[Link, Broker, Connect]) -> None:
    subject, _, connect = link
    connection = connect()
    subject.begin(planned("link", delay_ms=100))

    answers, took_s = exchange(connection, *(request(FETCH, number) for number in range(50)))

    assert answers == list(range(50))
    assert 0.2 <= took_s < 2


def test_what_jitter_holds_back_is_not_overtaken(link: tuple[Link, Broker, Connect]) -> None:
    subject, broker, connect = link
    connection = connect()
    subject.begin(planned("link", jitter_ms=50))

    answers, _ = exchange(connection, *(request(FETCH, number) for number in range(100)))

    assert answers == broker.arrived == list(range(100))


def test_a_narrow_link_takes_as_long_as_its_bytes_do(link: tuple[Link, Broker, Connect]) -> None:
    subject, _, connect = link
    sent = [request(FETCH, number) for number in range(40)]
    connection = connect()
    subject.begin(planned("link", bytes_per_s=len(b"".join(sent)) * 2))

    _, took_s = exchange(connection, *sent)

    assert 0.5 <= took_s < 3


def test_a_partition_lets_nothing_through_until_it_is_over_and_loses_nothing(
    link: tuple[Link, Broker, Connect],
) -> None:
    subject, broker, connect = link
    connection = connect()
    exchange(connection, request(PRODUCE, 1))
    subject.begin(planned("partition"))
    time.sleep(0.05)

    connection.sendall(request(PRODUCE, 2))
    newcomer = connect()
    newcomer.sendall(request(FETCH, 3))
    connection.settimeout(0.5)
    with pytest.raises(TimeoutError):
        frame_from(connection)
    assert broker.arrived == [1]
    assert subject.end() == 0

    connection.settimeout(10)
    assert [struct.unpack(">i", frame_from(each)[:4])[0] for each in (connection, newcomer)] == [2, 3]
    assert sorted(broker.arrived) == [1, 2, 3]


def test_a_lost_acknowledgement_is_of_what_was_written_and_resets_the_connection(
    link: tuple[Link, Broker, Connect],
) -> None:
    subject, broker, connect = link
    connection = connect()
    subject.begin(planned("lose_acks", share=1))

    answers, _ = exchange(connection, request(FETCH, 1))
    connection.sendall(request(PRODUCE, 2))
    with pytest.raises(ConnectionResetError):
        frame_from(connection)

    assert (answers, broker.arrived) == ([1], [1, 2])  # it has written it
    assert subject.end() == 1
    assert exchange(connect(), request(PRODUCE, 3))[0] == [3]


def test_a_request_at_which_the_connection_is_reset_does_not_arrive(link: tuple[Link, Broker, Connect]) -> None:
    subject, broker, connect = link
    connection = connect()
    subject.begin(planned("link", reset_share=1))

    connection.sendall(request(PRODUCE, 1))
    with pytest.raises(ConnectionResetError):
        frame_from(connection)

    assert broker.arrived == []
    assert subject.end() == 1


def test_a_share_is_drawn_by_the_seed(link: tuple[Link, Broker, Connect]) -> None:
    subject, broker, connect = link
    fault = planned("link", reset_share=0.2)
    subject.begin(fault)
    time.sleep(0.05)

    for number in range(100):
        with suppress(ConnectionError), closing(connect()) as connection:
            exchange(connection, request(FETCH, number))

    resets = subject.end()
    assert len(broker.arrived) == 100 - resets
    assert resets == 21


def test_what_a_link_held_back_goes_on_when_the_fault_is_over(link: tuple[Link, Broker, Connect]) -> None:
    subject, _, connect = link
    connection = connect()
    fault = planned("link", delay_ms=60_000)
    subject.begin(fault)
    connection.sendall(request(FETCH, 1))
    time.sleep(0.1)

    subject.end()

    assert struct.unpack(">i", frame_from(connection)[:4]) == (1,)


def test_a_client_of_a_broker_that_is_down_is_told_so_at_once(link: tuple[Link, Broker, Connect]) -> None:
    _, broker, connect = link
    broker.close()

    assert connect().recv(1) == b""


def test_what_a_client_sent_before_it_left_still_arrives(link: tuple[Link, Broker, Connect]) -> None:
    subject, broker, connect = link
    subject.begin(planned("link", delay_ms=100))

    with closing(connect()) as connection:
        connection.sendall(request(PRODUCE, 1))

    until = time.monotonic() + 10
    while not broker.arrived and time.monotonic() < until:
        time.sleep(0.01)
    assert broker.arrived == [1]
