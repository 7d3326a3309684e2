"""A backlog of frames: made once, sent as often as it is needed, ended by a record that leaves every step."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from steps import MARKER

from market_spread.common.kafka.client import KafkaBroker
from market_spread.common.load.schedule import Constant
from market_spread.common.wire.layout import FORMAT_HEADER, FORMAT_VERSION, SENT_HEADER
from market_spread.controller.plan.plan import plan_of_workload
from market_spread.controller.plan.reading import Overrides, read_workload
from market_spread.loadgen.market.parameters import MARKET
from market_spread.sender.framing import Frame, FramePlan, frames_of

_RATE_PER_S = 1_000_000
_LINGER_NS = 10**12  # frames close by their size alone
_SEND_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """Frames of both topics, in the order of their plan."""

    frames: tuple[Frame, ...]
    messages: int
    partitions: int

    @staticmethod
    def of(*, messages: int, frame_messages: int = 200, symbols: int = 350, partitions: int = 1) -> "Backlog":
        """A market's quotes and orders, after the first quote of every symbol."""
        overrides = Overrides(rate_per_s=_RATE_PER_S, duration_s=messages / _RATE_PER_S, symbols=symbols)
        workload = read_workload(Path("loadgen/workloads/sustained.yaml"), overrides)
        plan = plan_of_workload(workload.changed(market={"partitions": partitions}))
        profile = Constant(_RATE_PER_S, messages / _RATE_PER_S)
        measured = replace(MARKET.read(plan.measured.parameters), profile=profile)
        frames: list[Frame] = []
        for load in (plan.initial, replace(plan.measured, parameters=MARKET.to_mapping(measured))):
            cut = FramePlan("nbbo", "orders", partitions, linger_ns=_LINGER_NS, frame_messages=frame_messages)
            frames += frames_of(load.open(0), cut)
        return Backlog(tuple(frames), sum(frame.messages for frame in frames), partitions)

    def send(self, bootstrap_servers: str, topics: Mapping[str, str]) -> None:
        """Write it, then a marker to every partition; returns when the broker has all."""
        headers = ((FORMAT_HEADER, FORMAT_VERSION.encode()), (SENT_HEADER, b"0"))
        lost: list[Exception] = []

        def done(_offset: int, error: Exception | None) -> None:
            if error is not None:
                lost.append(error)

        with closing(KafkaBroker(bootstrap_servers, "backlog").producer()) as producer:
            for frame in self.frames:
                producer.send(topics[frame.topic], frame.partition, frame.payload, headers, done)
            for partition in range(self.partitions):
                for topic in ("nbbo", "orders"):
                    producer.send(topics[topic], partition, MARKER, (), done)
            producer.close(_SEND_WITHIN_S)
        if lost:
            raise RuntimeError(f"{len(lost)} frames did not reach the broker: {lost[0]}")

    @property
    def markers(self) -> int:
        """How many records of a sending leave every step."""
        return 2 * self.partitions
