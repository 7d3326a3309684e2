"""Targets that take bytes of strangers: wire frames, ledgers, logs, histograms, pushes, notes, Kafka records, files."""

import json
import struct
import zlib
from binascii import crc32
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, cast

import grpc.aio
import numpy as np
from google.protobuf.message import DecodeError

from examples.wallaroo.convert import convert_fixish
from market_spread.common.errors import UnavailableError, UsageError
from market_spread.common.hdr.codec import Buckets, encoded_of
from market_spread.common.hdr.histogram import HdrCounts
from market_spread.common.kafka.access import Finds
from market_spread.common.kafka.client import Consumer, Record
from market_spread.common.telemetry.metrics import ALERTS, END_TO_END, JOB_BATCH
from market_spread.common.telemetry.recorder import Recorder, interval_histogram
from market_spread.common.wire.codec import decode, encode, encode_ledger
from market_spread.common.wire.layout import ALERT, DECISION, NBBO, ORDER, Kind, Layout
from market_spread.loadgen import recorded
from market_spread.loadgen.message_files import FromKeys, InputKeys, messages_of
from market_spread.loadgen.oracle.oracle import check_files
from market_spread.loadgen.recorded import by_time
from market_spread.metrics_aggregator.http.run_json import Range, copy_of, data_json
from market_spread.metrics_aggregator.model import hlog
from market_spread.metrics_aggregator.model.run_files import RunFiles
from market_spread.metrics_aggregator.model.store import Store
from market_spread.metrics_aggregator.service import MetricsService
from market_spread.receiver.ledger import ALERTS as ALERTS_LEDGER
from market_spread.receiver.ledger import DECISIONS, INVALID, InvalidLine, Ledger, ledger_path
from market_spread.receiver.matching import Matcher
from market_spread.receiver.receiving import Receiving
from market_spread.v1.control_pb2 import StartReceivingRequest
from market_spread.v1.limits_pb2 import RunLimits
from market_spread.v1.metrics_pb2 import Judgement, NoteRequest, PushRequest, PushResponse
from tests.fuzz.engine import Target, WrongError, loop
from tests.fuzz.mutation import json_of, mutated_bytes, mutated_message, mutated_text, mutated_tree
from tests.support.clock import ManualClock

START = 1_700_000_000_000_000_000
WARM_UP = 9_000_000_000
_HDR_HEADER = 40


def targets(scratch: Path) -> list[Target]:
    """All of them. scratch: a folder for files, on a fast disk."""
    return [
        *(_wire(layout) for layout in (NBBO, ORDER, ALERT, DECISION)), _histogram(), _hlog(), *_pushes(scratch),
        *_ledgers(scratch), _records(scratch), _outputs(), *_fixish(scratch), _native(scratch), *_recorded(scratch),
    ]  # fmt: skip


def message(layout: Layout, number: int = 1, **changed: int) -> bytes:
    columns: dict[str, Any] = {}
    for field in layout.fields:
        if field.kind is Kind.TEXT:
            columns[field.name] = np.array([b"AAPL".ljust(field.width)])
        elif field.kind is Kind.LETTER:
            columns[field.name] = np.array([ord(field.letters[0])], np.uint8)
        else:
            columns[field.name] = np.array([changed.get(field.name, 1)], np.int64)
    columns |= {name: np.array([number]) for name in ("order_id", "sequence") if name in columns}
    return encode(layout, columns).tobytes()


def _wire(layout: Layout) -> Target:
    def attempt(data: bytes) -> None:
        read = decode(layout, data)
        rows = np.frombuffer(data, np.uint8).reshape(-1, layout.width)
        columns = {name: column[read.readable] for name, column in read.columns.items()}
        if len(columns["kind"]) and not decode(layout, encode(layout, columns).tobytes()).readable.all():
            raise WrongError(f"what was read of {rows[read.readable]} is not written as it was")

    def mutate(random: Random, data: bytes) -> bytes:
        made = mutated_bytes(random, data)
        return made[: len(made) // layout.width * layout.width] if random.random() < 0.7 else made

    seeds = [b"".join(message(layout, number) for number in (1, 2, 3)), message(layout, 999_999)]
    return Target(f"wire-{layout.name}", 110_000, attempt, seeds, mutate, (ValueError,))


def _histogram() -> Target:
    def attempt(data: bytes) -> None:
        buckets = Buckets.decode(data)
        read = HdrCounts.decode(data)
        if Buckets.decode(buckets.encode()).counts.tolist() != buckets.counts.tolist() or read.count < 0:
            raise WrongError("it is not read as it was written")
        read.percentiles([50, 99, 100])

    return Target("histogram", 150_000, attempt, _histograms(), _mutated_histogram, (ValueError,))


def _histograms() -> list[bytes]:
    values: tuple[list[int], ...] = ([1, 2, 3], [5] * 100 + [3_600_000_000], list(range(0, 100_000, 37)), [])
    return [HdrCounts(np.array(each, np.int64)).encode() for each in values]


def _mutated_histogram(random: Random, data: bytes) -> bytes:
    """Mostly of the right form around wrong varints, or around a wrong header."""
    try:
        inflated = zlib.decompress(data)
    except zlib.error:
        return mutated_bytes(random, data)
    match random.randrange(4):
        case 0:
            return mutated_bytes(random, data)
        case 1:
            return zlib.compress(mutated_bytes(random, inflated))
        case 2:
            huge = random.choice((b"\x01\x00" * 30_000, b"\xff" * 9, struct.pack(">q", -1), bytes(300_000)))
            return encoded_of(inflated[_HDR_HEADER:] + huge)
        case _:
            return encoded_of(mutated_bytes(random, inflated[_HDR_HEADER:]))


def pushes() -> list[PushRequest]:
    """Two, as a process makes them."""
    clock = ManualClock(START)
    recorder = Recorder(source="receiver-0", clock=clock, run_id="r1")
    made: list[PushRequest] = []
    for values in ([5, 7, 900], [12, 44, 3_000_000]):
        recorder.histogram(END_TO_END, phase="measured").record_us(np.array(values, np.int64))
        recorder.counter(ALERTS, phase="measured").add(len(values))
        recorder.gauge(JOB_BATCH).set(len(values))
        clock.advance_ns(1_000_000_000)
        made += recorder.take()
    return made


def notes() -> list[NoteRequest]:
    histogram = interval_histogram(END_TO_END, HdrCounts(np.array([5, 9], np.int64)), phase="measured")
    judgement = Judgement(outcome="passed", from_unix_ns=START, to_unix_ns=START + 10**9, histograms=[histogram])
    judgement.rows.add(cells=["p50", "1.0"])
    judgement.failed.add(check="lost", text="1 is lost", cause="system")
    judgement.too_few.add(key=histogram.key, clusters={"p99": 3})
    return [
        NoteRequest(run_id="r1", unix_ns=START, kind="title", name="quick"),
        NoteRequest(run_id="r1", unix_ns=START, kind="phase", name="measuring"),
        NoteRequest(run_id="r1", unix_ns=START, kind="limits", name="limits", limits=RunLimits(late_share_max=0.5)),
        NoteRequest(run_id="r1", unix_ns=START + 1, kind="verdict", name="passed", judgement=judgement),
        NoteRequest(run_id="r1", unix_ns=START + 2, kind="result", name="table", text="p50 1 ms"),
    ]


def log() -> bytes:
    """A run's log with pushes and notes."""
    store, blocks = Store(clock=ManualClock(START)), []

    class Files:
        def append(self, run_id: str, block: bytes, begin_unix_ns: int) -> None:
            blocks.append(block)

        def entries(self, run_id: str) -> tuple[()]:
            return ()

    store = Store(clock=ManualClock(START), log=cast(RunFiles, Files()))
    for note in notes()[:3]:
        store.note(note)
    for push in pushes():
        store.push(push)
    for note in notes()[3:]:
        store.note(note)
    return hlog.header(START) + b"".join(blocks)


def _hlog() -> Target:
    def attempt(data: bytes) -> None:
        reading = hlog.Reading()
        for block in hlog.whole_blocks(data.splitlines(keepends=True), reading):
            hlog.decode(block)
        if not 0 <= reading.whole <= len(data):
            raise WrongError(f"{reading.whole} of {len(data)} bytes are whole")

    return Target("hlog", 60_000, attempt, [log()], mutated_log, ())


def mutated_log(random: Random, data: bytes) -> bytes:
    """A log whose blocks mostly have the right check sums around what is wrong in them."""
    if random.random() < 0.2:
        return mutated_text(random, data)
    out, block = [], list[bytes]()
    for line in data.splitlines(keepends=True):
        if line.startswith(b"#end "):
            if random.random() < 0.3 and block:
                block[0] = _mutated_head(random, block[0])
            text = b"".join(block)
            if random.random() < 0.2:
                text = text.replace(b"\n", b"") + b"\n" if random.random() < 0.05 else mutated_text(random, text)
            out.append(text + b"#end %08x\n" % crc32(text))
            block = []
        elif line.startswith((b"#push ", b"#note ")) or block:
            block.append(line)
        else:
            out.append(line)
    return b"".join([*out, *block])


def _mutated_head(random: Random, line: bytes) -> bytes:
    word, _, text = line.partition(b" ")
    try:
        return word + b" " + json_of(random, mutated_tree(random, json.loads(text))) + b"\n"
    except (ValueError, RecursionError):
        return mutated_text(random, line)


class Pushing:
    """A servicer with its store, log and page; anew after so many inputs, since a store keeps what it takes."""

    _EACH = 500

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._inputs = 0
        self._begin()

    def _begin(self) -> None:
        self.clock = ManualClock(START + 10**9)
        self.files = RunFiles(self._scratch / f"pushes-{self._inputs}")
        self.store = Store(clock=self.clock, history_bytes_max=2_000_000, log=self.files, series_max=100)
        self.service = MetricsService(self.store)

    def attempt(self, data: bytes) -> None:
        self._inputs += 1
        if self._inputs % self._EACH == 0:
            self.files.close()
            self._begin()
        request = PushRequest.FromString(data)
        answers: list[PushResponse] = []

        class Context:
            def __init__(self) -> None:
                self.left = [request]

            async def read(self) -> object:
                return self.left.pop() if self.left else grpc.aio.EOF

            async def write(self, answer: PushResponse) -> None:
                answers.append(answer)

        loop().run_until_complete(self.service.Push(None, Context()))
        if len(answers) != 1 or answers[0].sequence != request.sequence:
            raise WrongError(f"the push {request.sequence} is answered with {answers}")
        if answers[0].refusal:
            raise UsageError(answers[0].refusal)
        self.shown(request.run_id)

    def attempt_note(self, data: bytes) -> None:
        request = NoteRequest.FromString(data)
        loop().run_until_complete(self.service.Note(request, cast(Any, None)))
        self.shown(request.run_id)

    def shown(self, run_id: str) -> None:
        """The run as its page gets it, and as it is read back from its log."""
        run = self.store.run(run_id)
        assert run is not None
        aggregator = {"lag_ms": self.store.lag_newest_ns / 1e6}
        copied = copy_of(run, now_unix_ns=self.clock.unix_ns(), tick=0, aggregator=aggregator)
        json.loads(data_json(copied, Range(), points=20))
        if not 0 < len(self.store.runs()) <= 2_000:
            raise WrongError(f"{len(self.store.runs())} runs are kept")


def _pushes(scratch: Path) -> list[Target]:
    pushing, noting = Pushing(scratch / "p"), Pushing(scratch / "n")

    def of(kind: type[PushRequest | NoteRequest]) -> Callable[[Random, bytes], bytes]:
        def mutate(random: Random, data: bytes) -> bytes:
            if random.random() < 0.1:
                return mutated_bytes(random, data)
            try:
                made = kind.FromString(data)
            except Exception:
                return mutated_bytes(random, data)
            if isinstance(made, PushRequest) and made.histograms and random.random() < 0.3:
                histogram = random.choice(made.histograms)
                histogram.encoded = _mutated_histogram(random, histogram.encoded)
                with suppress(ValueError, TypeError):
                    histogram.count = Buckets.decode(histogram.encoded).count
            if isinstance(made, PushRequest) and random.random() < 0.7:
                made.sequence = random.randrange(1, 10_000)
            return mutated_message(random, made).SerializeToString()

        return mutate

    refuses = (UsageError, UnavailableError, DecodeError)
    return [
        Target("push", 60_000, pushing.attempt, [p.SerializeToString() for p in pushes()], of(PushRequest), refuses),
        Target(
            "note", 120_000, noting.attempt_note, [n.SerializeToString() for n in notes()], of(NoteRequest), refuses
        ),
    ]


def invalid_report(position: int = 0) -> dict[str, object]:
    return {"reason": "wrong_length", "topic": "nbbo", "partition": 0, "offset": 3, "position": position}


class _NoConsumer:
    def __init__(self, records: dict[tuple[str, int], list[Record]] | None = None) -> None:
        self._records = records or {}

    def assign(self, positions: object) -> None:
        pass

    def poll(self, timeout_s: float) -> dict[tuple[str, int], list[Record]]:
        found, self._records = self._records, {}
        return found

    def close(self) -> None:
        pass


def receiving(folder: Path, records: dict[tuple[str, int], list[Record]] | None = None) -> Receiving:
    ledger, clock = Ledger(folder, "run-1"), ManualClock()
    recovered = ledger.open()
    try:
        return Receiving(
            StartReceivingRequest(
                alerts_topic="alerts", invalid_topic="invalid", decisions_topic="decisions",
                warm_up_order_id_min=WARM_UP,
            ),
            partitions={"alerts": 1, "invalid": 1, "decisions": 1}, consumer=cast(Consumer, _NoConsumer(records)),
            ledger=ledger, recovered=recovered, recorder=Recorder(source="receiver", clock=clock), clock=clock,
        )  # fmt: skip
    except BaseException:
        ledger.close()
        raise


def _ledgers(scratch: Path) -> list[Target]:
    folder = scratch / "ledgers"

    def of(name: str) -> Callable[[bytes], None]:
        path = ledger_path(folder, "run-1", name)

        def attempt(data: bytes) -> None:
            for each in (ALERTS_LEDGER, DECISIONS, INVALID):
                other = ledger_path(folder, "run-1", each)
                other.parent.mkdir(parents=True, exist_ok=True)
                other.write_bytes(b"")
            path.write_bytes(data)
            subject = receiving(folder)
            try:
                subject.status()
            finally:
                subject._ledger.close()

        return attempt

    def rows(layout: Layout) -> bytes:
        messages = b"".join(message(layout, number) for number in (1, 2, WARM_UP))
        return encode_ledger(
            np.frombuffer(messages, np.uint8).reshape(3, -1), 0, np.arange(3), np.full(3, START // 1000)
        )

    def mutate_lines(random: Random, data: bytes) -> bytes:
        out = []
        for line in data.splitlines():
            made = line
            if random.random() < 0.6:
                try:
                    made = json_of(random, mutated_tree(random, json.loads(line)))
                except (ValueError, RecursionError):
                    made = mutated_bytes(random, line)
            out.append(made + b"\n")
        return b"".join(out) if random.random() < 0.9 else mutated_text(random, data)

    lines = [
        InvalidLine(0, 1, 5, invalid=invalid_report()), InvalidLine(0, 2, 5, unreadable_invalid="x"),
        InvalidLine(0, 3, 5, unreadable_alert="x"), InvalidLine(0, 4, 5, unreadable_decision="x"),
    ]  # fmt: skip
    return [
        Target("ledger-alerts", 12_000, of(ALERTS_LEDGER), [rows(ALERT), b""], mutated_bytes),
        Target("ledger-decisions", 12_000, of(DECISIONS), [rows(DECISION), b""], mutated_bytes),
        Target("ledger-invalid", 20_000, of(INVALID), [b"".join(each.encode() for each in lines)], mutate_lines),
    ]


def _records(scratch: Path) -> Target:
    """Records of the three topics that the receiver reads, all of them taken."""
    folder = scratch / "records"

    def attempt(data: bytes) -> None:
        values = data.split(b"\x1e")
        topics = ("alerts", "decisions", "invalid")
        records = {(t, 0): [Record(at, v) for at, v in enumerate(values[i::3])] for i, t in enumerate(topics)}
        records = {place: of for place, of in records.items() if of}
        for name in (ALERTS_LEDGER, DECISIONS, INVALID):
            ledger_path(folder, "run-1", name).unlink(missing_ok=True)
        subject = receiving(folder, records)
        subject._stopping.set()
        subject.receive_once()
        subject._take_held()
        status = subject.status()
        subject._ledger.close()
        again = receiving(folder)
        seen = again.status()
        again._ledger.close()
        counted = [(s.alerts, s.alerts_unreadable, s.invalid_records, s.decisions) for s in (status, seen)]
        if counted[0] != counted[1]:
            raise WrongError(f"read back from its ledger it has {counted[1]}, before {counted[0]}")

    report = json.dumps(invalid_report()).encode()
    seeds = [b"\x1e".join([message(ALERT), message(DECISION), report] * 2)]

    def mutate(random: Random, data: bytes) -> bytes:
        values = data.split(b"\x1e")
        at = random.randrange(len(values))
        try:
            if not values[at].startswith(b"{") or random.random() < 0.2:
                raise ValueError
            values[at] = json_of(random, mutated_tree(random, json.loads(values[at])))
        except (ValueError, RecursionError):
            values[at] = mutated_bytes(random, values[at])
        return b"\x1e".join(values)

    return Target("receiver-records", 10_000, attempt, seeds, mutate, ())


def _outputs() -> Target:
    """Records of a system's topics, matched by a header or a field, and with its stamps."""

    def attempt(data: bytes) -> None:
        parts = (data.split(b"\x1e") + [b""] * 10)[:10]
        numbers = [part if part.isdigit() else b"7" for part in parts[:3]]
        headers = (
            ("market-spread-id", b"7"),
            ("market-spread-intended-us", numbers[1]),
            ("market-spread-sent-us", b"9"),
        )
        sent = Record(0, b'{"id": "7"}', headers=_ours(headers))
        stamps = (("market-spread-read-us", parts[3]), ("market-spread-emitted-us", parts[4]))
        output = Record(0, parts[5], headers=(*stamps, (parts[6].decode("latin-1"), parts[7])))
        by_field, by_header = Finds(field="id").finder(), Finds(header="id").finder()
        for finder in (by_field, by_header):
            matcher = Matcher({"in": lambda record: "7"}, {"out": finder}, ManualClock())
            matcher.alerts({("in", 0): [(sent, 50)]})
            told = matcher.alerts({("out", 0): [(output, START // 1000)]})
            for receipts in told.values():
                for record, _ in receipts:
                    if not record.value.startswith(b"answers") and not decode(ALERT, record.value).readable.all():
                        raise WrongError(f"an output became an alert that nobody can read: {record.value!r}")

    def mutate(random: Random, data: bytes) -> bytes:
        parts = data.split(b"\x1e")
        at = random.randrange(len(parts))
        parts[at] = random.choice(
            (b"9" * 30, b"-1", b"", "٣".encode(), b"\xb2", b'{"id": %s}' % (b"[" * 5_000), b'{"id": {"id": 5}}')
        ) if random.random() < 0.5 else mutated_bytes(random, parts[at])  # fmt: skip
        return b"\x1e".join(parts)

    seeds = [b"\x1e".join([b"7", b"8", b"9", b"10", b"11", b'{"id": "7"}', b"id", b"7"])]
    return Target("outputs", 30_000, attempt, seeds, mutate)


def _ours(named: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    from market_spread.common.wire.layout import OUR_HEADERS

    return tuple((name, value) for name, (_, value) in zip(OUR_HEADERS, named, strict=True))


def fixish() -> tuple[bytes, bytes]:
    quote = struct.pack(">IB4s21sdd", 42, 2, b"AAPL", b"20150101-00:00:00.000", 1.5, 2.5)
    order = struct.pack(">IBBI6s4sdd21s", 53, 1, 1, 7, b"abc123", b"AAPL", 100.0, 5.25, b"20150101-00:00:00.000")
    return quote * 3, order * 3


def _fixish(scratch: Path) -> list[Target]:
    folder = scratch / "fixish"
    folder.mkdir(parents=True, exist_ok=True)
    quotes, orders = fixish()

    def of(name: str) -> Callable[[bytes], None]:
        def attempt(data: bytes) -> None:
            (folder / "quotes").write_bytes(quotes)
            (folder / "orders").write_bytes(orders)
            (folder / name).write_bytes(data)
            made = convert_fixish(folder / "quotes", folder / "orders", folder / "out")
            check_files(made.nbbo, made.orders, folder / "none", warm_up_judged=True, duplicates_allowed=False)

        return attempt

    (folder / "none").write_bytes(b"")
    return [
        Target("fixish-quotes", 5_000, of("quotes"), [quotes], mutated_bytes),
        Target("fixish-orders", 5_000, of("orders"), [orders], mutated_bytes),
    ]


def _native(scratch: Path) -> Target:
    folder = scratch / "native"
    folder.mkdir(parents=True, exist_ok=True)

    def attempt(data: bytes) -> None:
        parts = (data.split(b"\x1e") + [b""] * 3)[:3]
        for name, part in zip(("nbbo", "orders", "alerts"), parts, strict=True):
            (folder / name).write_bytes(part)
        files = (folder / "nbbo", folder / "orders", folder / "alerts")
        check_files(*files, warm_up_judged=True, duplicates_allowed=False)

    alert = np.frombuffer(message(ALERT), np.uint8).reshape(1, -1)
    ledger = encode_ledger(alert, 0, np.array([0]), np.array([START // 1000]))
    seeds = [b"\x1e".join([message(NBBO) * 2, message(ORDER) + message(ORDER, 2), ledger])]
    return Target("replay-native", 15_000, attempt, seeds, mutated_bytes)


def _recorded(scratch: Path) -> list[Target]:
    folder = scratch / "recorded"
    folder.mkdir(parents=True, exist_ok=True)

    def of(kind: str, unit: str) -> Callable[[bytes], None]:
        path = folder / f"{kind}-{unit}"
        keys: dict[str, Any] = {"time": "t", "time_unit": unit}
        keys = {"record_bytes": 7} if kind == "binary" else keys
        source = FromKeys(file=str(path), format=kind, **keys)
        each = InputKeys(topic="in", source=source, key=None if kind == "binary" else "k")

        def attempt(data: bytes) -> None:
            path.write_bytes(data)
            read = messages_of(each, 0) if kind == "binary" else (message for _, _, message in by_time((each,), 0))
            for message in read:
                message.encoded  # noqa: B018
            if kind != "binary":
                recorded._times_ns((each,), ())
                recorded._times_ns.cache_clear()

        return attempt

    csv = b"t,k\n1700000000,a\n1700000001.5,b\n"
    lines = b'{"t": 1700000000, "k": "a"}\n{"t": "1700000001", "k": 5}\n'
    iso = b'{"t": "2026-01-01T00:00:00", "k": "a"}\n{"t": "2026-01-01T00:00:02+00:00", "k": 5}\n'

    def mutate(random: Random, data: bytes) -> bytes:
        if not data.startswith(b"{") or random.random() < 0.3:
            return mutated_text(random, data)
        out = data.splitlines(keepends=True)
        at = random.randrange(len(out))
        try:
            out[at] = json_of(random, mutated_tree(random, json.loads(out[at]))) + b"\n"
        except (ValueError, RecursionError):
            out[at] = mutated_text(random, out[at])
        return b"".join(out)

    return [
        Target("recorded-csv", 10_000, of("csv", "s"), [csv], mutate),
        Target("recorded-lines", 20_000, of("lines", "s"), [lines], mutate),
        Target("recorded-iso", 20_000, of("lines", "iso"), [iso], mutate),
        Target("recorded-binary", 5_000, of("binary", "s"), [b"1234567" * 3], mutate),
    ]
