"""One gRPC stream of pushes to the metrics-aggregator, and of its answers."""

import threading
from queue import Empty, SimpleQueue
from typing import cast

import grpc

from market_spread.v1.metrics_pb2 import PushRequest, PushResponse
from market_spread.v1.metrics_pb2_grpc import MetricsStub


class StreamEndedError(Exception):
    """The stream has ended, for the reason that the message gives. What was not answered is to be sent on another."""


class PushStream:
    """Pushes in order, and their answers in the same order; open once it is made. For one thread."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._pushes: SimpleQueue[PushRequest | None] = SimpleQueue()
        self._answers: SimpleQueue[PushResponse | None] = SimpleQueue()
        self._reason = "the aggregator has ended the stream"
        self._ended = False
        self._call = MetricsStub(channel).Push(iter(self._pushes.get, None))
        threading.Thread(target=self._read, name="push-answers", daemon=True).start()

    def send(self, push: PushRequest) -> None:
        """Send a push; does not wait, not even for a connection."""
        self._pushes.put(push)

    def answer(self, timeout_s: float) -> PushResponse | None:
        """The next answer; None if it does not come in that time. StreamEndedError if none will come any more."""
        if not self._ended:
            try:
                answer = self._answers.get(timeout=max(0.0, timeout_s))
            except Empty:
                return None
            if answer is not None:
                return answer
            self._ended = True
        raise StreamEndedError(self._reason)

    def close(self) -> None:
        """End the stream. What was not answered may have been taken or not. Idempotent."""
        self._call.cancel()

    def _read(self) -> None:
        try:
            for answer in self._call:
                self._answers.put(answer)
        except grpc.RpcError as error:
            # Every error of a call is a grpc.Call too; the stubs do not say so.
            self._reason = cast(grpc.Call, error).details() or str(error)
        finally:
            self._answers.put(None)
            self._pushes.put(None)  # gRPC's thread waits for the next push, and ends with this
