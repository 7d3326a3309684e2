"""Frames made ready ahead of their time, on a thread of their own, so that generation does not delay sends."""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from market_spread.common.errors import UsageError
from market_spread.common.load.source import Block, Load
from market_spread.common.wire.layout import NBBO, ORDER
from market_spread.sender.framing import Frame, Framer, in_order_of_plan

READY_BLOCKS_MAX = 16
_STOP_CHECK_S = 0.1


@dataclass(frozen=True, slots=True)
class FramePlan:
    """How messages become frames, and where these go. Both topics have `partitions` partitions."""

    nbbo_topic: str
    orders_topic: str
    partitions: int
    linger_ns: int
    frame_messages: int


class Preparation:
    """Turns a load into frames. At most READY_BLOCKS_MAX blocks of them wait; then it waits for the sender."""

    def __init__(self, load: Load, plan: FramePlan) -> None:
        self._load = load
        self._plan = plan
        self._quotes = _framer(plan, plan.nbbo_topic, NBBO.width)
        self._orders = _framer(plan, plan.orders_topic, ORDER.width)
        self._ready: queue.Queue[list[Frame] | Exception | None] = queue.Queue(READY_BLOCKS_MAX)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="preparation", daemon=True)

    def start(self) -> None:
        """Begin to prepare."""
        self._thread.start()

    def stop(self) -> None:
        """End early. What is ready stays ready; what is not will not come."""
        self._stopping.set()
        self._thread.join()

    def frames(self) -> Iterator[Frame]:
        """All frames in order of their planned times; waits for what is not ready, raises what the load raised."""
        while True:
            try:
                ready = self._ready.get(timeout=_STOP_CHECK_S)
            except queue.Empty:
                if self._stopping.is_set():
                    return
                continue
            if ready is None:
                return
            if isinstance(ready, Exception):
                raise ready
            yield from ready

    def _run(self) -> None:
        try:
            for block in self._load.blocks():
                if not self._put(self._framed(block)):
                    return
            self._put(in_order_of_plan(self._quotes.rest() + self._orders.rest()))
            self._put(None)
        except Exception as error:  # whatever the load raises ends it, and is told by `frames`
            self._put(error)

    def _framed(self, block: Block) -> list[Frame]:
        for stream in (block.quotes, block.orders):
            if len(stream) and (highest := int(stream.buckets.max())) >= self._plan.partitions:
                raise UsageError(
                    f"the load has a message for partition {highest}, but the topics have "
                    f"{self._plan.partitions} partitions; give the load buckets={self._plan.partitions}"
                )
        return in_order_of_plan(
            self._quotes.frames(block.quotes, block.end_ns) + self._orders.frames(block.orders, block.end_ns)
        )

    def _put(self, item: list[Frame] | Exception | None) -> bool:
        while not self._stopping.is_set():
            try:
                self._ready.put(item, timeout=_STOP_CHECK_S)
                return True
            except queue.Full:
                continue
        return False


def _framer(plan: FramePlan, topic: str, width: int) -> Framer:
    return Framer(topic=topic, width=width, linger_ns=plan.linger_ns, frame_messages=plan.frame_messages)
