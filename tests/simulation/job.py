"""A simulated job: Market Spread's rule in plain Python, with state, batches, and replay from a checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from market_spread.common.kafka.client import Partition
from market_spread.common.wire.layout import NBBO, ORDER, SENT_HEADER
from market_spread.v1.control_pb2 import (
    CommittedBatch,
    DrainJobRequest,
    DrainJobResponse,
    JobStatusRequest,
    JobStatusResponse,
    PartitionOffset,
    Phase,
)
from tests.simulation.kafka import Broker
from tests.simulation.world import MS, S, World

BATCH_NS = 1_500 * MS
_POLL_S = 0.1
_PAUSE_NS = 25 * MS
_DRAIN_NS = 300 * S
_FIVE_CENTS, _FIVE_PERCENT = Fraction(5, 100), Fraction(5, 100)
_NO_QUOTE = ("0" * 10, "0" * 10, "0" * 12)

# Of a symbol, as it stands in messages: bid, offer, sequence.
Quote = tuple[str, str, str]


def rejects(bid: str, offer: str) -> bool:
    """The rule as README.md has it, in dollars: a spread of 5 cents or more, or of 5% of the mid or more."""
    low, high = Fraction(int(bid), 10_000), Fraction(int(offer), 10_000)
    spread, mid = high - low, (high + low) / 2
    return spread >= _FIVE_CENTS or (mid > 0 and spread / mid >= _FIVE_PERCENT) or mid == 0


@dataclass(slots=True)
class Checkpoint:
    """What outlives the job's process: everything below the offsets is in the state, and its output is delivered."""

    batch: int = -1
    offsets: dict[Partition, int] = field(default_factory=dict)
    quotes: dict[str, Quote] = field(default_factory=dict)


@dataclass(slots=True)
class Checkpoints:
    """The checkpoints of a job, the newest last. chosen: which one a process that starts goes on from."""

    kept: list[Checkpoint] = field(default_factory=lambda: [Checkpoint()])
    chosen: Callable[[list[Checkpoint]], Checkpoint] = lambda kept: kept[-1]


class Job:
    """One process of the job. `run` is its thread, `Status` and `Drain` are its calls.

    judged_by: the quote by which an order is judged, by default its symbol's newest.
    """

    def __init__(
        self,
        world: World,
        broker: Broker,
        checkpoints: Checkpoints,
        number: int,
        judged_by: Callable[[str, dict[str, Quote], dict[str, Quote]], Quote | None],
    ) -> None:
        self._world, self._broker, self._checkpoints, self._number = world, broker, checkpoints, number
        self._judged_by = judged_by
        self._begun_ns = world.now_ns
        self._batches: list[CommittedBatch] = []
        self._processed = self._committed = 0
        self._counted_ns = 0
        self._draining = 0
        begin = checkpoints.chosen(checkpoints.kept)
        self._checkpoint = Checkpoint(begin.batch, dict(begin.offsets), dict(begin.quotes))

    def run(self) -> None:
        world, broker = self._world, self._broker
        consumer, producer = broker.consumer(), broker.producer()
        places = [place for place in broker.logs if place[0] in ("nbbo", "orders")]
        offsets = {place: self._checkpoint.offsets.get(place, 0) for place in places}
        quotes, before = dict(self._checkpoint.quotes), dict[str, Quote]()
        consumer.assign(offsets)
        while True:
            begun_ns, messages = world.now_ns, 0
            while world.now_ns - begun_ns < BATCH_NS and not self._ends_early(offsets):
                for (topic, partition), records in consumer.poll(_POLL_S).items():
                    for record in records:
                        text, read_us = record.value.decode(), world.now_ns // 1000
                        if topic == "nbbo":
                            messages += self._take_quotes(text, quotes, before)
                        else:
                            sent_us = int(dict(record.headers)[SENT_HEADER])
                            for at in range(0, len(text), ORDER.width):
                                symbol = text[at + 1 : at + 7]
                                quote = self._judged_by(symbol, quotes, before) or _NO_QUOTE
                                says = text[at : at + ORDER.width], quote, f"{sent_us:016d}{read_us:016d}{read_us:016d}"
                                self._say(producer, partition, *says)
                                messages += 1
                    offsets[topic, partition] = records[-1].offset + 1
                self._processed, self._counted_ns = self._committed + messages, world.now_ns
                world.sleep(_PAUSE_NS)
            world.wait_until(lambda: not producer.pending)
            world.sleep(20 * MS)
            self._commit(offsets, quotes, begun_ns, messages)

    def Status(self, request: JobStatusRequest, context: object) -> JobStatusResponse:  # noqa: N802
        used_us = (self._world.now_ns - self._begun_ns) // 10_000
        return JobStatusResponse(
            phase=Phase.PHASE_RUNNING if self._batches else Phase.PHASE_STARTING,
            mode="real-time",
            batch_id=self._checkpoint.batch,
            committed=_offsets(self._checkpoint.offsets),
            messages_committed=self._committed,
            messages_processed=self._processed,
            cpu_us=used_us,
            process_ids=[self._number],
            batches=self._batches,
            unix_ns=self._world.now_ns,
            counted_unix_ns=self._counted_ns,
            counted_cpu_us=used_us,
        )

    def Drain(self, request: DrainJobRequest, context: object) -> DrainJobResponse:  # noqa: N802
        until = {(each.topic, each.partition): each.offset for each in request.until}
        self._draining += 1
        try:
            self._world.wait_until(
                lambda: all(self._checkpoint.offsets.get(place, 0) >= end for place, end in until.items()), _DRAIN_NS
            )
        finally:
            self._draining -= 1
        return DrainJobResponse(committed=_offsets(self._checkpoint.offsets))

    def _ends_early(self, offsets: dict[Partition, int]) -> bool:
        """A drain ends a batch that has read all that there is."""
        if not self._draining or self._broker.silent or offsets == self._checkpoint.offsets:
            return False
        return all(at >= len(self._broker.logs[place]) for place, at in offsets.items())

    def _take_quotes(self, text: str, quotes: dict[str, Quote], before: dict[str, Quote]) -> int:
        for at in range(0, len(text), NBBO.width):
            symbol, quote = (
                text[at + 1 : at + 7],
                (text[at + 7 : at + 17], text[at + 17 : at + 27], text[at + 43 : at + 55]),
            )
            known = quotes.get(symbol)
            if known is None or quote[2] > known[2]:
                if known is not None:
                    before[symbol] = known
                quotes[symbol] = quote
        return len(text) // NBBO.width

    def _say(self, producer: object, partition: int, order: str, quote: Quote, stamps: str) -> None:
        symbol, side, account, order_id, rest = order[1:7], order[7:8], order[8:14], order[14:24], order[24:43]
        bid, offer, sequence = quote
        said = f"{order_id}{symbol}{side}{account}{rest}{bid}{offer}{sequence}{order[43:59]}{stamps}"
        is_rejected = rejects(bid, offer)
        if is_rejected:
            producer.send("alerts", partition, f"A{said}".encode(), (), _heard)  # type: ignore[attr-defined]
        verdict = "R" if is_rejected else "A"
        producer.send("decisions", partition, f"D{said}{verdict}".encode(), (), _heard)  # type: ignore[attr-defined]

    def _commit(self, offsets: dict[Partition, int], quotes: dict[str, Quote], begun_ns: int, messages: int) -> None:
        number = self._checkpoint.batch + 1
        self._checkpoint = Checkpoint(number, dict(offsets), dict(quotes))
        self._checkpoints.kept.append(self._checkpoint)
        self._committed += messages
        self._batches.append(
            CommittedBatch(
                batch_id=number, start_unix_ns=begun_ns, duration_ns=self._world.now_ns - begun_ns, messages=messages
            )
        )
        if messages:
            self._world.note("job", f"commits batch {number} of {messages} messages")


def newest(symbol: str, quotes: dict[str, Quote], before: dict[str, Quote]) -> Quote | None:
    """Of a right job."""
    return quotes.get(symbol)


def _offsets(offsets: dict[Partition, int]) -> list[PartitionOffset]:
    return [PartitionOffset(topic=topic, partition=of, offset=end) for (topic, of), end in sorted(offsets.items())]


def _heard(offset: int, error: Exception | None) -> None:
    """A batch waits for all of its acknowledgements together."""
