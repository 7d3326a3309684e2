"""What processes listen on, and what Spark's RPC answers to a stranger."""

import socket
import struct
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from ipaddress import ip_address

import psutil

_RPC_REQUEST, _RPC_FAILURE = 3, 5


@dataclass(frozen=True, slots=True, order=True)
class Listening:
    """A TCP socket that waits for connections; a mapped address of IPv4 as that."""

    process: str
    address: str
    port: int

    @property
    def is_local(self) -> bool:
        return ip_address(self.address).is_loopback


def listening(processes: Iterable[int]) -> list[Listening]:
    """Those of the processes that still live, by their ids."""
    found = []
    for pid in processes:
        try:
            process = psutil.Process(pid)
            sockets = [it.laddr for it in process.net_connections("tcp") if it.status == psutil.CONN_LISTEN]
            found += [Listening(process.name(), at.ip.removeprefix("::ffff:"), at.port) for at in sockets]
        except psutil.Error:  # it has ended meanwhile
            continue
    return sorted(found)


def answer_to_a_stranger(port: int, *, timeout_s: float = 10) -> str | None:
    """The failure with which a Spark on loopback answers a request whose body is no message; None if it gives none.

    It speaks Spark's transport: length, type, request, length of the body, body. Who is not authenticated is told that
    the challenge is unknown. Where nobody need be, the body gets as far as Java's deserialization.
    """
    body = b"a stranger's"
    request = struct.pack(">BqI", _RPC_REQUEST, 7, len(body)) + body
    try:
        with closing(socket.create_connection(("127.0.0.1", port), timeout_s)) as spark:
            spark.sendall(struct.pack(">q", 8 + len(request)) + request)
            answer = b""
            while len(answer) < 21 or len(answer) < struct.unpack(">q", answer[:8])[0]:
                if not (more := spark.recv(65536)):
                    return None
                answer += more
    except OSError:
        return None
    kind, number, length = struct.unpack(">BqI", answer[8:21])
    return answer[21 : 21 + length].decode() if (kind, number) == (_RPC_FAILURE, 7) else None
