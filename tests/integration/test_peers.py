"""Peers on real processes: a short run with the oracle's verdict, and a kill that loses nothing.

What they cost, `make bench-peers` measures.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Queue

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks" / "peers"))

from committed import BytewaxStore, GroupOffsets
from contenders import Contender, contender_of
from peers import GROUP, PEERS, Peer, Place
from recovering import longest_silence_us
from rig import RUN_ID, Rig, rig

from market_spread.common.clock import SystemClock
from market_spread.common.config import inherited_environment
from market_spread.common.jvm.jars import JarCache, find_java
from market_spread.common.kafka.client import KafkaBroker, Producer
from market_spread.common.telemetry.metrics import JOB_MESSAGES
from market_spread.common.wire.layout import ALERT
from market_spread.controller.deploy.local.broker import Broker
from market_spread.controller.deploy.local.jvms import local_jvms
from market_spread.controller.deploy.local.services import Child
from market_spread.controller.plan.reading import read_workload
from tests.support.buckets import bucket_of
from tests.support.waiting import eventually

SMALL = Path(__file__).parent / "workloads" / "small.yaml"
# Those that start at once. A kill of the others is tested below, without a load.
LIGHT = ("kafka-python", "kafka-streams", "bytewax", "plain-consumer")
# The one that `make test` has: what is measured of all of them, the rig, is the same.
ONE = "kafka-python"

pytestmark = pytest.mark.timeout(420)


@pytest.fixture
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    contender: Contender = contender_of(request.param)
    with rig(contender, read_workload(SMALL), tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    "running", [pytest.param(name, marks=pytest.mark.full if name != ONE else []) for name in LIGHT], indirect=True
)
def test_peer_is_right_and_a_kill_loses_nothing(running: Rig) -> None:
    running.begin(running.plan.measured.with_parameters(tight_share=0))  # probes always reject: all can be counted
    running.wait_for_alerts(200)

    killed_us = running.kill()
    running.finish()
    running.drain()

    judgement = running.judgement()
    assert (judgement.missing, judgement.unexpected, judgement.wrong) == (0, 0, 0), judgement.sentences
    assert judgement.received == judgement.expected > 1_300
    status = running.clients.job_status()
    assert status.restarts == 1
    assert status.messages_committed == running.messages_sent
    assert status.cpu_us > 0
    assert longest_silence_us(running.received_us(), killed_us) > 100_000
    # The backlog of its metrics page and report is told by this count.
    eventually("the count is pushed", lambda: pushed_messages(running) == running.messages_sent, within_s=20)


def pushed_messages(running: Rig) -> int:
    """How many messages are processed, as the metrics of the run have it."""
    told = httpx.get(f"{running.metrics_url}/api/v1/runs/{RUN_ID}/data", timeout=10).raise_for_status().json()
    counts = [series["total"] for series in told["series"] if series["name"] == JOB_MESSAGES.name]
    return round(sum(counts))


# Bid and offer of the newest quote of a symbol each, and whether orders are rejected on it.
QUOTES = (
    (100_000, 100_499, False),
    (100_000, 100_500, True),
    (3_900, 4_100, True),
    (3_901, 4_100, False),
    (1_000_500, 1_000_000, False),
    (-300, -200, True),
    (0, 0, True),
    (1, 0, False),
)
TIGHT, WIDE = (1_000_000, 1_000_001), (1_000_000, 1_000_500)
NEWEST = 1_000
SENT = b"1700000000000001"
SYMBOLS = tuple(b"%d.%s" % (number, b"ABC"[: 1 + number % 3]) for number in range(len(QUOTES)))
WITHOUT_QUOTE = b"NONE"
PARTITIONS = 2


def quote_of(symbol: bytes, bid: int, offer: int, sequence: int) -> bytes:
    return b"Q%-6s%010d%010d%016d%012d" % (symbol, bid, offer, 1_700_000_000_000_000, sequence)


def late_quotes(sequence: int) -> list[tuple[bytes, bytes]]:
    """Symbols with a quote each that says the opposite of their newest."""
    return [
        (symbol, quote_of(symbol, *(TIGHT if rejects else WIDE), sequence))
        for symbol, (_, _, rejects) in zip(SYMBOLS, QUOTES, strict=True)
    ]


def newest_quotes() -> list[tuple[bytes, bytes]]:
    """Those that count, of each symbol one."""
    return [
        (symbol, quote_of(symbol, bid, offer, NEWEST)) for symbol, (bid, offer, _) in zip(SYMBOLS, QUOTES, strict=True)
    ]


def orders_and_alerts(first_id: int) -> tuple[list[tuple[bytes, bytes]], list[bytes]]:
    """An order of each symbol, and the alerts on them up to the time of sending."""
    orders, alerts = [], []
    newest = dict(zip(SYMBOLS, QUOTES, strict=True)) | {WITHOUT_QUOTE: (0, 0, True)}
    for order_id, (symbol, (bid, offer, rejects)) in enumerate(newest.items(), first_id):
        sequence = 0 if symbol == WITHOUT_QUOTE else NEWEST
        told = b"%-6sB000042" % symbol, b"+00000100%010d" % 1_000_000, b"%016d" % 1_700_000_000_000_000
        orders.append((symbol, b"O%s%010d%s%s" % (told[0], order_id, *told[1:])))
        if rejects:
            quote = b"%010d%010d%012d" % (bid, offer, sequence)
            alerts.append(b"A%010d%s%s%s%s%s" % (order_id, *told[:2], quote, told[2], SENT))
    return orders, alerts


class Running:
    """A peer on a broker, which commits every second. `start`, then `kill` and `start` again, or `stop`."""

    def __init__(self, peer: Peer, broker: Broker, folder: Path) -> None:
        self.broker = KafkaBroker(broker.bootstrap_servers)
        place = Place(broker.bootstrap_servers, PARTITIONS, folder, find_java(), group=f"{GROUP}-{peer.name}")
        self._command = peer.command(place)
        self._environment = {**inherited_environment(), **self._command.environment}
        store = folder / "recovery"
        if self._command.before:
            store.mkdir()
            subprocess.run(self._command.before, env=self._environment, check=True, timeout=60)
        self._committed = (
            BytewaxStore(store) if peer.commits_to == "bytewax-store" else GroupOffsets(place.servers, place.group)
        )
        self._log = folder / "log"

    def start(self) -> None:
        self._child = Child.start("peer", self._command.words, environment=self._environment, log=self._log)

    def kill(self) -> None:
        os.killpg(self._child.pid, signal.SIGKILL)
        self._child.stop()

    def stop(self) -> None:
        self.kill()
        self._committed.close()

    def send(self, topic: str, messages: list[tuple[bytes, bytes]]) -> None:
        """Messages, each behind its symbol, in a frame of each partition; returns when the peer has committed them."""
        frames = [
            b"".join(message for symbol, message in messages if bucket_of(symbol.decode(), PARTITIONS) == partition)
            for partition in range(PARTITIONS)
        ]
        assert all(frames)
        with closing(self.broker.producer([topic])) as producer:
            self._write(producer, topic, frames)
            ends = self.broker.end_offsets([topic])

            def is_committed() -> bool:
                # Flink tells Kafka what it has committed when its consumer wakes, without records after 10 s.
                self._write(producer, topic, [b""] * PARTITIONS)
                committed = self._committed.offsets()
                return all(committed.get(place, 0) >= end for place, end in ends.items())

            eventually(f"{topic} is committed", is_committed, within_s=90, check=self._check_alive)

    def _write(self, producer: Producer, topic: str, frames: list[bytes]) -> None:
        written: Queue[Exception | None] = Queue()
        for partition, frame in enumerate(frames):
            producer.send(topic, partition, frame, [("sent_us", SENT)], lambda _, error: written.put(error))
        assert [written.get(timeout=10) for _ in frames] == [None] * PARTITIONS

    def _check_alive(self) -> None:
        assert self._child.running, self._child.last_lines(20)


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker whose topics are the peers' own: they have one name each."""
    jvms, jars = local_jvms(find_java(), JarCache()), JarCache().paths("broker")
    folder = tmp_path_factory.mktemp("broker")
    made = Broker(folder=folder, java=find_java(), jars=jars, clock=SystemClock(), archive_option=jvms.broker_option)
    made.launch()
    made.wait()
    try:
        KafkaBroker(made.bootstrap_servers).create_topics({"nbbo": PARTITIONS, "orders": PARTITIONS, "alerts": 1})
        yield made
    finally:
        made.stop()


@pytest.mark.parametrize(
    "peer", [pytest.param(it, id=it.name, marks=pytest.mark.full if it.name != ONE else []) for it in PEERS]
)
def test_late_quote_changes_nothing_and_a_kill_forgets_none(peer: Peer, own_broker: Broker, tmp_path: Path) -> None:
    peers_before = PEERS.index(peer)
    orders, expected = orders_and_alerts(first_id=1 + 100 * peers_before)
    running = Running(peer, own_broker, tmp_path)
    alerts_before = running.broker.end_offsets(["alerts"])
    running.start()
    try:
        running.send("nbbo", [*late_quotes(NEWEST - 2), *newest_quotes(), *late_quotes(NEWEST - 1)])
        running.kill()
        running.start()
        running.send("nbbo", late_quotes(NEWEST - 1))
        running.send("orders", orders)
    finally:
        running.stop()

    with closing(running.broker.consumer()) as consumer:
        consumer.assign(alerts_before)
        end = running.broker.end_offsets(["alerts"])["alerts", 0] - alerts_before["alerts", 0]
        alerts: list[bytes] = []
        while len(alerts) < end:
            alerts += [record.value for record in consumer.poll(1.0).get(("alerts", 0), [])]
    own = sorted(alert for alert in alerts if int(alert[1:11]) >= 1 + 100 * peers_before)
    assert [alert[: ALERT.offset("read_us")] for alert in own] == expected
    assert {len(alert) for alert in own} == {ALERT.width}
    assert all(1_700_000_000_000_000 < int(alert[-32:-16]) <= int(alert[-16:]) for alert in own)
