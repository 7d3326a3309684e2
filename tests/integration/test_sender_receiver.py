"""Sender and receiver processes over a real broker, with an echo of every order in the place of the job."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from market_spread.common.clock import SystemClock
from market_spread.common.config import inherited_environment, to_environment
from market_spread.common.errors import RunVoidError, UsageError
from market_spread.common.grpc.calls import channel_to
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.kafka import client as kafka
from market_spread.common.load.source import find_source
from market_spread.common.process.service import ServiceConfig
from market_spread.common.wire.codec import RECEIPT, decode, decode_ledger, encode
from market_spread.common.wire.layout import ALERT, NBBO, ORDER, WARM_UP_ORDER_ID_MIN
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.services import Child
from market_spread.receiver.service import ReceiverConfig
from market_spread.sender.service import SenderConfig
from market_spread.v1.control_pb2 import (
    DrainReceiverRequest,
    DrainReceiverResponse,
    Phase,
    ReadLedgerRequest,
    ReceiverStatusRequest,
    ReceiverStatusResponse,
    SenderStatusRequest,
    SenderStatusResponse,
    StartReceivingRequest,
    StartSendingRequest,
    StopReceivingRequest,
    StopSendingRequest,
)
from market_spread.v1.control_pb2_grpc import ReceiverStub, SenderStub

BUCKETS = 3
CLOCK = SystemClock()
RUNS = count(1)


@dataclass
class System:
    """A run's topics, the two processes, and an echo."""

    run_id: str
    bootstrap_servers: str
    folder: Path
    stack: ExitStack
    unacknowledged_bytes_max: int
    children: list[Child] = field(default_factory=list)

    def topic(self, name: str) -> str:
        return f"{self.run_id}-{name}"

    def sender(self) -> SenderStub:
        config = SenderConfig(
            bootstrap_servers=self.bootstrap_servers,
            ports_file=self.folder / "sender.json",
            unacknowledged_bytes_max=self.unacknowledged_bytes_max,
        )
        return SenderStub(self._process("sender", config))

    def receiver(self) -> ReceiverStub:
        config = ReceiverConfig(
            bootstrap_servers=self.bootstrap_servers,
            ports_file=self.folder / f"receiver-{len(self.children)}.json",
            data_folder=self.folder / "runs",
        )
        return ReceiverStub(self._process("receiver", config))

    def receiving(self) -> StartReceivingRequest:
        return StartReceivingRequest(
            run_id=self.run_id,
            alerts_topic=self.topic("alerts"),
            invalid_topic=self.topic("invalid"),
            warm_up_order_id_min=WARM_UP_ORDER_ID_MIN,
        )

    def sending(self, *, rate_per_s: int, duration_s: float) -> StartSendingRequest:
        parameters = {
            "seed": 7,
            "buckets": BUCKETS,
            "profile": {"profile": "constant", "messages_per_s": rate_per_s, "duration_s": duration_s},
        }
        return StartSendingRequest(
            run_id=self.run_id,
            source="market",
            parameters_json=json.dumps(parameters),
            linger_us=5000,
            frame_messages=20,
            nbbo_topic=self.topic("nbbo"),
            orders_topic=self.topic("orders"),
        )

    def echo(self, *, twice: Callable[[int], bool] = lambda _order_id: False) -> None:
        echo = Echo(self, twice)
        self.stack.callback(echo.stop)
        echo.start()

    def _process(self, name: str, config: ServiceConfig) -> grpc.Channel:
        child = Child.start(
            name,
            [sys.executable, "-m", f"market_spread.{name}"],
            environment=inherited_environment() | to_environment(config),
            log=self.folder / f"{name}.log",
        )
        self.children.append(child)
        self.stack.callback(child.stop)
        assert config.ports_file is not None
        _wait_for(config.ports_file.exists, within_s=30)
        port = json.loads(config.ports_file.read_text())["grpc"]
        channel = channel_to(f"127.0.0.1:{port}")
        self.stack.callback(channel.close)
        return channel


class Echo:
    """Answers every order with an alert that names the newest quote of its symbol that was read before."""

    def __init__(self, system: System, twice: Callable[[int], bool]) -> None:
        self._system = system
        self._twice = twice
        self._newest: dict[bytes, tuple[int, int, int]] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        servers = self._system.bootstrap_servers
        nbbo, orders = self._system.topic("nbbo"), self._system.topic("orders")
        with (
            closing(kafka.KafkaBroker(servers, "echo").consumer()) as consumer,
            closing(kafka.KafkaBroker(servers, "echo").producer()) as producer,
        ):
            consumer.assign({(topic, bucket): 0 for topic in (nbbo, orders) for bucket in range(BUCKETS)})
            while not self._stopping.is_set():
                for (topic, partition), records in sorted(consumer.poll(0.05).items()):
                    for record in records:
                        if topic == nbbo:
                            self._keep(record.value)
                        else:
                            self._answer(record.value, partition, producer)

    def _keep(self, frame: bytes) -> None:
        quotes = decode(NBBO, frame)
        values = zip(*(quotes.ints(name).tolist() for name in ("bid", "offer", "sequence")), strict=True)
        self._newest |= dict(zip(quotes.columns["symbol"].tolist(), values, strict=True))

    def _answer(self, frame: bytes, partition: int, producer: kafka.Producer) -> None:
        columns = decode(ORDER, frame).columns
        symbols = columns["symbol"].tolist()
        quotes = np.array([self._newest.get(symbol, (0, 0, 0)) for symbol in symbols], np.int64).reshape(-1, 3)
        now = np.full(len(symbols), CLOCK.unix_ns() // 1000)
        padded = np.array([symbol.ljust(6) for symbol in symbols], "S6")
        added = {"bid": quotes[:, 0], "offer": quotes[:, 1], "quote_sequence": quotes[:, 2]}
        times = {"sent_us": columns["intended_us"], "read_us": now, "emitted_us": now}
        rows = encode(
            ALERT, {**columns, "kind": np.full(len(now), ord("A"), np.uint8), "symbol": padded, **added, **times}
        )
        for row, order_id in zip(rows, columns["order_id"].tolist(), strict=True):
            for _ in range(2 if self._twice(int(order_id)) else 1):
                producer.send(self._system.topic("alerts"), partition, row.tobytes(), (), lambda _offset, _error: None)


@contextmanager
def system_on(broker: Broker, folder: Path, *, unacknowledged_bytes_max: int = 64 * 1024 * 1024) -> Iterator[System]:
    run_id = f"run-{next(RUNS)}"
    with ExitStack() as stack:
        system = System(run_id, broker.bootstrap_servers, folder, stack, unacknowledged_bytes_max)
        topics = dict.fromkeys(map(system.topic, ("nbbo", "orders", "alerts")), BUCKETS)
        wanted = topics | {system.topic("invalid"): 1}
        kafka.KafkaBroker(broker.bootstrap_servers).create_topics(wanted, appended=(system.topic("alerts"),))
        yield system


@pytest.fixture
def system(broker: Broker, tmp_path: Path) -> Iterator[System]:
    with system_on(broker, tmp_path) as system:
        yield system


def test_every_message_arrives_once_in_order_and_every_alert_once(system: System) -> None:
    sender, receiver = system.sender(), system.receiver()
    receiver.Start(system.receiving(), timeout=10)
    system.echo()
    request = system.sending(rate_per_s=4000, duration_s=3)

    start_unix_ns = sender.Start(request, timeout=10).start_unix_ns
    sent = _finished(sender, within_s=30)
    status = _settled(receiver, sent.orders_sent)

    load = find_source("market")(json.loads(request.parameters_json), start_unix_ns)
    arrived = _contents(system, ["nbbo", "orders"])
    assert arrived == _expected(system, load)
    assert sent.messages_sent == sent.messages_due == load.messages == 12_000
    assert {(each.topic, each.partition): each.payload_bytes for each in sent.partitions} == {
        where: len(payload) for where, payload in arrived.items()
    }
    assert all(each.frames == each.frames_acknowledged == each.next_offset for each in sent.partitions)
    assert (sent.frames_failed, sent.messages_failed, sent.unacknowledged_bytes) == (0, 0, 0)
    assert HdrCounts.decode(sent.send_lag_histogram).count == 12_000
    assert HdrCounts.decode(sent.frame_delay_histogram).count == sent.frames_sent
    assert (status.alerts, status.alerts_duplicated, status.alerts_unreadable) == (sent.orders_sent, 0, 0)
    assert HdrCounts.decode(status.latency_histogram).count == sent.orders_sent
    acknowledge = HdrCounts.decode(sent.acknowledge_histogram)
    assert acknowledge.count == sent.frames_sent
    assert 0 < acknowledge.percentile(99) <= sent.unacknowledged_age_us_max < 10_000_000
    append, fetch = HdrCounts.decode(status.append_histogram), HdrCounts.decode(status.fetch_histogram)
    assert append.count == fetch.count == sent.orders_sent
    assert max(append.max_us, fetch.max_us) < 10_000_000
    assert abs(sent.unix_ns - status.unix_ns) < 60_000_000_000
    assert _ledger_order_ids(system, receiver) == list(range(1, sent.orders_sent + 1))


def test_repeated_alerts_are_counted_as_duplicates(system: System) -> None:
    sender, receiver = system.sender(), system.receiver()
    receiver.Start(system.receiving(), timeout=10)
    system.echo(twice=lambda order_id: order_id % 10 == 0)

    sender.Start(system.sending(rate_per_s=2000, duration_s=1), timeout=10)
    sent = _finished(sender, within_s=30)
    status = _settled(receiver, sent.orders_sent + sent.orders_sent // 10)

    assert status.alerts == sent.orders_sent
    assert status.alerts_duplicated == sent.orders_sent // 10
    assert status.alerts_disagreeing == 0


def test_records_that_are_no_alert_and_invalid_reports_are_counted(system: System) -> None:
    receiver = system.receiver()
    receiver.Start(system.receiving(), timeout=10)
    report = {"reason": "unknown_kind", "topic": "nbbo", "partition": 1, "offset": 4, "position": 2}
    with closing(kafka.KafkaBroker(system.bootstrap_servers, "test").producer()) as producer:
        for value in (b"", b"noise", b"\x00" * 2_000_000):
            producer.send(system.topic("alerts"), 1, value, (), lambda _offset, _error: None)
        for value in (json.dumps(report).encode(), json.dumps(report).encode(), b"{"):
            producer.send(system.topic("invalid"), 0, value, (), lambda _offset, _error: None)
        producer.close(10)

    drained = _drain(receiver)

    status = receiver.Status(ReceiverStatusRequest(), timeout=5)
    assert (status.alerts, status.alerts_unreadable, status.invalid_records) == (0, 3, 2)
    assert {each.reason: each.count for each in status.invalid_by_reason} == {"unknown_kind": 1, "unreadable": 1}
    assert {(each.topic, each.partition): each.offset for each in drained.positions}[system.topic("invalid"), 0] == 3


def test_records_of_an_aborted_transaction_are_not_received(system: System) -> None:
    receiver = system.receiver()
    receiver.Start(system.receiving(), timeout=10)
    # Of a client that is not ours. Behind the last record stands the marker that ends its transaction.
    producer = KafkaProducer(bootstrap_servers=system.bootstrap_servers, transactional_id=system.run_id)
    producer.init_transactions()
    for end, values in ((producer.abort_transaction, [b"aborted"]), (producer.commit_transaction, [b"one", b"two"])):
        producer.begin_transaction()
        for value in values:
            producer.send(system.topic("alerts"), value, partition=1)
        producer.flush()
        end()
    producer.close()

    _drain(receiver)

    assert receiver.Status(ReceiverStatusRequest(), timeout=5).alerts_unreadable == 2


def test_an_open_transaction_is_before_the_end_of_a_topic_and_behind_what_is_committed(system: System) -> None:
    alerts, client = system.topic("alerts"), kafka.KafkaBroker(system.bootstrap_servers)
    producer = KafkaProducer(bootstrap_servers=system.bootstrap_servers, transactional_id=f"{system.run_id}-open")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(alerts, b"open", partition=1).get(10)

    ends, committed = client.end_offsets([alerts]), client.end_offsets([alerts], committed=True)

    assert (ends[alerts, 1], committed[alerts, 1]) == (1, 0)
    producer.abort_transaction()
    producer.close()


def test_killed_receiver_goes_on_without_loss_or_double_count(system: System) -> None:
    sender, receiver = system.sender(), system.receiver()
    receiver.Start(system.receiving(), timeout=10)
    system.echo(twice=lambda order_id: order_id % 10 == 0)
    sender.Start(system.sending(rate_per_s=2000, duration_s=4), timeout=10)
    _wait_for(lambda: receiver.Status(ReceiverStatusRequest(), timeout=5).alerts > 500, within_s=20)

    os.killpg(system.children[-1].pid, signal.SIGKILL)
    _wait_for(lambda: not system.children[-1].running, within_s=5)
    successor = system.receiver()
    recovered = successor.Start(system.receiving(), timeout=10).records_recovered
    sent = _finished(sender, within_s=30)
    status = _settled(successor, sent.orders_sent + sent.orders_sent // 10)

    assert 500 < recovered < sent.orders_sent
    assert (status.alerts, status.alerts_duplicated) == (sent.orders_sent, sent.orders_sent // 10)
    assert HdrCounts.decode(status.latency_histogram).count == sent.orders_sent
    assert sorted(set(_ledger_order_ids(system, successor))) == list(range(1, sent.orders_sent + 1))
    assert len(_ledger_order_ids(system, successor)) == sent.orders_sent + sent.orders_sent // 10


def test_paused_broker_shows_as_lag_and_loses_nothing(broker: Broker, tmp_path: Path) -> None:
    with system_on(broker, tmp_path, unacknowledged_bytes_max=64 * 1024) as system:
        sender = system.sender()
        request = system.sending(rate_per_s=4000, duration_s=4)
        start_unix_ns = sender.Start(request, timeout=10).start_unix_ns
        _wait_for(lambda: sender.Status(SenderStatusRequest(), timeout=5).messages_sent > 2000, within_s=20)

        assert broker.child is not None
        os.killpg(broker.child.pid, signal.SIGSTOP)
        try:
            _pause(2)
            paused = sender.Status(SenderStatusRequest(), timeout=5)
        finally:
            os.killpg(broker.child.pid, signal.SIGCONT)
        sent = _finished(sender, within_s=40)

        load = find_source("market")(json.loads(request.parameters_json), start_unix_ns)
        assert paused.phase == Phase.PHASE_RUNNING
        assert paused.messages_due - paused.messages_sent > 2000
        assert 0 < paused.unacknowledged_bytes <= 64 * 1024
        assert HdrCounts.decode(sent.send_lag_histogram).max_us > 1_000_000
        assert sent.frames_late > 0
        assert sent.messages_sent == load.messages
        assert (sent.phase, sent.messages_failed) == (Phase.PHASE_FINISHED, 0)
        assert _contents(system, ["nbbo", "orders"]) == _expected(system, load)


def test_stop_ends_a_load_early_and_keeps_what_was_sent(system: System) -> None:
    sender = system.sender()
    sender.Start(system.sending(rate_per_s=2000, duration_s=60), timeout=10)
    _wait_for(lambda: sender.Status(SenderStatusRequest(), timeout=5).messages_sent > 1000, within_s=20)

    sender.Stop(StopSendingRequest(), timeout=10)
    sender.Stop(StopSendingRequest(), timeout=10)

    status = sender.Status(SenderStatusRequest(), timeout=5)
    assert status.phase == Phase.PHASE_FINISHED
    assert status.messages_sent < 60_000
    assert sum(map(len, _contents(system, ["nbbo"]).values())) == status.quotes_sent * NBBO.width


def test_stop_while_the_broker_is_silent_counts_what_is_lost(broker: Broker, system: System) -> None:
    sender = system.sender()
    sender.Start(system.sending(rate_per_s=2000, duration_s=60), timeout=10)
    _wait_for(lambda: sender.Status(SenderStatusRequest(), timeout=5).messages_sent > 1000, within_s=20)

    assert broker.child is not None
    os.killpg(broker.child.pid, signal.SIGSTOP)
    try:
        _pause(0.5)
        sender.Stop(StopSendingRequest(), timeout=10)
        status = sender.Status(SenderStatusRequest(), timeout=5)
    finally:
        os.killpg(broker.child.pid, signal.SIGCONT)

    assert status.phase == Phase.PHASE_FAILED
    assert status.messages_failed > 0
    assert status.unacknowledged_bytes == 0
    assert status.detail.startswith(f"{status.frames_failed} frames with {status.messages_failed} messages are lost")


def test_topics_are_created_once(broker: Broker) -> None:
    kafka.KafkaBroker(broker.bootstrap_servers).create_topics({"once": 2})

    kafka.KafkaBroker(broker.bootstrap_servers).create_topics({"once": 2, "twice": 1})

    assert kafka.KafkaBroker(broker.bootstrap_servers).partition_counts(["once", "twice"]) == {"once": 2, "twice": 1}
    with pytest.raises(UsageError, match="topic once has 2 partitions instead of 3; delete it or choose another name"):
        kafka.KafkaBroker(broker.bootstrap_servers).create_topics({"once": 3})


def test_topics_of_others_keep_their_partitions_where_any_number_will_do(broker: Broker) -> None:
    admin = kafka.KafkaBroker(broker.bootstrap_servers)
    admin.create_topics({"of-others": 2})

    made = admin.create_topics({"of-others": 3, "of-ours": 3}, others_fit=True)

    assert made == ["of-ours"]
    assert admin.partition_counts(["of-others", "of-ours"]) == {"of-others": 2, "of-ours": 3}


def test_record_that_is_too_large_is_reported_as_lost(broker: Broker) -> None:
    kafka.KafkaBroker(broker.bootstrap_servers).create_topics({"large": 1})
    outcomes: list[tuple[int, str]] = []

    def done(offset: int, error: Exception | None) -> None:
        outcomes.append((offset, type(error).__name__))

    with closing(kafka.KafkaBroker(broker.bootstrap_servers, "test").producer()) as producer:
        producer.send("large", 0, b"x" * kafka.RECORD_BYTES_MAX, (), done)
        producer.send("large", 0, b"x" * (kafka.RECORD_BYTES_MAX - 1024), (), done)
        producer.close(10)

    assert sorted(outcomes) == [(-1, "MessageSizeTooLargeError"), (0, "NoneType")]
    assert kafka.KafkaBroker(broker.bootstrap_servers).end_offsets(["large"]) == {("large", 0): 1}


def test_second_start_is_refused_while_the_first_goes_on(system: System) -> None:
    sender, receiver = system.sender(), system.receiver()
    receiver.Start(system.receiving(), timeout=10)
    sender.Start(system.sending(rate_per_s=100, duration_s=60), timeout=10)

    refusals = [
        _refusal(lambda: sender.Start(system.sending(rate_per_s=100, duration_s=1), timeout=10)),
        _refusal(lambda: receiver.Start(system.receiving(), timeout=10)),
    ]

    assert refusals == [
        (grpc.StatusCode.FAILED_PRECONDITION,
         f"a load of run '{system.run_id}' is running; stop it or wait until it has finished"),
        (grpc.StatusCode.FAILED_PRECONDITION, f"run '{system.run_id}' is being received; stop it first"),
    ]  # fmt: skip
    sender.Stop(StopSendingRequest(), timeout=10)
    receiver.Stop(StopReceivingRequest(), timeout=10)


def test_wrong_requests_are_refused_with_the_remedy(system: System) -> None:
    sender, receiver = system.sender(), system.receiver()
    no_topic, no_rate, no_source = (system.sending(rate_per_s=100, duration_s=1) for _ in range(3))
    no_topic.nbbo_topic = "nowhere"
    no_rate.parameters_json = '{"seed": 1, "buckets": 3}'
    no_source.source = "nothing"

    codes = {
        name: _refusal(call)
        for name, call in {
            "topic": lambda: sender.Start(no_topic, timeout=10),
            "rate": lambda: sender.Start(no_rate, timeout=10),
            "source": lambda: sender.Start(no_source, timeout=10),
            "run": lambda: receiver.Start(StartReceivingRequest(run_id="../x"), timeout=10),
            "ledger": lambda: list(receiver.ReadLedger(ReadLedgerRequest(run_id="r", name="alerts"), timeout=10)),
        }.items()
    }

    assert {code for code, _ in codes.values()} == {grpc.StatusCode.INVALID_ARGUMENT}
    assert codes["topic"][1] == "there is no topic 'nowhere'; create it first or correct the name"
    assert "profile" in str(codes["rate"][1])
    assert str(codes["source"][1]).startswith("no load source 'nothing' is installed")
    assert sender.Status(SenderStatusRequest(), timeout=5).phase == Phase.PHASE_IDLE


def test_processes_report_health_and_end_cleanly(system: System) -> None:
    system.sender()
    system.receiver()
    codes = []
    for name, child in zip(("sender", "receiver-1"), system.children, strict=True):
        port = json.loads((system.folder / f"{name}.json").read_text())["grpc"]
        with channel_to(f"127.0.0.1:{port}") as channel:
            health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)  # type: ignore[attr-defined]
            codes.append(health.status)

        os.killpg(child.pid, signal.SIGTERM)
        _wait_for(lambda child=child: not child.running, within_s=10)  # type: ignore[misc]

    assert codes == [health_pb2.HealthCheckResponse.SERVING] * 2
    assert [child.exit_status for child in system.children] == [0, 0]


def test_missing_configuration_is_one_line(tmp_path: Path) -> None:
    child = Child.start(
        "receiver",
        [sys.executable, "-m", "market_spread.receiver"],
        environment=inherited_environment(),
        log=tmp_path / "receiver.log",
    )
    _wait_for(lambda: not child.running, within_s=20)

    assert child.exit_status == 2
    assert child.last_lines(10) == ["MARKET_SPREAD_BOOTSTRAP_SERVERS is not set; MARKET_SPREAD_DATA_FOLDER is not set"]


def test_dead_broker_is_one_sentence(tmp_path: Path) -> None:
    with ExitStack() as stack:
        system = System("run-0", "127.0.0.1:1", tmp_path, stack, unacknowledged_bytes_max=1)
        sender = system.sender()

        code, message = _refusal(lambda: sender.Start(system.sending(rate_per_s=100, duration_s=1), timeout=10))

        assert code is grpc.StatusCode.UNAVAILABLE
        assert message == (
            "the Kafka broker at 127.0.0.1:1 cannot be used "
            "(ConnectionRefusedError: [Errno 111] Connection refused); is it running?"
        )


def _finished(sender: SenderStub, *, within_s: float) -> SenderStatusResponse:
    def ended() -> bool:
        return sender.Status(SenderStatusRequest(), timeout=5).phase in (Phase.PHASE_FINISHED, Phase.PHASE_FAILED)

    _wait_for(ended, within_s=within_s)
    return sender.Status(SenderStatusRequest(), timeout=5)


def _settled(receiver: ReceiverStub, alerts: int) -> ReceiverStatusResponse:
    """The receiver's status once so many alerts, duplicates included, were received, and all that there are."""

    def arrived() -> bool:
        status = receiver.Status(ReceiverStatusRequest(), timeout=5)
        return status.alerts + status.alerts_duplicated >= alerts

    _wait_for(arrived, within_s=30)
    _drain(receiver)
    return receiver.Status(ReceiverStatusRequest(), timeout=5)


def _drain(receiver: ReceiverStub) -> DrainReceiverResponse:
    return receiver.Drain(DrainReceiverRequest(), timeout=20)


def _contents(system: System, names: list[str]) -> dict[kafka.Partition, bytes]:
    """All frames of each partition that has any, joined in order of their offsets."""
    topics = [system.topic(name) for name in names]
    ends = kafka.KafkaBroker(system.bootstrap_servers).end_offsets(topics)
    contents = dict.fromkeys(ends, b"")
    positions = dict.fromkeys(ends, 0)
    with closing(kafka.KafkaBroker(system.bootstrap_servers, "test").consumer()) as consumer:
        consumer.assign(positions)
        deadline_ns = CLOCK.monotonic_ns() + 20 * 10**9
        while positions != ends:
            assert CLOCK.monotonic_ns() < deadline_ns, f"read up to {positions} of {ends}"
            for partition, records in consumer.poll(0.1).items():
                contents[partition] += b"".join(record.value for record in records)
                positions[partition] = records[-1].offset + 1
    return {partition: content for partition, content in contents.items() if content}


def _expected(system: System, load: object) -> dict[kafka.Partition, bytes]:
    """What the load has for each partition, joined in its order."""
    joined: dict[kafka.Partition, bytes] = {}
    for block in load.blocks():  # type: ignore[attr-defined]
        for name, stream in (("nbbo", block.quotes), ("orders", block.orders)):
            for bucket in range(BUCKETS):
                rows = stream.rows[stream.buckets == bucket]
                if len(rows):
                    where = (system.topic(name), bucket)
                    joined[where] = joined.get(where, b"") + rows.tobytes()
    return joined


def _ledger_order_ids(system: System, receiver: ReceiverStub) -> list[int]:
    pieces = receiver.ReadLedger(ReadLedgerRequest(run_id=system.run_id, name="alerts"), timeout=20)
    data = b"".join(piece.data for piece in pieces)
    assert len(data) % (ALERT.width + RECEIPT.width) == 0
    order_ids = decode(ALERT, np.ascontiguousarray(decode_ledger(data).rows).tobytes()).ints("order_id")
    return sorted(order_ids.tolist())


def _refusal(call: Callable[[], object]) -> tuple[grpc.StatusCode, str | None]:
    with pytest.raises(grpc.RpcError) as refusal:
        call()
    return refusal.value.code(), refusal.value.details()


def _wait_for(happened: Callable[[], bool], *, within_s: float) -> None:
    deadline_ns = CLOCK.monotonic_ns() + round(within_s * 1e9)
    while not happened():
        assert CLOCK.monotonic_ns() < deadline_ns, f"it did not happen within {within_s} s"
        _pause(0.05)


def _pause(duration_s: float) -> None:
    CLOCK.sleep_ns(round(duration_s * 1e9))


def test_records_that_are_gone_are_told_and_not_skipped(system: System) -> None:
    alerts, client = system.topic("alerts"), kafka.KafkaBroker(system.bootstrap_servers, "test")
    client.write({alerts: [b"0", b"1", b"2"]}, within_s=10)
    admin = KafkaAdminClient(bootstrap_servers=system.bootstrap_servers)
    admin.delete_records({TopicPartition(alerts, 0): 2})
    admin.close()

    with closing(client.consumer()) as consumer:
        consumer.assign({(alerts, 0): 0})
        with pytest.raises(RunVoidError, match="records are gone before they were read"):
            consumer.poll(20)
    assert [record.value for _, record in client.records({(alerts, 0): 3})] == [b"2"]
