"""Kafka as our processes use it: one producer, one consumer, topics. The only module that imports the client.

Records are written once and in order per partition (idempotent producer), uncompressed and without lingering: messages
are gathered into frames before they come here. A broker that cannot be reached is a BrokerAwayError of one sentence.
"""

import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.net import KafkaNetClient
from kafka.partitioner.default import murmur2

from market_spread.common.clock import SystemClock, polls
from market_spread.common.errors import BrokerAwayError, RunVoidError, UsageError
from market_spread.common.kafka.security import PLAINTEXT, KafkaSecurity

RECORD_BYTES_MAX, BATCH_BYTES = 8 * 1024 * 1024, 1024 * 1024
CONNECT_TIMEOUT_S, _SILENT_S_MAX = 10.0, 30
# A paused broker shows as lag; one that is gone for this long loses what it did not acknowledge, and that is counted.
DELIVERY_TIMEOUT_S = 120.0
_POLL_RECORDS_MAX = 20_000
_LOG_APPEND_TIME = 1
# What is raised for a group that has never committed.
_NOTHING_COMMITTED = (kafka_errors.CoordinatorNotAvailableError, kafka_errors.GroupIdNotFoundError, KeyError)
_FOR_RECORDS: Mapping[str, Any] = {"allow_auto_create_topics": False, "metrics_enabled": False}

Partition = tuple[str, int]
Headers = Sequence[tuple[str, bytes]]
Done = Callable[[int, Exception | None], None]


class Producer:
    """Writes records. Thread-safe; `close` it."""

    def __init__(self, broker: "KafkaBroker", topics: Iterable[str]) -> None:
        """topics: existing ones, looked up now so that the first record need not wait for that."""
        self._producer = _connected(
            KafkaProducer, broker, **_FOR_RECORDS, enable_idempotence=True, acks="all", linger_ms=0,
            batch_size=BATCH_BYTES, max_request_size=RECORD_BYTES_MAX,
            delivery_timeout_ms=round(DELIVERY_TIMEOUT_S * 1000), max_block_ms=round(CONNECT_TIMEOUT_S * 1000),
        )  # fmt: skip
        with _broker_errors(broker.bootstrap_servers):
            for topic in topics:
                self._producer.partitions_for(topic)

    def send(
        self, topic: str, partition: int, value: bytes, headers: Headers, done: Done, key: bytes | None = None
    ) -> None:
        """Hand a record over; does not wait for the broker.

        `done` is called once, mostly on another thread, with the offset and None, or with -1 and why it is lost.
        """
        try:
            future = self._producer.send(topic, value=value, key=key, headers=list(headers), partition=partition)
        except kafka_errors.KafkaError as error:
            done(-1, error)
            return
        future.add_callback(lambda metadata: done(metadata.offset, None))
        future.add_errback(lambda error: done(-1, error))

    def close(self, timeout_s: float = 0.0) -> None:
        """Wait so long for acknowledgements; what has none by then is reported as lost."""
        try:
            self._producer.close(timeout=timeout_s)
        except kafka_errors.KafkaTimeoutError:  # its flush did not finish; the second attempt does without
            self._producer._sender.force_close()
            self._producer._sender.join(1.0)


@dataclass(frozen=True, slots=True)
class Record:
    """A record at its offset. appended_ms: when the broker appended it, if it tells; timestamp_ms: the record's own."""

    offset: int
    value: bytes
    appended_ms: int | None = None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int = -1


class Consumer:
    """Reads partitions that it is told to, from offsets that it is told. Not thread-safe; `close` it.

    committed: without what transactions have not committed; its ends are then before the first that is still open.
    skips: where records are gone it goes on with the oldest one; else that is a RunVoidError.
    """

    def __init__(self, broker: "KafkaBroker", *, committed: bool = True, skips: bool = False) -> None:
        self._consumer = _connected(
            KafkaConsumer, broker, **_FOR_RECORDS, group_id=None, enable_auto_commit=False, fetch_min_bytes=1,
            auto_offset_reset="earliest" if skips else "none", max_partition_fetch_bytes=RECORD_BYTES_MAX,
            isolation_level="read_committed" if committed else "read_uncommitted", max_poll_records=_POLL_RECORDS_MAX,
        )  # fmt: skip
        self._bootstrap_servers = broker.bootstrap_servers

    def assign(self, positions: Mapping[Partition, int]) -> None:
        """Read these partitions from now on, each from its offset."""
        self._consumer.assign([KafkaPartition(*partition) for partition in positions])
        for partition, offset in positions.items():
            self._consumer.seek(KafkaPartition(*partition), offset)

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        """Records that have arrived, in order per partition; waits for the first one up to the timeout."""
        with _broker_errors(self._bootstrap_servers):
            found = self._consumer.poll(timeout_ms=round(timeout_s * 1000))
        return {
            (partition.topic, partition.partition): [
                Record(
                    record.offset, record.value or b"",
                    record.timestamp if record.timestamp_type == _LOG_APPEND_TIME else None,
                    record.key, record.headers, record.timestamp,
                )
                for record in records
            ]
            for partition, records in found.items()
        }  # fmt: skip

    def position(self, partition: Partition) -> int:
        """The offset from which it reads on; it is also behind what is no record of a message."""
        with _broker_errors(self._bootstrap_servers):
            return self._consumer.position(KafkaPartition(*partition)) or 0

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        with _broker_errors(self._bootstrap_servers):
            ends = self._consumer.end_offsets([KafkaPartition(*partition) for partition in partitions])
        return {(partition.topic, partition.partition): offset for partition, offset in ends.items()}

    def close(self) -> None:
        self._consumer.close(autocommit=False, timeout_ms=1000)


@dataclass(frozen=True, slots=True)
class KafkaBroker:
    """The broker at an address. Its calls raise BrokerAwayError if it does not answer."""

    bootstrap_servers: str
    client_id: str = "admin"
    security: KafkaSecurity = PLAINTEXT

    def consumer(self, *, committed: bool = True, skips: bool = False) -> Consumer:
        return Consumer(self, committed=committed, skips=skips)

    def producer(self, topics: Iterable[str] = ()) -> Producer:
        """A connected producer that knows the topics."""
        return Producer(self, topics)

    def records(
        self, ends: Mapping[Partition, int], begin: Mapping[Partition, int] | None = None
    ) -> Iterator[tuple[Partition, Record]]:
        """What these partitions hold up to their ends, each in order. BrokerAwayError if nothing comes for 30 s."""
        at = {place: (begin or {}).get(place, 0) for place in ends}
        silent_s = 0
        with closing(self.consumer(skips=True)) as consumer:
            consumer.assign(at)
            while left := [place for place in ends if consumer.position(place) < ends[place]]:
                found = consumer.poll(1.0)
                silent_s = 0 if found else silent_s + 1
                if silent_s > _SILENT_S_MAX:
                    topic, partition = left[0]
                    raise BrokerAwayError(f"nothing comes from {topic}/{partition}, which ends at {ends[left[0]]}")
                for place, records in found.items():  # the last may be none of messages, but of a transaction
                    yield from ((place, record) for record in records if record.offset < ends[place])

    def write(self, values: Mapping[str, Sequence[bytes]], *, within_s: float) -> None:
        """Write every value of a topic as a record of its partition 0. RunVoidError if one is not there in time."""
        errors: list[Exception | None] = []
        producer = self.producer()
        try:
            for topic, of_topic in values.items():
                for value in of_topic:
                    producer.send(topic, 0, value, (), lambda _offset, error: errors.append(error))
        finally:
            producer.close(within_s)
        if lost := [error for error in errors if error is not None]:
            raise RunVoidError(f"{len(lost)} messages did not reach the broker: {lost[0]}")

    def check_reachable(self) -> None:
        with self._admin():
            pass

    def partition_counts(self, topics: Sequence[str]) -> dict[str, int]:
        """How many partitions each topic has. UsageError naming all that do not exist."""
        with self._admin() as admin:
            counts = _existing(admin, topics)
        missing = [topic for topic in topics if topic not in counts]
        if missing:
            raise UsageError(f"there is no topic {', '.join(map(repr, missing))}; create it first or correct the name")
        return counts

    def end_offsets(self, topics: Sequence[str], *, committed: bool = False) -> dict[Partition, int]:
        """The offset after the last record of each partition, or the last committed one. UsageError without a topic."""
        counts = self.partition_counts(topics)
        with closing(self.consumer(committed=committed)) as consumer:
            return consumer.end_offsets((topic, partition) for topic in topics for partition in range(counts[topic]))

    def create_topics(
        self, partitions: Mapping[str, int], *, replicas: int = 1, appended: Collection[str] = (),
        others_fit: bool = False,
    ) -> list[str]:  # fmt: skip
        """Make the topics, by name with their numbers of partitions, that do not exist; which, when they can be used.

        appended: those with the time of the broker's append. UsageError if one exists with other partitions, unless
        others_fit.
        """
        with self._admin() as admin:
            existing = _existing(admin, partitions)
            wrong = [
                f"topic {topic} has {existing[topic]} partitions instead of {count}; delete it or choose another name"
                for topic, count in partitions.items()
                if existing.get(topic, count) != count
            ]
            if wrong and not others_fit:
                raise UsageError("; ".join(wrong))
            configs = {"max.message.bytes": str(RECORD_BYTES_MAX)}
            by_broker = configs | {"message.timestamp.type": "LogAppendTime"}
            missing = {
                topic: {
                    "num_partitions": count,
                    "replication_factor": replicas,
                    "configs": by_broker if topic in appended else configs,
                }
                for topic, count in partitions.items()
                if topic not in existing
            }
            if missing:
                with suppress(kafka_errors.TopicAlreadyExistsError):  # someone else was quicker
                    admin.create_topics(missing)
            admin.wait_for_topics(list(partitions))
            _wait_for_leaders(admin, {topic: existing.get(topic, count) for topic, count in partitions.items()})
            return list(missing)

    def settings(self) -> dict[str, str]:
        """What the brokers really have, as they say it themselves: every setting, those left to their defaults too.

        With several brokers, a name has the broker's number before it where they differ.
        """
        with self._admin() as admin:
            brokers = [str(broker["broker_id"]) for broker in admin.describe_cluster()["brokers"]]
            resources = [ConfigResource(ConfigResourceType.BROKER, broker) for broker in brokers]
            told = admin.describe_configs(resources, config_filter="all")
        by_name: dict[str, dict[str, str]] = {}
        for broker, values in (each for of_kind in told.values() for each in of_kind.items()):
            for name, data in values.items():
                if data["value"] is not None and not data["is_sensitive"]:
                    by_name.setdefault(name, dict.fromkeys(brokers, ""))[str(broker)] = str(data["value"])
        result: dict[str, str] = {}
        for name, of_broker in sorted(by_name.items()):
            differ = len(set(of_broker.values())) > 1
            result |= {f"{broker}.{name}" if differ else name: value for broker, value in sorted(of_broker.items())}
        return result

    @contextmanager
    def group_offsets(self, group: str) -> Iterator[Callable[[], dict[Partition, int]]]:
        """What tells, at each call, the next offset of each partition of which a consumer group has committed one.

        It waits for a broker that does not know yet what groups have committed, as when it begins, or who tells it.
        """

        def offsets() -> dict[Partition, int]:
            with _broker_errors(self.bootstrap_servers):
                for _ in polls(SystemClock(), CONNECT_TIMEOUT_S, every_s=0.1):
                    try:
                        found: Mapping[Any, Any] = admin.list_group_offsets(group)[group]
                        return {(it.topic, it.partition): told.offset for it, told in found.items() if told.offset >= 0}
                    except (kafka_errors.CoordinatorLoadInProgressError, kafka_errors.NotCoordinatorError) as error:
                        loading = error
                    except _NOTHING_COMMITTED:
                        return {}
                raise loading

        with closing(_connected(KafkaAdminClient, self)) as admin:
            yield offsets

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        with _broker_errors(self.bootstrap_servers), closing(_connected(KafkaAdminClient, self)) as admin:
            yield admin


@lru_cache(65536)
def partition_of(key: bytes, partitions: int) -> int:
    """The partition that Kafka's own clients put a key into."""
    hashed: int = murmur2(key)
    return (hashed & 0x7FFFFFFF) % partitions


def _existing(admin: Any, topics: Iterable[str]) -> dict[str, int]:
    described = admin.describe_topics(list(topics))
    return {each["name"]: len(each["partitions"]) for each in described if each["error_code"] == 0}


def _wait_for_leaders(admin: Any, partitions: Mapping[str, int]) -> None:
    """Wait until every partition's leader serves it.

    The metadata name a leader a moment before it leads; what is written in between is refused and sent again.
    """
    latest = {
        KafkaPartition(topic, of): OffsetSpec.LATEST for topic, count in partitions.items() for of in range(count)
    }
    for _ in polls(SystemClock(), CONNECT_TIMEOUT_S, every_s=0.05):
        with suppress(kafka_errors.UnknownTopicOrPartitionError):  # a leader that has not heard of the topic
            admin.list_partition_offsets(latest)  # asks again while it does not lead
            return
    raise kafka_errors.KafkaTimeoutError(f"{', '.join(partitions)}: no leader after {CONNECT_TIMEOUT_S:.0f} s")


def _connected(kind: Callable[..., Any], broker: KafkaBroker, **settings: Any) -> Any:
    """A client. One that gets nowhere leaves its network thread behind, which would try for ever: it is ended."""
    networks: list[Any] = []

    def network(**configs: Any) -> Any:
        networks.append(KafkaNetClient(**configs))
        return networks[-1]

    with _broker_errors(broker.bootstrap_servers):
        _require_listening(broker.bootstrap_servers)
        try:
            return kind(
                bootstrap_servers=broker.bootstrap_servers.split(","), client_id=broker.client_id,
                bootstrap_timeout_ms=round(CONNECT_TIMEOUT_S * 1000), reconnect_backoff_max_ms=1000,
                **broker.security.client_options(), **settings, kafka_client=network,
            )  # fmt: skip
        except BaseException:
            for opened in networks:
                opened.close()
            raise


@contextmanager
def _broker_errors(bootstrap_servers: str) -> Iterator[None]:
    """One sentence for what the client raises."""
    try:
        yield
    except kafka_errors.OffsetOutOfRangeError as error:
        raise RunVoidError(f"records are gone before they were read ({error}); have the topic keep them") from error
    except (kafka_errors.KafkaError, OSError) as error:
        reason = f"{type(error).__name__}: {error}".strip(": ")
        sentence = f"the Kafka broker at {bootstrap_servers} cannot be used ({reason}); is it running?"
        raise BrokerAwayError(sentence) from error


def _require_listening(bootstrap_servers: str) -> None:
    """OSError at once if nothing listens at any of the addresses, where the client would try for long."""
    for address in bootstrap_servers.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
            return
        except ValueError as error:
            raise UsageError(f"bootstrap_servers={bootstrap_servers!r} is not host:port[,host:port...]") from error
        except OSError as error:
            refused = error
    raise refused
