"""Ports of pods on this machine's loopback interface: each connection goes on through the API server."""

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from market_spread.common.errors import MarketSpreadError

_PIECE_BYTES = 64 * 1024

_log = logging.getLogger(__name__)


class Forward:
    """A port of ours, at `address`, that leads to someone else's. `close` it; what is connected then breaks."""

    def __init__(self, dial: Callable[[], Any]) -> None:
        """dial: makes a connection to the other end, a socket; MarketSpreadError if it cannot."""
        self._dial = dial
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, name="forward", daemon=True).start()

    def close(self) -> None:
        """Listen no more, and break what is connected."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
        self._listener.close()
        with self._lock:
            left = list(self._open)
        for end in left:
            _end(end)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(near,), name="forward", daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        try:
            far = self._dial()
        except MarketSpreadError as error:
            _log.warning("a connection to a pod could not be forwarded: %s", error)
            near.close()
            return
        with self._lock:
            self._open |= {near, far}
        back = threading.Thread(target=_pump, args=(far, near), name="forward", daemon=True)
        back.start()
        _pump(near, far)
        back.join()
        with self._lock:
            self._open -= {near, far}
        near.close()
        far.close()


def _pump(source: Any, sink: Any) -> None:
    """Carry bytes until one of the ends closes; then the other one is closed, too."""
    with suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            sink.sendall(piece)
    _end(sink)
    _end(source)


def _end(end: Any) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
