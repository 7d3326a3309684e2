"""A simulated Kafka: one broker, partitions with offsets, idempotent producers that try again, consumers."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from market_spread.common.errors import BrokerAwayError
from market_spread.common.kafka.client import DELIVERY_TIMEOUT_S, Done, Headers, Partition, Record
from tests.simulation.world import MS, Killed, Process, S, World

_RETRY_NS = 100 * MS
_REQUEST_TIMEOUT_NS = 600 * MS
_FLUSH_EVERY_NS = 400 * MS
_AWAY_S = 10.0

_Unsent = tuple[bytes, bytes | None, Headers, Done]


class DeliveryError(Exception):
    """A record was not acknowledged in time."""


class Broker:
    """Partitions as lists of records. durable: what was acknowledged outlives a crash; else only what was flushed."""

    def __init__(self, world: World, topics: Mapping[str, int]) -> None:
        self.durable = True
        self.logs: dict[Partition, list[Record]] = {
            (topic, partition): [] for topic, partitions in topics.items() for partition in range(partitions)
        }
        self.world = world
        self.acknowledgements_lost = 0.0
        self._topics = topics
        self._silent_until_ns = 0
        self._flushed: dict[Partition, int] = {}
        self._flushed_ns = 0
        self._random: Random = world.random("kafka")
        self._producers = 0
        self._known: dict[tuple[int, Partition], tuple[int, int]] = {}  # the newest number, and where it stands

    @property
    def silent(self) -> bool:
        """Whether it answers nobody for now."""
        return self.world.now_ns < self._silent_until_ns

    def stand_still(self, length_ns: int) -> None:
        """Nothing is answered for so long; what was asked is answered later."""
        self._silent_until_ns = max(self._silent_until_ns, self.world.now_ns + length_ns)
        self.world.note("broker", f"stands still for {length_ns / 1e9:.3f} s")

    def crash(self, length_ns: int) -> None:
        """End, and come back so much later."""
        lost = 0
        if not self.durable:
            for place, log in self.logs.items():
                kept = self._flushed.get(place, 0)
                lost += len(log) - kept
                del log[kept:]
        self.world.note("broker", f"crashes for {length_ns / 1e9:.3f} s" + (f" and loses {lost} records" * bool(lost)))
        self._silent_until_ns = max(self._silent_until_ns, self.world.now_ns + length_ns)

    def producer_number(self) -> int:
        self._producers += 1
        return self._producers

    def append(self, producer: int, number: int, place: Partition, batch: Sequence[_Unsent]) -> int:
        """Append a batch, unless the producer sent it before; its first offset."""
        now_ns = self.world.now_ns
        if now_ns - self._flushed_ns >= _FLUSH_EVERY_NS:
            self._flushed, self._flushed_ns = {each: len(log) for each, log in self.logs.items()}, now_ns
        newest, first = self._known.get((producer, place), (-1, 0))
        if number <= newest:
            return first
        log = self.logs[place]
        self._known[producer, place] = number, len(log)
        first = len(log)
        log.extend(
            Record(first + i, value, now_ns // MS, key, headers, now_ns // MS)
            for i, (value, key, headers, _) in enumerate(batch)
        )
        return first

    def delay_ns(self) -> int:
        """How long a message takes, one way."""
        return int(self._random.uniform(0.2, 2.0) * MS)

    def loses_acknowledgement(self) -> bool:
        return self.acknowledgements_lost > 0 and self._random.random() < self.acknowledgements_lost

    # What a process has of it.

    def producer(self, topics: Iterable[str] = ()) -> "Producing":
        self.reached()
        return Producing(self, self.world.process)

    def consumer(self) -> "Consuming":
        self.reached()
        return Consuming(self)

    def partition_counts(self, topics: Sequence[str]) -> dict[str, int]:
        self.reached()
        return {topic: self._topics[topic] for topic in topics}

    def end_offsets(self, topics: Sequence[str], *, committed: bool = False) -> dict[Partition, int]:
        self.reached()
        return {place: len(log) for place, log in self.logs.items() if place[0] in topics}

    def reached(self) -> None:
        """Wait for its answer. BrokerAwayError if there is none."""
        if not self.world.wait_until(lambda: not self.silent, round(_AWAY_S * S)):
            raise BrokerAwayError("the broker does not answer")
        self.world.sleep(2 * self.delay_ns())


class Producing:
    """An idempotent producer: a batch of each partition is on its way, and is sent again until it is acknowledged."""

    def __init__(self, broker: Broker, process: Process) -> None:
        self._broker, self._world, self._process = broker, broker.world, process
        self._number = broker.producer_number()
        self._queues: dict[Partition, deque[_Unsent]] = {}
        self._under_way: dict[Partition, list[_Unsent]] = {}
        self._sent: dict[Partition, int] = {}
        self.repeated = 0

    @property
    def pending(self) -> int:
        return sum(map(len, self._queues.values())) + sum(map(len, self._under_way.values()))

    def send(
        self, topic: str, partition: int, value: bytes, headers: Headers, done: Done, key: bytes | None = None
    ) -> None:
        if not self._process.alive:
            raise Killed
        place = (topic, partition)
        self._queues.setdefault(place, deque()).append((value, key, tuple(headers), done))
        if place not in self._under_way:
            self._next(place)

    def close(self, timeout_s: float = 0.0) -> None:
        self._world.wait_until(lambda: not self.pending, round(timeout_s * S))
        for place in list(self._queues):
            for *_, done in [*self._under_way.pop(place, ()), *self._queues.pop(place)]:
                done(-1, DeliveryError("the producer was closed"))

    def _next(self, place: Partition) -> None:
        queue = self._queues[place]
        if queue:
            batch = self._under_way[place] = list(queue)
            queue.clear()
            number = self._sent[place] = self._sent.get(place, -1) + 1
            self._try(place, number, batch, self._world.now_ns)

    def _try(self, place: Partition, number: int, batch: list[_Unsent], since_ns: int) -> None:
        """One request. What is on its way arrives even if the process has died meanwhile."""
        if not self._process.alive or self._under_way.get(place) is not batch:
            return
        world, broker = self._world, self._broker
        if world.now_ns - since_ns > DELIVERY_TIMEOUT_S * S:
            del self._under_way[place]
            for *_, done in batch:
                done(-1, DeliveryError(f"not acknowledged within {DELIVERY_TIMEOUT_S:g} s"))
            return
        answered = False

        def arrive() -> None:
            if broker.silent:
                world.after(_RETRY_NS, arrive)
                return
            first = broker.append(self._number, number, place, batch)
            if not broker.loses_acknowledgement():
                world.after(broker.delay_ns(), lambda: acknowledge(first))

        def acknowledge(first: int) -> None:
            nonlocal answered
            if self._process.alive and self._under_way.get(place) is batch:
                answered = True
                del self._under_way[place]
                for i, (*_, done) in enumerate(batch):
                    done(first + i, None)
                self._next(place)

        def again() -> None:
            if not answered and self._under_way.get(place) is batch:
                self.repeated += 1
                world.note(self._process.name, f"sends batch {number} of {place[0]}/{place[1]} again")
                self._try(place, number, batch, since_ns)

        world.after(broker.delay_ns(), arrive)
        world.after(_REQUEST_TIMEOUT_NS, again)


class Consuming:
    """A consumer that reads partitions from offsets; one that the broker no longer has begins anew."""

    def __init__(self, broker: Broker) -> None:
        self._broker, self._world = broker, broker.world
        self._positions: dict[Partition, int] = {}

    def assign(self, positions: Mapping[Partition, int]) -> None:
        self._positions = dict(positions)

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        logs, positions = self._broker.logs, self._positions

        def is_there() -> bool:
            return not self._broker.silent and any(len(logs[place]) != at for place, at in positions.items())

        if not self._world.wait_until(is_there, round(timeout_s * S)):
            return {}
        self._world.sleep(self._broker.delay_ns())
        found = {}
        for place, at in positions.items():
            log = logs[place]
            begin = at if at <= len(log) else 0  # auto_offset_reset is `earliest`
            if begin < len(log):
                found[place] = log[begin:]
            positions[place] = len(log)
        return found

    def position(self, partition: Partition) -> int:
        return self._positions[partition]

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        self._broker.reached()
        return {place: len(self._broker.logs[place]) for place in partitions}

    def close(self) -> None:
        """There is nothing to end."""
