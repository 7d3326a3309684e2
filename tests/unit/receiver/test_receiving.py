"""Records are written before they are counted, and a new process goes on where the ledger ends."""

import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from market_spread.common.errors import DeadlineError, RunVoidError, UsageError, WrongStateError
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.kafka.client import Consumer, Partition, Record
from market_spread.common.telemetry.recorder import Recorder
from market_spread.common.wire.codec import decode_ledger, encode
from market_spread.common.wire.layout import ALERT, DECISION, Layout
from market_spread.receiver.ledger import ALERTS, DECISIONS, INVALID, Ledger, ledger_path
from market_spread.receiver.matching import Matcher
from market_spread.receiver.receiving import Receiving
from market_spread.v1.control_pb2 import Phase, StartReceivingRequest
from tests.support.clock import ManualClock

WARM_UP = 9_000_000_000


def held(histogram: bytes) -> int:
    """How many values it has."""
    return HdrCounts.decode(histogram).count


class FakeConsumer:
    """Gives out batches that it was given; its end offsets are the ends of these."""

    def __init__(self, *batches: dict[Partition, list[Record]]) -> None:
        self.batches = list(batches)
        self.ends = {partition: records[-1].offset + 1 for batch in batches for partition, records in batch.items()}
        self.assigned: dict[Partition, int] = {}
        self.closed = False
        self.error: Exception | None = None
        self.position_at_last = 0  # behind what is no record, once all records are given out
        self._pause = threading.Event()

    def assign(self, positions: Mapping[Partition, int]) -> None:
        self.assigned = dict(positions)

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        if self.error is not None:
            raise self.error
        if not self.batches:
            self._pause.wait(0.001)
            return {}
        return self.batches.pop(0)

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return self.ends

    def position(self, partition: Partition) -> int:
        return 0 if self.batches else self.position_at_last

    def close(self) -> None:
        self.closed = True


def alert(order_id: int, *, sequence: int = 5, layout: Layout = ALERT) -> bytes:
    numbers = ("account", "quantity", "price", "bid", "offer", "intended_us", "sent_us", "read_us", "emitted_us")
    columns = {name: np.array([1], np.int64) for name in numbers}
    columns |= {"order_id": np.array([order_id]), "quote_sequence": np.array([sequence])}
    letters = {"side": np.array([ord("B")], np.uint8), "symbol": np.array([b"AAPL  "])}
    letters["verdict"] = np.array([ord("A")], np.uint8)
    return encode(layout, columns | letters).tobytes()


def decision(order_id: int) -> bytes:
    return alert(order_id, layout=DECISION)


def report(position: int, reason: str = "wrong_length") -> bytes:
    return json.dumps({"reason": reason, "topic": "nbbo", "partition": 0, "offset": 3, "position": position}).encode()


def records(*values: bytes, first: int = 0) -> list[Record]:
    return [Record(offset, value) for offset, value in enumerate(values, first)]


def receiving(
    folder: Path,
    consumer: FakeConsumer,
    *,
    recorder: Recorder | None = None,
    clock: ManualClock | None = None,
    decisions_topic: str = "",
) -> Receiving:
    clock = clock or ManualClock()
    ledger = Ledger(folder, "run-1")
    return Receiving(
        StartReceivingRequest(
            alerts_topic="alerts",
            invalid_topic="invalid",
            decisions_topic=decisions_topic,
            warm_up_order_id_min=WARM_UP,
        ),
        partitions={"alerts": 2, "invalid": 1, "decisions": 1},
        consumer=cast(Consumer, consumer),
        ledger=ledger,
        recovered=ledger.open(),
        recorder=recorder or Recorder(source="receiver", clock=clock),
        clock=clock,
    )


def received_all(subject: Receiving) -> dict[Partition, int]:
    subject.start()
    positions = subject.drain(5)
    subject.stop()
    return positions


def test_alerts_are_counted_and_positions_reached(tmp_path: Path) -> None:
    consumer = FakeConsumer(
        {("alerts", 0): records(alert(1), alert(2)), ("alerts", 1): records(alert(WARM_UP))},
        {("alerts", 0): records(alert(1), first=2)},
    )
    subject = receiving(tmp_path, consumer)

    positions = received_all(subject)

    counts = subject.status()
    assert (counts.alerts, counts.warm_up_alerts, counts.alerts_duplicated) == (2, 1, 1)
    assert counts.warm_up_symbols == ["AAPL"]
    assert positions == {("alerts", 0): 3, ("alerts", 1): 1, ("invalid", 0): 0}
    assert subject.phase == Phase.PHASE_FINISHED
    assert consumer.closed


def test_records_that_are_no_alert_are_kept_and_counted_apart(tmp_path: Path) -> None:
    consumer = FakeConsumer({("alerts", 0): records(b"", alert(1), b"x" * ALERT.width, b"\xff" * 2_000_000)})
    subject = receiving(tmp_path, consumer)

    received_all(subject)

    assert (subject.status().alerts, subject.status().alerts_unreadable) == (1, 3)
    lines = ledger_path(tmp_path, "run-1", INVALID).read_bytes().splitlines()
    assert [json.loads(line)["offset"] for line in lines] == [0, 2, 3]
    assert max(map(len, lines)) < 10_000


def test_invalid_records_are_counted_once_by_reason(tmp_path: Path) -> None:
    consumer = FakeConsumer(
        {("invalid", 0): records(report(0), report(1, "unknown_kind"), report(0), b"{", report(2, "bad luck"))}
    )
    subject = receiving(tmp_path, consumer)

    received_all(subject)

    assert subject.status().invalid_records == 4
    assert {each.reason: each.count for each in subject.status().invalid_by_reason} == {
        "wrong_length": 1,
        "unknown_kind": 1,
        "unreadable": 2,
    }


def test_a_letter_in_a_number_of_an_alert_that_was_written_down_makes_it_unreadable(tmp_path: Path) -> None:
    received_all(receiving(tmp_path, FakeConsumer({("alerts", 0): records(alert(1), alert(2))})))
    ledger = ledger_path(tmp_path, "run-1", ALERTS)
    lines = bytearray(ledger.read_bytes())
    lines[len(lines) // 2 + ALERT.offset("price")] = ord("x")
    ledger.write_bytes(lines)

    subject = receiving(tmp_path, FakeConsumer({}))

    assert subject.status().alerts == 1


def test_new_process_goes_on_without_loss_or_double_count(tmp_path: Path) -> None:
    received_all(
        receiving(
            tmp_path,
            FakeConsumer({("alerts", 0): records(alert(1), b"no", alert(2)), ("invalid", 0): records(report(0), b"{")}),
        )
    )
    consumer = FakeConsumer({("alerts", 0): records(alert(2, sequence=6), alert(3), first=3)})
    recorder = Recorder(source="receiver", clock=ManualClock())
    subject = receiving(tmp_path, consumer, recorder=recorder)

    received_all(subject)

    assert consumer.assigned == {("alerts", 0): 3, ("alerts", 1): 0, ("invalid", 0): 2}
    counts = subject.status()
    assert (
        counts.alerts,
        counts.alerts_duplicated,
        counts.alerts_disagreeing,
        counts.alerts_unreadable,
        counts.invalid_records,
    ) == (3, 1, 1, 1, 2)
    assert held(counts.latency_histogram) == 3
    (pushed,) = recorder.take()
    assert {sample.key.name: sample.value for sample in pushed.counters}["market_spread_receiver_alerts_total"] == 1


def test_of_several_topics_in_one_ledger_each_goes_on_where_it_was(tmp_path: Path) -> None:
    """Their records have the same partitions and offsets."""
    sent = [
        Record(n, b"x%d" % n, headers=(("message_id", b"%d" % n), ("intended_us", b"1"), ("sent_us", b"2")))
        for n in range(3)
    ]

    def opened(*batches: dict[Partition, list[Record]]) -> tuple[Receiving, FakeConsumer]:
        consumer, ledger, clock = FakeConsumer(*batches), Ledger(tmp_path, "run-1"), ManualClock()
        outputs = dict.fromkeys(("out", "other"), text_of)
        return Receiving(
            StartReceivingRequest(warm_up_order_id_min=WARM_UP),
            partitions={"in": 1, "out": 2, "other": 1},
            consumer=cast(Consumer, consumer),
            ledger=ledger,
            recovered=ledger.open(),
            recorder=Recorder(source="receiver", clock=clock),
            clock=clock,
            matcher=Matcher({"in": text_of}, outputs, clock),
        ), consumer

    first, _ = opened({("in", 0): sent, ("out", 1): records(b"x0", b"x1"), ("other", 0): records(b"x0")})
    received_all(first)
    again, consumer = opened({("in", 0): sent, ("other", 0): records(b"x1", b"x1", first=1)})
    received_all(again)

    assert consumer.assigned == {("in", 0): 0, ("out", 0): 0, ("out", 1): 2, ("other", 0): 1}
    assert (again.status().alerts, again.status().alerts_duplicated) == (4, 1)


def test_latencies_of_a_system_are_told_by_output_and_partition_of_the_message(tmp_path: Path) -> None:
    def sent(number: int, intended_us: int) -> Record:
        times = (("intended_us", b"%d" % intended_us), ("sent_us", b"%d" % intended_us))
        return Record(number, b"x%d" % number, headers=(("message_id", b"%d" % number), *times))

    clock = ManualClock(10_000_000)
    messages = {("in", 0): [sent(1, 1_000)], ("in", 1): [sent(2, 4_000), sent(3, 3_000), sent(WARM_UP, 1)]}
    messages |= {("also", 200): [sent(4, 2_000)]}
    answers = {("out", 0): records(b"x1", b"x2", b"x3", b"x3", b"x4", b"x%d" % WARM_UP), ("other", 0): records(b"x2")}
    ledger, recorder = Ledger(tmp_path, "run-1"), Recorder(source="receiver", clock=clock)
    subject = Receiving(
        StartReceivingRequest(warm_up_order_id_min=WARM_UP),
        partitions={"in": 2, "also": 201, "out": 1, "other": 1},
        consumer=cast(Consumer, FakeConsumer(messages, answers)),
        ledger=ledger,
        recovered=ledger.open(),
        recorder=recorder,
        clock=clock,
        matcher=Matcher(dict.fromkeys(("in", "also"), text_of), dict.fromkeys(("out", "other"), text_of), clock),
    )

    received_all(subject)

    (pushed,) = recorder.take()
    by_partition = [it for it in pushed.histograms if it.key.name.endswith("partition_end_to_end_seconds")]
    assert {it.key.labels["phase"] for it in by_partition} == {"measured"}
    assert {
        tuple(it.key.labels[name] for name in ("topic", "partition", "output")): (it.count, it.min, it.max)
        for it in by_partition
    } == {
        ("in", "0", "out"): (1, 9_000, 9_000),
        ("in", "1", "out"): (2, 6_000, 7_000),
        ("also", "others", "out"): (1, 8_000, 8_000),
        ("in", "1", "other"): (1, 6_000, 6_000),
    }


def test_our_own_alerts_are_not_told_by_partition(tmp_path: Path) -> None:
    recorder = Recorder(source="receiver", clock=ManualClock())

    received_all(receiving(tmp_path, FakeConsumer({("alerts", 0): records(alert(1))}), recorder=recorder))

    (pushed,) = recorder.take()
    assert [it.key.name for it in pushed.histograms if "partition" in it.key.name] == []


def text_of(record: Record) -> str:
    return record.value.decode()


def test_record_read_again_after_a_kill_between_the_two_writes_counts_once(tmp_path: Path) -> None:
    batch = {("alerts", 0): records(alert(1), b"no")}
    received_all(receiving(tmp_path, FakeConsumer(batch)))
    ledger_path(tmp_path, "run-1", ALERTS).write_bytes(b"")
    consumer = FakeConsumer(batch)
    subject = receiving(tmp_path, consumer)

    received_all(subject)

    assert consumer.assigned["alerts", 0] == 0
    assert (subject.status().alerts, subject.status().alerts_unreadable) == (1, 1)


def test_drain_that_does_not_end_says_what_is_missing(tmp_path: Path) -> None:
    consumer = FakeConsumer({("alerts", 0): records(alert(1))})
    consumer.ends = {("alerts", 0): 3, ("alerts", 1): 0}
    subject = receiving(tmp_path, consumer)
    subject.start()

    with pytest.raises(DeadlineError, match=r"did not catch up within 0\.2 s; alerts/0 is at 1 of 3"):
        subject.drain(0.2)

    subject.stop()


def test_drain_ends_behind_the_marker_of_a_transaction_which_is_no_record(tmp_path: Path) -> None:
    consumer = FakeConsumer({("alerts", 0): records(alert(1))})
    consumer.ends = {("alerts", 0): 2}
    consumer.position_at_last = 2
    subject = receiving(tmp_path, consumer)
    subject.start()

    subject.drain(5)

    assert subject.status().warm_up_alerts + subject.status().alerts == 1
    subject.stop()


def test_what_cannot_be_written_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_ledger: Ledger, name: str, _lines: bytes) -> None:
        raise UsageError(f"{name}: No space left on device")

    monkeypatch.setattr(Ledger, "append", full)
    subject = receiving(tmp_path, FakeConsumer({("alerts", 0): records(alert(1))}))

    subject.run()

    assert subject.phase == Phase.PHASE_FAILED
    assert subject.detail == "invalid: No space left on device"
    assert subject.status().alerts == 0
    assert subject.status().positions[0].offset == 0


def test_error_of_the_broker_fails_the_run_and_who_waits_for_it(tmp_path: Path) -> None:
    consumer = FakeConsumer({("alerts", 0): records(alert(1))})
    consumer.ends = {("alerts", 0): 2}
    subject = receiving(tmp_path, consumer)
    subject.start()
    threading.Timer(0.1, lambda: setattr(consumer, "error", RunVoidError("the broker is gone"))).start()

    with pytest.raises(WrongStateError, match="has stopped before it caught up; the broker is gone"):
        subject.drain(5)

    subject.stop()
    assert subject.phase == Phase.PHASE_FAILED


# Decisions


def pushed_counts(recorder: Recorder) -> dict[str, float]:
    (pushed,) = recorder.take()
    return {
        "/".join(
            [sample.key.name.removeprefix("market_spread_receiver_"), *dict(sample.key.labels).values()]
        ): sample.value
        for sample in pushed.counters
        if "decision" in sample.key.name
    }


def test_decisions_are_counted_once_an_order_and_apart_from_alerts(tmp_path: Path) -> None:
    consumer = FakeConsumer(
        {("decisions", 0): records(decision(1), decision(2), decision(1)), ("alerts", 0): records(alert(1))},
        {("decisions", 0): records(decision(2), decision(WARM_UP), decision(3), first=3)},
    )
    recorder = Recorder(source="receiver", clock=ManualClock())
    subject = receiving(tmp_path, consumer, recorder=recorder, decisions_topic="decisions")

    positions = received_all(subject)

    counts = subject.status()
    assert (counts.decisions, counts.warm_up_decisions, counts.decisions_duplicated) == (3, 1, 2)
    assert (
        counts.alerts,
        counts.alerts_duplicated,
        held(counts.latency_histogram),
        held(counts.decision_latency_histogram),
    ) == (1, 0, 1, 3)
    assert positions["decisions", 0] == 6
    assert ledger_path(tmp_path, "run-1", DECISIONS).read_bytes().count(b"\n") == 6
    assert pushed_counts(recorder) == {
        "decisions_total/measured": 3, "decisions_total/warm_up": 1, "decisions_duplicated_total": 2,
    }  # fmt: skip


def test_run_without_decisions_reads_and_shows_none(tmp_path: Path) -> None:
    consumer = FakeConsumer({("alerts", 0): records(alert(1))})
    recorder = Recorder(source="receiver", clock=ManualClock())
    subject = receiving(tmp_path, consumer, recorder=recorder)

    received_all(subject)

    assert set(consumer.assigned) == {("alerts", 0), ("alerts", 1), ("invalid", 0)}
    assert subject.status().decisions == 0
    assert pushed_counts(recorder) == {}


def test_what_is_no_decision_is_kept_with_its_place(tmp_path: Path) -> None:
    bad = [alert(1), b"", decision(1)[:-1] + b"X", b"x" * DECISION.width]
    consumer = FakeConsumer({("decisions", 0): records(*bad, decision(2))})
    recorder = Recorder(source="receiver", clock=ManualClock())
    subject = receiving(tmp_path, consumer, recorder=recorder, decisions_topic="decisions")

    received_all(subject)

    counts = subject.status()
    assert (counts.decisions, counts.decisions_unreadable, counts.alerts_unreadable, counts.invalid_records) == (
        1,
        4,
        0,
        0,
    )
    lines = list(map(json.loads, ledger_path(tmp_path, "run-1", INVALID).read_bytes().splitlines()))
    assert [line["offset"] for line in lines if "unreadable_decision" in line] == [0, 1, 2, 3]
    assert pushed_counts(recorder)["decisions_unreadable_total"] == 4


def test_drain_awaits_the_decisions(tmp_path: Path) -> None:
    consumer = FakeConsumer({("decisions", 0): records(decision(1))})
    consumer.ends = {("decisions", 0): 2}
    subject = receiving(tmp_path, consumer, decisions_topic="decisions")
    subject.start()

    with pytest.raises(DeadlineError, match=r"decisions/0 is at 1 of 2"):
        subject.drain(0.2)

    subject.stop()


def test_new_process_goes_on_with_the_decisions(tmp_path: Path) -> None:
    first = FakeConsumer({("decisions", 0): records(decision(1), b"no", decision(2))})
    received_all(receiving(tmp_path, first, decisions_topic="decisions"))
    with ledger_path(tmp_path, "run-1", DECISIONS).open("ab") as file:
        file.write(b"D000")  # cut short by a kill
    consumer = FakeConsumer({("decisions", 0): records(decision(2), decision(3), first=3)})
    recorder = Recorder(source="receiver", clock=ManualClock())
    subject = receiving(tmp_path, consumer, recorder=recorder, decisions_topic="decisions")

    received_all(subject)

    counts = subject.status()
    assert consumer.assigned["decisions", 0] == 3
    assert (counts.decisions, counts.decisions_duplicated, counts.decisions_unreadable) == (3, 1, 1)
    assert pushed_counts(recorder) == {"decisions_total/measured": 1, "decisions_duplicated_total": 1}
    assert len(ledger_path(tmp_path, "run-1", DECISIONS).read_bytes()) == 4 * (DECISION.width + 36)


class SlowConsumer(FakeConsumer):
    """Each poll takes 40 ms, and what it brings has come at the end of it."""

    def __init__(self, clock: ManualClock, *batches: dict[Partition, list[Record]]) -> None:
        super().__init__(*batches)
        self._clock = clock

    def poll(self, timeout_s: float) -> dict[Partition, list[Record]]:
        self._clock.advance_ns(40_000_000)
        return super().poll(timeout_s)


def test_an_alert_is_received_when_the_poll_returns(tmp_path: Path) -> None:
    clock = ManualClock()
    appended_ms = clock.unix_ns() // 1_000_000 + 30
    subject = receiving(tmp_path, SlowConsumer(clock, {("alerts", 0): [Record(0, alert(1), appended_ms)]}), clock=clock)

    subject.receive_once()

    subject.receive_once()  # takes what is held
    ledger = decode_ledger(ledger_path(tmp_path, "run-1", ALERTS).read_bytes())
    assert ledger.received_us.tolist() == [1_700_000_000_040_000]
    assert HdrCounts.decode(subject.status().fetch_histogram).percentile(100) == 9_503, "9,500 us, as its bucket has it"


def test_alerts_whose_append_is_not_told_have_no_share_of_it(tmp_path: Path) -> None:
    subject = receiving(tmp_path, FakeConsumer({("alerts", 0): records(alert(1), alert(2))}))

    received_all(subject)

    assert [held(subject.status().append_histogram), held(subject.status().fetch_histogram)] == [0, 0]
    assert subject.status().alerts == 2
